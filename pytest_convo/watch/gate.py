"""The gate of a session that somebody watches: each tool's result waits until the watcher has heard yes or no."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from concurrent.futures import Future

from .channel import Note


class Gate:
    """Asks the watcher from the engine's loop; the answer comes from another thread."""

    def __init__(self, tell: Callable[[Note], None]) -> None:
        self._tell = tell
        self._count = itertools.count()
        self._asked: dict[int, Future[bool]] = {}

    async def ask(self, name: str, arguments: str, result: str) -> bool:
        """Whether the result may be sent."""
        call, answer = next(self._count), Future[bool]()
        self._asked[call] = answer
        self._tell({"kind": "gate", "call": call, "name": name, "arguments": arguments, "result": result})
        try:
            return await asyncio.wrap_future(answer)
        finally:
            del self._asked[call]
            self._tell({"kind": "gone", "call": call})

    def decide(self, call: int, *, send: bool) -> None:
        """Somebody has decided; too late where the run was cancelled meanwhile."""
        answer = self._asked.get(call)
        if answer is not None and answer.set_running_or_notify_cancel():
            answer.set_result(send)
