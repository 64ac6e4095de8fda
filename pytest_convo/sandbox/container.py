"""One container: how it is started so that it ends with us, and how commands are executed and killed in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPException
from threading import Event
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from docker.errors import APIError, DockerException, ImageNotFound
from requests import RequestException
from urllib3.exceptions import HTTPError

from ..errors import SandboxDied, SandboxError, SandboxUnavailable
from ..texts import clip, one_line
from .base import MIB, WORKSPACE, Killed, SandboxSpec
from .command import READY, Command, Sink, Unkillable
from .connection import Connection
from .engine import Engine
from .hardening import Users, host_config, variables
from .shell import KEEPER, KILL_EVERYTHING, STAYER, WRAP

if TYPE_CHECKING:
    from docker.types import Mount

FAULTS = (DockerException, RequestException, HTTPError, HTTPException, OSError)
"""What docker-py lets through when an engine refuses, breaks off or has gone."""

LAG = 10.0
"""Seconds in which an engine that has closed a command's streams also knows how the command ended."""

PROBE = 42
"""A return code that nothing else has by accident."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How an execution ended; not `started`: the engine could not even begin it, and its output says why."""

    code: int | None
    killed: Killed | None
    started: bool


class Container:
    """A container that runs, and one execution after the other in it; `kill` is for any thread."""

    def __init__(self, engine: Engine, container_id: str, tether: Any, users: Users, workdir: str) -> None:
        self.id = container_id
        self.users = users
        self.workdir = workdir or "/tmp"  # noqa: S108
        self.shell = "sh"
        self._engine = engine
        self._api = engine.client.api
        self._tether = tether
        self._stop: Event | None = None
        self._killers: list[str] = []
        self._others: set[str] = set()
        self._dead = ""

    @classmethod
    def start(cls, engine: Engine, spec: SandboxSpec, mounts: Sequence[Mount], labels: Mapping[str, str]) -> Container:
        """A new container of a spec. `SandboxUnavailable` where the engine gives none."""
        api = engine.client.api
        container_id, tether = "", None
        try:
            container_id = api.create_container(
                spec.image,
                entrypoint=["sh", "-c", *[STAYER if spec.keep else KEEPER] * 2],
                stdin_open=True,
                user=spec.user,
                working_dir=spec.workdir or (WORKSPACE if mounts else None),
                hostname="sandbox",
                environment=variables(spec),
                labels=dict(labels),
                host_config=host_config(api, spec, mounts),
            )["Id"]
            # Before the start: whatever happens to us from then on, the container's input ends and so does it.
            tether = api.attach_socket(container_id, params={"stdin": 1, "stream": 1})
            api.start(container_id)
            config = api.inspect_container(container_id)["Config"]
        except FAULTS as error:
            _let_go(tether)
            if container_id:
                with suppress(*FAULTS):  # the engine may have gone meanwhile: the next session's sweep finds it
                    remove(engine, container_id)
            raise _unavailable(spec, error) from error
        return cls(engine, container_id, tether, Users.of(config["User"], hardened=spec.hardened), config["WorkingDir"])

    def run(
        self, text: bytes, output: Sink, error: Sink, *, user: str, timeout: float, most: int = MIB, state: str = ""
    ) -> Ended:
        """Run a script in a new shell; `state` is the directory where it finds and leaves what lasts."""
        arguments = [self.shell, "-c", WRAP, self.shell, str(len(text)), READY.decode(), self.workdir, state]
        return self.execute(arguments, text, output, error, user=user, timeout=timeout, most=most)

    def execute(
        self, arguments: Sequence[str], data: bytes, output: Sink, error: Sink, *, user: str, timeout: float, most: int
    ) -> Ended:
        """Run a program with `data` on its input, which is not ended, until its streams end."""
        if self._dead:
            raise SandboxDied(self._dead)
        self._settle()
        self._others |= {user} - {self.users.agent, self.users.trusted}
        stop = self._stop = Event()  # before the engine hears of it: who kills meanwhile means this one too
        try:
            with self._reached():
                made = self._api.exec_create(self.id, list(arguments), stdin=True, user=user, workdir="/")
                raw = self._api.exec_start(made["Id"], socket=True)
            with Connection(raw) as connection:
                command = Command(
                    connection,
                    data,
                    output,
                    error,
                    timeout=timeout,
                    most=most,
                    kill=self._send_killers,
                    stopped=stop.is_set,
                )
                command.run()
        except Unkillable as reason:
            self._end_at_once()
            raise self._died(str(reason)) from None
        except BaseException:  # an interrupt above all: nobody will wait for what runs there
            with suppress(*FAULTS, SandboxDied):
                self._send_killers()
            raise
        finally:
            self._stop = None
        with self._reached():
            return Ended(self._exit_code(made["Id"]), command.killed, command.started)

    def kill(self) -> None:
        """Kill everything but the container itself, what is being executed included, and wait until it was done."""
        if (stop := self._stop) is not None:
            stop.set()  # who executes it goes on killing until it has ended, also if it was not quite there yet
        with self._reached():
            self._send_killers()
        self._settle()

    def alive(self, user: str | None = None) -> bool:
        """Whether something can be executed. What the engine says of its state may be a moment old: it is tried."""
        as_whom = user or self.users.agent
        try:
            made = self._api.exec_create(self.id, ["sh", "-c", f"exit {PROBE}"], user=as_whom, workdir="/")
            self._api.exec_start(made["Id"], detach=True)
            return self._exit_code(made["Id"]) == PROBE
        except FAULTS:
            return False

    def check(self) -> None:
        """`SandboxDied` if nothing can be executed any more."""
        if not self.alive():
            why = "it ended while a command ran"
            raise self._died(why)

    def let_go(self) -> None:
        """End our side of its input: a container that is not to be left ends with that."""
        _let_go(self._tether)

    def remove(self) -> None:
        """Remove it with all that it kept, and let go of it."""
        try:
            remove(self._engine, self.id)
        finally:
            self.let_go()

    def _send_killers(self) -> None:
        """Start the killing, as each user who may have processes; a sandbox too full to start it is tried again."""
        for user in {self.users.killer, *self._others}:
            try:
                made = self._api.exec_create(self.id, ["sh", "-c", KILL_EVERYTHING], user=user, workdir="/")
                self._killers.append(made["Id"])
                self._api.exec_start(made["Id"], detach=True)
            except APIError as error:
                if error.status_code in (404, 409):
                    raise

    def _settle(self) -> None:
        """Wait until no killer is on its way: the next command must not meet it."""
        while self._killers:
            with suppress(*FAULTS):  # the container has gone, or soon is found to have
                self._exit_code(self._killers.pop())

    def _exit_code(self, execution: str) -> int | None:
        deadline = monotonic() + LAG
        while (state := self._api.exec_inspect(execution))["Running"] and monotonic() < deadline:
            sleep(0.01)
        code: int | None = state["ExitCode"]
        return code

    def _end_at_once(self) -> None:
        with suppress(*FAULTS):  # it may have ended by now, or the engine with it: then that is said
            self._api.kill(self.id)

    @contextmanager
    def _reached(self) -> Iterator[None]:
        """Turn what goes wrong between us and the container into an error of ours."""
        try:
            yield
        except FAULTS as error:
            if isinstance(error, APIError) and error.status_code not in (404, 409) and self.alive():
                msg = f"the engine does not run a command in the sandbox: {_text(error)}"
                raise SandboxError(msg) from error
            raise self._died(_text(error)) from error

    def _died(self, why: str) -> SandboxDied:
        self._dead = self._dead or f"the sandbox has gone: {why} ({self._post_mortem()})"
        return SandboxDied(self._dead)

    def _post_mortem(self) -> str:
        """What the engine still knows of it, in a few words for who looks into it."""
        name = f"container {self.id[:12]}"
        try:
            state = self._api.inspect_container(self.id)["State"]
        except APIError:
            return f"{name} is removed"
        except FAULTS:
            return f"{name}, and its engine does not answer"
        memory = ", out of memory" if state.get("OOMKilled") else ""
        error = f": {one_line(state['Error'])}" if state.get("Error") else ""
        return f"{name} is {state['Status']}, exit code {state['ExitCode']}{memory}{error}"


def remove(engine: Engine, container_id: str) -> None:
    """Remove a container and its anonymous volumes; one that is being removed, or is gone, is as well."""
    try:
        engine.client.api.remove_container(container_id, force=True, v=True)
    except APIError as error:
        if error.status_code not in (404, 409, 500):  # gone; already being removed; Podman's word for the latter
            raise


def _let_go(tether: Any) -> None:
    """Close our end of a container's input, upon which the container ends if it still runs."""
    for closable in () if tether is None else (getattr(tether, "_sock", tether), tether):
        with suppress(OSError):  # the container has gone, and its end of the connection with it
            closable.close()


def _unavailable(spec: SandboxSpec, error: Exception) -> SandboxError:
    if isinstance(error, ImageNotFound):
        msg = f"the image {spec.image!r} is not on this engine"
        return SandboxUnavailable(msg, hint=f"docker pull {spec.image}")
    msg = f"the engine started no sandbox: {_text(error)}"
    return SandboxUnavailable(msg)


def _text(error: Exception) -> str:
    explanation = getattr(error, "explanation", None)
    return clip(one_line(str(explanation or error)) or type(error).__name__, 300)
