"""Reading a `script.toml`: strict, with the line of what is wrong."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from ..conversation.reply import Usage
from ..errors import FormatError
from ..settings import toml
from ..settings.rules import seconds
from ..settings.unfit import UnfitError
from .script import Script
from .script_reply import ReplyError, ScriptedReply

_OF_SCRIPT = ("draw", "reply")
_OF_REPLY = tuple(field.name for field in fields(ScriptedReply))
_OF_CALL = ("name", "arguments", "id")
_OF_USAGE = tuple(field.name for field in fields(Usage))
_DURATIONS = ("latency", "pause", "retry_after")


def read_script(path: Path) -> Script:
    """The script in `path`. Raises `FormatError` that names the line."""
    file = toml.read(path)
    if file is None:
        msg = "there is no script"
        raise FormatError(msg, path=path, hint="a scripted bot answers from this file: [[reply]] with when and text")
    try:
        return Script(_replies(file.values), draw=file.values.get("draw", "deck"), path=path)
    except ReplyError as error:
        place = error.at if error.number is None else ("reply", error.number, *error.at)
        raise FormatError(error.what, path=path, line=file.line(place), hint=error.hint) from None


def _replies(table: dict[str, Any]) -> Iterator[ScriptedReply]:
    _known(table, _OF_SCRIPT, "a script")
    replies = table.get("reply")
    if not isinstance(replies, list) or not replies or not all(isinstance(reply, dict) for reply in replies):
        msg = "a script needs at least one [[reply]]"
        raise ReplyError(msg, at=("reply",))
    for number, reply in enumerate(replies):
        try:
            yield _reply(reply)
        except ReplyError as error:
            error.number = number
            raise


def _reply(table: dict[str, Any]) -> ScriptedReply:
    _known(table, _OF_REPLY, "a reply")
    calls = table.get("calls")
    for number, call in enumerate(calls if isinstance(calls, list) else ()):
        _known(call, _OF_CALL, "a call", ("calls", number))
    return ScriptedReply(**{key: _value(key, value) for key, value in table.items()})


def _value(key: str, value: Any) -> Any:
    """`value` as `ScriptedReply` takes it: durations in seconds, usage as `Usage`."""
    if key in _DURATIONS and isinstance(value, str):
        return _seconds(key, value)
    if key == "usage" and isinstance(value, dict):
        _known(value, _OF_USAGE, "usage", ("usage",))
        return Usage(**value)
    return value


def _seconds(key: str, value: str) -> float:
    try:
        return seconds(value)
    except UnfitError as error:
        msg = f"{key} {error.text}, not {value!r}"
    raise ReplyError(msg, at=(key,))


def _known(table: Any, known: Sequence[str], what: str, within: tuple[str | int, ...] = ()) -> None:
    """Raise `ReplyError` for a key that `what` does not have, naming the nearest that it has."""
    for key in table if isinstance(table, dict) else ():
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"its keys: {', '.join(known)}"
            msg = f"{what} has no key {key!r}"
            raise ReplyError(msg, at=(*within, key), hint=hint)
