"""When a request is sent again, and after how long."""

from __future__ import annotations

import email.utils
import random
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from ..conversation.reply import Reply, Usage
from ..errors import BotFailure, HarnessError, ProviderError
from .deadline import untimed
from .events import tell

T = TypeVar("T")
Sleep = Callable[[float], Awaitable[None]]

TOO_MANY_REQUESTS = 429

_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|us|µs|ns|h|m|s)")


class Gate(Protocol):
    """What every attempt passes before it is sent, and where it is booked when it is over."""

    async def wait(self) -> None:
        """Return when the next attempt may be sent; it is sent at once."""

    def hold(self, seconds: float) -> None:
        """Nobody starts an attempt for so many seconds: a 429 told to one is told to all."""

    def book(self, usage: Usage | None, reply: Reply | None = None) -> None:
        """The attempt is over: `usage` is what it took, None where nobody counted, and `reply` what it gave."""


async def _sleep(seconds: float) -> None:
    from asyncio import sleep

    await sleep(seconds)


async def passed(gate: Gate) -> None:
    """Wait at `gate`, which does not use up the time of a run."""
    with untimed():
        await gate.wait()


class LocalPauses:
    """The `Gate` of those who share one process, and no bill."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic, sleep: Sleep = _sleep) -> None:
        self._clock = clock
        self._sleep = sleep
        self._until = float("-inf")

    async def wait(self) -> None:
        while (left := self._until - self._clock()) > 0:
            await self._sleep(left)

    def hold(self, seconds: float) -> None:
        self._until = max(self._until, self._clock() + seconds)

    def book(self, usage: Usage | None, reply: Reply | None = None) -> None:
        """Nobody counts."""


PROCESS_PAUSES = LocalPauses()
"""For all models of this process that are given no other."""


@dataclass(frozen=True, slots=True)
class Retry:
    """The policy: which errors are tried again, how often, and how long the wait is, in seconds.

    The wait is what the server asks for; where it asks for nothing, `first` doubled at each attempt up to `cap`,
    less up to half of it by chance, so that many who failed together do not come back together. A server that asks
    for more than `longest` is not waited for.
    """

    retries: int = 3
    first: float = 0.5
    cap: float = 8.0
    longest: float = 60.0
    chance: Callable[[], float] = random.random
    """A number from 0 up to 1; that of a seeded `random.Random` makes the waits repeatable."""
    sleep: Sleep = field(default=_sleep, repr=False)

    def delay(self, error: ProviderError, attempt: int) -> float | None:
        """How long to wait after `attempt` (from 1) failed with `error`; None: it is not tried again."""
        if not error.transient or attempt > self.retries:
            return None
        if error.retry_after is not None:
            return error.retry_after if error.retry_after <= self.longest else None
        backoff = min(self.cap, self.first * 2.0 ** min(attempt - 1, 32))
        return backoff * (1 - self.chance() / 2)

    async def run(self, once: Callable[[], Awaitable[T]], gate: Gate) -> tuple[T, int]:
        """The result of `once`, and the number of attempts it took; raises the last attempt's error.

        Only `ProviderError`s that say so are tried again: never a refusal, never a cancellation. A 429 holds up
        everybody who passes `gate`. What `once` took, it books itself.
        """
        attempt = 1
        while True:
            await passed(gate)
            try:
                return await once(), attempt
            except ProviderError as error:
                seconds = self.delay(error, attempt)
                if seconds is None:
                    error.hint = "; ".join(filter(None, (error.hint, self._given_up(error, attempt))))
                    raise
                tell("retry", attempt=attempt, reason=error.what, delay=round(seconds, 3))
                everybody = error.status == TOO_MANY_REQUESTS
            if everybody:
                gate.hold(seconds)
            else:
                await self.sleep(seconds)
            attempt += 1
            tell("request", attempt=attempt)

    def _given_up(self, error: ProviderError, attempt: int) -> str:
        if error.transient and error.retry_after is not None and error.retry_after > self.longest:
            return f"the server asks to wait {error.retry_after:.0f} s, longer than the {self.longest:.0f} s we would"
        return f"given up after {attempt} attempts" if attempt > 1 else ""


async def once_more(make: Callable[[], Awaitable[T]]) -> T:
    """What `make` gives; where that ends in an error that may pass, what it gives the second time."""
    try:
        return await make()
    except HarnessError as error:
        if not error.transient:
            raise
    return await make()


def refusal(error: BaseException) -> Usage | None:
    """What an attempt took that ended in `error`: nothing, where the server answered with it; else nobody knows."""
    answered = error.status is not None if isinstance(error, ProviderError) else isinstance(error, BotFailure)
    return Usage() if answered else None


def retry_after(headers: Mapping[str, str], now: Callable[[], float] = time.time) -> float | None:
    """The seconds that a server asks to wait: `retry-after-ms`, `retry-after` (seconds or a date, RFC 9110 10.2.3), or
    else the reset of the rate limit that is used up (`x-ratelimit-reset-requests: 6m0s`, and `-tokens`).

    `headers` have lower-case names or do not mind the case. None where nothing usable is said.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    asked = headers.get("retry-after", "")
    if (seconds := _number(asked)) is not None:
        return seconds
    if (date := _date(asked)) is not None:
        return max(0.0, date - now())
    resets = [
        _duration(headers.get(f"x-ratelimit-reset-{limit}", ""))
        for limit in ("requests", "tokens")
        if headers.get(f"x-ratelimit-remaining-{limit}") == "0"
    ]
    return max((reset for reset in resets if reset is not None), default=None)


def _number(text: str | None) -> float | None:
    """A finite number of at least 0, or None."""
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None


def _date(text: str) -> float | None:
    """Seconds since the epoch."""
    try:
        return email.utils.parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):
        return None


def _duration(text: str) -> float | None:
    """Seconds, of a number or of a duration such as `1m2.5s`."""
    parts = _DURATION.findall(text)
    if parts and "".join(number + unit for number, unit in parts) == text:
        return sum(float(number) * _UNITS[unit] for number, unit in parts)
    return _number(text)
