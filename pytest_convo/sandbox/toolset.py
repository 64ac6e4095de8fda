"""An image with an agent's tools in it, made once for all who want the same tools in the same image."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ..errors import SandboxError, SandboxUnavailable, ToolInstallError
from ..redaction import Redactor
from ..texts import clip, one_line, printable
from .base import GIB, CommandResult, Sandbox, SandboxSpec
from .cached import image_id, key, labels, locked, tag_of, used
from .environ import environment
from .progress import post
from .prune import tidy
from .tool import AgentTool

if TYPE_CHECKING:
    from docker import DockerClient

KIND = "tools"

SETUP_TIMEOUT = 120.0
"""Seconds for each command that sets a tool up, or takes it down, in one sandbox."""

_COMMITTING = 600.0
_TAIL = 12

Redact = Callable[[str], str]

Contents = dict[str, tuple[bytes, int]]
"""Files by their paths in the sandbox, each with its bytes and mode."""


class Made(Protocol):
    """A container, of which an image can be made."""

    @property
    def id(self) -> str: ...


class Builder(Sandbox, Protocol):
    """A sandbox of which an image can be made."""

    @property
    def container(self) -> Made: ...


def variables_of(
    tools: Sequence[AgentTool], environ: Mapping[str, str] | None = None
) -> tuple[dict[str, str], dict[str, str]]:
    """The tools' environment variables with their values, those that may be shown and those that are secret.

    Without `environ` those of this process. Optional ones that are not set, or empty, are left out; `ToolInstallError`
    where another is.
    """
    values = environment() if environ is None else environ
    plain: dict[str, str] = {}
    secret: dict[str, str] = {}
    for tool in tools:
        for variable in tool.variables:
            if value := values.get(variable.name):
                (secret if variable.secret else plain)[variable.name] = value
            elif not variable.optional:
                msg = f"the tool {tool.name} needs the environment variable {variable.name}, which is not set"
                hint = f"export {variable.name}=..., or let the tool say optional = true of it"
                raise ToolInstallError(msg, path=tool.path, hint=hint)
    # What one tool calls secret is so for all.
    return {name: value for name, value in plain.items() if name not in secret}, secret


def setup(sandbox: Sandbox, tools: Sequence[AgentTool], *, secrets: Mapping[str, str] | None = None) -> None:
    """Run the tools' `setup` as the agent; `secrets` are taken out of what is said. Raises `ToolInstallError`."""
    redact = _redact(tools, secrets or {})
    for tool in tools:
        for command in tool.setup:
            result = sandbox.execute(command, SETUP_TIMEOUT)
            if not result.ok:
                raise _failed(tool, "set up", command, result, redact)


def uninstall(sandbox: Sandbox, tools: Sequence[AgentTool], *, secrets: Mapping[str, str] | None = None) -> list[str]:
    """Run the tools' `uninstall` as the agent, all of them; a line about each that failed."""
    redact = _redact(tools, secrets or {})
    notes = []
    for tool in tools:
        for command in tool.uninstall:
            try:
                result = sandbox.execute(command, SETUP_TIMEOUT)
            except SandboxError as error:
                # The run is over, and what it found holds without this.
                notes.append(f"the tool {tool.name} could not be uninstalled: {one_line(redact(str(error)))}")
                break
            if not result.ok:
                notes.append(one_line(str(_failed(tool, "uninstalled", command, result, redact))))
    return notes


def with_tools(
    client: DockerClient,
    open: Callable[[SandboxSpec], Builder],  # noqa: A002 - it is an environment's `open`
    image: str,
    spec: SandboxSpec,
    *,
    lock_dir: Path | None = None,
) -> str:
    """The id of an image that is `image`, given by its id, with the spec's tools; `open` makes the sandbox to do it in.

    Raises `ToolInstallError`, and what docker and requests raise when no engine answers.
    """
    wanted = _Wanted.of(image, spec)
    if not wanted.tools:
        return image
    tag = tag_of(KIND, wanted.key())
    found = image_id(client, tag)
    if found is None:
        with locked(tag, lock_dir):
            # Another worker may have made it while this one waited.
            found = image_id(client, tag) or _make(client, open, wanted, tag)
            tidy(client, lock_dir)
    used(tag, lock_dir)
    return found


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What is to be in an image: tools, their files by the tools' names, and variables, plain and secret ones."""

    image: str
    spec: SandboxSpec
    tools: tuple[AgentTool, ...]
    files: Mapping[str, Contents]
    plain: Mapping[str, str]
    secret: Mapping[str, str]

    @classmethod
    def of(cls, image: str, spec: SandboxSpec) -> _Wanted:
        tools = tuple(tool for tool in spec.tools if tool.install or tool.verify or tool.files)
        plain, secret = variables_of(tools, {**environment(), **spec.variables, **spec.secrets})
        return cls(image, spec, tools, {tool.name: _contents(tool) for tool in tools}, plain, secret)

    @property
    def names(self) -> str:
        return ", ".join(tool.name for tool in self.tools)

    def key(self) -> str:
        """Of a secret the name alone: its value must not even be in a digest."""
        tools = [(tool.install, tool.verify, _digests(self.files[tool.name])) for tool in self.tools]
        return key(KIND, self.image, tools, dict(self.plain), sorted(self.secret), self.spec.user, self.spec.hardened)

    def builder(self) -> SandboxSpec:
        """Where it is made: as root, with a network, and with more room than a test is given."""
        return SandboxSpec(
            image=self.image,
            user="0:0",
            hardened=False,
            writable=True,
            network=True,
            memory=max(self.spec.memory, 2 * GIB),
            cpus=self.spec.cpus,
            pids=max(self.spec.pids, 1024),
            secrets=self.secret,
            runtime=self.spec.runtime,
            owner=f"tools: {self.names}",
        )


