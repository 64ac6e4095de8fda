"""The system prompt of a conversation that names none: the nearest prompt.md or prompt.md.j2."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import FormatError
from .files import is_file, parent_within

NAMES = ("prompt.md", "prompt.md.j2")


def find_prompt(directory: Path, rootdir: Path, cache: dict[Path, Path | None] | None = None) -> Path | None:
    """The prompt in `directory`, else the nearest above, up to `rootdir`; None where there is none.

    Outside of `rootdir` only `directory` itself is looked at. `FormatError` where a directory has both names.
    `cache` keeps what was found for each directory; hand in the same one for as long as no file changes.
    """
    cache = {} if cache is None else cache
    if directory not in cache:
        above = parent_within(directory, rootdir)
        cache[directory] = _own(directory) or (None if above is None else find_prompt(above, rootdir, cache))
    return cache[directory]


def _own(directory: Path) -> Path | None:
    paths = [directory / name for name in NAMES]
    found = [path for path in paths if is_file(path)]
    for path in paths:
        if path not in found and os.path.lexists(path) and not path.is_dir():
            msg = "is a link to nothing" if path.is_symlink() and not path.exists() else "is no regular file"
            raise FormatError(msg, path=path, hint="put a file in its place, or remove it")
    if len(found) > 1:
        msg = f"stands beside {NAMES[0]}: one of the two must go"
        raise FormatError(msg, path=found[1], hint=".j2 is rendered with the case's variables, .md stands as it is")
    return found[0] if found else None
