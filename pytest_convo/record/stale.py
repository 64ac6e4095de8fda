"""Recordings that nothing uses any more."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator
from math import inf
from pathlib import Path

from ..layout import RECORDINGS
from .digest import DIGITS
from .parts import FOLDER

ANSWERS = "agreement.yaml"
"""What was asked to compare the answers of a group's runs with each other."""

_PROBES = "judge-check-"
_RECORDING = re.compile(rf"(?:run-(?P<run>[1-9][0-9]*)|{_PROBES}[0-9a-f]+)\.yaml|{re.escape(ANSWERS)}")
_PART = re.compile(rf"([0-9a-f]{{{DIGITS}}})\.md")
_DIGEST = re.compile(rf"(?<![0-9a-f])[0-9a-f]{{{DIGITS}}}(?![0-9a-f])".encode())


def probes_file(digest: str) -> str:
    """The name of the recording of what a judge said of its probes."""
    return f"{_PROBES}{digest}.yaml"


def is_of_probes(path: Path) -> bool:
    """Whether a recording is of what a judge said of its probes: of use only to sessions that check judges."""
    return path.name.startswith(_PROBES)


def recordings(folder: Path, *, deep: bool = True) -> list[Path]:
    """The recordings in `folder`, and unless not `deep` below it: of runs in the order of numbers, then others."""
    found = (path for path in _files(folder, deep=deep) if _RECORDING.fullmatch(path.name))
    return sorted(found, key=_place)


def _place(path: Path) -> tuple[Path, float, str]:
    match = _RECORDING.fullmatch(path.name)
    return path.parent, float(match["run"]) if match is not None and match["run"] else inf, path.name


def stale_files(root: Path, used: Collection[Path]) -> list[Path]:
    """The recordings below `root`, a `__recordings__`, that are not among those `used`."""
    unknown = [path for path in recordings(root) if path not in used]
    if not unknown:
        return []
    in_use = {os.path.realpath(path) for path in used}  # they may be written in another way
    return [path for path in unknown if os.path.realpath(path) not in in_use]


def unused_parts(root: Path) -> list[Path]:
    """The texts below `root` that none of its recordings names; a recording that is broken keeps what it names."""
    named = {digest for path in recordings(root) for digest in _DIGEST.findall(path.read_bytes())}
    parts = sorted(path for path in _files(root / FOLDER, deep=False) if _PART.fullmatch(path.name))
    return [path for path in parts if path.stem.encode() not in named]


def remove(paths: Iterable[Path]) -> None:
    """Remove recordings and texts, and each folder that is empty then, `__recordings__` included.

    `ValueError` for a file that is neither; one that is gone already is no matter.
    """
    paths = list(paths)
    for path in paths:
        if not (_RECORDING.fullmatch(path.name) or _PART.fullmatch(path.name)):
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
    while RECORDINGS in folder.parts and folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent
