"""What must never be printed, and must not stand in a file: keys, tokens and passwords, by name or by look."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..secrets.looks import looks_secret
from .locate import Keys

HIDDEN = "(secret)"

_NAMED_SO = re.compile(
    r"(^|[_\-. ])(key|token|secret|password|passwd|passphrase|credentials?|cookie|authorization)$", re.IGNORECASE
)
_CREDENTIAL = re.compile(
    r"api[_-]?key|secret|passw|credential|authorization|cookie|^key$|(^|(access|api|auth|bearer)[_-]?)token$",
    re.IGNORECASE,
)
_OF_THE_CONVERSATION = ("vars", "expect")
_HARMLESS = frozenset({"api_key_env", "prompt_cache_key", "secrets"})


def is_secret(name: object, value: object) -> bool:
    """Whether `value` must not be shown: for the name of its key, or for what it looks like."""
    if _looks_so(value):
        return True
    named_so = name not in _HARMLESS and _NAMED_SO.search(str(name)) is not None
    return named_so and isinstance(value, str | int) and not isinstance(value, bool)


def leaks(values: Mapping[str, Any]) -> Iterator[Keys]:
    """Where the settings of a file hold a credential.

    Its look gives one away wherever it stands; its name does so outside of variables and checks, where
    `password = "open sesame"` is a text of the conversation.
    """
    for key, value in values.items():
        yield from _leaks((key,), value, by_name=key not in _OF_THE_CONVERSATION)


def _leaks(keys: Keys, value: Any, *, by_name: bool) -> Iterator[Keys]:
    if (by_name and _names_credential(keys[-1])) or _looks_so(keys[-1]) or _looks_so(value):
        yield keys
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaks((*keys, key), inner, by_name=by_name and key not in _OF_THE_CONVERSATION)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _leaks((*keys, number), inner, by_name=by_name)


def _names_credential(name: object) -> bool:
    return isinstance(name, str) and name not in _HARMLESS and _CREDENTIAL.search(name) is not None


def _looks_so(value: object) -> bool:
    return isinstance(value, str) and looks_secret(value)
