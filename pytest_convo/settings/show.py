"""Keys and values as a person reads them: TOML's way of writing, shortened, and without secrets."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from .locate import Keys
from .rules import function_name
from .secret import HIDDEN, is_secret

_HUGE = 10**1000
"""Python refuses to write much larger numbers."""


def dotted(keys: Keys) -> str:
    """The key as it is written on a command line: `bot.request.seed`; a case's without its number: `case.id`."""
    shown = "".join(f".{key}" for key in keys if isinstance(key, str)).removeprefix(".")
    return HIDDEN if is_secret("", shown) else shown


def show(value: Any, name: object = "", limit: int = 60) -> str:
    """`value`, which stands under the key `name`, on one line of at most `limit` characters."""
    text = _toml(value, name)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _toml(value: Any, name: object) -> str:
    if is_secret(name, value):
        return HIDDEN
    if isinstance(value, Mapping):
        pairs = (f"{_key(key)} = {_toml(inner, key)}" for key, inner in value.items())
        return f"{{ {', '.join(pairs)} }}" if value else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_toml(inner, name) for inner in value)}]"
    if value is None or isinstance(value, bool):
        return {None: "nothing", True: "true", False: "false"}[value]
    if isinstance(value, int) and abs(value) >= _HUGE:
        return "a number of very many digits"
    if isinstance(value, str | os.PathLike):
        return json.dumps(str(value), ensure_ascii=False)
    return json.dumps(function_name(value)) if callable(value) else str(value)


def _key(key: object) -> str:
    text = str(key)
    shown = text if text.replace("-", "_").isidentifier() or text.isdecimal() else json.dumps(text, ensure_ascii=False)
    return HIDDEN if is_secret("", text) else shown
