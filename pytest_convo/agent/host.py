"""The sandboxes of one process: each environment made once, each image prepared once, so many open at a time."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ..bot.answer import Idle
from ..errors import SandboxError, SandboxUnavailable
from ..sandbox.environments import named
from .opening import closed, opened

if TYPE_CHECKING:
    from ..sandbox.base import Environment, Sandbox, SandboxSpec

AT_ONCE = 4 * (os.cpu_count() or 1)
"""Sandboxes that a session has open at a time: agents wait for models most of the time, but each has its memory."""


class Host:
    """Opens sandboxes for the runs of one process; made when the first task is collected."""

    def __init__(self, limit: int = AT_ONCE) -> None:
        self._limit = max(1, limit)
        self._places: asyncio.Semaphore | None = None
        self._lock = threading.Lock()
        self._environments: dict[str, Environment] = {}
        self._reasons: dict[str, str | None] = {}
        self._preparing: dict[Hashable, threading.Lock] = {}
        self._prepared: dict[Hashable, SandboxSpec | SandboxError] = {}

    def environment(self, name: str) -> Environment:
        """The environment of that name; `SettingsError` where there is none."""
        with self._lock:
            if name not in self._environments:
                self._environments[name] = named(name)
            return self._environments[name]

    def unavailable(self, name: str) -> str | None:
        """Why an environment cannot be used; None where it can. Looked up once."""
        environment = self.environment(name)
        with self._lock:
            if name not in self._reasons:
                self._reasons[name] = environment.available()
            return self._reasons[name]

    def open(self, name: str, spec: SandboxSpec) -> Sandbox:
        """A new sandbox; blocks. `SandboxUnavailable` where there can be none."""
        if (reason := self.unavailable(name)) is not None:
            raise SandboxUnavailable(reason)
        environment = self.environment(name)
        if "closed" not in environment.capabilities:
            spec = replace(spec, closed=())
        return environment.open(self._ready(name, spec))

    @asynccontextmanager
    async def sandbox(self, name: str, spec: SandboxSpec, idle: Idle) -> AsyncIterator[Sandbox]:
        """A new sandbox for as long as the block runs; `idle` is entered while it is waited for."""
        if self._places is None:  # of the engine's loop, and there is one engine in a process
            self._places = asyncio.Semaphore(self._limit)
        async with idle():
            await self._places.acquire()
            try:
                sandbox = await opened(partial(self.open, name, spec))
            except BaseException:
                self._places.release()
                raise
        try:
            yield sandbox
        finally:
            try:
                await closed(sandbox)
            finally:  # no earlier: until then there are as many as may be
                self._places.release()

    def _ready(self, name: str, spec: SandboxSpec) -> SandboxSpec:
        """The spec with its image at hand; who wants the same meanwhile waits, and is told of the same error."""
        tools = tuple(tool.path or tool.name for tool in spec.tools)
        key = (name, spec.image, spec.build, tools, spec.user, spec.hardened)
        with self._lock:
            lock = self._preparing.setdefault(key, threading.Lock())
        with lock:
            if key not in self._prepared:
                self._prepared[key] = _attempt(partial(self.environment(name).prepare, spec))
        found = self._prepared[key]
        if isinstance(found, SandboxError):
            raise found.with_traceback(None)
        return replace(spec, image=found.image, build=None, user=found.user)

    def close(self) -> None:
        """End every sandbox that is still there."""
        for environment in self._environments.values():
            environment.close()


def _attempt(prepare: Callable[[], SandboxSpec]) -> SandboxSpec | SandboxError:
    """What came of it: an image that cannot be had is not asked for once more by every run."""
    try:
        return prepare()
    except SandboxError as error:
        return error
