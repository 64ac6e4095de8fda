"""The image that a sandbox is to be of: named and pulled, or built of a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import SandboxUnavailable
from .base import SandboxSpec
from .build import built
from .pull import pulled, reason_of

if TYPE_CHECKING:
    from docker import DockerClient

DEFAULT = "python:3.12-slim"
"""The image of a sandbox of which nothing is said."""


def ensure(client: DockerClient, spec: SandboxSpec, *, lock_dir: Path | None = None) -> str:
    """The id of the spec's image, which is pulled or built where the engine has none. Raises `SandboxUnavailable`."""
    from docker.errors import DockerException
    from requests import RequestException

    try:
        if spec.build is not None:
            return built(client, spec.build, spec.build_timeout, lock_dir)
        return pulled(client, spec.image or DEFAULT, spec.build_timeout, lock_dir)
    except (DockerException, RequestException) as error:
        msg = f"the engine gave no image: {reason_of(error)}"
        raise SandboxUnavailable(msg, hint="docker info says whether it runs") from None
