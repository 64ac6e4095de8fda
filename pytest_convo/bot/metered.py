"""A model whose calls are counted, paid and held back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from ..conversation.reply import Reply
from ..prompt.request import Request
from .model import ChatModel
from .price import UNKNOWN, Prices
from .retry import Gate, passed, refusal


@dataclass(frozen=True, slots=True)
class Terms:
    """On which terms a bot may be asked. Limits of a minute are shared by all who ask the same `server`.

    `server` is an address with the name of its key's variable; what one key may do, another need not.
    """

    server: str = ""
    prices: Prices = UNKNOWN
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None


class Meter(Protocol):
    """What a whole session shares: its caps, its limits and its bill."""

    def call(self, request: Request, terms: Terms) -> Gate:
        """The gate for all attempts at this one request."""


@runtime_checkable
class ManyAttempts(Protocol):
    """A model that may send one request several times."""

    async def complete_through(self, request: Request, stream: Callable[[str], None] | None, gate: Gate) -> Reply:
        """As `complete`, with every attempt passing `gate`."""


class MeteredModel:
    """A `ChatModel` around another: every attempt is admitted by `meter` before it is sent, and booked after it."""

    def __init__(self, inner: ChatModel, meter: Meter, terms: Terms) -> None:
        self.inner = inner
        self.terms = terms
        self._meter = meter

    async def complete(self, request: Request, stream: Callable[[str], None] | None = None) -> Reply:
        """The inner model's reply; raises `CapReached` where no attempt may be made any more."""
        gate = self._meter.call(request, self.terms)
        if isinstance(self.inner, ManyAttempts):
            return await self.inner.complete_through(request, stream, gate)
        await passed(gate)
        try:
            reply = await self.inner.complete(request, stream)
        except BaseException as error:
            gate.book(refusal(error))
            raise
        if isinstance(reply, Reply):
            gate.book(reply.billed or reply.usage, reply)
        else:
            gate.book(None)  # whoever asked says what is wrong with it
        return reply
