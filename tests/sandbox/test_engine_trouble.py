"""An engine of this test's own, which may be restarted; and a pytest that is itself in a container of the engine."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import TemporaryDirectory

import docker
import pytest

import pytest_convo
from pytest_convo.sandbox.base import SandboxSpec
from pytest_convo.sandbox.docker import DockerEnvironment
from pytest_convo.testing import images
from pytest_convo.testing.sandbox_conformance import Backend, cases

WAIT = 90.0
"""Seconds for an engine to answer."""


class Daemon:
    """A second dockerd beside the machine's own, with everything that it has in one directory."""

    def __init__(self, directory: Path) -> None:
        self.url = f"unix://{directory}/docker.sock"
        self._directory = directory
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        places = {"data-root": "data", "exec-root": "exec", "pidfile": "pid"}
        options = [f"--{option}={self._directory / name}" for option, name in places.items()]
        # In a network of its own: a second engine would take the first one's bridge away, even if told to have none.
        command = ["unshare", "--net", "dockerd", "-H", self.url, "--iptables=false", *options]
        with (self._directory / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        deadline = time.monotonic() + WAIT
        while not self._answers():
            assert self._process.poll() is None, (self._directory / "log").read_text()[-2000:]
            assert time.monotonic() < deadline, (self._directory / "log").read_text()[-2000:]
            time.sleep(0.2)

    def stop(self) -> None:
        """As a service manager does it: containers end with it."""
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait(WAIT)

    def restart(self) -> None:
        self.stop()
        self.start()

    def _answers(self) -> bool:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(3)
            try:
                connection.connect(self.url.removeprefix("unix://"))
                connection.sendall(b"GET /_ping HTTP/1.0\r\nHost: engine\r\n\r\n")
                return b" 200 " in connection.recv(32)
            except OSError:
                return False


@pytest.fixture
def daemon(monkeypatch: pytest.MonkeyPatch) -> Iterator[Daemon]:
    if os.environ.get("CONVO_TEST_ENGINE") != "require":
        pytest.skip("an engine of its own is started with CONVO_TEST_ENGINE=require only")
    if os.getuid() != 0 or not all(map(shutil.which, ("dockerd", "unshare"))):
        pytest.skip("an engine of its own is started by root, where dockerd and unshare are installed")
    with ExitStack() as stack:
        directory = Path(stack.enter_context(TemporaryDirectory(prefix="convo-daemon-", ignore_cleanup_errors=True)))
        daemon = Daemon(directory)
        stack.callback(daemon.stop)
        daemon.start()
        monkeypatch.setenv("DOCKER_HOST", daemon.url)
        yield daemon


@pytest.mark.engine
@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")  # docker-py's, of connections that broke off
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_engine_is_restarted_in_the_middle(daemon: Daemon) -> None:
    (case,) = (case for case in cases({"restart"}) if "restart" in case.needs)
    with closing(docker.DockerClient(daemon.url)) as client:
        image = images.hostbin(client)

    with Backend(DockerEnvironment, SandboxSpec(image=image), restart=daemon.restart) as backend:
        case(backend)
    gc.collect()


ENGINE = "/var/run/docker.sock"

INSIDE = """
import sys
from pathlib import Path

sys.stdout = open("/told/output", "w", buffering=1)  # what a container writes as it ends, its log may not have

from pytest_convo.errors import SandboxError
from pytest_convo.sandbox.base import SandboxSpec
from pytest_convo.sandbox.docker import DockerEnvironment

environment = DockerEnvironment()
folder = Path("/inside/folder")
folder.mkdir(parents=True)
(folder / "file").write_text("text")
for permission in ("READ_ONLY", "READ_WRITE"):
    spec = environment.prepare(SandboxSpec(image=sys.argv[1], folder=folder, permission=permission))
    try:
        with environment.open(spec) as sandbox:
            print(permission, sandbox.execute("cat file").output)
    except SandboxError as error:
        print(permission, type(error).__name__, error)
with environment.open(environment.prepare(SandboxSpec(image=sys.argv[1]))) as sandbox:
    print(sandbox.execute("echo works").output)
environment.close()
"""


@pytest.mark.engine
def test_a_pytest_in_a_container_with_the_engines_socket_is_told_that_its_folders_cannot_be_seen(
    tmp_path: Path, client: docker.DockerClient, hostpython: str, hostbin: str
) -> None:
    """What the engine would take for the folder is a path of another machine's, or of nobody's."""
    if not Path(ENGINE).is_socket():
        pytest.skip(f"the engine is not behind {ENGINE}")
    places = dict.fromkeys([*filter(None, map(str, map(Path, sys.path))), str(Path(pytest_convo.__file__).parents[1])])
    mounted = [place for place in places if Path(place).is_dir() and not place.startswith(sys.base_prefix)]
    client.containers.run(
        hostpython,
        ["python3", "-c", INSIDE, hostbin],
        environment={"PYTHONPATH": ":".join(mounted), "PYTHONDONTWRITEBYTECODE": "1"},
        volumes=[f"{place}:{place}:ro" for place in mounted] + [f"{ENGINE}:{ENGINE}", f"{tmp_path}:/told"],
        network_mode="none",
        remove=True,
    )

    output = (tmp_path / "output").read_text()
    lines = output.splitlines()
    for permission in ("READ_ONLY", "READ_WRITE"):
        (said,) = [line for line in lines if line.startswith(permission)]
        assert said.startswith(f"{permission} SandboxUnavailable"), output
    assert "works" in lines, output
