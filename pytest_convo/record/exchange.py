"""One exchange with a model, as a recording has it: what was asked, by digests, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .. import errors
from ..conversation.message import ToolCall
from ..conversation.reply import Reply, Usage
from ..errors import BotFailure
from .digest import Entry, Outline, plain

if TYPE_CHECKING:
    from ..redaction import Redactor

FAILURES: dict[str, type[BotFailure]] = {
    name: kind for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, BotFailure)
}
"""What a model may raise that is a measurement of the bot, by name."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A request that the bot failed at instead of answering: the conversation was too long, a filter refused it."""

    kind: str
    what: str
    hint: str = ""

    @classmethod
    def of(cls, error: BotFailure) -> Failure:
        """What `error` says; one of a user's own class is kept as the nearest of ours."""
        kind = next(base.__name__ for base in type(error).__mro__ if FAILURES.get(base.__name__) is base)
        return cls(kind, error.what, error.hint)

    def error(self) -> BotFailure:
        """The error, to be raised once more."""
        return FAILURES[self.kind](self.what, hint=self.hint)


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request, known by its digest, and what it was answered with."""

    request: str
    outline: Outline
    answer: Reply | Failure
    when: str = ""
    """The time of the answer in UTC, as ISO 8601 has it."""

    def to_value(self) -> dict[str, Any]:
        """The exchange in builtins; what is empty, or as it mostly is, is left out."""
        answer = self.answer
        answered = _of_reply(answer) if isinstance(answer, Reply) else {"error": _of_failure(answer)}
        return {"request": self.request, **_of_outline(self.outline), **answered, "when": self.when}


def cleaned(answer: Reply | Failure, redactor: Redactor) -> Reply | Failure:
    """The answer as it may be kept: redacted, in what JSON has, with its time to the nearest 10 ms."""
    if isinstance(answer, Failure):
        what, hint = redactor.deep([answer.what, answer.hint])
        return replace(answer, what=what, hint=hint)
    calls = [[call.id, call.name, call.arguments] for call in answer.calls]
    given = [answer.text, calls, answer.finish_reason, answer.model, answer.extra]
    text, calls, finish_reason, model, extra = redactor.deep(plain(given))
    return replace(
        answer,
        text=text,
        calls=tuple(ToolCall(*call) for call in calls),
        finish_reason=finish_reason,
        model=model,
        extra=extra,
        seconds=round(float(answer.seconds), 2),
    )


def _of_outline(outline: Outline) -> dict[str, Any]:
    value = {
        "model": outline.model,
        "parameters": dict(outline.parameters),
        "messages": [_of_entry(entry) for entry in outline.messages],
        "tools": dict(outline.tools),
    }
    return {key: inner for key, inner in value.items() if inner not in (None, {}, [])}


def _of_entry(entry: Entry) -> dict[str, str]:
    beside = {"name": entry.name, "tool_call_id": entry.tool_call_id}
    return {entry.role: entry.part, **{key: value for key, value in beside.items() if value is not None}}


def _of_reply(reply: Reply) -> dict[str, Any]:
    told = {
        "text": reply.text,
        "calls": [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in reply.calls],
        "finish_reason": reply.finish_reason,
        "model": reply.model,
        "extra": reply.extra,
    }
    value: dict[str, Any] = {"reply": {key: inner for key, inner in told.items() if inner not in (None, [], {})}}
    value["usage"] = _of_usage(reply.usage)
    if reply.billed != reply.usage:
        value["billed"] = _of_usage(reply.billed)
    if reply.attempts != 1:
        value["attempts"] = reply.attempts
    return {**value, "seconds": reply.seconds}


def _of_usage(usage: Usage | None) -> dict[str, int] | None:
    if usage is None:
        return None
    counts = {"prompt_tokens": int(usage.prompt_tokens), "completion_tokens": int(usage.completion_tokens)}
    return counts | ({"cached_tokens": int(usage.cached_tokens)} if usage.cached_tokens else {})


def _of_failure(failure: Failure) -> dict[str, str]:
    value = {"kind": failure.kind, "what": failure.what, "hint": failure.hint}
    return {key: text for key, text in value.items() if text}
