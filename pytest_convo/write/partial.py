"""`NNNN_assistant.md.partial`: an answer while it is being made, in one process at a time."""

from __future__ import annotations

import fcntl
import os
import stat
from pathlib import Path

from ..errors import ConvoError
from .files import free, give_name, put, told_of, write_all

CUT_OFF = "<!-- pytest-convo: cut off: "
"""How the last line begins that says why an answer is not whole."""


class Partial:
    """A file that is locked for as long as it is open, and ours for as long as nobody else has changed it.

    What was left by a process that died is taken over. The lock is the kernel's, and goes with the process.
    """

    def __init__(self, path: Path) -> None:
        """Open and lock the file; `ConvoError` where another process has it, or it cannot be written."""
        self.path = path
        self._kept = b""
        with told_of(path):
            self._file = _locked(path)

    def take_over(self) -> None:
        """Begin with nothing in it. What somebody may have written by hand is kept beside it, as editors do."""
        with told_of(self.path):
            if (left := self._content()) and CUT_OFF.encode() not in left[left.rstrip().rfind(b"\n") + 1 :]:
                put(free(self.path, "~"), left)
            os.ftruncate(self._file, 0)

    def append(self, data: bytes) -> None:
        """Let it grow, unless somebody has changed it."""
        with told_of(self.path):
            if os.fstat(self._file).st_size == len(self._kept):
                self._write(data)

    def replace(self, data: bytes) -> None:
        """Have it hold `data`, unless somebody has changed it."""
        if data.startswith(self._kept):
            self.append(data[len(self._kept) :])
        elif self.is_ours():
            with told_of(self.path):
                os.ftruncate(self._file, 0)
                self._kept = b""
                self._write(data)

    def is_ours(self) -> bool:
        """Whether it is there and holds what was written here and nothing else."""
        with told_of(self.path):
            return _is_at(self._file, self.path) and self._content() == self._kept

    def name(self, path: Path) -> None:
        """Give it its name; `FileExistsError` where something is there."""
        with told_of(path):
            give_name(self.path, path)

    def remove(self) -> None:
        """Remove it, unless somebody has changed it."""
        if self.is_ours():
            with told_of(self.path):
                self.path.unlink()

    def close(self) -> None:
        """Let others have it."""
        fcntl.flock(self._file, fcntl.LOCK_UN)  # a child that was forked may have it open still
        os.close(self._file)

    def _write(self, data: bytes) -> None:
        try:
            write_all(self._file, data, len(self._kept))
        except OSError:
            os.ftruncate(self._file, len(self._kept))  # a full disk takes the half of it
            raise
        self._kept += data

    def _content(self) -> bytes:
        return os.pread(self._file, os.fstat(self._file).st_size + 1, 0)


def _locked(path: Path) -> int:
    """The file at `path`, made where there is none, open and locked."""
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
        try:
            _lock(file, path)
            if _is_at(file, path):
                return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)  # another process has just given it its name


def _lock(file: int, path: Path) -> None:
    if not stat.S_ISREG(os.fstat(file).st_mode):
        msg = "is not a regular file"
        raise ConvoError(msg, path=path, hint="answers are written there until they are whole: remove it")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        msg = "is being written by another process"
        hint = "the next run goes on from that answer"
        raise ConvoError(msg, path=path.with_suffix(""), hint=hint) from None


def _is_at(file: int, path: Path) -> bool:
    """Whether an open file is the one at `path`."""
    try:
        there = os.lstat(path)
    except FileNotFoundError:
        return False
    return os.path.samestat(there, os.fstat(file))
