"""Sandboxes that are none: commands on this machine, in a temporary copy of the folder. There is NO isolation.

For trying things out, and for machines without an engine: a command can read, write and reach whatever the user can who
runs pytest. Files and processes of a sandbox are cleaned up as well as that is possible without a container.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from threading import Event, Lock
from time import monotonic
from types import TracebackType
from typing import Self
from uuid import uuid4

from ..errors import SandboxDied, SandboxError, SandboxUnavailable
from . import workspace
from .base import MIB, TIMED_OUT, WORKSPACE, Change, CommandResult, Killed, SandboxInfo, SandboxSpec
from .changes import Manifest
from .hardening import QUIET
from .process import Process, kill_marked
from .shell import WRAP, script

KEPT = ("PATH", "LANG", "LC_ALL", "TZ")
"""Variables of this machine that commands are given; keys for instance are not."""

NOTES = (
    "no isolation: commands run on this machine as you, and can do what you can",
    "no limits of memory, processors and processes; the network can be reached",
    "what starts with an empty environment in a session of its own outlives a timeout and the sandbox",
)

MARK = "CONVO_SANDBOX"
"""The variable by which everything is known that was started in a sandbox."""

KILLED = 137
"""The return code of what SIGKILL ended: 128 + 9."""


class LocalEnvironment:
    """Opens sandboxes that are processes of this machine. Nobody gets one who has not asked for it by name."""

    name = "local"
    capabilities: frozenset[str] = frozenset()

    def __init__(self) -> None:
        self._open: set[LocalSandbox] = set()

    def available(self) -> str | None:
        return None if shutil.which("sh") else "there is no `sh` on this machine"

    def prepare(self, spec: SandboxSpec) -> SandboxSpec:
        """The spec as it is; `SandboxUnavailable` where it asks for what only a container has."""
        asked = {
            "images": spec.image or spec.build,
            "tools that are installed": any(tool.install or tool.files for tool in spec.tools),
            "closed directories": spec.closed,
            "other users": spec.user,
            "other runtimes": spec.runtime,
        }
        if refused := [what for what, given in asked.items() if given]:
            msg = f'the environment "local" has no {", no ".join(refused)}'
            raise SandboxUnavailable(msg, hint='use environment = "docker"')
        return spec

    def open(self, spec: SandboxSpec) -> LocalSandbox:
        sandbox = LocalSandbox(self.prepare(spec))
        self._open.add(sandbox)
        return sandbox

    def close(self) -> None:
        while self._open:
            self._open.pop().close()


class LocalSandbox:
    """A temporary directory in which commands run; see `Sandbox`, and the module for what it is not.

    Commands begin in `workspace`. The directory is told to them as `CONVO_ROOT`: `/workspace` or `/tests` do not exist
    for them, while `write_files` and `read_file` take absolute paths to be below it. READ_ONLY is a copy as well, which
    can be written to and of which nothing lasts; `trusted` commands only begin in a shell that knows nothing of others.
    """

    def __init__(self, spec: SandboxSpec) -> None:
        self._spec = spec
        self._mark = uuid4().hex
        self._root = workspace.directory("local-")
        try:
            self.workspace: Path | None = self._root / WORKSPACE.lstrip("/")
            self._manifest = self._filled(spec.folder, self.workspace)
            for name in ("tmp", ".state"):
                (self._root / name).mkdir(exist_ok=True)
            self._workdir = self._placed(spec.workdir or WORKSPACE)
            self._workdir.mkdir(parents=True, exist_ok=True)
        except BaseException:
            workspace.remove(self._root)
            raise
        self.info = SandboxInfo("local", user=f"{os.getuid()}:{os.getgid()}", notes=NOTES, enter=f"cd {self.workspace}")
        self._shell = shutil.which("bash") or "sh"
        self._one_by_one = Lock()
        self._stop = Event()
        self._closed = False
        self._left = False

    def execute(
        self,
        command: str,
        timeout: float = 60.0,
        *,
        trusted: bool = False,
        variables: Mapping[str, str] | None = None,
        user: str | None = None,
    ) -> CommandResult:
        """Run a script of the shell; see `Sandbox.execute`."""
        if user is not None:
            msg = f'the environment "local" cannot run a command as the user {user}'
            raise SandboxError(msg)
        text = script(command, {**self._spec.secrets, **(variables or {})})
        state = "" if trusted else str(self._root / ".state")
        arguments = [self._shell, "-c", WRAP, "sh", str(len(text)), "", str(self._workdir), state]
        with self._one_by_one:
            self._check()
            began = monotonic()
            self._stop.clear()
            process = self._started(arguments, text)
            try:
                killed = process.run(timeout, self._spec.most_output, wanted=self._wanted, kill=self._kill_all)
            except BaseException:  # an interrupt above all: nobody will wait for what runs there
                self._kill_all()
                raise
            self._check()
            return self._result(process, killed, began)

    def kill(self) -> None:
        """Kill everything that was started in the sandbox, from any thread; it stays usable."""
        self._check()
        self._stop.set()
        self._kill_all()

    def read_file(self, path: str, limit: int = MIB, *, trusted: bool = False) -> bytes:  # noqa: ARG002
        """The first `limit` bytes of a file below the sandbox's directory; `FileNotFoundError` where there is none."""
        self._check()
        place = self._placed(path)
        if not place.is_file():
            msg = f"{path}: there is no such file in the sandbox"
            raise FileNotFoundError(msg)
        with place.open("rb") as file:
            return file.read(limit)

    def write_files(self, files: Mapping[str, tuple[bytes, int]], *, trusted: bool = False) -> None:  # noqa: ARG002
        """Put files, by their absolute paths, with contents and modes; directories are made. `SandboxError` if not."""
        self._check()
        for path, (contents, mode) in files.items():
            try:
                place = self._placed(path)
                place.parent.mkdir(parents=True, exist_ok=True)
                place.unlink(missing_ok=True)
                place.write_bytes(contents)
                place.chmod(mode)
            except OSError as error:
                msg = f"{path} cannot be written in the sandbox: {error}"
                raise SandboxError(msg) from None

    def changes(self) -> list[Change]:
        """What is not as it was in the folder, in the order of paths; nothing where it is READ_ONLY."""
        self._check()
        return [] if self._manifest is None else self._manifest.changes()

    def diff(self, limit: int = MIB) -> str:
        """The changes as a unified diff of at most so many characters."""
        self._check()
        return "" if self._manifest is None else self._manifest.diff(limit)

    def leave(self) -> str:
        """Let the directory stay, though nothing that runs, if it was made to be kept; the command to enter it."""
        self._check()
        self._left = self._spec.keep
        if self._left:
            workspace.leave(self._root)
        return self.info.enter if self._left else ""

    def close(self) -> None:
        """End what runs, and remove the directory. May be called again; raises nothing."""
        self._closed = True
        with suppress(SandboxError):  # what can neither be killed nor removed stays: `info.notes` have said so
            self._kill_all()
            with self._one_by_one:  # a command that had just been started ends for `_closed`
                self._kill_all()
                if not self._left:
                    workspace.remove(self._root)

    def _filled(self, folder: Path | None, target: Path) -> Manifest | None:
        """Copy the folder; its manifest where changes are to be told."""
        if folder is None:
            target.mkdir()
            return None
        source = workspace.usable(folder)
        workspace.copy(source, target)
        return Manifest.of(target, source) if self._spec.permission == "READ_WRITE" else None

    def _placed(self, path: str) -> Path:
        """Where a path of the sandbox is on this machine; `FileNotFoundError` for one that leads out of it."""
        whole = Path(WORKSPACE, path)
        place = whole if whole.is_relative_to(self._root) else self._root / str(whole).lstrip("/")
        if not place.resolve().is_relative_to(self._root):
            msg = f"{path} leads out of the sandbox"
            raise FileNotFoundError(msg)
        return place

    def _started(self, arguments: list[str], text: bytes) -> Process:
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        own = {"CONVO_ROOT": str(self._root), "HOME": str(self._root / "tmp"), "TMPDIR": str(self._root / "tmp")}
        environment = kept | QUIET | own | dict(self._spec.variables) | {MARK: self._mark}
        try:
            return Process(arguments, text, cwd=self._workdir, environment=environment, kept=self._spec.kept_output)
        except FileNotFoundError as error:
            msg = f"the sandbox's directory has gone: {error.filename}"
            raise SandboxDied(msg) from None

    def _result(self, process: Process, killed: Killed | None, began: float) -> CommandResult:
        code, output, error = process.ended()
        if code != KILLED:
            killed = None  # it had ended by itself when it was to be killed
        return CommandResult(
            return_code=TIMED_OUT if killed == "timeout" else code,
            output=output.text(),
            error=error.text(),
            timed_out=killed == "timeout",
            killed=killed,
            truncated=output.omitted + error.omitted,
            seconds=monotonic() - began,
        )

    def _wanted(self) -> bool:
        return not (self._closed or self._stop.is_set())

    def _kill_all(self) -> None:
        kill_marked(f"{MARK}={self._mark}")

    def _check(self) -> None:
        if self._closed:
            msg = "the sandbox is closed"
            raise SandboxError(msg)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
