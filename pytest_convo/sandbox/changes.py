"""What became of a folder: which files are not as they were, and the unified diff.

Only what was touched is read: a file whose mode, size, times and inode are as they were has not been written to. Of a
private copy, what stood in a file before is in the folder that was copied, which is assumed to stay as it is.
"""

from __future__ import annotations

import io
import os
import stat
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from .base import MIB, Change
from .patch import Side, section

TICK = 10_000_000
"""Nanoseconds between two times that a file system gives: Linux's slowest clock ticks a hundred times a second."""

MOST_READ = 4 * MIB
"""Bytes of a file that is shown in a diff; of a larger one it is only said that it changed."""

COMPARED = 1 << 16
"""Bytes of two files that are compared at once."""

NOTE = 100
"""Characters that are kept for the line which says how much of a diff is left out."""

Stat = tuple[int, int, int, int, int]
"""Mode, size, times of modification and of change in nanoseconds, inode."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """The files and links that stand in a folder. Directories are none, nor are pipes and sockets."""

    folder: Path
    original: Path | None
    files: dict[str, Stat]

    @classmethod
    def of(cls, folder: Path, original: Path | None = None) -> Manifest:
        """Of a folder as it is now; of a copy that was just made, with the `original` that has the same contents."""
        files = _scanned(folder)
        newest = max((status[3] for status in files.values()), default=0)
        if 0 <= time.time_ns() - newest < TICK:
            time.sleep(TICK / 1e9)  # so that what is written from now on has another time
        return cls(folder, original, files)

    def changes(self) -> list[Change]:
        """What is not as it was, in the order of paths.

        A file that was only touched is as it was, as far as an original is there to tell. What cannot be read any more,
        for instance below a directory of mode 000, counts as deleted.
        """
        return self._compared(_scanned(self.folder))

    def diff(self, limit: int) -> str:
        """The changes as git writes them, at most `limit` characters: where there is no room for one, it is named.

        Text is UTF-8 without NUL; of other files it is said that they differ, as of all where there is no original. No
        link is followed.
        """
        now = _scanned(self.folder)
        changes = self._compared(now)
        shown: list[str] = []
        room = limit - NOTE
        for place, change in enumerate(changes):
            text = self._section(change, now)
            if len(text) > room:
                text = f"# {change.kind} {change.path!a}: {len(text)} characters are left out\n"
            if len(text) > room:
                shown.append(f"# {len(changes) - place} more files are left out\n")
                break
            shown.append(text)
            room -= len(text)
        return "".join(shown)[: max(limit, 0)]

    def _compared(self, now: dict[str, Stat]) -> list[Change]:
        then = self.files
        return sorted(
            [Change(path, "D") for path in then.keys() - now.keys()]
            + [Change(path, "A") for path in now.keys() - then.keys()]
            + [Change(path, "M") for path in then.keys() & now.keys() if self._modified(path, now[path])]
        )

    def _modified(self, path: str, now: Stat) -> bool:
        then = self.files[path]
        if then == now:
            return False
        return then[:2] != now[:2] or self.original is None or not _same_contents(self.original, self.folder, path)

    def _section(self, change: Change, now: dict[str, Stat]) -> str:
        path = change.path
        before = None if change.kind == "A" else Side(self.files[path][0], _contents(self.original, path))
        after = None if change.kind == "D" else Side(now[path][0], _contents(self.folder, path))
        return section(path, before, after)


def _scanned(folder: Path) -> dict[str, Stat]:
    files: dict[str, Stat] = {}
    pending = [""]
    while pending:
        below = pending.pop()
        for name, status in _listed(f"{folder}/{below}"):
            mode = status.st_mode
            if stat.S_ISDIR(mode):
                pending.append(f"{below}{name}/")
            elif stat.S_ISREG(mode) or stat.S_ISLNK(mode):
                times = status.st_mtime_ns, status.st_ctime_ns
                files[below + name] = (mode, status.st_size, *times, status.st_ino)
    return files


def _listed(directory: str) -> Iterator[tuple[str, os.stat_result]]:
    """What is in a directory; nothing where it may not be read, has gone, or is too deep for a path."""
    try:
        entries = os.scandir(directory)
    except OSError:
        return
    with entries:
        for entry in entries:
            try:
                yield entry.name, entry.stat(follow_symlinks=False)
            except OSError:
                continue  # it has just gone


def _same_contents(one: Path, other: Path, path: str) -> bool:
    """Whether a file or link has the same contents in both folders, and can be read in both."""
    try:
        with _opened(one, path) as first, _opened(other, path) as second:
            while (piece := first.read(COMPARED)) == second.read(COMPARED):
                if not piece:
                    return True
    except OSError:
        pass  # what cannot be read is not known to be the same
    return False


def _contents(folder: Path | None, path: str) -> bytes | None:
    """Of a file or link; None where it cannot be read, or is too large."""
    if folder is None:
        return None
    try:
        with _opened(folder, path) as file:
            data = file.read(MOST_READ + 1)
    except OSError:
        return None
    return data if len(data) <= MOST_READ else None


@contextmanager
def _opened(folder: Path, path: str) -> Iterator[BinaryIO]:
    """A file, or a link's target as one.

    No link is followed, on the way neither: a command that still runs may put one there at any time.
    """
    *parents, name = path.split("/")
    with ExitStack() as stack:
        directory = os.open(folder, os.O_DIRECTORY)
        stack.callback(os.close, directory)
        for parent in parents:
            directory = os.open(parent, os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=directory)
            stack.callback(os.close, directory)
        if stat.S_ISLNK(os.lstat(name, dir_fd=directory).st_mode):
            yield io.BytesIO(os.fsencode(os.readlink(name, dir_fd=directory)))
        else:
            descriptor = os.open(name, os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=directory)
            yield stack.enter_context(os.fdopen(descriptor, "rb"))
