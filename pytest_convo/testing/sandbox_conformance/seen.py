"""What several cases look at: that a sandbox still works, and what runs in it."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from typing import TypeVar

from ...sandbox.base import CommandResult, Sandbox

Error = TypeVar("Error", bound=Exception)

LONG = 600
"""Seconds for which something sleeps that is to be ended before."""

SOON = 45.0
"""Seconds in which a slow machine has done what takes a fast one a moment."""

_SEARCH = """
for list in /proc/[0-9]*/cmdline; do
 line=$(tr '\\0' ' ' <"$list") 2>/dev/null || continue
 case $line in *{head}"{tail}"*) echo "$line";; esac
done
"""


def mark() -> str:
    """A text that stands in no other process's arguments."""
    return f"mark{secrets.token_hex(8)}"


def running(sandbox: Sandbox, marked: str) -> list[str]:
    """The processes among whose arguments the mark is. The mark is cut in two, so that the search finds not itself."""
    result = sandbox.execute(_SEARCH.format(head=marked[:6], tail=marked[6:]), SOON)
    assert result.ok, result
    return result.output.splitlines()


def assert_runs(sandbox: Sandbox, marked: str) -> None:
    assert eventually(lambda: running(sandbox, marked)), "what was started in the background does not run"


def assert_gone(sandbox: Sandbox, marked: str) -> None:
    assert eventually(lambda: not running(sandbox, marked)), f"still runs: {running(sandbox, marked)}"


def assert_works(sandbox: Sandbox) -> None:
    result = sandbox.execute("echo works", SOON)
    assert (result.return_code, result.output) == (0, "works\n"), result


def eventually(holds: Callable[[], object], seconds: float = 10.0) -> bool:
    """Whether something comes to hold in that time."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def raised(kind: type[Error], call: Callable[[], object]) -> Error:
    """The error of that kind which the call raises."""
    try:
        result = call()
    except kind as error:
        return error
    msg = f"{kind.__name__} was expected, and not {result}"
    raise AssertionError(msg)


def assert_timed_out(result: CommandResult) -> None:
    assert (result.return_code, result.timed_out, result.killed) == (124, True, "timeout"), result
    assert result.seconds < SOON, result
