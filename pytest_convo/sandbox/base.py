"""The interface behind which every place stands in which an agent may do as it likes.

An `Environment` makes sandboxes, a `Sandbox` runs commands and has files. What is asked of a sandbox is plain data, a
`SandboxSpec`, that names no host, no port and no container: a folder is content, not a path that an engine must see.
Everything here blocks: who has an event loop calls it from a thread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Literal, Protocol, Self, runtime_checkable

from .tool import AgentTool

Permission = Literal["READ_ONLY", "READ_WRITE"]

Killed = Literal["timeout", "output_limit", "kill"]
"""Why a command did not end by itself: its time was up, it wrote without end, or `Sandbox.kill` was called."""

WORKSPACE = "/workspace"
"""Where the folder of a sandbox is, in the sandbox."""

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30

TIMED_OUT = 124
"""The return code of a command whose time was up, as GNU timeout has it."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """What came of one command; that it failed is a result like any other, never an exception.

    `output` and `error` are what it wrote to its two streams, as UTF-8 with replacement characters; of much the head
    and the tail are kept, with a line between them that says how many bytes were left out.
    """

    return_code: int | None
    """Its own; 124 where its time was up, 137 where it was killed otherwise."""
    output: str
    error: str
    timed_out: bool = False
    killed: Killed | None = None
    truncated: int = 0
    """Bytes left out of the middle, of both streams together."""
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether it ended by itself, with return code 0."""
        return self.return_code == 0 and self.killed is None


@dataclass(frozen=True, slots=True, order=True)
class Change:
    """One file that is not as it was: `A` it was added, `M` modified, `D` deleted; `path` is relative to the folder."""

    path: str
    kind: Literal["A", "M", "D"]


@dataclass(frozen=True, slots=True)
class SandboxInfo:
    """What a sandbox is, as far as its backend knows: read back from it, not as it was asked for."""

    environment: str
    image: str = ""
    user: str = ""
    limits: Mapping[str, str] = field(default_factory=dict)
    """Each limit that holds, in words: `memory` "1 GiB", `network` "none" ..."""
    notes: Sequence[str] = ()
    """What was asked for and does not hold, for instance limits that a rootless engine ignores."""
    enter: str = ""
    """The command with which a person can look inside while it lives."""


@dataclass(frozen=True, slots=True)
class SandboxSpec:
    """What a sandbox is to be. The defaults are the hardened ones; each can be loosened."""

    image: str | None = None
    """The image's name or id; None: the environment's own choice."""
    build: Path | None = None
    """A folder with a `Dockerfile`, whose image comes in the place of `image`."""
    build_timeout: float = 600.0
    """Seconds that an image may take to be built, and each command that installs a tool."""
    tools: tuple[AgentTool, ...] = ()
    """What is installed in the image beforehand, in this order."""
    folder: Path | None = None
    """What stands at `/workspace`."""
    permission: Permission = "READ_ONLY"
    """READ_ONLY: the folder itself, not writable. READ_WRITE: a private copy of it."""
    scratch: bool = False
    """A folder that is READ_ONLY may be written to all the same, and nothing of it lasts."""
    workdir: str | None = None
    """Where commands begin; else `/workspace` where there is a folder, else the image's own, else `/tmp`."""
    user: str | None = None
    """`uid:gid` or a name of the image's; None: as whom pytest runs, or the image's own where it is not `hardened`."""
    hardened: bool = True
    """Without capabilities, without new privileges, as pytest's user; else as the engine starts any container."""
    writable: bool = False
    """Whether the image's own files may be written to."""
    network: bool = False
    memory: int = GIB
    """Bytes; swap is in it."""
    cpus: float = 1.0
    pids: int = 256
    tmp: int = 256 * MIB
    """Bytes of /tmp."""
    closed: tuple[str, ...] = ()
    """Directories that exist from the start, empty, which only `trusted` commands can enter."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Environment variables of every command. Secret ones are among `secrets`."""
    secrets: Mapping[str, str] = field(default_factory=dict)
    """Environment variables that stand in no image, label or inspection: they are given to each command."""
    kept_output: int = 64 * KIB
    """Bytes of each stream of a command that are kept, half of them head and half tail."""
    most_output: int = 64 * MIB
    """Bytes after which a command that writes is killed."""
    runtime: str | None = None
    """Another runtime of the engine, for instance "runsc"."""
    keep: bool = False
    """Whether it may be left for somebody to look into, by `Sandbox.leave`: then it does not end with this process."""
    owner: str = ""
    """Whom it is for, a node id for instance: for people who look at what runs."""


@runtime_checkable
class Sandbox(Protocol):
    """One place to work in. May be used from several threads; commands run one after the other.

    Each method raises `SandboxDied` when the sandbox is gone, and `SandboxError` after `close`.
    """

    info: SandboxInfo
    workspace: Path | None
    """The folder on this machine that stands at `/workspace` and shows what the sandbox made of it; None: none does."""

    def execute(
        self,
        command: str,
        timeout: float = 60.0,
        *,
        trusted: bool = False,
        variables: Mapping[str, str] | None = None,
        user: str | None = None,
    ) -> CommandResult:
        """Run a script of the shell with an empty input; `timeout` in seconds.

        The working directory and exported variables last until the next command, other state does not. When the time is
        up, everything that runs in the sandbox is killed, what earlier commands left in the background included. A
        `trusted` command is ours rather than an agent's: it can enter the closed directories, and begins in a shell
        that knows nothing of earlier ones, at `workdir`. `variables` are further ones for this command, `user` another
        user for it.
        """

    def kill(self) -> None:
        """Kill everything that was started in the sandbox, from any thread; it stays usable."""

    def read_file(self, path: str, limit: int = MIB, *, trusted: bool = False) -> bytes:
        """The first `limit` bytes of a file; `FileNotFoundError` where there is none, or none that may be read."""

    def write_files(self, files: Mapping[str, tuple[bytes, int]], *, trusted: bool = False) -> None:
        """Put files, by their absolute paths, with contents and modes; directories are made. `SandboxError` if not."""

    def changes(self) -> list[Change]:
        """What is not as it was in the folder, in the order of paths; nothing where it is READ_ONLY."""

    def diff(self, limit: int = MIB) -> str:
        """The changes as a unified diff of at most so many characters; files that are no text are named only."""

    def leave(self) -> str:
        """Let it stay when it is closed, if it was made to be kept; the command with which a person can enter it."""

    def close(self) -> None:
        """End it and all that runs in it, and remove what it kept. May be called again; raises nothing."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...


@runtime_checkable
class Environment(Protocol):
    """Makes sandboxes; one for each backend and session. Backends are found by the entry points of `GROUP`."""

    name: str
    capabilities: frozenset[str]
    """Of "isolation", "limits", "no_network", "images", "closed": what a spec asks beyond these is refused."""

    def available(self) -> str | None:
        """None where it can be used; else why not, in one line that says what was tried and what to do."""

    def prepare(self, spec: SandboxSpec) -> SandboxSpec:
        """Have image and tools ready, once for all who ask for the same; the spec with what is now known.

        Raises `SandboxUnavailable`, and `ToolInstallError`.
        """

    def open(self, spec: SandboxSpec) -> Sandbox:
        """A new sandbox of a spec that was prepared. Raises `SandboxUnavailable` and `SandboxError`."""

    def close(self) -> None:
        """The session is over: end what is left, and wait for what is still being removed."""


GROUP = "pytest_convo.environments"
"""The entry points' group: by the name of an environment, a callable without arguments that makes it."""
