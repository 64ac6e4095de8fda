"""What stands in the files of a turn: those that are read back as exactly what was said in it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..conversation.document import parse
from ..conversation.encode import Unwritable, encode
from ..conversation.message import Message, ToolCall
from ..conversation.records import message_of
from ..errors import ConvoError
from ..record import dump as yaml
from ..record.digest import plain
from ..redaction import Redactor
from ..secrets.known import MARK
from ..texts import plain as encodable

_BARE_MARK = re.compile(rf"(?<=[\[:,\s])-?{MARK.pattern}(?=[\s,\]}}])")


class Unkept(Exception):
    """Why no file can hold what was said."""


@dataclass(frozen=True, slots=True)
class Pages:
    """The files of a turn: the answer's, of the extension `ext`, and that of the steps to it, where there were any.

    `unkept` says why the steps that there were can be in no file.
    """

    text: str
    ext: str
    answer: bytes
    steps: bytes | None = None
    unkept: str = ""


def pages(messages: Sequence[Message], redactor: Redactor) -> Pages:
    """The files of the turn that `messages` are, the answer last; nothing in them is secret.

    An answer is a text file where it is no more than a text, else a record. Raises `Unkept` where it can be neither.
    """
    *steps, answer = (cleaned(message, redactor) for message in messages)
    ext, data = _answer(answer)
    if not steps:
        return Pages(answer.text, ext, data)
    try:
        return Pages(answer.text, ext, data, _steps(steps))
    except Unkept as error:
        return Pages(answer.text, ext, data, unkept=str(error))


def cleaned(message: Message, redactor: Redactor) -> Message:
    """The message as it may be kept: redacted, and of what JSON has."""
    calls = [[call.id, call.name, call.arguments] for call in message.tool_calls]
    given = [message.content, message.name, calls, message.tool_call_id, message.extra]
    content, name, calls, call_id, extra = redactor.deep(_encodable(plain(given)))
    kept = tuple(ToolCall(id_, called, _quoted(arguments)) for id_, called, arguments in calls)
    return Message(message.role, content, name, kept, call_id, extra)


def _quoted(arguments: str) -> str:
    """The JSON with quotes around each placeholder that has come into the place of a number."""
    if not MARK.search(arguments) or _is_json(arguments):
        return arguments
    quoted = _BARE_MARK.sub(r'"\1"', arguments)
    return quoted if _is_json(quoted) else arguments


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _encodable(value: Any) -> Any:
    """The value with every text in it as a file can hold it."""
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, dict):
        return {encodable(key): _encodable(inner) for key, inner in value.items()}
    return [_encodable(inner) for inner in value] if isinstance(value, list) else value


def _answer(message: Message) -> tuple[str, bytes]:
    """The extension and the content of the answer's file."""
    if message == Message("assistant", message.content) and isinstance(message.content, str):
        try:
            return "md", encode(message.content)
        except Unwritable:  # NUL, which a record can have as an escape
            pass
    record = _record(message)
    return "yaml", _verified(record, lambda value: message_of({**value, "role": message.role}) == message)


def _steps(messages: Sequence[Message]) -> bytes:
    """The content of the file of the steps."""
    records = [{"role": message.role, **_record(message)} for message in messages]
    return _verified(records, lambda value: list(map(message_of, value)) == list(messages))


def _record(message: Message) -> dict[str, Any]:
    """The message as a record: the fields that it has, without its role."""
    value = {
        "content": message.content,
        "name": message.name,
        "tool_calls": [_call(call) for call in message.tool_calls] or None,
        "tool_call_id": message.tool_call_id,
        "extra": dict(message.extra) or None,
    }
    return {key: inner for key, inner in value.items() if inner is not None}


def _call(call: ToolCall) -> dict[str, Any]:
    return {"id": call.id, "name": call.name, "arguments": _arguments(call.arguments)}


def _arguments(text: str) -> Any:
    """The arguments as a mapping, where that is read back as exactly this text; else the text."""
    try:
        value = json.loads(text)
        is_same = isinstance(value, dict) and json.dumps(value, ensure_ascii=False, allow_nan=False) == text
        return value if is_same and yaml.dump(value) is not None else text
    except (ValueError, RecursionError, yaml.Unwritable):
        return text


def _verified(value: Any, is_read_back: Callable[[Any], bool]) -> bytes:
    """The YAML of a value; `Unkept` where it would not be read back as what it is of."""
    try:
        for text in _written(value):
            document = parse(text.removesuffix("\n"), "yaml", "the record")  # as a file is read
            if document.value == value and is_read_back(document.value):
                return text.encode()
    except (yaml.Unwritable, ConvoError) as error:
        raise Unkept(_why(error)) from None
    msg = "it would not be read back as it was said"
    raise Unkept(msg)


def _written(value: Any) -> Iterator[str]:
    """The YAML of a value; once more with a newline that is not content, for a text that ends in some."""
    text = yaml.dump(value)
    yield text
    yield f"{text}\n"


def _why(error: Exception) -> str:
    if not isinstance(error, ConvoError):
        return "it holds what YAML cannot"
    return str(getattr(error, "errors", (error,))[0].what)
