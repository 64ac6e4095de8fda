"""Limits of one reply: max_chars, max_words, max_tokens, max_seconds, max_usd.

A limit itself is allowed. Tokens are those of the completion, as the server counted them over the whole turn; what it
did not count cannot be judged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..conversation.reply import Reply
from ..errors import CheckError
from .base import CheckResult, ReplyCheck
from .show import said

Price = Callable[[Reply], float | None]
"""What a reply cost in US dollars; None where that is not known."""


@dataclass(frozen=True, slots=True)
class Limit(ReplyCheck):
    """What `measure` finds in a reply is at most `most`; it raises `CheckError` where it can measure nothing."""

    name: str
    most: float
    unit: str
    measure: Callable[[Reply], float]

    def judge(self, reply: Reply) -> CheckResult:
        amount = self.measure(reply)
        if amount <= self.most:
            return CheckResult.passed()
        over = f"{_figure(amount)} {self.unit}, at most {_figure(self.most)} are allowed"
        return CheckResult.failed(over, said(reply.text, 300))


def max_chars(most: int) -> Limit:
    """At most so many characters (Unicode code points)."""
    return Limit("max_chars", most, "characters", lambda reply: len(reply.text))


def max_words(most: int) -> Limit:
    """At most so many words: what white space separates."""
    return Limit("max_words", most, "words", lambda reply: len(reply.text.split()))


def max_tokens(most: int) -> Limit:
    """At most so many completion tokens in the turn."""
    return Limit("max_tokens", most, "tokens", _tokens)


def max_seconds(most: float) -> Limit:
    """At most so many seconds spent by the model on the turn."""
    return Limit("max_seconds", most, "seconds", lambda reply: reply.seconds)


def max_usd(most: float, price: Price) -> Limit:
    """At most so many US dollars for the turn."""
    return Limit("max_usd", most, "US dollars", lambda reply: _usd(reply, price))


def no_price(reply: Reply) -> None:
    """The price list of one who has none."""


def _tokens(reply: Reply) -> int:
    if reply.usage is None:
        msg = "the server did not say how many tokens the reply took"
        raise CheckError(msg, hint="max_chars and max_words need no count of the server's")
    return reply.usage.completion_tokens


def _usd(reply: Reply, price: Price) -> float:
    if reply.usage is None:
        msg = "the cost cannot be told: the server did not count tokens"
        raise CheckError(msg, hint="max_chars and max_words need no count of the server's")
    cost = price(reply)
    if cost is None:
        msg = f"the cost cannot be told: no price is known for {_model(reply)}"
        raise CheckError(msg, hint="set input and output in [bot.price], in US dollars per million tokens")
    return cost


def _model(reply: Reply) -> str:
    return f"the model {reply.model!r}" if reply.model else "the model, which the server did not name"


def _figure(amount: float) -> str:
    return f"{amount:,}" if isinstance(amount, int) else f"{amount:,.6g}"
