"""The check that a reply is whole, which stands for every turn whether asked for or not."""

from __future__ import annotations

from dataclasses import dataclass

from ..conversation.reply import Reply
from ..texts import visible
from .base import CheckResult, ReplyCheck
from .show import quoted, said

_WHY = {"length": "the token limit was reached", "content_filter": "the provider's content filter stopped it"}


@dataclass(frozen=True, slots=True)
class Whole(ReplyCheck):
    """A whole reply came: not cut off, not a refusal, and not empty, unless the bot called tools instead."""

    name = "whole reply"

    def judge(self, reply: Reply) -> CheckResult:
        if not reply.whole:
            return CheckResult.failed(_cut_off(reply), said(reply.text))
        return _something(reply)


@dataclass(frozen=True, slots=True)
class Finish(ReplyCheck):
    """The reply ended for one of these reasons, as the server reports them; it replaces `Whole` where it stands."""

    reasons: tuple[str, ...]
    name = "finish_reason"

    def judge(self, reply: Reply) -> CheckResult:
        if reply.finish_reason is None:
            return CheckResult.unusable("the server gave no finish reason")
        if reply.finish_reason not in self.reasons:
            expected = " or ".join(quoted(reason) for reason in self.reasons)
            return CheckResult.failed(f'"{reply.finish_reason}", expected {expected}', said(reply.text))
        return _something(reply) if reply.whole else CheckResult.passed()


def _something(reply: Reply) -> CheckResult:
    refusal = reply.extra.get("refusal")
    if isinstance(refusal, str) and refusal:
        return CheckResult.failed(f"the model refused: {quoted(refusal, 300)}")
    if reply.text.strip() or reply.calls:
        return CheckResult.passed()
    return CheckResult.failed(f"the reply is empty (finish_reason {reply.finish_reason!r})")


def _cut_off(reply: Reply) -> str:
    why = _WHY.get(reply.finish_reason or "", "")
    end = f", after {quoted(reply.text[-40:])}" if reply.text else ", before it said anything"
    return f'the reply was cut off: {why} (finish_reason "{visible(reply.finish_reason or "")}"){end}'
