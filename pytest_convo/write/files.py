"""Files that get their names once they are whole, and never in the place of another."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import ConvoError


@contextmanager
def told_of(path: Path) -> Iterator[None]:
    """Raise as a `ConvoError` what keeps a file from being written; but that another is in its place goes through."""
    try:
        yield
    except FileExistsError:
        raise
    except OSError as error:
        msg = f"cannot be written: {error.strerror or error}"
        hint = "--convo-write writes the answers beside the messages that they answer"
        raise ConvoError(msg, path=path, hint=hint) from None


def write_all(file: int, data: bytes, at: int = 0) -> None:
    """Write all of `data` into an open file, from the byte `at` on."""
    while data:
        done = os.pwrite(file, data, at)
        data, at = data[done:], at + done


def create(path: Path, data: bytes) -> None:
    """Make a new file; `FileExistsError` where there is something, and nothing is left where it cannot be whole."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        write_all(file, data)
    except BaseException:
        with suppress(OSError):
            path.unlink()
        raise
    finally:
        os.close(file)


def give_name(unfinished: Path, path: Path) -> None:
    """Give a whole file its name, in one step where the file system has links; `FileExistsError` where it is taken."""
    try:
        os.link(unfinished, path)
    except FileExistsError:
        raise
    except OSError:  # not every file system has links
        create(path, unfinished.read_bytes())
    unfinished.unlink()


def free(path: Path, ending: str) -> Path:
    """The path with `ending`, and with a number before it where others have that name already."""
    names = (f"{path.name}{f'.{number}' if number else ''}{ending}" for number in itertools.count())
    return next(found for name in names if not os.path.lexists(found := path.with_name(name)))


def put(path: Path, data: bytes) -> None:
    """Put `data` into the file at `path`, whole or not at all, whatever stands there: for names that are ours alone."""
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        unfinished.write_bytes(data)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
