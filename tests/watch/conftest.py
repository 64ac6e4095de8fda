"""A watcher as somebody has it in a terminal, in a project made by `convos`: a real process, real files, real keys."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_convo.testing import ScriptedReply, ScriptedServer

GENEROUS = 60.0
"""Seconds after which what was waited for will not come."""

ENDING = 15.0
"""Seconds for a watcher to end; it gives its children a few."""

WATCHER = "CONVO_TEST_WATCHER"
"""The variable by which all that a watcher started is known."""

INTO_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
)
"""A process makes the terminal its own and becomes the watcher, so that Ctrl-C reaches it."""

STEER = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
ENDED = re.compile(
    r"^\d\d:\d\d:\d\d (\S+) (PASSED|FAILED|ERROR|INCONCLUSIVE|skipped|nothing to run|nothing to answer)\b.*\n", re.M
)
EDITED = re.compile(r"^\d\d:\d\d:\d\d (\S+): .*\n", re.M)
STANDING = re.compile(r"^\d\d:\d\d:\d\d watching (\d+)\b(.*)\n", re.M)

TICK = "convos/zz"
"""The conversation that is edited last, so that it is known when everything has been seen."""


class Watching:
    """`pytest --convo-watch` with these arguments, until `end`; without `tty` it has neither a terminal nor keys."""

    def __init__(self, root: Path, *args: str, tty: bool = True, environ: dict[str, str] | None = None) -> None:
        self.root = root
        self.temporary = root / "tmp"
        self.temporary.mkdir(exist_ok=True)
        self._id = uuid.uuid4().hex
        self._master, self._slave = pty.openpty()
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
        self._modes = termios.tcgetattr(self._slave)
        command = ["-m", "pytest", "--convo-watch", *args]
        self.process = subprocess.Popen(
            [sys.executable, "-c", INTO_TERMINAL, *command] if tty else [sys.executable, *command],
            cwd=root,
            stdin=self._slave if tty else subprocess.DEVNULL,
            stdout=self._slave if tty else subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "TMPDIR": str(self.temporary), WATCHER: self._id, "TERM": "xterm", **(environ or {})},
            start_new_session=True,
        )
        self._news = threading.Condition()
        self._received = b""
        self._read_to = 0
        self._ticks = 0
        self._reader = threading.Thread(target=self._read, args=(self.process.stdout or self._master,), daemon=True)
        self._reader.start()

    # -- what it says

    @property
    def said(self) -> str:
        """All that it has said, as text."""
        return STEER.sub("", self._received.decode(errors="replace")).replace("\r\n", "\n")

    @property
    def news(self) -> str:
        """What it has said since what was waited for last."""
        return self.said[self._read_to :]

    def wait_for(self, pattern: str, deadline: float = GENEROUS) -> re.Match[str]:
        """The next place where it says this; what comes before need not be waited for any more."""
        search = re.compile(pattern, re.M).search
        found = self._until(lambda: search(self.said, self._read_to), f"{pattern!r} was not said", deadline)
        self._read_to = found.end()
        return found

    def quiet(self, deadline: float = GENEROUS) -> str:
        """Wait until it says that nothing runs or waits, and nothing was edited since; what it said by then."""
        end = self._until(self._end_of_work, "it has not come to rest", deadline)
        news, self._read_to = self.said[self._read_to : end], end
        return news

    def after(self, edit: Callable[[], object]) -> dict[str, list[str]]:
        """What an edit makes it run: conversation → the words for how it ended, each time it ran."""
        self.quiet()
        edit()
        self.tick()
        return {unit: words for unit, words in self.ended(self.quiet()).items() if unit != TICK}

    def tick(self) -> None:
        """Have it notice one more edit, and so all before it."""
        self._ticks += 1
        before = self._read_to
        (self.root / TICK / "0000_user.md").write_text(f"{self._ticks}?\n")
        self.wait_for(rf"^\S+ {TICK}: .*0000_user.md edited$")
        self._read_to = before
        self._until(lambda: TICK in self.ended(self.said[before:]), "the last edit was not run", GENEROUS)

    @staticmethod
    def ended(text: str) -> dict[str, list[str]]:
        found = defaultdict(list)
        for unit, word in ENDED.findall(text):
            found[unit].append(word)
        return dict(found)

    def _end_of_work(self) -> int | None:
        said = self.said
        last = max(STANDING.finditer(said), key=re.Match.end, default=None)
        if last is None or re.search(r" · (running|waiting) ", last[2]) or EDITED.search(said, last.end()):
            return None
        return last.end()

    def _until(self, found: Callable[[], Any], otherwise: str, deadline: float) -> Any:
        until = time.monotonic() + deadline
        with self._news:
            while not (result := found()):
                left = until - time.monotonic()
                if left <= 0 or self.process.poll() is not None:
                    pytest.fail(f"{otherwise}, but (exit code {self.process.poll()}):\n{self.said}")
                self._news.wait(min(left, 0.5))
        return result

    # -- what is done to it

    def press(self, key: str) -> None:
        os.write(self._master, key.encode())

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def wait(self) -> int:
        """Wait for its end, and see that it has left nothing; its exit code."""
        code = self.process.wait(ENDING)
        modes = termios.tcgetattr(self._slave)
        self._hang_up()
        assert modes == self._modes, f"it left the terminal as it was not, with exit code {code}"
        assert self.processes() == []
        assert [path.name for path in self.temporary.iterdir()] == []
        return code

    def kill(self) -> None:
        """End it so that it cannot clean up."""
        self.process.kill()
        self.process.wait(ENDING)
        self._hang_up()

    def _hang_up(self) -> None:
        os.close(self._slave)
        self._slave = -1
        self._reader.join(ENDING)
        os.close(self._master)
        if self.process.stdout is not None:
            self.process.stdout.close()

    def end(self) -> int:
        """Ask it to end as a service manager would, if it has not ended yet; its exit code."""
        if self._slave < 0:
            return self.process.returncode
        if self.process.poll() is None:
            self.signal(signal.SIGTERM)
        return self.wait()

    def processes(self) -> list[str]:
        """The command lines of all that it has started and that is still there."""
        found = []
        for environ in Path("/proc").glob("[0-9]*/environ"):
            try:
                if f"{WATCHER}={self._id}".encode() in environ.read_bytes().split(b"\0"):
                    found.append(environ.with_name("cmdline").read_bytes().replace(b"\0", b" ").decode())
            except (FileNotFoundError, PermissionError, ProcessLookupError):
                continue  # it has just gone, or is somebody else's
        return found

    def _read(self, source: Any) -> None:
        file = source if isinstance(source, int) else source.fileno()
        while True:
            try:
                received = os.read(file, 1 << 16)
            except OSError:  # the last one has closed the terminal
                received = b""
            with self._news:
                self._received += received
                self._news.notify_all()
            if not received:
                return


@pytest.fixture
def start(convos) -> Iterator[Callable[..., Watching]]:
    """Start watchers of `convos`; their ends are seen to."""
    started: list[Watching] = []

    def start(*args: str, **options: Any) -> Watching:
        started.append(Watching(convos.path, *args, **options))
        return started[-1]

    yield start
    for watching in started:
        print(watching.said)  # for whoever reads of a failure
        watching.end()


@pytest.fixture
def watch(convos, start) -> Callable[..., Watching]:
    """Start watchers of `convos` that have looked at everything, a conversation among it that is edited last."""

    def watch(*args: str, **options: Any) -> Watching:
        convos.say("convos/zz", toml="")
        watching = start(*(args or ["convos"]), **options)
        watching.quiet()
        return watching

    return watch


@pytest.fixture
def serve(convos) -> Iterator[Callable[..., ScriptedServer]]:
    """Start servers with these replies, and write a convo.toml that asks the latest."""
    servers: list[ScriptedServer] = []

    def serve(*replies: ScriptedReply, toml: str = "", script: Any = None, **options: Any) -> ScriptedServer:
        server = ScriptedServer(script or list(replies), **options).start()
        servers.append(server)
        convos.write({"convos/convo.toml": f'{toml}\n[bot]\nmodel = "test"\nbase_url = "{server.url}"\n'})
        return server

    yield serve
    for server in servers:
        server.stop()


@pytest.fixture
def until() -> Callable[[Callable[[], Any]], Any]:
    """Wait for what is seen only by looking again."""

    def until(found: Callable[[], Any], deadline: float = GENEROUS) -> Any:
        end = time.monotonic() + deadline
        while not (result := found()):
            assert time.monotonic() < end, "it has not come"
            time.sleep(0.005)
        return result

    return until
