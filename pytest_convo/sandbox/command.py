"""One command in a container: what it is given and what it writes, its time, and its end, which Docker has no word for.

Docker cannot end what an exec has started (moby#9098). A second exec can: `kill -KILL -1` reaches all but the first
process of the container. It must not be waited for, and the first one's output must be drained on meanwhile, since an
engine whose streams are full stands still.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from .base import Killed
from .connection import Connection
from .frames import STDOUT, Frames

READY = b"pytest-convo-command-begins"
"""What a command's shell writes before anything else, to stdout: from there on its time runs."""

STARTING = 120.0
"""Seconds that an engine, busy with many containers, may take to start a command at all."""

PATIENCE = 10.0
"""Seconds after the first SIGKILL within which everything must have ended; 3 are usual on a machine under load."""

_KILL_AGAIN = 0.5
_GLANCE = 0.1


class Sink(Protocol):
    """Where what a stream brings is put."""

    def add(self, data: bytes) -> object: ...


class Unkillable(Exception):
    """A command's stream did not end although everything in its container was killed."""


class Command:
    """One command that is about to be run over `connection`, with `data` as its input.

    Its streams go to the sinks `output` and `error`. After `timeout` seconds from its start, after `most` bytes, or
    when `stopped` says so, `kill` is called, which must begin to kill everything in the container and not wait for it.
    """

    def __init__(
        self,
        connection: Connection,
        data: bytes,
        output: Sink,
        error: Sink,
        *,
        timeout: float,
        most: int,
        kill: Callable[[], object],
        stopped: Callable[[], bool],
    ) -> None:
        self.killed: Killed | None = None
        self.started = False
        """Whether its shell ran: where it did not, what is in the sinks are the engine's words."""
        self._connection = connection
        self._unsent = memoryview(data)
        self._output, self._error = output, error
        self._timeout, self._most = timeout, most
        self._kill, self._stopped = kill, stopped
        self._frames = Frames()
        self._opening: bytes | None = b""
        self._bytes = 0
        self._deadline = 0.0
        self._kill_again = 0.0

    def run(self) -> None:
        """Until its stream has ended. Raises `Unkillable` when it does not."""
        self._deadline = time.monotonic() + STARTING
        while True:
            self._end_it_if_due()
            until = self._kill_again if self.killed else self._deadline
            self._connection.wait(min(until, time.monotonic() + _GLANCE), writing=bool(self._unsent))
            self._send()
            chunk = self._receive()
            if chunk == b"":
                break
            for stream, piece in self._frames.feed(chunk or b""):
                self._take(stream, piece)
        if self.killed is None and self._stopped():
            self.killed = "kill"  # who stopped it was quicker to kill it than we to notice
        if self._opening:
            self._output.add(self._opening)

    def _end_it_if_due(self) -> None:
        now = time.monotonic()
        if self.killed is None:
            self.killed = self._reason(now)
            if self.killed is None:
                return
            self._deadline = now + PATIENCE
        elif now >= self._deadline:
            msg = f"what it started survived SIGKILL for {PATIENCE:g} s"
            raise Unkillable(msg)
        if now >= self._kill_again:
            self._kill()
            self._kill_again = time.monotonic() + _KILL_AGAIN

    def _reason(self, now: float) -> Killed | None:
        if self._stopped():
            return "kill"
        if self._bytes > self._most:
            return "output_limit"
        return "timeout" if now >= self._deadline else None

    def _send(self) -> None:
        if self._unsent:
            try:
                self._unsent = self._unsent[self._connection.send(self._unsent) :]
            except (BrokenPipeError, ConnectionResetError):  # it ended without reading all: what it wrote still counts
                self._unsent = memoryview(b"")

    def _receive(self) -> bytes | None:
        try:
            return self._connection.receive()
        except ConnectionResetError:
            return b""

    def _take(self, stream: int, piece: bytes) -> None:
        if stream == STDOUT and self._opening is not None:
            piece = self._without_ready(self._opening + piece)
        if piece:
            self._bytes += len(piece)
            (self._output if stream == STDOUT else self._error).add(piece)

    def _without_ready(self, opening: bytes) -> bytes:
        """What follows the token, once so much of stdout has come that one can tell whether it is there."""
        if len(opening) < len(READY) and READY.startswith(opening):
            self._opening = opening
            return b""
        self._opening = None
        if not opening.startswith(READY):
            return opening
        self.started = True
        if self.killed is None:
            self._deadline = time.monotonic() + self._timeout
        return opening[len(READY) :]
