"""Sandboxes that are containers of Docker, or of Podman behind the same interface."""

from __future__ import annotations

import atexit
import logging
import os
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from threading import Lock
from uuid import uuid4

from ..errors import SandboxError, SandboxUnavailable
from ..texts import one_line
from . import sweep as sweeping
from . import workspace
from .base import SandboxInfo, SandboxSpec
from .container import FAULTS, Container
from .docker_sandbox import DockerSandbox
from .engine import Engine, find
from .folder import Folder
from .hardening import SURVEY, limits
from .output import HeadTail

REMOVERS = 4
"""Containers that are removed at once: an engine removes 9 a second one by one, and 20 to 28 together."""

_log = logging.getLogger(__name__)

Facts = Mapping[str, str]


class DockerEnvironment:
    """Makes containers; see `Environment`. One for each process.

    Sandboxes are started in threads of its own, as many at once as there are processors: more only wait for each other
    longer. And so an interrupt meets who waits for a sandbox rather than the request that makes it, whose container
    nobody would know of.
    """

    name = "docker"
    capabilities = frozenset({"isolation", "limits", "no_network", "images", "closed"})

    def __init__(self) -> None:
        self._session = uuid4().hex
        self._process = os.getpid()
        self._lock = Lock()
        self._found: Engine | SandboxUnavailable | None = None
        self._facts: dict[object, Facts] = {}
        self._open: set[DockerSandbox] = set()
        self._starters = ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="convo-sandbox-start")
        self._removers = ThreadPoolExecutor(REMOVERS, thread_name_prefix="convo-sandbox-remove")
        self._closed = False

    def available(self) -> str | None:
        """None where an engine can be used; else why not, in one line."""
        try:
            self._engine()
        except SandboxUnavailable as reason:
            return one_line(str(reason))
        return None

    def prepare(self, spec: SandboxSpec) -> SandboxSpec:
        """The spec with the id of its image, tools included, and the user that commands will be."""
        from .images import ensure
        from .toolset import with_tools

        engine = self._engine()
        user = spec.user
        if user is None and spec.hardened:
            # Files of a folder then belong to whom they did; to a rootless engine's root, who is us, likewise.
            user = "0:0" if engine.rootless else f"{os.getuid()}:{os.getgid()}"
        spec = replace(spec, image=ensure(engine.client, spec), build=None, user=user)
        if spec.tools:
            spec = replace(spec, image=with_tools(engine.client, self.open, str(spec.image), spec))
        return spec

    def open(self, spec: SandboxSpec) -> DockerSandbox:
        """A new container, its folder in place."""
        engine = self._engine()
        with self._lock:
            if self._closed:
                msg = "the environment is closed"
                raise SandboxError(msg)
            starting = self._starters.submit(self._start, engine, spec)
        try:
            return starting.result()
        except BaseException:  # an interrupt above all: nobody will close what is still being started
            starting.cancel()
            starting.add_done_callback(_close_unclaimed)
            raise

    def sweep(self) -> list[str]:
        """Remove the containers that sessions which have gone left on this host; a line about each."""
        return sweeping.left(self._engine())

    def close(self) -> None:
        """End what is open, and wait until nothing is left."""
        if os.getpid() != self._process:
            return  # a fork of the process that made it, to which nothing here belongs
        with self._lock:
            already, self._closed = self._closed, True
        if already:
            return
        atexit.unregister(self.close)
        self._starters.shutdown(cancel_futures=True)
        for sandbox in list(self._open):
            sandbox.close()
        self._removers.shutdown()
        if isinstance(self._found, Engine):
            self._found.client.close()

    def _engine(self) -> Engine:
        """The engine, looked for once: what was found holds for the session, and so does that there is none."""
        with self._lock:
            if self._found is None:
                try:
                    self._found = find()
                except SandboxUnavailable as reason:
                    self._found = reason
                else:
                    atexit.register(self.close)
                    self._removers.submit(_sweep, self._found)
            if isinstance(self._found, SandboxUnavailable):
                raise SandboxUnavailable(self._found.what, hint=self._found.hint)
            return self._found

    def _start(self, engine: Engine, spec: SandboxSpec) -> DockerSandbox:
        folder = Folder.of(spec, shares_files=engine.shares_files)
        container = None
        try:
            mounts = [] if folder is None else [folder.mount()]
            labels = sweeping.labels(self._session, spec.owner, keep=spec.keep)
            container = Container.start(engine, spec, mounts, labels)
            facts = self._survey(container, spec)
            container.shell = facts["shell"]
            if folder is not None and not engine.rootless:
                folder = folder.handed_to(int(facts["uid"]), int(facts["gid"]))
            info = self._info(engine, container, spec, facts)
        except BaseException:
            if container is not None:
                with suppress(*FAULTS, SandboxError):  # what went wrong before is what is to be said
                    container.remove()
            if folder is not None:
                folder.remove()
            raise
        sandbox = DockerSandbox(container, spec, folder, info, self._release)
        self._open.add(sandbox)
        return sandbox

    def _survey(self, container: Container, spec: SandboxSpec) -> Facts:
        """What a container says of itself; asked once for all that are alike, as it takes as long as a command."""
        alike = (spec.image, spec.user, spec.hardened, spec.memory, spec.pids, spec.cpus, spec.runtime)
        if alike not in self._facts:
            said, error = HeadTail(1 << 14), HeadTail(1 << 12)
            text = SURVEY.encode()
            ended = container.run(text, said, error, user=container.users.agent, timeout=60)
            facts = dict(line.partition("=")[::2] for line in said.text().splitlines())
            if not ended.started or not facts.keys() >= {"shell", "uid", "gid"}:
                why = one_line(said.text() + error.text()) or f"return code {ended.code}"
                msg = f"the image {spec.image} cannot be worked in: {why}"
                raise SandboxUnavailable(msg, hint="an image needs a POSIX shell, `cat` and `head`")
            self._facts[alike] = facts
        return self._facts[alike]

    def _info(self, engine: Engine, container: Container, spec: SandboxSpec, facts: Facts) -> SandboxInfo:
        held, notes = limits(spec, facts)
        host = "" if engine.url == "unix:///var/run/docker.sock" else f"DOCKER_HOST={engine.url} "
        return SandboxInfo(
            environment=self.name,
            image=str(spec.image),
            user=f"{facts['uid']}:{facts['gid']}",
            limits=held,
            notes=notes,
            enter=f"{host}docker exec -it -w {container.workdir} {container.id[:12]} {container.shell}",
        )

    def _release(self, sandbox: DockerSandbox) -> None:
        self._open.discard(sandbox)
        try:
            self._removers.submit(_remove, sandbox)
        except RuntimeError:  # the interpreter is ending, and starts no threads any more
            _remove(sandbox)


def _remove(sandbox: DockerSandbox) -> None:
    try:
        sandbox.remove()
    except (*FAULTS, SandboxError) as error:
        # Nobody waits for it. The container ends all the same, when our side of its input is closed.
        _log.warning("a sandbox was not removed: %s", one_line(str(error)))


def _sweep(engine: Engine) -> None:
    try:
        workspace.sweep()
        sweeping.left(engine)
    except (*FAULTS, SandboxError) as error:  # the next session finds the same again
        _log.warning("what earlier sessions have left was not removed: %s", one_line(str(error)))


def _close_unclaimed(starting: Future[DockerSandbox]) -> None:
    if not starting.cancelled() and starting.exception() is None:
        starting.result().close()
