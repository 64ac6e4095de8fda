"""Blocking functions beside the event loop, in daemon threads.

`asyncio.to_thread` is no choice: its threads are joined when the interpreter ends, so that one tool that hangs would
hold up Ctrl-C. A thread is made for each call, which costs some 50 microseconds, and ends with it: a call that hangs
takes no place from the others, and nothing is left waiting.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from time import monotonic
from typing import Any, TypeVar

T = TypeVar("T")

_running: dict[threading.Thread, str] = {}


async def in_thread(function: Callable[..., T], *args: Any, name: str | None = None) -> T:
    """`function(*args)` in a daemon thread, with the caller's context variables; its result, or what it raised.

    Cancelling the call leaves the thread behind, under `name` in `running()`, until the function returns.
    """
    import asyncio

    future: Future[T] = Future()
    name = name or name_of(function)
    call = partial(contextvars.copy_context().run, function, *args)
    threading.Thread(target=_serve, args=(future, call, name), name=f"convo-{name}", daemon=True).start()
    return await asyncio.wrap_future(future)


def name_of(function: Callable[..., Any]) -> str:
    """The function's name; of a partial the function's in it, of an object that can be called its class's."""
    while isinstance(function, partial):
        function = function.func
    return str(getattr(function, "__name__", type(function).__name__))


def running(patience: float = 0.0) -> list[str]:
    """The names of the functions that have not returned yet, or not within `patience` seconds; the oldest first."""
    deadline = monotonic() + patience
    for thread in list(_running):
        thread.join(max(0.0, deadline - monotonic()))
    return list(_running.values())


def _serve(future: Future[T], call: Callable[[], T], name: str) -> None:
    if not future.set_running_or_notify_cancel():
        return
    thread = threading.current_thread()
    _running[thread] = name
    try:
        result = call()
    except (SystemExit, StopIteration) as error:
        # The first would end the event loop, the second cannot travel through a future.
        failure = RuntimeError(f"{name} raised {type(error).__name__}: {error}")
        failure.__cause__ = error
        del _running[thread]
        future.set_exception(failure)
    except BaseException as error:
        del _running[thread]
        future.set_exception(error)
    else:
        del _running[thread]  # first: whoever hears of the result may look at once who still runs
        future.set_result(result)
