"""Which files a watcher takes an interest in, by their names and their places alone."""

from __future__ import annotations

import os
from collections.abc import Collection
from fnmatch import fnmatchcase

from ..conversation.names import is_leftover
from ..layout import RECORDINGS

FOREIGN = frozenset({"node_modules", "venv", "site-packages"})
"""Directories of other people's files, and many of them."""

MADE = frozenset({"__pycache__", RECORDINGS, "__snapshots__"})
"""Directories of what is made by programs. A changed recording is no reason to run: runs are what changes them."""


def is_foreign(directory: str) -> bool:
    """Whether a directory of that name holds many files that are nobody's business."""
    return directory.startswith(".") or directory in FOREIGN


class Interest:
    """Takes an interest in files below its roots, but for leftovers of editors, hidden ones, and what programs make.

    Only what is below a root is judged by its name: a root may well be in a hidden directory, and a file that was
    named as a root is of interest anywhere. `ignores` are patterns, as in pytest's norecursedirs: of a directory's
    name, or of its path where they hold a slash.
    """

    def __init__(self, ignores: Collection[str] = ()) -> None:
        self._names = [pattern for pattern in ignores if os.sep not in pattern]
        self._paths = [pattern for pattern in ignores if os.sep in pattern]
        self._directories: set[str] = set()
        self._files: set[str] = set()
        self._judged: dict[str, bool] = {}

    def add(self, root: str, *, directory: bool) -> None:
        """Take an interest in what is below a directory, or in a file, which need not be there yet."""
        (self._directories if directory else self._files).add(root)
        self._judged.clear()

    def of(self, path: str) -> bool:
        """Whether a file or a directory is of interest."""
        if path in self._files or path in self._directories:
            return True
        above, name = os.path.split(path)
        if is_foreign(name) or name in MADE or name.endswith(".pyc"):
            return False
        return self.within(above) and (not is_leftover(name) or os.path.isdir(path))

    def within(self, directory: str) -> bool:
        """Whether a directory may hold files of interest, as it lies below a root and is not ignored."""
        judged = self._judged.get(directory)
        if judged is None:
            judged = self._judged[directory] = directory in self._directories or self._is_passable(directory)
        return judged

    def _is_passable(self, directory: str) -> bool:
        above, name = os.path.split(directory)
        return (
            above != directory
            and not is_foreign(name)
            and name not in MADE
            and not any(fnmatchcase(name, pattern) for pattern in self._names)
            and not any(fnmatchcase(directory, pattern) for pattern in self._paths)
            and self.within(above)
        )
