"""Admits every call that a session makes, and books it."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import cached_property
from hashlib import blake2b
from typing import Any

from ..bot.events import tell
from ..bot.metered import Terms
from ..bot.price import Tariff
from ..bot.retry import Sleep
from ..conversation.reply import Reply, Usage
from ..errors import CapReached
from ..prompt.request import Request
from .ledger import Ledger
from .pace import Pace
from .spending import NO_CAPS, NOTHING, Caps, Spending, Spent

LOOK = 0.5
"""Seconds after which one who waits looks again, at the latest: others may have taken fewer tokens than was thought."""

PER_TOKEN = 4
"""Bytes of text to a token, about, in English: OpenAI's rule of thumb."""

BYTES_OF_IMAGE = 4000
"""What an image counts for in a guess, however many bytes its address has."""

NAMELESS = "a model without a name"


class Meter:
    """The calls of this process, on the books of the whole session; to be used on one event loop.

    `clock` is one that all processes of the machine share, as `time.monotonic` is since Python 3.5.
    """

    def __init__(
        self,
        ledger: Ledger,
        caps: Caps = NO_CAPS,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.ledger = ledger
        self.spending = Spending(ledger)
        self.caps = caps
        self.clock = clock
        self.sleep = sleep
        self.turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        """Server → whose turn it is: of those in this process who wait, the first is admitted first."""

    def call(self, request: Request, terms: Terms) -> Call:
        """The gate for all attempts at one request."""
        return Call(self, request, terms)


class Call:
    """One request, with all attempts at it: the `Gate` of each."""

    def __init__(self, meter: Meter, request: Request, terms: Terms) -> None:
        self._meter = meter
        self._request = request
        self._terms = terms
        server = _digest(f"{terms.server} {request.model or ''}")
        self._pace = Pace(server, terms.requests_per_minute, terms.tokens_per_minute)
        self._sent = False

    async def wait(self) -> None:
        """Return when the next attempt may be sent, and is on the books; `CapReached` where none may any more."""
        meter = self._meter
        if meter.caps.usd is not None:
            self._require_price()
        async with meter.turns[self._pace.server]:
            await meter.ledger.wait()
            while (left := self._begin()) > 0:
                await meter.sleep(min(left, LOOK))
                await meter.ledger.wait()
        self._sent = True

    def hold(self, seconds: float) -> None:
        """Nobody starts an attempt for so many seconds."""
        self._meter.ledger.hold(seconds)

    def book(self, usage: Usage | None, reply: Reply | None = None) -> None:
        """Enter what the attempt took; without one that was admitted there is nothing to enter."""
        if not self._sent:
            return
        self._sent = False
        model = self._request.model or (reply.model if reply is not None else None) or NAMELESS
        usd = self._usd(usage, reply)
        if usage is None:
            spent = Spent(uncounted=1, guessed_tokens=self._expected, guessed_usd=usd or 0.0)
            self._meter.spending.end(spent)
        else:
            accepted = reply.usage if reply is not None else None
            unpriced = {model: 1} if usd is None else {}
            spent = Spent(billed=usage, accepted=accepted or NOTHING, usd=usd or 0.0, unpriced=unpriced)
            self._meter.spending.end(spent, self._pace, usage.total_tokens - self._expected)
        tell("spent", model=model, usage=_told(usage), usd=None if usage is None or usd is None else round(usd, 9))

    def _begin(self) -> float:
        meter = self._meter
        return meter.spending.begin(meter.caps, self._pace, meter.clock(), self._expected)

    def _require_price(self) -> None:
        if self._price(None) is None:
            msg = f"no price is known for {self._request.model or NAMELESS}, and --convo-max-usd cannot hold without"
            hint = "set input and output in [bot.price], or [judge.price], in US dollars per million tokens"
            raise CapReached(msg, hint=hint)

    def _price(self, reply: Reply | None) -> Tariff | None:
        return self._terms.prices.of(reply.model if reply is not None else None, self._request.model)

    def _usd(self, usage: Usage | None, reply: Reply | None) -> float | None:
        """What the attempt cost, or where nobody counted, about; None where no price is known."""
        if usage == NOTHING:
            return 0.0
        price = self._price(reply)
        return None if price is None else price.cost(Usage(self._expected) if usage is None else usage)

    @cached_property
    def _expected(self) -> int:
        """Tokens that an attempt will take, about; 0 where nobody wants to know."""
        wanted = self._pace.tokens is not None or self._meter.caps.any
        return _size(self._request.body()) // PER_TOKEN + 1 if wanted else 0


def _digest(server: str) -> str:
    """A name for the ledger, which is a file: an address may hold a password."""
    return blake2b(server.encode(), digest_size=8).hexdigest()


def _size(value: Any) -> int:
    """Bytes of the texts in a value of JSON."""
    if isinstance(value, str):
        return BYTES_OF_IMAGE if value.startswith("data:") else len(value.encode(errors="replace"))
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return sum(map(_size, inner))


def _told(usage: Usage | None) -> dict[str, int] | None:
    if usage is None:
        return None
    prompt, completion, cached = usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens
    return {"prompt_tokens": prompt, "completion_tokens": completion, "cached_tokens": cached}