def _contents(tool: AgentTool) -> Contents:
    contents = {}
    for file in tool.files:
        try:
            contents[file.target] = (file.source.read_bytes(), file.mode)
        except OSError as error:
            msg = f"the tool {tool.name} needs {file.source}, which cannot be read: {error.strerror}"
            raise ToolInstallError(msg, path=tool.path) from None
    return contents


def _digests(contents: Contents) -> list[tuple[str, int, str]]:
    return [(target, mode, hashlib.sha256(data).hexdigest()) for target, (data, mode) in contents.items()]


def _make(
    client: DockerClient,
    open: Callable[[SandboxSpec], Builder],  # noqa: A002 - it is an environment's `open`
    wanted: _Wanted,
    tag: str,
) -> str:
    redact = _redact(wanted.tools, wanted.secret)
    with open(wanted.builder()) as sandbox:
        _install(sandbox, wanted, redact)
        _verify(sandbox, wanted, _own_user(client, wanted), redact)
        return _commit(client, sandbox.container.id, wanted, tag)


def _install(sandbox: Sandbox, wanted: _Wanted, redact: Redact) -> None:
    for tool in wanted.tools:
        if files := wanted.files[tool.name]:
            sandbox.write_files(files, trusted=True)
        for command in tool.install:
            result = sandbox.execute(command, wanted.spec.build_timeout, trusted=True, variables=wanted.plain)
            if not result.ok:
                raise _failed(tool, "installed", command, result, redact)


def _verify(sandbox: Sandbox, wanted: _Wanted, user: str | None, redact: Redact) -> None:
    """Try each tool, once all are there, as the user who is to use them: what root can run another may not."""
    home = {"HOME": "/tmp"} if wanted.spec.hardened else {}  # noqa: S108
    for tool in wanted.tools:
        for command in tool.verify:
            variables = {**home, **wanted.plain}
            result = sandbox.execute(command, wanted.spec.build_timeout, variables=variables, user=user)
            if not result.ok:
                raise _failed(tool, "verified", command, result, redact)


def _own_user(client: DockerClient, wanted: _Wanted) -> str | None:
    """Whom commands will be run as; the image's own user where the spec leaves it to the image."""
    return wanted.spec.user or _config(client, wanted.image).get("User") or None


def _config(client: DockerClient, image: str) -> dict[str, Any]:
    return client.images.get(image).attrs.get("Config") or {}


def _commit(client: DockerClient, container: str, wanted: _Wanted, tag: str) -> str:
    """An image of the container as it is, which starts as the image does that it was made of.

    The engine takes what is not said here from the container: our own entry point, user and labels.
    """
    own = _config(client, wanted.image)
    kept: dict[str, str] = own.get("Labels") or {}
    ours = client.api.inspect_container(container)["Config"].get("Labels") or {}
    blank = {name: "" for name in ours if name not in kept}
    config = {
        "Entrypoint": own.get("Entrypoint") or [],
        "Cmd": own.get("Cmd") or [],
        "User": own.get("User") or "0",
        "WorkingDir": own.get("WorkingDir") or "/",
        "Env": own.get("Env") or [],
        "Labels": {**blank, **kept, **labels(KIND, wanted.image, wanted.names)},
    }
    repository, _, version = tag.partition(":")
    params: dict[str, str | int] = {"container": container, "repo": repository, "tag": version, "pause": 0}
    headers = {"Content-Type": "application/json"}
    with post(client, "/commit", _COMMITTING, params=params, headers=headers, data=json.dumps(config)) as answer:
        answer.content  # noqa: B018 - it is over when the answer is
    found = image_id(client, tag)
    if found is None:
        msg = f"the engine says that it made {tag}, and has it not"
        raise SandboxUnavailable(msg)
    return found


def _redact(tools: Sequence[AgentTool], secrets: Mapping[str, str]) -> Redact:
    """Takes out what the tools call secret, too, whatever its name."""
    redactor = Redactor.of_environment(names=[name for tool in tools for name in tool.secrets])
    for name, value in secrets.items():
        redactor = redactor.knowing(value, name)
    return redactor.text


def _failed(tool: AgentTool, what: str, command: str, result: CommandResult, redact: Redact) -> ToolInstallError:
    """Which tool, by which command, with which return code, and the last of what it wrote."""
    why = "its time was up" if result.timed_out else f"return code {result.return_code}"
    msg = f"the tool {tool.name} could not be {what}: {why} of: {clip(one_line(redact(command)), 300)}"
    said = printable(redact(f"{result.output}\n{result.error}".strip())).split("\n")
    tail = "\n  ".join(clip(line, 300) for line in said[-_TAIL:] if line.strip())
    return ToolInstallError(msg, path=tool.path, hint=tail)
