"""Scripted answers as the chat-completions API sends them: whole, as a stream of events, and as errors."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..bot.script_answer import Answer
from ..conversation.message import ToolCall
from ..conversation.reply import Usage

DONE = b"data: [DONE]\n\n"
MALFORMED = b'data: {"object": "chat.completion.chunk", "choices": [{"delta": {"content": \n\n'


@dataclass(frozen=True, slots=True)
class Completion:
    """What identifies one reply of the server."""

    id: str
    created: int
    model: str

    def fields(self, kind: str) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}


def encoded(value: Any) -> bytes:
    """JSON as UTF-8; half a surrogate pair, which UTF-8 cannot have, stays the escape that it came as."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace")


def whole(answer: Answer, completion: Completion) -> bytes:
    """The body of a reply that is not streamed."""
    message: dict[str, Any] = {"role": "assistant", "content": answer.text if answer.text or not answer.calls else None}
    if answer.calls:
        message["tool_calls"] = [call.to_api() for call in answer.calls]
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": answer.finish_reason}
    return encoded(
        completion.fields("chat.completion") | {"choices": [choice], "usage": _usage(answer.usage)},
    )


def events(answer: Answer, completion: Completion, *, with_usage: bool) -> list[list[bytes]]:
    """The server-sent events of a streamed reply, as far as the script lets them come, in bursts: one for each piece.

    The role comes with the first piece, and what ends the stream with the last.
    """
    fields = completion.fields("chat.completion.chunk")
    if with_usage:
        fields["usage"] = None
    role, *pieces = (_event(fields, delta) for delta in _deltas(answer))
    if answer.reply.cut is not None:
        return _bursts(role, pieces[: answer.reply.cut], [])
    if answer.reply.malformed:
        return _bursts(role, pieces[: len(answer.pieces) // 2], [MALFORMED, DONE])
    end = [_event(fields, {}, answer.finish_reason)]
    if with_usage:
        end.append(b"data: %b\n\n" % encoded(fields | {"choices": [], "usage": _usage(answer.usage)}))
    return _bursts(role, pieces, [*end, DONE])


def _bursts(role: bytes, pieces: Sequence[bytes], end: Sequence[bytes]) -> list[list[bytes]]:
    bursts = [[piece] for piece in pieces] or [[]]
    bursts[0].insert(0, role)
    bursts[-1].extend(end)
    return bursts


def model_list(names: Sequence[str]) -> bytes:
    """The body of `GET /v1/models`."""
    models = [{"id": name, "object": "model", "created": 0, "owned_by": "pytest-convo"} for name in names]
    return encoded({"object": "list", "data": models})


def _event(fields: Mapping[str, Any], delta: Mapping[str, Any], finish_reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
    return b"data: %b\n\n" % encoded({**fields, "choices": [choice]})


def _deltas(answer: Answer) -> Iterator[dict[str, Any]]:
    """The role, then each piece of text, then each call: its name, and its arguments in two halves."""
    yield {"role": "assistant", "content": "" if answer.pieces or not answer.calls else None}
    for piece in answer.pieces:
        yield {"content": piece}
    for index, call in enumerate(answer.calls):
        yield from _call_deltas(index, call)


def _call_deltas(index: int, call: ToolCall) -> Iterator[dict[str, Any]]:
    opened = call.to_api() | {"function": {"name": call.name, "arguments": ""}}
    yield {"tool_calls": [{"index": index, **opened}]}
    middle = len(call.arguments) // 2
    for half in filter(None, (call.arguments[:middle], call.arguments[middle:])):
        yield {"tool_calls": [{"index": index, "function": {"arguments": half}}]}


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
    }
