"""A scripted reply as the answer to one request: groups filled in, calls numbered, tokens counted."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..conversation.message import ToolCall
from ..conversation.reply import Usage
from .script_reply import REFERENCE, ScriptedReply

ApiMessages = Sequence[Mapping[str, Any]]
"""Messages as the chat-completions API has them."""

_CODES = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}
_WORD = re.compile(r"\S+\s*|\s+")


@dataclass(frozen=True, slots=True)
class Answer:
    """What is sent back to one request; `reply` says how (error, latency, cut ...)."""

    reply: ScriptedReply
    pieces: tuple[str, ...]
    calls: tuple[ToolCall, ...]
    finish_reason: str
    usage: Usage

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    @property
    def error(self) -> dict[str, Any] | None:
        """The error that is sent instead, as the API words it."""
        if self.reply.error is None:
            return None
        return error_body(self.reply.error, self.text or "an error of the script", code=self.reply.code)

    @property
    def error_headers(self) -> dict[str, str]:
        """The headers that come with the error."""
        return {} if self.reply.retry_after is None else {"retry-after": f"{self.reply.retry_after:g}"}


def answer_with(reply: ScriptedReply, match: re.Match[str] | None, messages: ApiMessages) -> Answer:
    """`reply` as the answer to `messages`; `match` is what its `when` found in the last of them."""
    pieces = tuple(_pieces(reply, match))
    calls = tuple(_calls(reply, match, messages))
    return Answer(
        reply=reply,
        pieces=pieces,
        calls=calls,
        finish_reason=reply.finish_reason or ("tool_calls" if calls else "stop"),
        usage=reply.usage or _count(messages, pieces, calls),
    )


def error_body(status: int, message: str, *, code: str | None = None, param: str | None = None) -> dict[str, Any]:
    """An error as the API words it."""
    kind = "rate_limit_error" if status == 429 else "server_error" if status >= 500 else "invalid_request_error"
    error = {"message": message, "type": kind, "param": param, "code": code or _CODES.get(status)}
    return {"error": error}


def last_asked(messages: ApiMessages) -> str:
    """The text of the last user or tool message; empty where there is none."""
    for message in reversed(messages):
        if message["role"] in ("user", "tool"):
            return _text(message)
    return ""


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content or () if isinstance(part.get("text"), str))


def _pieces(reply: ScriptedReply, match: re.Match[str] | None) -> Sequence[str]:
    if isinstance(reply.pieces, Sequence):
        return [_filled(piece, match) for piece in reply.pieces]
    text = _filled(reply.text or "", match)
    if reply.pieces is None:
        return _WORD.findall(text)
    return [text[start : start + reply.pieces] for start in range(0, len(text), reply.pieces)]


def _calls(reply: ScriptedReply, match: re.Match[str] | None, messages: ApiMessages) -> list[ToolCall]:
    """The calls, with ids that are unique in the conversation and the same whenever it is held again."""
    if not reply.calls:
        return []
    first = 1 + sum(len(message.get("tool_calls") or ()) for message in messages)
    calls = []
    for number, call in enumerate(reply.calls, first):
        arguments = _filled(call.get("arguments", {}), match)
        written = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False, default=str)
        calls.append(ToolCall(call.get("id", f"call_{number}"), call["name"], written))
    return calls


def _filled(value: Any, match: re.Match[str] | None) -> Any:
    """`value` with the references in its texts replaced by what the groups of `match` hold."""
    if match is None or not match.re.groups:
        return value
    if isinstance(value, str):
        return REFERENCE.sub(
            lambda reference: match[int(reference[1]) if reference[1] else _group(reference)] or "", value
        )
    if isinstance(value, Mapping):
        return {key: _filled(inner, match) for key, inner in value.items()}
    return [_filled(inner, match) for inner in value] if isinstance(value, list | tuple) else value


def _group(reference: re.Match[str]) -> int | str:
    name = reference[1] or reference[2]
    return int(name) if name.isdecimal() else name


def _count(messages: ApiMessages, pieces: Sequence[str], calls: Sequence[ToolCall]) -> Usage:
    """Words, for want of a tokenizer."""
    prompt = sum(len(_text(message).split()) for message in messages)
    called = sum(1 + len(call.arguments.split()) for call in calls)
    return Usage(prompt, len("".join(pieces).split()) + called)
