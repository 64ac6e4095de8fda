"""What every watched file held when it was last accounted for: events are hints, content decides.

Touches, double events, saves of the same text and our own writes are no changes, and an edit is one whatever events the
system has sent for it.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..conversation.disk import digest, read_bytes
from ..errors import FormatError
from .interest import Interest

LARGE = 1_000_000
"""Bytes from which on a file is told by its time, size and inode: it is no message, and would be read at each event."""

_LARGE = "large: "
_EMPTY = digest(b"")


@dataclass(frozen=True, slots=True)
class Version:
    """What a file held when it was last accounted for.

    `digest` is that of its content; of a large file, of its time, size and inode; of one that cannot be read, the
    reason. `data` is there only in a ledger that keeps it, and never of a large file.
    """

    digest: str
    data: bytes | None
    mode: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Change:
    """What was known of a file, and what it is now; None where it was not there, or is not."""

    path: Path
    before: Version | None
    after: Version | None

    @property
    def created(self) -> bool:
        return self.before is None

    @property
    def deleted(self) -> bool:
        return self.after is None

    @property
    def edited(self) -> bool:
        return self.before is not None and self.after is not None


class Ledger:
    """Knows the files of interest below some roots; `keeps` their bytes, too, where a fork may want them back.

    `ignores` are patterns of names of directories that are not looked into.
    """

    def __init__(self, *, keeps: bool = False, ignores: Collection[str] = ()) -> None:
        self._keeps = keeps
        self._interest = Interest(ignores)
        self._known: dict[str, Version] = {}
        self._announced: dict[str, list[str | None]] = {}
        self._links: dict[str, set[str]] = {}

    def learn(self, roots: Iterable[Path]) -> None:
        """Take in every file of interest below the roots, and roots that are files; what is known stays as it is.

        A file that is not there yet is noticed when it comes. Called when events are already noted down, so that
        nothing falls between; of what lies below an earlier root nothing is taken in, as it would be news.
        """
        for root in map(os.fspath, roots):
            if self._interest.of(root):
                continue
            is_directory = os.path.isdir(root)
            self._interest.add(root, directory=is_directory)
            for path in self._below(root) if is_directory else (root,):
                if path not in self._known and (version := self._read(path)) is not None:
                    self._known[path] = version

    def look(self, paths: Iterable[Path]) -> list[Change]:
        """The files among `paths` whose content is not what is known, which it is from then on; sorted by path.

        A directory, also one that has gone, stands for everything that is below it, or was.
        """
        changes = (self._compare(path) for path in sorted(self._files(map(os.fspath, paths))))
        return [change for change in changes if change is not None]

    def account(self, path: Path, digest: str | None) -> None:
        """Take note of a write of our own: the file is about to hold what has this digest; or to go (None).

        Until that is seen there, what was known before is no change either.
        """
        self._announced.setdefault(os.fspath(path), []).append(digest)

    def ours(self, change: Change) -> bool:
        """Whether a change was announced after it was looked for; a write of our own is no edit."""
        return self._is_ours(os.fspath(change.path), change.after)

    def interesting(self, path: Path) -> bool:
        """Whether a change of this file may matter: see `Interest`."""
        return any(map(self._interest.of, self._aliases(os.fspath(path))))

    def half_saved(self, path: Path) -> bool:
        """Whether the file may be in the middle of a save: it was there and has gone, or is empty and was not."""
        name = os.fspath(path)
        known, announced = self._known.get(name), self._announced.get(name, ())
        if not self._interest.of(name):
            return False
        try:
            status = os.stat(name)
        except OSError:
            return known is not None and None not in announced
        if status.st_size or not stat.S_ISREG(status.st_mode):
            return False
        return (known is None or known.digest != _EMPTY) and _EMPTY not in announced

    def known(self) -> Iterable[Path]:
        """The files that are there, as far as is known."""
        return map(Path, self._known)

    def targets(self) -> set[Path]:
        """Where symbolic links lead: files and directories whose events are those of the links, too."""
        return {Path(target) for target in self._links if os.path.isdir(os.path.dirname(target))}

    def version(self, path: Path) -> Version | None:
        """What is known of a file."""
        return self._known.get(os.fspath(path))

    def _files(self, paths: Iterable[str]) -> set[str]:
        """The files that hints are about: found or known, of interest."""
        found: set[str] = set()
        directories: list[str] = []
        for path in {alias for hinted in paths for alias in self._aliases(hinted)}:
            if not self._interest.of(path):
                continue
            is_directory = os.path.isdir(path)
            if is_directory:
                found.update(self._below(path))
            if path in self._known:
                found.add(path)
                continue
            if not is_directory:
                found.add(path)
            directories.append(path + os.sep)
        within = tuple(directories)
        return found.union(path for path in self._known if path.startswith(within)) if within else found

    def _aliases(self, path: str) -> Iterator[str]:
        """The path, and those under which links lead to it."""
        yield path
        for target, links in self._links.items():
            if path == target or path.startswith(target + os.sep):
                for link in links:
                    yield link + path.removeprefix(target)

    def _compare(self, path: str) -> Change | None:
        before, after = self._known.pop(path, None), self._read(path)
        if after is not None:
            self._known[path] = after
        if _digest_of(before) == _digest_of(after) or self._is_ours(path, after):
            return None
        return Change(Path(path), before, after)

    def _is_ours(self, path: str, after: Version | None) -> bool:
        """Whether it was announced that the file would hold this; what was announced before that is over then.

        Somebody else's content ends it, too: what they put back later is their edit, though we wrote the same once.
        """
        announced = self._announced.pop(path, [])
        now = _digest_of(after) if after is None or not after.digest.startswith(_LARGE) else _content_of(path)
        if now not in announced:
            return False
        if later := announced[announced.index(now) + 1 :]:
            self._announced[path] = later
        return True

    def _read(self, path: str) -> Version | None:
        """What the file is now; None where there is none. Never raises: what cannot be read has its reason's digest."""
        try:
            if os.path.islink(path):
                self._links.setdefault(os.path.realpath(path), set()).add(path)
            status = os.stat(path)
        except OSError as error:
            return _unreadable(path, error)
        if stat.S_ISDIR(status.st_mode):
            return None
        mode, mtime_ns = stat.S_IMODE(status.st_mode), status.st_mtime_ns
        if status.st_size > LARGE:
            return Version(f"{_LARGE}{mtime_ns} {status.st_size} {status.st_ino}", None, mode, mtime_ns)
        try:
            data = read_bytes(path)
        except FormatError as error:
            return Version(error.what, None, mode, mtime_ns) if os.path.lexists(path) else None
        return Version(digest(data), data if self._keeps else None, mode, mtime_ns)

    def _below(self, directory: str, above: tuple[tuple[int, int], ...] = ()) -> Iterator[str]:
        """The files of interest below a directory, and below those that links in it lead to, but for circles."""
        if not self._interest.within(directory):
            return
        try:
            status = os.stat(directory)
            here = (status.st_dev, status.st_ino)
            with os.scandir(directory) as found:
                entries = [] if here in above else list(found)
        except OSError:  # it has gone meanwhile, or may not be listed: collection tells
            return
        if here not in above and os.path.islink(directory):
            self._links.setdefault(os.path.realpath(directory), set()).add(directory)
        for entry in entries:
            if _is_directory(entry):
                yield from self._below(entry.path, (*above, here))
            elif self._interest.of(entry.path):
                yield entry.path


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads in a circle
        return False


def _digest_of(version: Version | None) -> str | None:
    return None if version is None else version.digest


def _content_of(path: str) -> str | None:
    try:
        return digest(read_bytes(path))
    except FormatError:
        return None


def _unreadable(path: str, error: OSError) -> Version | None:
    """A link to nothing, or to itself, and what may not be looked at are there; what has gone is not."""
    missing = error.errno in (errno.ENOENT, errno.ENOTDIR)
    if missing and not os.path.islink(path):
        return None
    return Version(error.strerror or str(error), None, 0, 0)
