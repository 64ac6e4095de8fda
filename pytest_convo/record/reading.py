"""An exchange from the plain values of a recording's file, and what to say of one that was edited by hand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..conversation.document import Document, kind, shown
from ..conversation.formats import Place
from ..conversation.message import ToolCall
from ..conversation.names import did_you_mean
from ..conversation.reply import Reply, Usage
from ..errors import FormatError
from .digest import DIGITS, Entry, Outline
from .exchange import FAILURES, Exchange, Failure

HINT = "undo the edit, or record it again with --convo-record=all"

_ASKED = ("request", "model", "parameters", "messages", "tools")
_ANSWERED = ("reply", "error", "usage", "billed", "attempts", "seconds", "when")
_REPLY = ("text", "calls", "finish_reason", "model", "extra")
_TOKENS = ("prompt_tokens", "completion_tokens", "cached_tokens")
_DIGEST = re.compile(rf"[0-9a-f]{{{DIGITS}}}")


class Fields:
    """A mapping in a recording's file, read field by field; what does not fit is a `FormatError` with its line.

    A field that is not there has its default; `known` None stands for any.
    """

    def __init__(self, document: Document, value: Any, place: Place, known: Sequence[str] | None = None) -> None:
        self.document = document
        self.place = place
        if not isinstance(value, Mapping):
            msg = f"must be a mapping, not {kind(value)}"
            raise document.error(msg, place, HINT)
        self.value = value
        for key in value:
            if known is not None and key not in known:
                msg = f"unknown key {shown(key)} in a recording"
                raise document.error(msg, (*place, key), did_you_mean(key, known))

    def wrong(self, what: str, *place: str | int) -> FormatError:
        return self.document.error(what, (*self.place, *place), HINT)

    def get(self, key: str, kinds: type | tuple[type, ...], name: str, default: Any = None) -> Any:
        found = self.value.get(key)
        if found is None:
            return default
        if not isinstance(found, kinds) or isinstance(found, bool):
            msg = f"{key} must be {name}, not {kind(found)}"
            raise self.wrong(msg, key)
        return found

    def text(self, key: str) -> str | None:
        text: str | None = self.get(key, str, "text")
        return text

    def digest(self, key: str) -> str:
        found = self.value.get(key)
        if not isinstance(found, str) or not _DIGEST.fullmatch(found):
            msg = f"{key} must be a digest of {DIGITS} hexadecimal digits, not {shown(found)}"
            raise self.wrong(msg, key)
        return found

    def mapping(self, key: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.get(key, Mapping, "a mapping", {})
        return found

    def within(self, key: str, known: Sequence[str]) -> Fields:
        return Fields(self.document, self.mapping(key), (*self.place, key), known)

    def each(self, key: str, known: Sequence[str] | None = None) -> Iterator[Fields]:
        for number, value in enumerate(self.get(key, list, "a list", ())):
            yield Fields(self.document, value, (*self.place, key, number), known)


def read_exchange(document: Document, value: Any, place: Place) -> Exchange:
    """The exchange that `value`, at `place` in `document`, describes; `FormatError` where it describes none."""
    fields = Fields(document, value, place, (*_ASKED, *_ANSWERED))
    if ("reply" in fields.value) == ("error" in fields.value):
        msg = "an exchange has either a reply or an error"
        raise fields.wrong(msg)
    answer = _failure(fields.within("error", ("kind", "what", "hint"))) if "error" in fields.value else _reply(fields)
    return Exchange(fields.digest("request"), _outline(fields), answer, fields.text("when") or "")


def _outline(fields: Fields) -> Outline:
    tools = fields.mapping("tools")
    named = Fields(fields.document, tools, (*fields.place, "tools"))
    return Outline(
        model=fields.text("model"),
        parameters=fields.mapping("parameters"),
        messages=tuple(map(_entry, fields.each("messages"))),
        tools={name: named.digest(name) for name in tools},
    )


def _entry(fields: Fields) -> Entry:
    roles = [key for key in fields.value if key not in ("name", "tool_call_id")]
    if len(roles) != 1:
        msg = "a message has one role, with the digest of its text"
        raise fields.wrong(msg)
    return Entry(roles[0], fields.digest(roles[0]), fields.text("name"), fields.text("tool_call_id"))


def _failure(fields: Fields) -> Failure:
    found = fields.text("kind") or ""
    if found not in FAILURES:
        msg = f"unknown kind {shown(found)} of an error"
        raise fields.document.error(msg, (*fields.place, "kind"), did_you_mean(found, FAILURES))
    return Failure(found, fields.text("what") or "", fields.text("hint") or "")


def _reply(fields: Fields) -> Reply:
    reply = fields.within("reply", _REPLY)
    usage = _usage(fields, "usage")
    return Reply(
        text=reply.text("text") or "",
        calls=tuple(map(_call, reply.each("calls", ("id", "name", "arguments")))),
        finish_reason=reply.text("finish_reason"),
        usage=usage,
        billed=_usage(fields, "billed") if "billed" in fields.value else usage,
        seconds=float(fields.get("seconds", (int, float), "a number", 0.0)),
        model=reply.text("model"),
        attempts=fields.get("attempts", int, "a whole number", 1),
        extra=reply.mapping("extra"),
    )


def _call(fields: Fields) -> ToolCall:
    name = fields.text("name")
    if not name:
        msg = "a call lacks its name"
        raise fields.wrong(msg)
    return ToolCall(fields.text("id") or "", name, fields.text("arguments") or "")


def _usage(fields: Fields, key: str) -> Usage | None:
    if fields.value.get(key) is None:
        return None
    counts = fields.within(key, _TOKENS)
    return Usage(*(counts.get(name, int, "a whole number", 0) for name in _TOKENS))
