"""What an image is built of: the files of a folder, but those of its .dockerignore, as the same bytes each time."""

from __future__ import annotations

import hashlib
import os
import stat
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import IO

from ..errors import SandboxUnavailable

_TIME = 946_684_800
"""1 January 2000, the time of every file in an image: a checkout's own says nothing, and zip takes none before 1980."""


@contextmanager
def archive_of(folder: Path) -> Iterator[IO[bytes]]:
    """The folder as a tar file, which is removed afterwards; equal folders are equal archives."""
    with tempfile.TemporaryFile() as file:
        with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for name, path in _entries(folder):
                _add(archive, name, path)
        file.seek(0)
        yield file


def digest_of(folder: Path) -> str:
    """A digest, in hexadecimal, of names, modes, targets of links and bytes; of times and owners nothing."""
    digest = hashlib.sha256()
    for name, path in _entries(folder):
        mode = path.lstat().st_mode
        digest.update(b"%s\0%o\0" % (os.fsencode(name), mode))
        if stat.S_ISLNK(mode):
            digest.update(os.fsencode(path.readlink()))
        elif stat.S_ISREG(mode):
            digest.update(_digest_of_file(path))
        digest.update(b"\0")
    return digest.hexdigest()


def _entries(folder: Path) -> Iterator[tuple[str, Path]]:
    """Files, directories and links, in the order of their names, without what .dockerignore leaves out."""
    from docker.utils.build import exclude_paths

    ignored = folder / ".dockerignore"
    try:
        lines = ignored.read_text("utf-8-sig").splitlines() if ignored.is_file() else []
        patterns = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
        names = sorted(exclude_paths(str(folder), patterns))
    except (OSError, UnicodeDecodeError) as error:
        msg = f"cannot be read: {error}"
        raise SandboxUnavailable(msg, path=folder) from None
    for name in names:
        path = folder / name
        mode = path.lstat().st_mode
        if stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode):
            yield name, path


def _add(archive: tarfile.TarFile, name: str, path: Path) -> None:
    entry = archive.gettarinfo(path, arcname=name)
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mtime = _TIME
    if entry.islnk():
        # A second name of a file that is in the archive already; an engine is given two files.
        entry.type, entry.linkname, entry.size = tarfile.REGTYPE, "", path.stat().st_size
    if not entry.isreg():
        archive.addfile(entry)
        return
    with _readable(path) as file:
        archive.addfile(entry, file)


def _digest_of_file(path: Path) -> bytes:
    with _readable(path) as file:
        return hashlib.file_digest(file, "sha256").digest()


def _readable(path: Path) -> BufferedReader:
    try:
        return path.open("rb")
    except OSError as error:
        msg = f"cannot be read: {error.strerror}"
        raise SandboxUnavailable(msg, path=path, hint="name it in .dockerignore if no image needs it") from None
