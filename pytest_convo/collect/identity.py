"""What makes a case the same case tomorrow: what it is asked, and how it is judged. Digests only.

The prompt and the bot's answers are no part of it: whether they got worse is the question.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ..run.measure import Spec
    from ..settings.model import Expect, ExpectTable

Identity = dict[str, Any]
"""`messages`: a digest of what is asked; `checks`: a digest for each check, by its name. Builtins only."""

_MODIFIERS = ("ignore_case", "calls_order")
_ASKED = ("user", "tool")


def of_conversation(spec: Spec) -> Identity:
    """The identity of a conversation, or of one case of it."""
    given = spec.conversation.messages
    asked = [message.to_api() for index in sorted(given) for message in given[index] if message.role in _ASKED]
    return {"messages": _digest(asked), "checks": dict(_checks(spec.settings.expect))}


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


def _checks(expect: Expect) -> Iterator[tuple[str, str]]:
    yield from _of_table(expect.last, "")
    for turn, table in sorted(expect.turns.items()):
        yield from _of_table(table, f"{turn}.")


def _of_table(table: ExpectTable, prefix: str) -> Iterator[tuple[str, str]]:
    values = table.model_dump(exclude_defaults=True)
    manner = {key: values.pop(key) for key in _MODIFIERS if key in values}
    values |= values.pop("checks", {})
    for key, value in sorted(values.items()):
        yield f"{prefix}{key}", _digest([_portable(key, value), manner])


def _portable(key: str, value: Any) -> Any:
    """A check's value as it is on every machine: of a file its name and what stands in it, not where it lies."""
    if key == "python":
        path, _, function = str(value).rpartition(":")
        return [_file(Path(path)), function]
    return _file(value) if isinstance(value, Path) else value


def _file(path: Path) -> list[str]:
    return [path.name, path.read_text(errors="replace") if path.is_file() else ""]


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
