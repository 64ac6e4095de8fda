"""Which message files a directory holds: one look at its names, none into its files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import FormatError
from .names import FileName, NearMiss, is_message_name, parse

CONFIG = "convo.toml"
_DIGITS = frozenset("0123456789")


@dataclass(frozen=True, slots=True)
class Scan:
    """What a directory holds of ours: message files in name order, what misses being one, what is wrong."""

    files: tuple[FileName, ...] = ()
    near_misses: tuple[NearMiss, ...] = ()
    errors: tuple[FormatError, ...] = ()
    config: Path | None = None
    """The directory's convo.toml."""

    @property
    def is_conversation(self) -> bool:
        """Whether there is at least one message file."""
        return bool(self.files)

    @property
    def title(self) -> str | None:
        """The file that stands for the directory: convo.toml, or the first message file where there is none."""
        return self.config.name if self.config else self.files[0].name if self.files else None

    @property
    def concerns_us(self) -> bool:
        """Whether there is a message file, a convo.toml, or something that should have been one."""
        return bool(self.files or self.errors or self.config)


_NOTHING = Scan()


def scan(directory: str | os.PathLike[str]) -> Scan:
    """Look at the names in `directory`.

    Names are judged only where there is a convo.toml or a message file, so that another project's `0002_user.py` is
    none of our business. A directory that has gone, or is none, holds nothing. Never raises: what is wrong is in
    `errors`.
    """
    try:
        with os.scandir(directory) as entries:
            # The first character decides for nearly every name in the world.
            ours = [entry for entry in entries if entry.name[0] in _DIGITS or entry.name == CONFIG]
    except (FileNotFoundError, NotADirectoryError):
        return _NOTHING
    except OSError as error:
        msg = f"the directory cannot be listed: {error.strerror}"
        return Scan(errors=(FormatError(msg, path=os.fspath(directory), hint="give it back its read permission"),))
    return _judge(sorted(ours, key=lambda entry: entry.name)) if any(map(_is_ours, ours)) else _NOTHING


def _is_ours(entry: os.DirEntry[str]) -> bool:
    if entry.name == CONFIG:
        return True
    return is_message_name(entry.name) and not _is_directory(entry)


def _judge(entries: Sequence[os.DirEntry[str]]) -> Scan:
    files: list[FileName] = []
    misses: list[NearMiss] = []
    errors: list[FormatError] = []
    config = None
    for entry in entries:
        try:
            found = _look(entry)
        except FormatError as error:
            errors.append(error)
            continue
        if isinstance(found, FileName):
            files.append(found)
        elif isinstance(found, NearMiss):
            misses.append(found)
        else:
            config = found or config
    errors.extend(_conflicts(files, entries))
    return Scan(tuple(files), tuple(misses), tuple(errors), config)


def _look(entry: os.DirEntry[str]) -> FileName | NearMiss | Path | None:
    """The message file, the near miss or the convo.toml that an entry is."""
    try:
        found = Path(entry.path) if entry.name == CONFIG else parse(entry.name)
    except FormatError as error:
        if _is_directory(entry):
            return None
        error.path = entry.path
        raise
    if isinstance(found, NearMiss):
        return None if _is_directory(entry) else found
    if found is not None and (reason := _unfit(entry)):
        raise FormatError(reason, path=entry.path, hint="put a file in its place, or delete it")
    return found


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a symbolic link that leads in a circle is no directory
        return False


def _unfit(entry: os.DirEntry[str]) -> str:
    """Why the entry cannot be read as a file; empty where it can."""
    try:
        if entry.is_file():
            return ""
    except OSError as error:
        return f"cannot be followed to a file: {error.strerror}"
    if _is_directory(entry):
        return "is a directory, but its name is that of a file"
    return "is a symbolic link to nothing" if entry.is_symlink() else "is not a regular file"


def _conflicts(files: Sequence[FileName], entries: Sequence[os.DirEntry[str]]) -> Iterator[FormatError]:
    first: dict[int, FileName] = {}
    for file in files:
        other = first.setdefault(file.index, file)
        if other.role != file.role:
            path = next(entry.path for entry in entries if entry.name == file.name)
            msg = f"files of one index have one role, and {other.name} is the {other.role}'s"
            yield FormatError(msg, path=path, hint=f"give one of them another index than {file.index:04}")
