"""What makes a case the same case tomorrow: what it is asked, and how it is judged. Digests only.

The prompt and the bot's answers are no part of it: whether they got worse is the question.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ..check.base import AskingCheck

if TYPE_CHECKING:
    from ..run.measure import Spec
    from ..settings.expect import Expect, ExpectTable

Identity = dict[str, Any]
"""`messages`: a digest of what is asked; `checks`: a digest for each check, by its name. Builtins only."""

AskedAs = dict[str, list[Any]]
"""By the key of a check that asks a model: who is asked, and how, for each such check."""

_MODIFIERS = ("ignore_case", "calls_order")
_ASKED = ("user", "tool")


def of_conversation(spec: Spec) -> Identity:
    """The identity of a conversation, or of one case of it."""
    given = spec.conversation.messages
    asked = [message.to_api() for index in sorted(given) for message in given[index] if message.role in _ASKED]
    checks = dict(_checks(spec.settings.expect, _asked_as(spec)))
    if spec.player is not None:
        checks |= spec.player.identity
    return {"messages": _digest(asked), "checks": checks}


def of_function(function: pytest.Function, spec: Spec | None) -> Identity:
    """The identity of a test function: its source, and what it asks where it reads a conversation."""
    asked = of_conversation(spec)["messages"] if spec is not None else ""
    callspec = getattr(function, "callspec", None)
    test = [_source(function.obj), callspec.id if callspec is not None else ""]
    return {"messages": asked, "checks": {"test": _digest(test)}}


def _source(function: Any) -> str:
    try:
        return inspect.getsource(function)
    except OSError:  # made at run time: there is no file to read it from
        return str(function.__qualname__)


def _asked_as(spec: Spec) -> AskedAs:
    """Who is asked by checks that ask a model, and how, and what was approved: with another it is another check."""
    found: AskedAs = {}
    for turn, message in spec.conversation.approved.items():
        found.setdefault("approved", []).append([turn, message.text])
    for several in spec.checks.values() if spec.asking else ():
        for check in several:
            if isinstance(check, AskingCheck):
                found.setdefault(check.name, []).append(check.identity)
    return found


def _checks(expect: Expect, asked_as: AskedAs) -> Iterator[tuple[str, str]]:
    yield from _of_table(expect.last, "", asked_as)
    for turn, table in sorted(expect.turns.items()):
        yield from _of_table(table, f"{turn}.", asked_as)


def _of_table(table: ExpectTable, prefix: str, asked_as: AskedAs) -> Iterator[tuple[str, str]]:
    values = table.model_dump(exclude_defaults=True)
    manner = {key: values.pop(key) for key in _MODIFIERS if key in values}
    values |= values.pop("checks", {})
    for key, value in sorted(values.items()):
        asked = [asked_as[key]] if key in asked_as else []
        yield f"{prefix}{key}", _digest([_portable(key, value), manner, *asked])


def _portable(key: str, value: Any) -> Any:
    """A check's value as it is on every machine: of a file its name and what stands in it, not where it lies."""
    if key == "python" and isinstance(value, str):
        path, _, function = str(value).rpartition(":")
        return [_file(Path(path)), function]
    if isinstance(value, Mapping):
        return {name: _portable(name, inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_portable(key, inner) for inner in value]
    return _file(value) if isinstance(value, Path) else value


def _file(path: Path) -> list[str]:
    return [path.name, path.read_text(errors="replace") if path.is_file() else ""]


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
