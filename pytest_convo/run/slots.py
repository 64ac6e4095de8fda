"""The limit on what is in flight: K slots, and the earliest who waits goes first."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio

Rank = tuple[int, ...]


class Slots:
    """K slots, to be used on one event loop only.

    `on_free` is called when a slot is free that nobody waits for: the time to start something new.
    """

    def __init__(self, limit: int, on_free: Callable[[], None] = lambda: None) -> None:
        self.limit = limit
        self.free = limit
        self._on_free = on_free
        self._waiting: list[tuple[Rank, int, asyncio.Future[None]]] = []
        self._count = itertools.count()

    def take(self) -> bool:
        """Take a slot at once, if one is free."""
        if self.free < 1:
            return False
        self.free -= 1
        return True

    async def acquire(self, rank: Rank) -> None:
        """Wait for a slot; of those who wait, the lowest `rank` is served first."""
        import asyncio

        if self.take():
            return
        ready = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (rank, next(self._count), ready))
        try:
            await ready
        except asyncio.CancelledError:
            if ready.done() and not ready.cancelled():  # served and cancelled in one step of the loop
                self.release()
            raise

    def release(self) -> None:
        """Give a slot back: to the first who waits, else to whatever is new."""
        while self._waiting:
            _, _, ready = heapq.heappop(self._waiting)
            if not ready.done():
                ready.set_result(None)
                return
        self.free += 1
        self._on_free()


class Place:
    """One caller's hold on a slot, which it may lend out for a while; giving up twice is no harm."""

    def __init__(self, slots: Slots, rank: Rank, *, held: bool = False) -> None:
        self.slots = slots
        self.rank = rank
        self.held = held

    async def take(self) -> None:
        """Wait for a slot, unless one is held already."""
        if not self.held:
            await self.slots.acquire(self.rank)
            self.held = True

    def give_up(self) -> None:
        if self.held:
            self.held = False
            self.slots.release()

    @asynccontextmanager
    async def lent(self) -> AsyncIterator[None]:
        """Let others use the slot while the block runs. A block that raises comes out of it without a slot."""
        self.give_up()
        yield
        await self.take()
