"""Cached images that nobody wants any more: all of them when asked, those long unused when a new one is made."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .cached import BASE, CREATED, HOLDS, LABEL, last_used
from .pull import reason_of

if TYPE_CHECKING:
    from docker import DockerClient

UNUSED = 14 * 86400.0
"""Seconds after which an image that was not used is removed when another is made."""

_OURS = "pytest-convo/"

_log = logging.getLogger(__name__)


def prune(client: DockerClient, older_than: float | None = None, *, lock_dir: Path | None = None) -> list[str]:
    """Remove the images that were built for sandboxes, with those that nobody used for so many seconds, or all.

    Says of each that it was removed, or why not, one line each, and at the end how much space that gave. Images that
    were pulled stay, and such as others have based on ours. Raises docker-py's errors where the engine is of no use.
    """
    from docker.errors import APIError, NotFound

    told: list[str] = []
    freed = 0
    # What is based on another was made after it, and has to go first.
    for image in sorted(_ours(client), key=lambda image: int(image["Created"]), reverse=True):
        age = time.time() - _last(image, lock_dir)
        if older_than is not None and age < older_than:
            continue
        size = _size(client, image)
        try:
            for name in _names(image):
                client.api.remove_image(name)
        except NotFound:
            continue  # another session has removed it in this moment
        except APIError as error:
            told.append(f"kept {_described(image)}: {reason_of(error)}")
        else:
            freed += size
            told.append(f"removed {_described(image)}: {_in_words(size)}, last used {_days(age)}")
    return [*told, f"{_in_words(freed)} are free again"] if freed else told


def tidy(client: DockerClient, lock_dir: Path | None = None) -> None:
    """Remove what was long unused; said in the log alone."""
    for line in prune(client, UNUSED, lock_dir=lock_dir):
        _log.info(line)


def _ours(client: DockerClient) -> Iterator[Mapping[str, Any]]:
    """Ours by label and name: who bases an image of their own on one of ours inherits the label."""
    for image in client.api.images(filters={"label": LABEL}):
        if all(name.startswith(_OURS) for name in _tags(image)):
            yield image


def _tags(image: Mapping[str, Any]) -> list[str]:
    return [name for name in image.get("RepoTags") or () if name != "<none>:<none>"]


def _names(image: Mapping[str, Any]) -> list[str]:
    return _tags(image) or [image["Id"]]


def _last(image: Mapping[str, Any], lock_dir: Path | None) -> float:
    """When the image was used last; by other users, who knows: then when it was made."""
    used = [time for name in _tags(image) if (time := last_used(name, lock_dir)) is not None]
    return max([float(image["Labels"].get(CREATED) or 0), *used])


def _size(client: DockerClient, image: Mapping[str, Any]) -> int:
    """Bytes that the image adds to the one it is based on."""
    from docker.errors import NotFound

    base = image["Labels"].get(BASE)
    try:
        shared = int(client.images.get(base).attrs["Size"]) if base else 0
    except NotFound:
        shared = 0
    return max(0, int(image["Size"]) - shared)


def _described(image: Mapping[str, Any]) -> str:
    holds = image["Labels"].get(HOLDS)
    return _names(image)[0] + (f" ({holds})" if holds else "")


def _in_words(size: int) -> str:
    return f"{size / 1e6:.1f} MB"


def _days(seconds: float) -> str:
    days = max(0, int(seconds // 86400))  # clocks of engines may be ahead of ours
    return {0: "today", 1: "yesterday"}.get(days, f"{days} days ago")
