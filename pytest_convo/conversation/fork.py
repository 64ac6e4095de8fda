"""A fork: a conversation's directory as it was before an edit, kept beside it under the next free number."""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import ConvoError
from .disk import digest
from .names import is_message_name, printable

Announce = Callable[[Mapping[str, Any]], None]
"""Hears what is about to be done to a file, as `writes` says it, before it is done."""

MAX_NUMBER = 9999
_NUMBERED = re.compile(r"(.+)-([0-9]{4})", re.DOTALL)
_NOT_COPIED = ("__pycache__", ".pytest_cache", ".convo")
_UNFINISHED = ".partial"


class Before(NamedTuple):
    """A file as it was before an edit: its bytes, its permissions as `stat.S_IMODE` has them, when it was written."""

    data: bytes
    mode: int
    mtime_ns: int


def writes(path: Path, content: str | None) -> dict[str, str | None]:
    """What is announced: that the file at `path` gets the content of this digest, or goes (None)."""
    return {"kind": "writes", "path": str(path), "digest": content}


def unheard(_event: Mapping[str, Any]) -> None:
    """Nobody hears what is done."""


def next_sibling(directory: str | os.PathLike[str]) -> Path:
    """Where the next fork of `directory` goes: `refund-0001` beside `refund`, and `refund-0002` beside both.

    Its number is one more than the highest beside it, whatever has that name. Raises `ConvoError` where there is none
    left, `OSError` where the directory above cannot be listed.
    """
    here = _absolute(directory)
    match = _NUMBERED.fullmatch(here.name)
    base = match[1] if match else here.name
    siblings = (_NUMBERED.fullmatch(path.name) for path in here.parent.iterdir())
    return _numbered(here, base, max((int(one[2]) for one in siblings if one and one[1] == base), default=0) + 1)


def fork(
    directory: str | os.PathLike[str],
    before: Mapping[Path, Before | None] | None = None,
    announce: Announce = unheard,
) -> Path:
    """Copy a conversation's directory, as it was before an edit, to the next free sibling, and return that.

    `before` has the files that have changed or gone since as they were, and None for those that are new since; paths
    are absolute or relative to `directory`. Bytes, modes and times stay, symbolic links stay links. Left out are
    conversations in directories below, unfinished answers (`.partial`), sockets and pipes, `__pycache__`,
    `.pytest_cache`, `.convo`, and directories of which nothing else is left.

    The copy is there whole or not at all. Each of its files is announced. Raises `ConvoError` where it cannot be made.
    """
    here = _absolute(directory)
    try:
        target = next_sibling(here)
        unfinished = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
        unfinished.mkdir(mode=0o700)
        try:
            _Copying(here, before or {}).copy(here, unfinished)
            return _placed(here, unfinished, target, announce)
        except BaseException:
            _discard(unfinished)
            raise
    except OSError as error:
        msg = f"the conversation could not be kept as a fork: {error.strerror or error}"
        where = error.filename if isinstance(error.filename, str) else here
        raise ConvoError(msg, path=where, hint="nothing was removed") from None


def _absolute(directory: str | os.PathLike[str]) -> Path:
    here = Path(os.path.normpath(Path(directory).absolute()))
    if here.parent.resolve().is_relative_to(here.resolve()):
        msg = "this directory cannot be kept beside itself: the directory above is the same, or lies in it"
        raise ConvoError(msg, path=here, hint="move the conversation into a directory of its own")
    return here


def _numbered(directory: Path, base: str, number: int) -> Path:
    if number > MAX_NUMBER:
        msg = f"there is a {printable(base)}-{MAX_NUMBER} already, and a fork's number has four digits"
        raise ConvoError(msg, path=directory, hint="delete or rename forks that nobody needs; nothing was removed")
    return directory.with_name(f"{base}-{number:04}")


def _placed(directory: Path, unfinished: Path, target: Path, announce: Announce) -> Path:
    """Give the finished copy its name: that of `target`, or the next that nobody has taken meanwhile."""
    match = _NUMBERED.fullmatch(target.name)
    assert match is not None
    number = int(match[2])
    while True:
        target = _numbered(directory, match[1], number)
        try:
            target.mkdir()  # of two who want the number one gets it
            break
        except FileExistsError:
            number += 1
    try:
        for path in _files(unfinished):
            announce(writes(target / path.relative_to(unfinished), digest(path.read_bytes())))
        unfinished.rename(target)  # in place of the empty directory, at once
    except BaseException:
        target.rmdir()
        raise
    return target


def _files(directory: Path) -> Iterator[Path]:
    """The files below, also those that links lead to, as far as they can be read."""
    for folder, _, names in os.walk(directory):
        paths = (Path(folder, name) for name in names)
        yield from (path for path in paths if path.is_file() and os.access(path, os.R_OK))


def _discard(unfinished: Path) -> None:
    """Remove a copy that was not finished, also what is read-only in it."""
    unfinished.chmod(0o700)
    for folder, names, _ in os.walk(unfinished):
        for path in (Path(folder, name) for name in names):
            if _is_directory(path):
                path.chmod(0o700)
    shutil.rmtree(unfinished)


class _Copying:
    """Copies a directory as it was: what there is now, but for what `before` says of it."""

    def __init__(self, top: Path, before: Mapping[Path, Before | None]) -> None:
        self.top = top
        self.before = {path: was for given, was in before.items() if (path := _below(top, given)) is not None}
        self.were: dict[Path, set[str]] = defaultdict(set)
        """The names that directories had, as far as the way to a file of before leads through them."""
        for path, was in self.before.items():
            while was is not None and path != top:
                self.were[path.parent].add(path.name)
                path = path.parent

    def copy(self, source: Path, target: Path) -> None:
        """Copy what is in `source` into `target`, an empty directory, which then has its mode and times."""
        for name in self._names(source):
            if name not in _NOT_COPIED and not name.endswith(_UNFINISHED):
                self._copy_one(source / name, target / name)
        if source.is_dir():  # it may have gone since
            shutil.copystat(source, target)

    def _copy_one(self, source: Path, target: Path) -> None:
        was = self.before.get(source)
        if was is not None:
            target.write_bytes(was.data)
            target.chmod(was.mode)
            os.utime(target, ns=(was.mtime_ns, was.mtime_ns))
        elif source in self.were or _is_directory(source):
            self._copy_directory(source, target)
        elif source not in self.before and (source.is_symlink() or source.is_file()):
            shutil.copy2(source, target, follow_symlinks=False)

    def _copy_directory(self, source: Path, target: Path) -> None:
        names = self._names(source)
        if any(is_message_name(name) and self._is_file(source / name) for name in names):
            return  # a conversation of its own
        target.mkdir()
        self.copy(source, target)
        if names and not any(target.iterdir()):
            target.rmdir()

    def _names(self, directory: Path) -> list[str]:
        listed = directory == self.top or _is_directory(directory)
        now = {path.name for path in directory.iterdir()} if listed else set()
        return sorted(now | self.were.get(directory, set()))

    def _is_file(self, path: Path) -> bool:
        return self.before[path] is not None if path in self.before else not path.is_dir()


def _is_directory(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _below(top: Path, path: Path) -> Path | None:
    """The path of a file in `top`, whichever links it was reached by; None where it lies elsewhere."""
    absolute = Path(os.path.normpath(top / path))
    if not absolute.is_relative_to(top):
        real = absolute.parent.resolve() / absolute.name
        absolute = top / real.relative_to(top.resolve()) if real.is_relative_to(top.resolve()) else top
    return None if absolute == top else absolute
