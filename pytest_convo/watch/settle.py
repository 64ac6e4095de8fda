"""When a save is over: editors and git do it in several steps, and nobody says which one is the last.

Pure: time is handed in, and the disk is only asked through `half_done`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .events import LOCK, Hint

QUIET = 0.012
"""Seconds without an event after which a save of a few files is over.

The steps of one save follow within a millisecond or two. This is what a busy machine may put between them, and short
beside the 50 ms that are aimed at from a save to the request.
"""

QUIET_OF_MANY = 0.1
"""The same where more than `FEW` files are touched: `git checkout`, a move, a formatter.

Nobody counts milliseconds there, and between two of several hundred files more of them may pass than within a save.
"""

FEW = 8

UNCLOSED = 0.04
"""Seconds after the last event of a file until it counts as whole, where nobody says that it was closed.

So on macOS and where we look ourselves; and for files that were moved here from elsewhere. Editors have written all of
a file by then.
"""

OPEN = 0.15
"""The same where the system does tell that files are closed, and has not for one that was written to: a slow writer."""

HALF_DONE = 0.15
"""Seconds after the last event of a file that has gone, or is empty, for it to come back.

Editors that write a file anew take a few milliseconds, on a network mount some tens. What was meant to go can wait.
"""

LONGEST = 1.0
"""Seconds from the first event after which a burst is looked at though it goes on: a build, a log."""

LOCKED = 5.0
"""Seconds for which git's lock, which it holds while it writes a work tree, is respected: a crash leaves one behind."""


@dataclass(slots=True)
class _Touched:
    """What is known of a file within a burst."""

    at: float
    waits: float = 0.0
    """Seconds after its last event until it counts as whole."""


class Burst:
    """Events that belong together, until they are looked at.

    `interesting` tells for which files events count: others, such as an answer that grows, hold nobody up.
    """

    def __init__(self, interesting: Callable[[Path], bool] = lambda path: True) -> None:  # noqa: ARG005
        self._interesting = interesting
        self._touched: dict[Path, _Touched] = {}
        self._locks: dict[Path, float] = {}
        self._first = 0.0
        self._last = 0.0
        self._tells_closed = False

    def add(self, hint: Hint) -> None:
        """Take in an event."""
        if hint.path.name == LOCK:
            self._lock(hint)
        elif self._interesting(hint.path):
            if not self._touched:
                self._first = hint.at
            self._last = hint.at
            self._touch(hint)

    def wait(self, now: float, half_done: Callable[[Path], bool]) -> float | None:
        """Seconds until it should be looked at, 0 for now; None where there is nothing to look at.

        `half_done` tells of a file that it has gone or is empty, as in the middle of a save.
        """
        if not self._touched:
            return None
        locked = [at + LOCKED for at in self._locks.values() if at + LOCKED > now]
        latest = max([self._first + LONGEST, *locked])
        if now >= latest:
            return 0.0
        ready = max([self._last + self._quiet, *locked, *(each.at + each.waits for each in self._touched.values())])
        if ready <= now:
            ready = max((self._back(path, half_done) for path in self._young(now)), default=now)
        return max(0.0, min(ready, latest) - now)

    def take(self) -> set[Path]:
        """The paths of all events since the last call, to be looked at."""
        paths = set(self._touched)
        self._touched = {}
        return paths

    @property
    def _quiet(self) -> float:
        return QUIET if len(self._touched) <= FEW else QUIET_OF_MANY

    def _lock(self, hint: Hint) -> None:
        """Git renames its lock to the index when all files are written, or deletes it; their events may come later."""
        if hint.kind in ("deleted", "moved"):
            if self._locks.pop(hint.path, None) is not None:
                self._first = self._last = hint.at
        else:
            self._locks.setdefault(hint.path, hint.at)

    def _touch(self, hint: Hint) -> None:
        file = self._touched.setdefault(hint.path, _Touched(hint.at))
        file.at = hint.at
        if hint.kind == "closed":
            self._tells_closed = True
        if hint.kind in ("closed", "moved", "deleted"):
            file.waits = 0.0
        elif hint.kind == "modified":
            file.waits = OPEN if self._tells_closed else UNCLOSED
        elif hint.kind == "created":
            file.waits = UNCLOSED  # written to next, but for a link or a move from elsewhere

    def _young(self, now: float) -> list[Path]:
        """The files that could still come back."""
        return [path for path, file in self._touched.items() if file.at + HALF_DONE > now]

    def _back(self, path: Path, half_done: Callable[[Path], bool]) -> float:
        """When the file will have come back, at the latest."""
        file = self._touched[path]
        return file.at + HALF_DONE if half_done(path) else 0.0
