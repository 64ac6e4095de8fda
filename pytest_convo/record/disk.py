"""Files that are there whole or not at all, whoever else writes them."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import HarnessError


def write_whole(path: Path, data: bytes) -> None:
    """Put `data` into the file at `path`: who reads it sees all of it, or what was there before.

    Several processes may write the same file at once; the last one's stays. `HarnessError` where it cannot be written.
    """
    with _written(path, data) as unfinished:
        unfinished.replace(path)


def write_first(path: Path, data: bytes) -> bool:
    """Put `data` into a new file at `path`, whole; False where there is one already, which stays as it is.

    Of several processes that do so at once one is the first. `HarnessError` where it cannot be written.
    """
    with _written(path, data) as unfinished:
        try:
            _name(unfinished, path, data)
        except FileExistsError:
            return False
    return True


def _name(unfinished: Path, path: Path, data: bytes) -> None:
    try:
        path.hardlink_to(unfinished)
    except FileExistsError:
        raise
    except OSError:  # not every file system has links
        with path.open("xb") as file:
            file.write(data)


@contextmanager
def _written(path: Path, data: bytes) -> Iterator[Path]:
    """A file beside `path` that holds `data`, and is gone afterwards if it still has its name."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            unfinished.write_bytes(data)
            yield unfinished
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as error:
        msg = f"cannot be written: {error.strerror or error}"
        raise HarnessError(msg, path=path, hint="recordings are kept beside the conversation") from None
