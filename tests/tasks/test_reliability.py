"""What is left of sandboxes, lost or mixed up, when sessions are killed, interrupted or crowded, on a real engine.

Small versions of benchmarks/sandbox_reliability.py, which counts over many rounds, and restarts an engine.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import docker
import pytest
import requests

from pytest_convo.errors import SandboxDied, SandboxError
from pytest_convo.sandbox import sweep
from pytest_convo.sandbox.base import SandboxSpec
from pytest_convo.sandbox.container import Container
from pytest_convo.sandbox.docker import DockerEnvironment

pytestmark = pytest.mark.engine

PARALLEL = ["-p", "xdist.plugin", "-n2"]
WAYS = pytest.mark.parametrize("args", [[], PARALLEL], ids=["one process", "xdist"])
BUSY = (
    "setsid sleep 300 & echo up > up.txt; while [ ! -e /workspace/enough ]; do sleep 0.05; done; echo hello > out.txt"
)
COUNT = 2
SOON = 60.0


class Working:
    """A session in a process of its own, whose agents work until they are told that it is enough."""

    def __init__(self, tasks, monkeypatch: pytest.MonkeyPatch, *args: str) -> None:
        self.names = [f"task-{uuid4().hex[:12]}" for _ in range(COUNT)]
        for name in self.names:
            tasks.write(name, commands=[BUSY])
        self._copies = tasks.path / "copies"
        self._copies.mkdir()
        monkeypatch.setenv("TMPDIR", str(self._copies))
        command = [sys.executable, "-m", "pytest", *args]
        self.output = (tasks.path / "output.txt").open("w+")
        self.process = subprocess.Popen(
            command, cwd=tasks.path, stdout=self.output, stderr=subprocess.STDOUT, start_new_session=True
        )
        eventually(lambda: len(self.copies("up.txt")) == COUNT)

    def copies(self, file: str = "") -> list[Path]:
        """The workspaces of its sandboxes that there are, or a file in each that has it."""
        return list(self._copies.glob(f"pytest-convo-*/workspace/{file}"))

    def containers(self) -> list[dict[str, str]]:
        """The labels of its containers."""
        listed = docker.from_env().api.containers(all=True, filters={"label": sweep.LABEL})
        return [found["Labels"] for found in listed if found["Labels"][f"{sweep.LABEL}.owner"] in self.names]

    def told(self) -> str:
        self.process.wait(SOON)
        self.output.seek(0)
        return self.output.read()


def eventually(condition: Callable[[], object]) -> None:
    """Wait until it is so."""
    deadline = time.monotonic() + SOON
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture
def working(tasks, monkeypatch):
    """Makes a session that is in the middle of its tasks; whatever happens, it ends with the test."""
    made = []

    def make(*args: str) -> Working:
        made.append(Working(tasks, monkeypatch, *args))
        return made[-1]

    yield make
    for session in made:
        if session.process.poll() is None:
            os.killpg(session.process.pid, signal.SIGKILL)
        session.process.wait()
        session.output.close()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_session_that_is_killed_leaves_no_container(working, how):
    session = working()
    assert len(session.containers()) == COUNT
    session.process.send_signal(how)
    eventually(lambda: not session.containers())


@WAYS
def test_a_session_that_is_interrupted_leaves_nothing_and_ends(working, args):
    session = working(*args)
    os.killpg(session.process.pid, signal.SIGINT)
    told = session.told()
    assert session.process.returncode == pytest.ExitCode.INTERRUPTED
    assert "Traceback" not in told
    assert session.containers() == []
    assert session.copies() == []


def test_a_worker_that_is_killed_takes_its_sandboxes_along_and_its_tasks_are_made_anew(working):
    session = working(*PARALLEL)
    victim = session.containers()[0][f"{sweep.LABEL}.pid"]
    os.kill(int(victim), signal.SIGKILL)
    eventually(lambda: all(labels[f"{sweep.LABEL}.pid"] != victim for labels in session.containers()))

    def enough() -> bool:
        for copy in session.copies():
            with suppress(FileNotFoundError):  # its run has ended just now
                (copy / "enough").touch()
        return session.process.poll() is not None

    eventually(enough)
    told = session.told()
    assert (session.process.returncode, f"{COUNT} passed" in told) == (0, True)
    assert session.containers() == []


def test_workers_whose_controller_is_killed_end_of_their_own_accord_and_leave_nothing(working, tasks):
    # That execnet interrupts them after 5 seconds must not be what ends them.
    (tasks.path / "conftest.py").write_text(
        "import os, pathlib\n\n\n"
        "def pytest_keyboard_interrupt(excinfo):\n"
        '    pathlib.Path(os.environ["PYTEST_XDIST_WORKER"] + ".why").write_text(str(excinfo.value))\n'
    )
    session = working(*PARALLEL)
    session.process.kill()
    eventually(lambda: len(list(tasks.path.glob("*.why"))) == COUNT)
    eventually(lambda: not session.containers() and not session.copies())
    assert {path.read_text() for path in tasks.path.glob("*.why")} == {"the controller has gone"}


def test_what_an_earlier_session_left_is_removed_by_the_next(tasks, hostbin):
    client = docker.from_env()
    with subprocess.Popen(["true"]) as ended:
        ended.wait()
    labels = {**sweep.labels("earlier", ""), f"{sweep.LABEL}.pid": str(ended.pid)}
    left = client.api.create_container(hostbin, ["sh"], labels=labels)["Id"]
    tasks.write()
    assert tasks.run().ret == 0
    assert left not in [container["Id"] for container in client.api.containers(all=True)]


def test_no_output_is_lost_or_mixed_up_where_many_write_at_once(tasks):
    expected = {}
    for number in range(8):
        first = 100_000 * (number + 1)
        lines = "".join(f"{line}\n" for line in range(first, first + 3_000))
        expected[f"t{number}"] = [(lines, ""), (f"{first}\n", f"{first}!\n")]
        tasks.write(
            f"t{number}",
            commands=[f"seq {first} {first + 2_999}", f"echo {first} > out.txt; cat out.txt; echo {first}! >&2"],
            test=f"test $(cat out.txt) = {first}",
        )
    result = tasks.run(*PARALLEL)
    assert result.parseoutcomes() == {"passed": 8}
    told = {name: [(event["output"], event["error"]) for event in tasks.events("command", name)] for name in expected}
    assert told == expected


def test_the_private_copy_goes_also_where_the_engine_has_gone(tmp_path, hostbin, monkeypatch):
    (tmp_path / "file").write_text("tea")
    environment = DockerEnvironment()
    sandbox = environment.open(
        environment.prepare(SandboxSpec(image=hostbin, folder=tmp_path, permission="READ_WRITE"))
    )
    remove = Container.remove

    def removed(container: Container) -> None:
        remove(container)
        raise SandboxDied("the engine does not answer")

    monkeypatch.setattr(Container, "remove", removed)
    assert sandbox.workspace.is_relative_to(tempfile.gettempdir())
    environment.close()
    assert not sandbox.workspace.parent.exists()


@pytest.mark.parametrize("broken", ["attach_socket", "exec_create"])
def test_an_engine_that_goes_while_a_sandbox_is_opened_is_an_error_in_our_words(hostbin, monkeypatch, broken):
    environment = DockerEnvironment()
    spec = environment.prepare(SandboxSpec(image=hostbin))
    remove = docker.APIClient.remove_container

    def gone(*_args: object, **_options: object) -> None:
        raise requests.ConnectionError("the engine is not there")

    def removed(*args: object, **options: object) -> None:
        remove(*args, **options)
        gone()

    with monkeypatch.context() as patched:
        patched.setattr(docker.APIClient, broken, gone)
        patched.setattr(docker.APIClient, "remove_container", removed)
        with pytest.raises(SandboxError, match="the engine is not there"):
            environment.open(spec)
    environment.close()
