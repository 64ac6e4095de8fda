"""The processes of a watcher: one is kept parked, one warm behind it, so that an edit need not wait for imports."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from .channel import Listening, Note, said

LULL = 0.25
"""Seconds after a child was taken before others get ready: what has just been saved comes first on a busy machine."""

LOOK = 0.01
"""Seconds between two looks whether a process has ended."""

PIPE = 4096
"""Bytes that a pipe takes in any case, as POSIX has it for one write."""

GRACE = 3.0
"""Seconds that a child has to end by itself when it is interrupted: to cancel calls, and to stop what it started."""


class Child:
    """One process that runs pytest once, and what it says."""

    def __init__(self, environ: Mapping[str, str], desk: Path) -> None:
        self._desk = desk
        orders, self._orders = os.pipe()
        notes, told = os.pipe()
        self._process = subprocess.Popen(  # noqa: S603 ourselves
            [sys.executable, "-m", "pytest_convo.watch.child", str(orders), str(told)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=(orders, told),
            env=environ,
            start_new_session=True,  # Ctrl-C is the watcher's, who tells its children one by one
        )
        os.close(orders)
        os.close(told)
        assert self._process.stdout is not None
        os.set_blocking(self._process.stdout.fileno(), False)
        self.notes = Listening(notes)
        self.modules: frozenset[str] | None = None
        """The files of the user's modules that it has loaded; None until it is parked."""
        self.configured = False
        self._said = bytearray()

    @property
    def output(self) -> int:
        """The file on which it prints."""
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def tell(self, note: Note) -> None:
        """Give it an order; one that is gone is seen to be so by its silence.

        What is long goes through a file: the child may be waiting to be heard itself, and a pipe holds so much.
        """
        line = said(note)
        if len(line) > PIPE:
            path = self._desk / uuid.uuid4().hex
            path.write_bytes(line)
            line = said({"kind": "see", "path": str(path)})
        with suppress(BrokenPipeError):
            os.write(self._orders, line)

    def configure(self, order: Note) -> None:
        """Have it read pytest's arguments, and park."""
        if not self.configured:
            self.configured = True
            self.tell(order)

    def heard(self) -> Iterator[Note]:
        """What it has said since the last time."""
        for note in self.notes.take():
            if note["kind"] == "parked":
                self.modules = frozenset(note["modules"].values())
            yield note

    def read(self) -> bool:
        """Take in what it has printed; whether it may print more."""
        while True:
            try:
                received = os.read(self.output, 1 << 16)
            except BlockingIOError:
                return True
            if not received:
                return False
            self._said += received

    @property
    def printed(self) -> str:
        """All that it has printed and that was read."""
        return self._said.decode(errors="replace")

    @property
    def gone(self) -> bool:
        """Whether the process has ended, be it that others still hold its pipes."""
        if self._process.returncode is not None:
            return True
        return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def interrupt(self) -> None:
        """Have it end as at Ctrl-C."""
        if not self.gone:
            os.kill(self._process.pid, signal.SIGINT)

    def kill(self) -> None:
        """End it at once, and all that it started."""
        if self._process.returncode is None:  # until it is waited for, its number is nobody else's
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def end(self, deadline: float = 0.0) -> None:
        """Wait for its end until `deadline`, by the monotonic clock; what it has left behind ends with it."""
        while not self.gone and time.monotonic() < deadline:
            time.sleep(LOOK)
        self.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self.read()  # the last of what it had to say
        self._process.stdout.close()
        self.notes.close()
        os.close(self._orders)


class Pool:
    """Keeps children ready for a command line: `order` is how they are to be parked, `desk` a directory for papers."""

    def __init__(self, order: Note, environ: Mapping[str, str], desk: Path) -> None:
        self._order = order
        self._environ = dict(environ)
        self._desk = desk
        self._idle: list[Child] = []
        self._fill_at = 0.0

    @property
    def idle(self) -> Sequence[Child]:
        """Those that wait, the readiest first."""
        return self._idle

    def take(self) -> Child:
        """The readiest child, about to be given something to run."""
        child = self._idle.pop(0) if self._idle else Child(self._environ, self._desk)
        child.configure(self._order)
        self._fill_at = time.monotonic() + LULL
        return child

    def fill(self, now: float) -> float | None:
        """Have one parked and one warm; seconds until it is time for that, None where there is nothing to do."""
        if len(self._idle) == 2 and self._idle[0].configured:
            return None
        if now < self._fill_at:
            return self._fill_at - now
        while len(self._idle) < 2:
            self._idle.append(Child(self._environ, self._desk))
        self._idle[0].configure(self._order)
        return None

    def forget(self, files: Collection[str], *, everything: bool = False) -> list[Child]:
        """End those that have loaded what stood in these files before; they are given back to be looked after.

        Which modules one has loaded is known only when it is parked: one on its way there goes, too.
        """
        stale = [
            child
            for child in self._idle
            if child.configured and (everything or child.modules is None or child.modules & set(files))
        ]
        self._idle = [child for child in self._idle if child not in stale]
        for child in stale:
            child.kill()
        if stale:
            self._fill_at = 0.0
        return stale

    def close(self) -> None:
        """End all of them; nothing of the user's runs in one that waits."""
        for child in self._idle:
            child.kill()
        for child in self._idle:
            child.end()
        self._idle = []
