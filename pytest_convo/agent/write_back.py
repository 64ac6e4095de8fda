"""What a passing run changed, taken over into the folder that it was a copy of."""

from __future__ import annotations

import fcntl
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ..texts import visible

if TYPE_CHECKING:
    from ..sandbox.base import Change, Sandbox


class WriteBack:
    """Writes into `folder`, once: of several runs that pass the first is taken over."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._before = _state(folder)
        self._lock = threading.Lock()

    def __call__(self, sandbox: Sandbox) -> str:
        """Take over what the sandbox has changed; what came of it, in words."""
        copy = sandbox.workspace
        if copy is None:
            return "nothing was written back: the sandbox's folder cannot be reached from here"
        sandbox.kill()  # what still runs could put a link in the way
        with self._lock, _alone(self.folder):
            if _state(self.folder) != self._before:
                return f"nothing was written back: {self.folder.name}/ is not as it was when the session began"
            changes = sandbox.changes()
            try:
                for change in sorted(changes, key=lambda change: change.kind != "D"):  # a file may become a directory
                    self._take(copy, change)
            except OSError as error:
                return f"not all was written back: {error}"
        told = ", ".join(f"{change.kind} {visible(change.path)}" for change in changes)
        return f"written back: {told}" if told else "nothing was written back: nothing has changed"

    def _take(self, copy: Path, change: Change) -> None:
        source, target = copy / change.path, self.folder / change.path
        if target.is_dir() and not target.is_symlink():  # a directory has become a file: all in it is deleted by now
            _remove_empty(target)
        target.unlink(missing_ok=True)
        if change.kind == "D":
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target, follow_symlinks=False)
        if not target.is_symlink():
            target.chmod(target.stat().st_mode & 0o777)  # no file of an agent's is run with its owner's rights


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One at a time, of workers and sessions too."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)


def _remove_empty(directory: Path) -> None:
    """Remove a directory in which there are only directories; `OSError` where there is more."""
    for inside in directory.iterdir():
        _remove_empty(inside)
    directory.rmdir()


def _state(folder: Path) -> dict[Path, tuple[int, int]]:
    """Size and time of every file."""
    found = ((path, path.lstat()) for path in folder.rglob("*") if not path.is_dir() or path.is_symlink())
    return {path: (status.st_size, status.st_mtime_ns) for path, status in found}
