"""A coroutine for code that is none."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from ..bot.clients import close_clients

T = TypeVar("T")
Make = Callable[[], Coroutine[Any, Any, T]]


def blocking(make: Make[T]) -> T:
    """What the coroutine returns, from an event loop of its own; one that runs here already stands still meanwhile.

    Ctrl-C cancels the coroutine, and waits until it has ended.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(_whole(make))
    return _beside(make)


async def _whole(make: Make[T]) -> T:
    try:
        return await make()
    finally:
        await close_clients()


def _beside(make: Make[T]) -> T:
    """The same in a thread, for there can be but one loop in each."""
    future: Future[T] = Future()
    begun: Future[Callable[[], object]] = Future()

    async def watched() -> T:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        begun.set_result(lambda: loop.call_soon_threadsafe(task.cancel))
        return await _whole(make)

    def serve() -> None:
        try:
            future.set_result(asyncio.run(watched()))
        except BaseException as error:
            future.set_exception(error)

    thread = threading.Thread(target=contextvars.copy_context().run, args=(serve,), name="convo-agent", daemon=True)
    thread.start()
    try:
        return future.result()
    except BaseException:
        with contextlib.suppress(RuntimeError):  # the loop has ended: it was the coroutine that raised
            begun.result()()
        thread.join()
        raise
