from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator

import pytest
from docker import DockerClient

from pytest_convo.errors import SandboxUnavailable
from pytest_convo.sandbox.base import SandboxSpec
from pytest_convo.sandbox.docker import DockerEnvironment
from pytest_convo.testing import images

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def run(client: DockerClient) -> Iterator[Callable[[str, str], str]]:
    """What a script writes in a sandbox of an image."""
    environment = DockerEnvironment()

    def run(image: str, script: str) -> str:
        with environment.open(environment.prepare(SandboxSpec(image=image))) as sandbox:
            result = sandbox.execute(script)
        assert result.ok, result
        return result.output

    yield run
    environment.close()


def test_this_machines_programs_run(run, hostbin: str) -> None:
    assert run(hostbin, "echo 1 2 | awk '{print $2}' | bash -c cat; /usr/bin/env printf done") == "2\ndone"


def test_busybox_runs_each_of_its_commands(run, busybox: str) -> None:
    assert run(busybox, "echo b a | tr ' ' '\\n' | sort | head -n 1; /usr/bin/env printf done") == "a\ndone"


def test_this_machines_python_runs_with_its_standard_library(run, hostpython: str) -> None:
    imports = "import ctypes, json, sqlite3, ssl, subprocess, unittest"
    assert run(hostpython, f"python3 -c '{imports}; print(sum(range(5)))'") == "10\n"


def test_an_image_is_made_once(client: DockerClient, hostbin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "Image", lambda: pytest.fail("it is made again"))

    assert images.hostbin(client) == hostbin


def test_a_machine_without_busybox_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name, **more: None)

    with pytest.raises(SandboxUnavailable, match="apt-get install busybox-static"):
        images.Image().busybox()


def test_a_busybox_that_needs_libraries_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = shutil.which("sh")
    monkeypatch.setattr(shutil, "which", lambda name, **more: shell)
    assert "=>" in subprocess.run(["ldd", str(shell)], capture_output=True, text=True).stdout

    with pytest.raises(SandboxUnavailable, match="statically"):
        images.Image().busybox()
