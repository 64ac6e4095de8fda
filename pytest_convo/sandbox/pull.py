"""An image from its registry, pulled once by all who need it; what stands in the way is said with what to do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import SandboxUnavailable
from ..texts import clip, one_line
from .cached import image_id, locked
from .progress import told

if TYPE_CHECKING:
    from docker import DockerClient

_LIMIT = 300
_HINTS = (
    (
        ("toomanyrequests", "rate limit", "429"),
        "the registry allows no more for now: docker login raises its limit",
    ),
    (
        ("no matching manifest", "does not match the specified platform", "no match for platform"),
        "there is none for this machine's platform: name another image, or an engine of that platform",
    ),
    (
        ("unauthorized", "authentication required", "no basic auth", "pull access denied", "denied:"),
        "there is none of that name, or it is private: correct the name, or docker login",
    ),
    (("manifest unknown", "not found", "invalid reference"), "there is none of that name and tag: correct it"),
    (
        ("no such host", "dial tcp", "timeout", "connection refused", "request canceled", "unreachable", "eof"),
        "its registry cannot be reached: where there is a network",
    ),
)


def pulled(client: DockerClient, image: str, timeout: float, lock_dir: Path | None = None) -> str:
    """The id of an image, which is pulled where the engine has none of that name; one that is there is taken as it is.

    `timeout` in seconds. Raises `SandboxUnavailable`, and what docker and requests raise when no engine answers.
    """
    found = image_id(client, image)
    if found is not None:
        return found
    with locked(f"pull-{image}", lock_dir):
        # Another worker may have pulled it while this one waited.
        found = image_id(client, image)
        if found is None:
            _pull(client, image, timeout)
            found = image_id(client, image)
    if found is None:
        raise _absent(image, "the engine says that it pulled it, and has it not")
    return found


def reason_of(error: BaseException) -> str:
    """Why docker or requests failed, on one line."""
    explained = getattr(error, "explanation", None)
    text = explained.decode(errors="replace") if isinstance(explained, bytes) else str(explained or error)
    return clip(one_line(text), _LIMIT) or type(error).__name__


def _pull(client: DockerClient, image: str, timeout: float) -> None:
    from docker.auth import get_config_header, resolve_repository_name
    from docker.errors import APIError, InvalidRepository
    from docker.utils import parse_repository_tag

    if image.startswith("sha256:"):
        raise _absent(image, "the engine has none of that id, and an id says nothing of a registry")
    repository, tag = parse_repository_tag(image)
    try:
        registry, _ = resolve_repository_name(repository)
        header = get_config_header(client.api, registry)
        headers = {"X-Registry-Auth": header.decode() if isinstance(header, bytes) else header} if header else {}
        params = {"fromImage": repository, "tag": tag or "latest"}
        for message in told(client, "/images/create", timeout, params=params, headers=headers):
            if "error" in message:
                raise _absent(image, clip(one_line(str(message["error"])), _LIMIT))
    except (APIError, InvalidRepository, TimeoutError) as error:
        raise _absent(image, reason_of(error)) from None


def _absent(image: str, reason: str) -> SandboxUnavailable:
    lower = reason.lower()
    hint = next((hint for signs, hint in _HINTS if any(sign in lower for sign in signs)), "to see more")
    msg = f"the image {image} is not there and could not be pulled: {reason}"
    return SandboxUnavailable(msg, hint=f"{hint}, then: docker pull {image}")
