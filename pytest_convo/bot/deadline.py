"""The time limit of a run, and what does not count against it: waiting until one may ask at all."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from ..errors import RunTimeout

if TYPE_CHECKING:
    import asyncio

_clock: ContextVar[_Clock | None] = ContextVar("clock", default=None)


class _Clock:
    """A time limit that can be stopped, by several at once; it goes on with the last of them."""

    def __init__(self, limit: asyncio.Timeout) -> None:
        self._limit = limit
        self._stopped = 0
        self._left = 0.0
        self.ended = False

    def stop(self) -> None:
        self._stopped += 1
        until = self._limit.when()
        if self._stopped == 1 and until is not None and not self._over:
            self._left = until - _now()
            self._limit.reschedule(None)

    def go_on(self) -> None:
        self._stopped -= 1
        if not self._stopped and not self._over:
            self._limit.reschedule(_now() + self._left)

    @property
    def _over(self) -> bool:
        """Whether the limit is past changing."""
        return self.ended or self._limit.expired()


@asynccontextmanager
async def within(seconds: float, what: str = "the run") -> AsyncIterator[None]:
    """Raise `RunTimeout` where the block takes longer, not counting the waits at the gate of a model."""
    import asyncio

    try:
        async with asyncio.timeout(seconds) as limit:
            with limited(limit):
                yield
    except TimeoutError as error:
        if not limit.expired():
            raise  # somebody else's
        msg = f"{what} did not end within {seconds:g} s"
        raise RunTimeout(msg, hint="raise `timeout` in convo.toml if the bot needs longer") from error


@contextmanager
def limited(limit: asyncio.Timeout) -> Iterator[None]:
    """Make `limit`, which has been entered, the one that `untimed` stops in the block and in tasks that it starts."""
    clock = _Clock(limit)
    token = _clock.set(clock)
    try:
        yield
    finally:
        clock.ended = True
        _clock.reset(token)


@contextmanager
def untimed() -> Iterator[None]:
    """The time that the block takes does not count against the limit around it, if there is one."""
    clock = _clock.get()
    if clock is None:
        yield
        return
    clock.stop()
    try:
        yield
    finally:
        clock.go_on()


def _now() -> float:
    from asyncio import get_running_loop

    return get_running_loop().time()
