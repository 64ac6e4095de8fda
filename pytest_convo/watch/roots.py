"""A directory that is watched, and how: in one piece, or in several around what is nobody's business."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .interest import is_foreign

if TYPE_CHECKING:
    from watchdog.observers.api import ObservedWatch

    from .observer import Observer

MOST_PIECES = 64
"""Each piece has a thread: where there would be more, all is watched in one."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """A directory that the system was asked to watch, with or without what is below it."""

    recursive: bool
    inode: tuple[int, int] | None
    watch: ObservedWatch


@dataclass(slots=True)
class Root:
    """A directory that is watched: with all that is below it, or for the sake of some names in it."""

    path: str
    recursive: bool
    names: set[str]
    observer: Observer
    real: str = ""
    """Where it is when links are followed: there the system watches it, and of there it tells."""
    _pieces: dict[str, _Piece] = field(default_factory=dict)

    @property
    def lost(self) -> bool:
        """Whether there is no such directory any more, as far as is known."""
        return not self._pieces

    def meant(self) -> Iterator[str]:
        """What is to be looked at where events may have been missed."""
        if self.recursive:
            yield self.path
        else:
            yield from (os.path.join(self.path, name) for name in list(self.names))

    def own(self, path: str) -> str | None:
        """A path that the system tells of, as this root has it; None for what is not meant."""
        if self.real != self.path and is_within(path, self.real):
            path = self.path + path[len(self.real) :]
        directory, name = os.path.split(path)
        is_meant = self.covers(path) if self.recursive else directory == self.path and name in self.names
        return path if is_meant or path == self.path else None

    def covers(self, path: str) -> bool:
        """Whether what happens there is told, as it is below this root and not within a foreign directory."""
        if not self.recursive or not is_within(path, self.path):
            return False
        below = path[len(self.path) :].strip(os.sep).split(os.sep)
        return not any(map(is_foreign, below[:-1]))

    def is_piece(self, path: str) -> bool:
        """Whether a directory that comes or goes there changes what is to be watched."""
        here = self.real + path[len(self.path) :]
        above = self._pieces.get(os.path.dirname(here))
        return here in self._pieces or (above is not None and self.recursive and not above.recursive)

    def is_stale(self) -> bool:
        """Whether something is not where it was when it was asked for."""
        if self.lost:
            return self.observer.inode(self.path) is not None
        return os.path.realpath(self.path) != self.real or any(
            self.observer.inode(path) != piece.inode for path, piece in list(self._pieces.items())
        )

    def listen(self) -> list[str]:
        """Have the system watch what is there now, keeping what is watched already; the pieces that are new.

        Raises OSError where it refuses, or where there is no directory; then the root is lost.
        """
        try:
            return self._listen()
        except OSError:
            self.forget()
            raise

    def _listen(self) -> list[str]:
        alive = self.observer.alive
        self.real = os.path.realpath(self.path)
        for path, piece in list(self._pieces.items()):
            is_same = is_within(path, self.real) and self.observer.inode(path) == piece.inode
            if not is_same or piece.watch not in alive:
                del self._pieces[path]
                self.observer.unschedule(piece.watch)
        new = []
        for path, recursive in self._planned().items():
            if path not in self._pieces:
                inode = self.observer.inode(path)
                if inode is None and path != self.real:
                    continue  # it has gone again
                if inode is None:
                    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self.path)
                self._pieces[path] = _Piece(recursive, inode, self.observer.schedule(path, recursive=recursive))
                new.append(self.path + path[len(self.real) :])
        return new

    def move_to(self, observer: Observer) -> None:
        """Be watched by another one from now on; what the one before watched is over."""
        self.observer = observer
        self._pieces.clear()

    def forget(self) -> None:
        """Watch nothing of it any more."""
        while self._pieces:
            self.observer.unschedule(self._pieces.popitem()[1].watch)

    def _planned(self) -> dict[str, bool]:
        """The directories that are to be watched, and whether with all that is below them."""
        if not self.recursive or not self.observer.by_directory:
            return {self.real: self.recursive}
        planned = self._around(self.real)
        return planned if len(planned) <= MOST_PIECES else {self.real: True}

    def _around(self, directory: str) -> dict[str, bool]:
        """The pieces that leave out foreign directories; a directory without any below it is one piece."""
        known = self._pieces.get(directory)
        if known is not None and known.recursive:
            return {directory: True}
        below: dict[str, bool] = {}
        whole = True
        for name in _directories(directory):
            if is_foreign(name):
                whole = False
                continue
            pieces = self._around(os.path.join(directory, name))
            whole = whole and len(pieces) == 1 and all(pieces.values())
            below |= pieces
        return {directory: True} if whole else {directory: False, **below}


def is_within(path: str, directory: str) -> bool:
    """Whether a path is that of a directory, or of something below it."""
    return path == directory or path.startswith(directory.rstrip(os.sep) + os.sep)


def _directories(directory: str) -> list[str]:
    try:
        with os.scandir(directory) as entries:
            return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:  # it has gone meanwhile, or may not be listed
        return []
