"""Recordings that nothing uses any more."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from .digest import DIGITS
from .parts import FOLDER

ROOT = "__recordings__"
"""The folder beside a conversation, a task or a file of tests that holds their recordings."""

_RUN = re.compile(r"run-([1-9][0-9]*)\.yaml")
_PART = re.compile(rf"([0-9a-f]{{{DIGITS}}})\.md")
_DIGEST = re.compile(rf"(?<![0-9a-f])[0-9a-f]{{{DIGITS}}}(?![0-9a-f])".encode())


def run_files(folder: Path, *, deep: bool = True) -> list[Path]:
    """The recordings of runs in `folder`, and unless not `deep` below it; in the order of names and numbers."""
    found = (path for path in _files(folder, deep=deep) if _RUN.fullmatch(path.name))
    return sorted(found, key=lambda path: (path.parent, int(path.stem.removeprefix("run-"))))


def stale_files(root: Path, used: Collection[Path]) -> list[Path]:
    """The recordings of runs below `root`, a `__recordings__`, that are not among those `used`."""
    unknown = [path for path in run_files(root) if path not in used]
    if not unknown:
        return []
    in_use = {os.path.realpath(path) for path in used}  # they may be written in another way
    return [path for path in unknown if os.path.realpath(path) not in in_use]


def unused_parts(root: Path) -> list[Path]:
    """The texts below `root` that none of its recordings names; a recording that is broken keeps what it names."""
    named = {digest for path in run_files(root) for digest in _DIGEST.findall(path.read_bytes())}
    parts = sorted(path for path in _files(root / FOLDER, deep=False) if _PART.fullmatch(path.name))
    return [path for path in parts if path.stem.encode() not in named]


def remove(paths: Iterable[Path]) -> None:
    """Remove recordings and texts, and each folder that is empty then, `__recordings__` included.

    `ValueError` for a file that is neither; one that is gone already is no matter.
    """
    paths = list(paths)
    for path in paths:
        if not (_RUN.fullmatch(path.name) or _PART.fullmatch(path.name)):
            msg = f"{path} is no recording"
            raise ValueError(msg)
    for path in paths:
        path.unlink(missing_ok=True)
    for folder in {path.parent for path in paths}:
        _remove_if_empty(folder)


def _files(folder: Path, *, deep: bool) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        if not deep:
            folders.clear()
        yield from (Path(place, name) for name in names)


def _remove_if_empty(folder: Path) -> None:
    while ROOT in folder.parts and folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent
