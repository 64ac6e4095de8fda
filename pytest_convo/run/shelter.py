"""What a user's code may raise in a run, and what comes of that."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ..errors import HarnessError


@asynccontextmanager
async def sheltered() -> AsyncIterator[None]:
    """Make an error of the run of what a user's code may raise to end a program or a task.

    On the engine's loop a KeyboardInterrupt or a SystemExit would end the loop, and a CancelledError that nobody sent
    would pass for a spared run.
    """
    import asyncio

    try:
        yield
    except Exception:
        raise
    except BaseException as error:
        task = asyncio.current_task()
        if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
            raise
        msg = f"the model, a tool or a check raised {type(error).__name__}: {error}"
        raise HarnessError(msg.rstrip(": ")) from None
