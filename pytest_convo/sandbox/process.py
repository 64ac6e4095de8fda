"""Commands as processes of this machine: one run with bounded output, and an end to all that bears a mark."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Event, Lock, Thread
from time import monotonic, sleep
from typing import IO

from ..errors import SandboxDied, SandboxError
from .base import Killed
from .output import HeadTail

LINGER = 1.0
"""Seconds for which output is still read when a command has ended: what it left in the background may hold it open."""

LOOK = 0.25
"""Seconds until it is noticed at the latest that another thread wants the command to end."""

PATIENCE = 5.0
"""Seconds in which whatever was killed is gone."""

PIECE = 1 << 16


class Stream:
    """Reads a pipe to its end in a thread: a writer that nobody reads stops, one whose reader has gone is killed."""

    def __init__(self, pipe: IO[bytes], kept: int, written: Callable[[], None]) -> None:
        self.kept = HeadTail(kept)
        self._pipe = pipe
        self._written = written
        self._lock = Lock()
        self._over = False
        self._thread = Thread(target=self._read, name="convo-output", daemon=True)
        self._thread.start()

    def finish(self, deadline: float) -> HeadTail:
        """What was read until its end, or until that time of the monotonic clock; what comes later is not kept."""
        self._thread.join(max(0.0, deadline - monotonic()))
        with self._lock:
            self._over = True
        return self.kept

    def _read(self) -> None:
        with self._pipe:
            while data := os.read(self._pipe.fileno(), PIECE):
                with self._lock:
                    if not self._over:
                        self.kept.add(data)
                self._written()


class Process:
    """A program that runs, in a session of its own, with `data` as its input; each stream keeps `kept` bytes."""

    def __init__(
        self, arguments: Sequence[str], data: bytes, *, cwd: Path, environment: Mapping[str, str], kept: int
    ) -> None:
        self._news = Event()
        self._process = subprocess.Popen(  # noqa: S603
            arguments,
            cwd=cwd,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._process.stdin and self._process.stdout and self._process.stderr  # noqa: PT018
        self._streams = [Stream(pipe, kept, self._news.set) for pipe in (self._process.stdout, self._process.stderr)]
        Thread(target=self._feed, args=(self._process.stdin, data), name="convo-input", daemon=True).start()
        Thread(target=self._await, name="convo-wait", daemon=True).start()

    def run(self, timeout: float, most: int, *, wanted: Callable[[], bool], kill: Callable[[], None]) -> Killed | None:
        """Wait for its end, and bring it about by `kill`: after `timeout` seconds, `most` bytes, or if not `wanted`."""
        deadline = monotonic() + timeout
        killed: Killed | None = None
        while self._process.poll() is None:
            if killed is None:
                self._news.wait(min(LOOK, max(0.0, deadline - monotonic())))
                self._news.clear()
                killed = self._reason(deadline, most, wanted=wanted())
            if killed is not None:
                with suppress(ProcessLookupError):
                    os.killpg(self._process.pid, signal.SIGKILL)
                kill()
                self._await(PATIENCE)
        return killed

    def ended(self) -> tuple[int, HeadTail, HeadTail]:
        """Its return code, 128 and the number of the signal that ended it, and its two streams."""
        code = self._process.wait()
        deadline = monotonic() + LINGER
        output, error = (stream.finish(deadline) for stream in self._streams)
        return code if code >= 0 else 128 - code, output, error

    def _reason(self, deadline: float, most: int, *, wanted: bool) -> Killed | None:
        if not wanted:
            return "kill"
        if sum(stream.kept.total for stream in self._streams) > most:
            return "output_limit"
        return "timeout" if monotonic() >= deadline else None

    def _feed(self, pipe: IO[bytes], data: bytes) -> None:
        with suppress(BrokenPipeError), pipe:  # it may end without having read all
            pipe.write(data)

    def _await(self, seconds: float | None = None) -> None:
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            msg = f"a command cannot be killed, {seconds:g} s after it was tried"
            raise SandboxDied(msg) from None
        self._news.set()


def kill_marked(mark: str) -> None:
    """Kill every process that has this `NAME=value` among the variables it was started with.

    `SandboxError` where one survives. Processes that were started with an empty environment are not found, nor is any
    where there is no `/proc`.
    """
    deadline = monotonic() + PATIENCE
    while found := _marked(mark.encode()):
        if monotonic() > deadline:
            msg = f"processes of the sandbox cannot be killed: {', '.join(map(str, found))}"
            raise SandboxError(msg)
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        sleep(0.005)


def _marked(mark: bytes) -> list[int]:
    found = []
    for variables in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):  # another user's, or it has just ended
            if mark in variables.read_bytes().split(b"\0"):
                found.append(int(variables.parent.name))
    return found
