"""A command's end: by itself, when its time is up, by `kill`, or with an interrupt; and what it left running."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from unittest.mock import patch

from ...errors import SandboxError
from .backend import Backend
from .case import Cases
from .seen import LONG, SOON, assert_gone, assert_runs, assert_timed_out, assert_works, mark, raised, running

CASES = Cases()


@CASES.add(9)
def time_is_up(backend: Backend) -> None:
    """A command that takes too long is killed; what it wrote until then is there."""
    result = backend.sandbox.execute(f"echo part; sleep {LONG}", 1)
    assert_timed_out(result)
    assert result.output == "part\n", result
    assert_works(backend.sandbox)


@CASES.add(10)
def signals_are_ignored(backend: Backend) -> None:
    """Who ignores signals is killed as well."""
    this = mark()
    result = backend.sandbox.execute(f"sh -c 'trap \"\" TERM INT HUP; while :; do sleep 1; done' {this}", 1)
    assert_timed_out(result)
    assert_gone(backend.sandbox, this)


@CASES.add(11)
def busy_loop(backend: Backend) -> None:
    """And who never waits."""
    this = mark()
    assert_timed_out(backend.sandbox.execute(f"sh -c 'while :; do :; done' {this}", 1))
    assert_gone(backend.sandbox, this)


@CASES.add(12)
def sessions_of_their_own(backend: Backend) -> None:
    """When the time is up, what has left its session and its group is killed too, earlier commands' included."""
    earlier, this = mark(), mark()
    waiting = f"sh -c 'sleep {LONG}; :'"
    backend.sandbox.execute(f"setsid {waiting} {earlier} >/dev/null 2>&1 &")
    assert_runs(backend.sandbox, earlier)
    result = backend.sandbox.execute(
        f"setsid {waiting} {this} & (setsid setsid {waiting} {this} &); {waiting} {this}", 1
    )
    assert_timed_out(result)
    assert_gone(backend.sandbox, this)
    assert_gone(backend.sandbox, earlier)


@CASES.add(13)
def background(backend: Backend) -> None:
    """What runs in the background with its output elsewhere does not delay the command, and goes on."""
    sandbox, this = backend.open(), mark()
    result = sandbox.execute(f"sh -c 'sleep {LONG}; :' {this} >/dev/null 2>&1 &")
    assert result.ok, result
    assert result.seconds < SOON, result
    assert_runs(sandbox, this)
    assert running(sandbox, this), "it ended with a later command"


@CASES.add(14)
def background_that_holds_the_output(backend: Backend) -> None:
    """Nor does it delay the command for long when it could still write to the output."""
    result = backend.open().execute(f"sleep {LONG} & echo hi", 2 * SOON)
    assert (result.return_code, result.output) == (0, "hi\n"), result
    assert result.seconds < SOON, result


@CASES.add(38, of_image=False)
def kill_from_another_thread(backend: Backend) -> None:
    """`kill` ends the command that runs, from another thread, and all else; the sandbox stays usable."""
    sandbox, this = backend.open(), mark()
    sandbox.execute(f"setsid sh -c 'sleep {LONG}; :' {this} >/dev/null 2>&1 &")
    timer = threading.Timer(0.7, sandbox.kill)
    timer.start()
    result = sandbox.execute(f"echo part; sleep {LONG}", 2 * SOON)
    timer.join()
    assert (result.return_code, result.killed, result.timed_out) == (137, "kill", False), result
    assert result.seconds < SOON, result
    assert_gone(sandbox, this)
    sandbox.kill()  # with nothing to kill
    assert_works(sandbox)


@CASES.add(41, of_image=False)
def clock_that_jumps(backend: Backend) -> None:
    """Times are measured by a clock that is not set: a day more or less in the middle changes nothing."""
    now, began = time.time, time.monotonic()
    with patch("time.time", lambda: now() + (86_400 if time.monotonic() - began > 0.3 else 0)):
        result = backend.sandbox.execute("sleep 1; echo done", SOON)
    assert (result.output, result.timed_out) == ("done\n", False), result
    assert 0.9 < result.seconds < SOON, result


@CASES.add(46, of_image=False)
def interrupt(backend: Backend) -> None:
    """Ctrl-C ends the command that runs, in the sandbox too."""
    sandbox, this = backend.open(), mark()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT))
    began = time.monotonic()
    try:
        timer.start()
        sandbox.execute(f"sh -c 'sleep {LONG}; :' {this}", 2 * SOON)
    except KeyboardInterrupt:
        pass
    else:
        msg = "the interrupt was swallowed"
        raise AssertionError(msg)
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - began < SOON
    with suppress(SandboxError):  # it may also be of no use any more
        assert_gone(sandbox, this)


@CASES.add(47, of_image=False)
def use_after_close(backend: Backend) -> None:
    """A sandbox that is closed says so, whatever it is asked for; to close it again is no error."""
    sandbox = backend.open()
    sandbox.close()
    sandbox.close()
    uses: list[Callable[[], object]] = [
        lambda: sandbox.execute("true"),
        sandbox.kill,
        lambda: sandbox.read_file("/etc/passwd"),
        lambda: sandbox.write_files({"/tmp/file": (b"", 0o644)}),  # noqa: S108
        sandbox.changes,
        sandbox.diff,
    ]
    for use in uses:
        raised(SandboxError, use)
