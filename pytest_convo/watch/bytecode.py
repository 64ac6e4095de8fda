"""Compiled code of a file that was edited: Python and pytest tell it by the second and the size of its source alone."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path


def forget_bytecode(sources: Iterable[Path]) -> None:
    """Remove what was compiled of these files: two edits within a second may leave them as long as they were."""
    for source in sources:
        for compiled in source.parent.joinpath("__pycache__").glob(f"{source.stem}.*.pyc"):
            with suppress(OSError):  # another process was quicker; or it may not be removed, nor written anew then
                compiled.unlink()
