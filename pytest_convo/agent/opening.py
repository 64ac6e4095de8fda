"""What takes a while to be opened, opened beside the event loop: nothing is left open where nobody waits any more."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Protocol, TypeVar

from ..bot.threads import in_thread


class Closable(Protocol):
    def close(self) -> None: ...


C = TypeVar("C", bound=Closable)


async def opened(open_it: Callable[[], C]) -> C:
    """What `open_it` gives, from a thread; if this is cancelled, it is closed as soon as it has come."""
    opening = asyncio.ensure_future(in_thread(open_it, name="open"))
    try:
        return await asyncio.shield(opening)
    except asyncio.CancelledError:
        opening.add_done_callback(_unwanted)
        raise


async def closed(one: Closable) -> None:
    """Close it in a thread, which a cancellation does not hold up."""
    await asyncio.shield(in_thread(one.close, name="close"))


def _unwanted(opening: asyncio.Future[C]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        threading.Thread(target=opening.result().close, name="convo-close", daemon=True).start()
