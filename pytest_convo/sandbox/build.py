"""The image of a folder with a Dockerfile, built once for all who bring the same folder."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import SandboxUnavailable
from ..redaction import Redactor
from ..texts import clip, one_line, printable
from .cached import image_id, key, labels, locked, tag_of, used
from .context import archive_of, digest_of
from .dockerfile import NAME, Instruction, bases, instructions
from .progress import told
from .prune import tidy
from .pull import pulled, reason_of

if TYPE_CHECKING:
    from docker import DockerClient

KIND = "build"

_COMPOSE = ("docker-compose.yaml", "docker-compose.yml", "compose.yaml", "compose.yml")
_LOG_LINES = 15
_STEP = re.compile(r"STEP (\d+)/\d+ ?: ?(\S*)", re.IGNORECASE)
_CODE = re.compile(r"The command '.*' returned a non-zero code: (\d+)", re.DOTALL)
_PARSING = re.compile(r"parse error.*?line (\d+): (.*)", re.DOTALL)
_NOISE = (" --->", "Removing intermediate container", "Successfully ")


def built(client: DockerClient, folder: Path, timeout: float, lock_dir: Path | None = None) -> str:
    """The id of the folder's image, which is built where the engine has none of the same files and base images.

    `timeout` in seconds, for the build and for each image that it needs. Raises `SandboxUnavailable` with the line of
    the step that failed, and what docker and requests raise when no engine answers.
    """
    text = _read(folder)
    steps = instructions(text)
    needed = [_base(client, name, folder, steps, timeout, lock_dir) for name in bases(text)]
    version = client.api.version()
    tag = tag_of(KIND, key(KIND, digest_of(folder), needed, version.get("Os"), version.get("Arch")))
    found = image_id(client, tag)
    if found is None:
        with locked(tag, lock_dir):
            # Another worker may have built it while this one waited.
            found = image_id(client, tag)
            if found is None:
                about = labels(KIND, needed[-1] if needed else "", folder.name)
                found = _build(client, folder, steps, tag, about, timeout)
                tidy(client, lock_dir)
    used(tag, lock_dir)
    return found


@dataclass(slots=True)
class _Log:
    """What a build has told so far of the step that it is at."""

    steps: list[Instruction]
    at: Instruction | None = None
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=_LOG_LINES))

    def hear(self, text: str) -> None:
        for line in text.splitlines():
            if step := _STEP.match(line):
                self.lines.clear()
                number = int(step[1])
                self.at = self.steps[number - 1] if number <= len(self.steps) else None
                if self.at is not None and self.at.word != step[2].upper():
                    self.at = None  # an engine that counts otherwise
            elif line.strip() and not line.startswith(_NOISE):
                self.lines.append(line)


def _read(folder: Path) -> str:
    """The folder's Dockerfile."""
    path = folder / NAME
    for name in _COMPOSE:
        if (folder / name).exists():
            msg = "several containers that belong together are not supported, only a Dockerfile"
            raise SandboxUnavailable(msg, path=folder / name)
    try:
        return path.read_text("utf-8-sig")
    except FileNotFoundError:
        msg = "there is none, and no image is named"
        raise SandboxUnavailable(msg, path=path, hint="write it, or name an image") from None
    except (OSError, UnicodeDecodeError) as error:
        msg = f"cannot be read: {getattr(error, 'strerror', None) or 'it is not UTF-8'}"
        raise SandboxUnavailable(msg, path=path) from None


def _base(
    client: DockerClient, name: str, folder: Path, steps: list[Instruction], timeout: float, lock_dir: Path | None
) -> str:
    """The id of an image that the build needs."""
    try:
        return pulled(client, name, timeout, lock_dir)
    except SandboxUnavailable as error:
        line = next((step.line for step in steps if name in step.rest), None)
        raise SandboxUnavailable(error.what, path=folder / NAME, line=line, hint=error.hint) from None


def _build(
    client: DockerClient, folder: Path, steps: list[Instruction], tag: str, about: Mapping[str, str], timeout: float
) -> str:
    """Build by the engine's own builder, which every engine has and which needs no other program."""
    from docker.errors import APIError

    log = _Log(steps)
    params: dict[str, str | int] = {"t": tag, "dockerfile": NAME, "rm": 1, "forcerm": 1, "labels": json.dumps(about)}
    headers = {"Content-Type": "application/tar"}
    try:
        with archive_of(folder) as archive:
            _follow(told(client, "/build", timeout, params=params, headers=headers, data=archive), log)
        if (found := image_id(client, tag)) is not None:
            return found
        reason = "the engine says that it built it, and has it not"
    except _Failed as failed:
        reason = str(failed)
    except APIError as error:
        if error.response is not None and error.response.status_code >= 500 and not _PARSING.search(reason_of(error)):
            raise
        reason = reason_of(error)
    except TimeoutError:
        reason = f"it took longer than {timeout:g} s"
    raise _unbuilt(folder / NAME, log, reason)


class _Failed(Exception):
    """What the engine says of a step that failed."""


def _follow(messages: Iterable[Mapping[str, Any]], log: _Log) -> None:
    for message in messages:
        log.hear(str(message.get("stream", "")))
        if "error" in message:
            raise _Failed(str(message["error"]))


def _unbuilt(path: Path, log: _Log, reason: str) -> SandboxUnavailable:
    """What a person needs: the line, its text, why, and the last of what it wrote."""
    redact = Redactor.of_environment().text
    line = None if log.at is None else log.at.line
    if code := _CODE.search(reason):
        reason = f"return code {code[1]}"
    elif parsing := _PARSING.search(reason):
        line, reason = int(parsing[1]), parsing[2]
    step = "" if log.at is None else f" at {clip(one_line(redact(log.at.text)), 200)}"
    msg = f"the image could not be built{step}: {clip(one_line(redact(reason)), 300)}"
    said = printable(redact("\n".join(log.lines)))
    if any(step.needs_buildkit for step in log.steps):
        said = f"{said}\nBuildKit is not used: no --mount, no heredocs".lstrip()
    return SandboxUnavailable(msg, path=path, line=line, hint=said.replace("\n", "\n  "))
