"""The sessions that the loop starts, each a process of pytest that collects anew, with all that a user has set."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..errors import HarnessError
from ..redaction import Redactor
from ..texts import clip, printable
from .order import VARIABLE, Order, Result

GRACE = 10.0
"""Seconds that a session has to end by itself when it is interrupted."""

_NOT_HANDED_ON = ("GITHUB_STEP_SUMMARY", "PYTEST_CURRENT_TEST")
"""Variables that are meant for the user's own session."""


class TimeIsUp(Exception):
    """The session did not end in time, and was ended."""


def run(order: Order, arguments: Sequence[str], directory: Path, folder: Path, *, until: float | None = None) -> Result:
    """What comes of a session with the user's `arguments`, started in `directory`; its papers are put into `folder`.

    `until` is when it is interrupted, by the monotonic clock: then `TimeIsUp`. `HarnessError` where it ends without a
    word. At Ctrl-C it is given time to end what it has running.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paper, output = folder / "order.json", folder / "output.txt"
    order.save(paper)
    Path(order.result).unlink(missing_ok=True)
    environ: Mapping[str, str] = {
        **{name: value for name, value in os.environ.items() if name not in _NOT_HANDED_ON},
        VARIABLE: str(paper),
    }
    command = [sys.executable, "-m", "pytest", "-p", "pytest_convo.refine.trial", *arguments]
    with (
        output.open("wb") as file,
        subprocess.Popen(  # noqa: S603 the user's own command line
            command,
            cwd=directory,
            env=environ,
            stdin=subprocess.PIPE,
            stdout=file,
            stderr=subprocess.STDOUT,
            process_group=0,  # Ctrl-C is the loop's, which hands it on: pytest takes a second one for impatience
        ) as process,
    ):
        try:
            process.wait(None if until is None else max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            _end(process)
            raise TimeIsUp from None
        except BaseException:
            _end(process)
            raise
    return _result(Path(order.result), output)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Have a session end as at Ctrl-C, and then without asking."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(GRACE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)


def _result(path: Path, output: Path) -> Result:
    if not path.exists():
        said = Redactor.of_environment().text(clip(printable(output.read_text(errors="replace")), 2000))
        msg = f"a session that was to try a prompt out ended without a word:\n{said}"
        raise HarnessError(msg)
    return Result.read(path)
