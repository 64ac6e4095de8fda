from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from docker import DockerClient

from pytest_convo.sandbox.base import Environment, Sandbox, SandboxSpec
from pytest_convo.sandbox.docker import DockerEnvironment
from pytest_convo.sandbox.docker_sandbox import DockerSandbox
from pytest_convo.sandbox.local import LocalEnvironment
from pytest_convo.testing.sandbox_conformance import Backend, cases

MANY = int(os.environ.get("CONVO_TEST_MANY", "20_000"))
"""Files of a large folder. A hundred thousand take half a minute, most of it to make, copy and remove them."""

DOCKER = DockerEnvironment.capabilities | {"end", "unreachable"}


@contextmanager
def unreachable() -> Iterator[Environment]:
    """An environment that looks for its engine where none is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
        environment = DockerEnvironment()
        yield environment
        environment.close()


def docker_backend(client: DockerClient, image: str) -> Backend:
    def end(sandbox: Sandbox) -> None:
        assert isinstance(sandbox, DockerSandbox)
        client.api.kill(sandbox.container.id)

    return Backend(DockerEnvironment, SandboxSpec(image=image), end=end, unreachable=unreachable, many=MANY)


@pytest.fixture(scope="module")
def on_hostbin(client: DockerClient, hostbin: str) -> Iterator[Backend]:
    with docker_backend(client, hostbin) as backend:
        yield backend


@pytest.fixture(scope="module")
def on_busybox(client: DockerClient, busybox: str) -> Iterator[Backend]:
    with docker_backend(client, busybox) as backend:
        yield backend


@pytest.fixture(scope="module")
def on_this_machine() -> Iterator[Backend]:
    with Backend(LocalEnvironment, many=2_000) as backend:
        yield backend


@pytest.mark.engine
@pytest.mark.parametrize("case", cases(DOCKER), ids=str)
def test_docker_with_this_machines_programs(case, on_hostbin: Backend) -> None:
    case(on_hostbin)


@pytest.mark.engine
@pytest.mark.parametrize("case", cases(DOCKER, of_image=True), ids=str)
def test_docker_with_busybox(case, on_busybox: Backend) -> None:
    case(on_busybox)


@pytest.mark.parametrize("case", cases(LocalEnvironment.capabilities), ids=str)
def test_local(case, on_this_machine: Backend) -> None:
    case(on_this_machine)


def test_every_case_says_what_it_is_and_has_a_number_of_its_own() -> None:
    every = cases(DOCKER | {"restart"})

    assert [case.number for case in every] == sorted({case.number for case in every})
    assert set(range(1, 49)) - {case.number for case in every} == {43}
    assert all(case.says.endswith(".") for case in every)
    assert len(cases(DOCKER, of_image=True)) + len(cases(DOCKER, of_image=False)) == len(cases(DOCKER))


def test_another_process_that_opens_no_sandbox_costs_nobody_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The case once removed the directory beside what that process had said, which for nothing is the working one."""
    (case,) = (case for case in cases(DOCKER) if case.number == 35)
    (tmp_path / "kept").write_text("text")
    monkeypatch.chdir(tmp_path)
    backend = Backend(LocalEnvironment, SandboxSpec(image="refused"))
    with backend, pytest.raises(AssertionError, match="opened no sandbox"):
        case(backend)

    assert (tmp_path / "kept").read_text() == "text"
