"""When what a sandbox stands on goes away, or was never there: an error that says so, soon, and nothing left behind."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
import time
from pathlib import Path

from ...errors import SandboxDied, SandboxError, SandboxUnavailable
from . import orphan
from .backend import Backend
from .case import Cases
from .seen import LONG, SOON, assert_works, eventually, raised

CASES = Cases()

STILL = 2.0
"""Seconds without a beat, of which there should be five a second, after which a heart has stopped."""


@CASES.add(34, "end", of_image=False)
def sandbox_dies(backend: Backend) -> None:
    """A sandbox that goes away while a command runs is SandboxDied, then and ever after; never a result."""
    sandbox = backend.open()
    assert backend.end is not None
    timer = threading.Timer(1, backend.end, (sandbox,))
    timer.start()
    began = time.monotonic()
    raised(SandboxDied, lambda: sandbox.execute(f"echo part; sleep {LONG}", 2 * SOON))
    assert time.monotonic() - began < SOON
    timer.join()
    raised(SandboxDied, lambda: sandbox.execute("true"))
    raised(SandboxDied, lambda: sandbox.read_file("/etc/passwd"))


@CASES.add(35, "isolation", of_image=False)
def process_is_killed(backend: Backend) -> None:
    """When the process that opened it is killed by SIGKILL, a sandbox ends by itself, and all that runs in it."""
    folder = backend.folder()
    # What the other process leaves is below a directory of this case's own, which is removed with it: no path that
    # was read from a process is ever removed, as one that says nothing would name the working directory.
    place = backend.folder()
    given = pickle.dumps((backend.make, backend.spec, folder))
    command = [sys.executable, "-m", orphan.__name__]
    variables = {**os.environ, "TMPDIR": str(place)}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=variables) as process:  # noqa: S603
        assert process.stdin and process.stdout  # noqa: PT018
        process.stdin.write(given)
        process.stdin.close()
        said = process.stdout.readline().decode().strip()
        process.kill()
    assert said, "the other process opened no sandbox; its error output says why"
    beats = Path(said) / "beats"
    assert beats.exists(), f"nothing ran in the sandbox of the other process ({said})"
    assert eventually(lambda: time.time() - beats.stat().st_mtime > STILL, SOON), "it runs on"


@CASES.add(36, "images", of_image=False)
def missing_image(backend: Backend) -> None:
    """An image that cannot be had is SandboxUnavailable, and is named."""
    image = "localhost:1/absent:1"  # nothing listens there: it is refused at once, without a network as well
    error = raised(SandboxUnavailable, lambda: backend.open(image=image))
    assert image in str(error), error


@CASES.add(37, "unreachable", of_image=False)
def no_engine(backend: Backend) -> None:
    """Without an engine, what was tried is said in one line, soon; and it is SandboxUnavailable."""
    assert backend.unreachable is not None
    with backend.unreachable() as environment:
        began = time.monotonic()
        reason = environment.available()
        assert time.monotonic() - began < SOON
        assert reason, "it is said to be available"
        assert "\n" not in reason, reason
        raised(SandboxUnavailable, lambda: environment.open(environment.prepare(backend.spec)))


@CASES.add(42, "restart", of_image=False)
def engine_is_restarted(backend: Backend) -> None:
    """An engine that is restarted in the middle is an error, and no hang; a new sandbox can be opened afterwards."""
    assert backend.restart is not None
    sandbox = backend.open()
    timer = threading.Timer(1, backend.restart)
    timer.start()
    began = time.monotonic()
    raised(SandboxError, lambda: sandbox.execute(f"sleep {LONG}", 4 * SOON))
    assert time.monotonic() - began < 4 * SOON
    timer.join()
    sandbox.close()
    assert_works(backend.open())
