"""A sandbox that is a container."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from time import monotonic
from types import TracebackType
from typing import Self

from ..errors import SandboxDied, SandboxError
from ..texts import clip, one_line
from . import files as files_of
from .base import MIB, TIMED_OUT, Change, CommandResult, SandboxInfo, SandboxSpec
from .container import Container, Ended
from .folder import Folder
from .hardening import PRIVATE, STATE, Users
from .output import HeadTail
from .shell import script

KILLED = 137
"""The return code of what SIGKILL ended: 128 + 9."""

CLOSED = "the sandbox is closed"


class DockerSandbox:
    """Runs each command in a shell of its own, by the engine's exec; see `Sandbox`.

    What lasts between an agent's commands does so for its own user alone: a command of another `user` begins, like a
    `trusted` one, in a shell that knows nothing of earlier ones, as it must not run what an agent has left.
    """

    def __init__(
        self,
        container: Container,
        spec: SandboxSpec,
        folder: Folder | None,
        info: SandboxInfo,
        release: Callable[[DockerSandbox], None],
    ) -> None:
        self.container = container
        self._folder = folder
        self.info = info
        self.workspace: Path | None = None if folder is None else folder.copy or folder.source
        self._spec = spec
        self._release = release
        self._one_by_one = Lock()
        self._closing = Lock()
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
        output, error = HeadTail(self._spec.kept_output), HeadTail(self._spec.kept_output)
        as_whom = self._user(user, trusted=trusted)
        text = script(command, self._given(variables or {}, trusted=trusted))
        state = STATE if not trusted and as_whom == self.container.users.agent else ""
        with self._one_by_one, self._in_use():
            began = monotonic()
            ended = self.container.run(
                text, output, error, user=as_whom, timeout=timeout, most=self._spec.most_output, state=state
            )
            if not ended.started and ended.killed != "kill":
                return self._not_started(output, as_whom, monotonic() - began)
            return self._result(ended, output, error, monotonic() - began)

    def kill(self) -> None:
        """Kill everything that was started in the sandbox, from any thread; it stays usable."""
        with self._in_use():
            self.container.kill()

    def read_file(self, path: str, limit: int = MIB, *, trusted: bool = False) -> bytes:
        """The first `limit` bytes of a file; `FileNotFoundError` where there is none, or none that may be read."""
        with self._one_by_one, self._in_use():
            return files_of.read(self.container, path, limit, self._user(None, trusted=trusted))

    def write_files(self, files: Mapping[str, tuple[bytes, int]], *, trusted: bool = False) -> None:
        """Put files, by their absolute paths, with contents and modes; directories are made. `SandboxError` if not."""
        with self._one_by_one, self._in_use():
            files_of.write(self.container, files, self._user(None, trusted=trusted))

    def changes(self) -> list[Change]:
        """What is not as it was in the folder, in the order of paths; nothing where it is READ_ONLY."""
        with self._one_by_one, self._in_use():
            return [] if self._folder is None else self._readable(self._folder).changes()

    def diff(self, limit: int = MIB) -> str:
        """The changes as a unified diff of at most so many characters."""
        with self._one_by_one, self._in_use():
            return "" if self._folder is None else self._readable(self._folder).diff(limit)

    def leave(self) -> str:
        """Let the container stay, with its folder, when it is closed; how to enter it. See `Sandbox.leave`."""
        self._left = self._spec.keep
        if self._left and self._folder is not None:
            self._folder.leave()
        return self.info.enter if self._left else ""

    def close(self) -> None:
        """End it and all that runs in it; `DockerEnvironment.close` waits until it is removed."""
        with self._closing:
            already, self._closed = self._closed, True
        if not already:
            self._release(self)

    def remove(self) -> None:
        """Remove the container and the private copy, at once; what is to be left is only let go of."""
        if self._left:
            self.container.let_go()
            return
        if self._folder is not None and self._folder.foreign:
            with suppress(SandboxError):  # what then cannot be removed is said where it is to be
                self.container.kill()
                self._folder.open_from_inside(self.container)
        try:
            self.container.remove()
        finally:  # also where the engine has gone
            if self._folder is not None:
                self._folder.remove()

    def _readable(self, folder: Folder) -> Folder:
        """The folder, whose files are ours to read, whoever wrote them."""
        if folder.foreign:
            folder.open_from_inside(self.container)
        return folder

    @contextmanager
    def _in_use(self) -> Iterator[None]:
        if self._closed:
            raise SandboxError(CLOSED)
        try:
            yield
        except SandboxDied:
            if self._closed:  # by another thread, meanwhile
                raise SandboxError(CLOSED) from None
            raise

    def _user(self, user: str | None, *, trusted: bool) -> str:
        users = self.container.users if user is None else Users.of(user, hardened=self._spec.hardened)
        return users.trusted if trusted else users.agent

    def _given(self, variables: Mapping[str, str], *, trusted: bool) -> Mapping[str, str]:
        """The variables that come with each command, of which none lasts."""
        ours = trusted and self._spec.hardened and "HOME" not in self._spec.variables
        return {**({"HOME": PRIVATE} if ours else {}), **self._spec.secrets, **variables}

    def _result(self, ended: Ended, output: HeadTail, error: HeadTail, seconds: float) -> CommandResult:
        code, killed = ended.code, ended.killed
        if killed == "timeout":
            code = TIMED_OUT
        elif code not in (KILLED, None):
            killed = None  # it had ended by itself when it was to be killed
        elif killed is not None:
            code = KILLED
        else:
            self.container.check()  # for want of memory, by its own `kill -9`, or with the whole container
        return CommandResult(
            return_code=code,
            output=output.text(),
            error=error.text(),
            timed_out=killed == "timeout",
            killed=killed,
            truncated=output.omitted + error.omitted,
            seconds=seconds,
        )

    def _not_started(self, complaint: HeadTail, user: str, seconds: float) -> CommandResult:
        """What comes of a command for which no shell could be started: as a rule there are too many processes."""
        said = clip(one_line(complaint.text()), 300)
        self.container.kill()
        if self.container.alive(user):
            msg = f"no shell could be started, so everything in the sandbox was killed: {said}\n"
            return CommandResult(return_code=KILLED, output="", error=msg, killed="kill", seconds=seconds)
        self.container.check()
        msg = f"the engine cannot start a shell in the sandbox as the user {user or 'root'}: {said}"
        raise SandboxError(msg)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
