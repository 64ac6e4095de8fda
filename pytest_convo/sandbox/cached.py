"""Images that are made once and found again: by a tag that says what is in them, made by one process at a time."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import SandboxUnavailable

if TYPE_CHECKING:
    from docker import DockerClient

LABEL = "pytest-convo.image"
"""The label of every image that is ours; its value is the image's kind, "build" or "tools"."""
CREATED = "pytest-convo.created"
"""When it was made, in seconds since the epoch."""
BASE = "pytest-convo.base"
"""The id of the image that it is based on."""
HOLDS = "pytest-convo.holds"
"""What is in it, for people: a folder, or the names of tools."""

FORMAT = 1
"""To be raised when the same folder or tool is to be made into another image than before."""

_DIGITS = 12


def key(*parts: object) -> str:
    """A digest, in hexadecimal, of JSON's values: what an image is made of."""
    return hashlib.sha256(json.dumps((FORMAT, *parts), sort_keys=True).encode()).hexdigest()


def tag_of(kind: str, key: str) -> str:
    """The name of an image of that kind, made of what has that key."""
    return f"pytest-convo/{kind}:{key[:_DIGITS]}"


def labels(kind: str, base: str, holds: str) -> dict[str, str]:
    """What an image of ours says of itself."""
    return {LABEL: kind, CREATED: f"{time.time():.0f}", BASE: base, HOLDS: holds}


def image_id(client: DockerClient, name: str) -> str | None:
    """The id of the image of that name or id, None where the engine has none."""
    from docker.errors import ImageNotFound, NotFound

    try:
        return str(client.images.get(name).id)
    except (ImageNotFound, NotFound):
        return None


def used(tag: str, lock_dir: Path | None = None) -> None:
    """Note that the image of that tag was used now."""
    _file(tag, ".used", lock_dir).touch()


def last_used(tag: str, lock_dir: Path | None = None) -> float | None:
    """When the image of that tag was last used from this machine, in seconds since the epoch; None: never."""
    try:
        return _file(tag, ".used", lock_dir).stat().st_mtime
    except FileNotFoundError:
        return None


@contextmanager
def locked(name: str, lock_dir: Path | None = None) -> Iterator[None]:
    """One at a time, of all threads, workers and sessions of this user on this machine; a process that dies lets go."""
    with _file(name, ".lock", lock_dir).open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _file(name: str, ending: str, lock_dir: Path | None) -> Path:
    """The file that stands for a name of any characters and length."""
    readable = re.sub(r"[^\w.-]+", "-", name)[:60]
    digest = hashlib.sha256(name.encode()).hexdigest()[:_DIGITS]
    return _directory(lock_dir) / f"{readable}-{digest}{ending}"


def _directory(lock_dir: Path | None) -> Path:
    directory = lock_dir or _cache() / "pytest-convo" / "images"
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        if lock_dir is None:
            return _of_this_user_alone()
        msg = f"no lock can be kept in {directory}: {error.strerror}"
        raise SandboxUnavailable(msg) from None
    return directory if lock_dir or os.access(directory, os.W_OK) else _of_this_user_alone()


def _cache() -> Path:
    """The user's cache directory, by the XDG Base Directory Specification."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    return Path(named) if Path(named).is_absolute() else Path("~/.cache").expanduser()


def _of_this_user_alone() -> Path:
    """A directory for a user without a home: below /tmp anybody may have made it first, with links in it."""
    directory = Path(tempfile.gettempdir()) / f"pytest-convo-images-{os.getuid()}"
    try:
        directory.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        msg = f"no lock can be kept in {directory}: {error.strerror}"
        raise SandboxUnavailable(msg, hint="set XDG_CACHE_HOME to a directory that is yours") from None
    if directory.is_symlink() or directory.stat().st_uid != os.getuid():
        msg = f"no lock can be kept in {directory}: it belongs to somebody else"
        raise SandboxUnavailable(msg, hint="set XDG_CACHE_HOME to a directory that is yours")
    return directory
