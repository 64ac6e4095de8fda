"""What a snapshot keeps of a transcript: who said what, who called what with what. No ids, no times, no figures."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any

from ..check.approved import MODES, alike
from ..check.values import same
from ..conversation.document import parse
from ..conversation.message import Message, ToolCall
from ..conversation.names import did_you_mean
from ..conversation.records import message_of
from ..conversation.reply import Reply
from ..conversation.transcript import Transcript
from ..errors import ConvoError, FormatError
from ..record.dump import Unwritable, dump
from ..texts import plain

Alike = Callable[[str, str], bool]
"""Whether a text that was said may stand for the one in the snapshot, which comes first."""

Portrait = dict[str, Any] | list[dict[str, Any]]
"""Builtins that YAML can hold: a message, or several."""


def portrait(said: object) -> Portrait:
    """What is kept of a transcript, a reply, a message, a list of messages, or a text; `ConvoError` for all else.

    A call's arguments are a value with its keys sorted, or their text where that is not JSON. The result of a tool
    names the call that it belongs to by its number among all calls.
    """
    if isinstance(said, str):
        return {"text": plain(said)}
    if isinstance(said, Transcript):
        return list(_messages(said.messages))
    if isinstance(said, Reply | Message | Mapping):
        return next(_messages([said]))
    if isinstance(said, list | tuple) and all(isinstance(one, Reply | Message | Mapping) for one in said):
        return list(_messages(said))
    msg = f"a snapshot is taken of what was said, not of {type(said).__name__!r}"
    raise ConvoError(msg, hint="compare a transcript, a reply, a message, a list of messages, or a text")


def write(portrait: Portrait) -> str:
    """The YAML text of a portrait; `ConvoError` where there is none."""
    try:
        return dump(portrait) or "[]\n"
    except Unwritable:
        msg = "a message holds what no snapshot can: numbers that are none, or values far too deep"
        raise ConvoError(msg) from None


def read(text: str) -> Any:
    """The portrait that a snapshot holds; None for a text that is none."""
    try:
        return parse(text, "yaml", "").value
    except FormatError:
        return None


def matches(kept: Any, said: Any, like: Alike | None = None) -> bool:
    """Whether two portraits are the same, where `like` is given but for texts that are alike by it."""
    if like is not None and isinstance(kept, list) and isinstance(said, list):
        return len(kept) == len(said) and all(matches(*pair, like) for pair in zip(kept, said, strict=True))
    if like is not None and isinstance(kept, dict) and isinstance(said, dict):
        text, other = kept.get("text"), said.get("text")
        if isinstance(text, str) and isinstance(other, str) and (text == other or like(text, other)):
            return same({**kept, "text": ""}, {**said, "text": ""})
    return same(kept, said)


def equivalence(given: str | Alike) -> Alike:
    """The function that `alike` names, or is; `ConvoError` for another word."""
    if callable(given):
        return given
    known = next((mode for mode in MODES if mode == given), None)
    if known is None:
        msg = f"alike={given!r} is no equivalence"
        raise ConvoError(msg, hint=f"{did_you_mean(str(given), MODES)}; or a function of two texts")
    return lambda text, other: alike(known, text, other)


def _messages(messages: Iterable[Message | Reply | Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    numbers: dict[str, int] = {}
    following = count(1)
    for message in map(_message, messages):
        yield dict(_fields(message, numbers))
        numbers |= {call.id: next(following) for call in message.tool_calls}


def _message(one: Message | Reply | Mapping[str, Any]) -> Message:
    if isinstance(one, Reply):
        return one.to_message()
    return one if isinstance(one, Message) else message_of(one)


def _fields(message: Message, numbers: Mapping[str, int]) -> Iterator[tuple[str, Any]]:
    yield "role", message.role
    if message.name is not None:
        yield "name", plain(message.name)
    if message.tool_call_id is not None:
        yield "call", numbers.get(message.tool_call_id)
    if isinstance(message.content, str):
        yield "text", plain(message.content)
    elif message.content is not None:
        yield "parts", message.content
    if message.tool_calls:
        yield "calls", _calls(message.tool_calls)


def _calls(calls: Sequence[ToolCall]) -> list[dict[str, Any]]:
    return [{"name": plain(call.name), "arguments": _arguments(call)} for call in calls]


def _arguments(call: ToolCall) -> Any:
    try:
        value = json.loads(json.dumps(call.parsed(), sort_keys=True))
        dump([value], pad=" " * 8)
    except (ValueError, RecursionError, Unwritable):
        return plain(call.arguments)
    return value
