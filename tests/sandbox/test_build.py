from __future__ import annotations

import io
import tarfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_convo.errors import SandboxUnavailable
from pytest_convo.sandbox import build as building
from pytest_convo.sandbox.build import built
from pytest_convo.sandbox.cached import BASE, HOLDS, LABEL

if TYPE_CHECKING:
    from docker import DockerClient

TIMEOUT = 300.0


def written(folder: Path, dockerfile: str, **files: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "Dockerfile").write_text(dockerfile)
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def removed(client: DockerClient) -> Iterator[list[str]]:
    """Images that are removed when the test is over."""
    images: list[str] = []
    yield images
    for image in set(images):
        client.images.remove(image, force=True)


def made_of(client: DockerClient, image: str) -> list[str]:
    """The containers that were made of an image, with those that have ended."""
    return [container.id for container in client.containers.list(all=True, filters={"ancestor": image})]


def held(client: DockerClient, image: str, path: str) -> bytes:
    """What a file of an image holds, read from a container that is never started: what one prints may come too late."""
    container = client.containers.create(image, ["never started"])
    try:
        packed, _ = container.get_archive(path)
        with tarfile.open(fileobj=io.BytesIO(b"".join(packed))) as archive:
            file = archive.extractfile(archive.getmembers()[0])
            assert file is not None
            return file.read()
    finally:
        container.remove()


@pytest.mark.engine
def test_a_folder_is_built_once_for_the_same_files(
    client: DockerClient, busybox: str, tmp_path: Path, removed: list[str]
) -> None:
    dockerfile = f"FROM {busybox}\nCOPY a /a\nRUN cat /a > /b\nWORKDIR /srv\n"
    one = written(tmp_path / "one", dockerfile, a="1")
    first = built(client, one, TIMEOUT, tmp_path)
    removed.append(first)
    assert built(client, one, TIMEOUT, tmp_path) == first
    assert built(client, written(tmp_path / "two", dockerfile, a="1"), TIMEOUT, tmp_path) == first
    attrs = client.images.get(first).attrs
    assert attrs["Config"]["WorkingDir"] == "/srv"
    labels = attrs["Config"]["Labels"]
    assert (labels[LABEL], labels[HOLDS], labels[BASE]) == ("build", "one", client.images.get(busybox).id)
    assert held(client, first, "/b") == b"1"
    removed.append(built(client, written(tmp_path / "one", dockerfile, a="2"), TIMEOUT, tmp_path))
    assert len(set(removed)) == 2


@pytest.mark.engine
def test_many_who_want_the_same_build_it_once(
    client: DockerClient, busybox: str, tmp_path: Path, removed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = written(tmp_path / "x", f"FROM {busybox}\nRUN echo {time.time_ns()} > /x\n")
    builds, real = [], building._build

    def counted(*arguments: object) -> str:
        builds.append(1)
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(building, "_build", counted)
    threads = [
        threading.Thread(target=lambda: removed.append(built(client, folder, TIMEOUT, tmp_path))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(set(removed)), len(builds)) == (1, 1)


@pytest.mark.engine
def test_a_step_that_fails_is_said_with_its_line_and_what_it_wrote(
    client: DockerClient, busybox: str, tmp_path: Path, removed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEA_TOKEN", "earl-grey-hot")
    # An image of which nobody else makes containers meanwhile.
    own = built(client, written(tmp_path / "own", f"FROM {busybox}\nLABEL tea={time.time_ns()}\n"), TIMEOUT, tmp_path)
    removed.append(own)
    dockerfile = f"# tea\nFROM {own}\n\nRUN seq 30 && echo earl-grey-hot && \\\n  exit 7\n"
    folder = written(tmp_path / "x", dockerfile)
    with pytest.raises(SandboxUnavailable) as caught:
        built(client, folder, TIMEOUT, tmp_path)
    assert (caught.value.path, caught.value.line) == (folder / "Dockerfile", 4)
    said = str(caught.value)
    assert "at RUN seq 30" in said
    assert "return code 7" in said
    assert "  30\n" in said
    assert "  10\n" not in said
    assert "earl-grey" not in said
    assert made_of(client, own) == []


@pytest.mark.engine
@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("COPY absent /x", r"Dockerfile:2: .*absent"),
        ("BREW tea", r"Dockerfile:2: .*unknown instruction: BREW"),
        ("RUN --mount=type=cache,target=/x true", r"BuildKit is not used"),
        ("RUN <<EOF\nbrew tea\nEOF", r"BuildKit is not used"),
    ],
)
def test_a_dockerfile_that_no_builder_takes(
    client: DockerClient, busybox: str, tmp_path: Path, step: str, said: str
) -> None:
    folder = written(tmp_path / "x", f"FROM {busybox}\n{step}\n")
    with pytest.raises(SandboxUnavailable, match=f"(?s){said}"):
        built(client, folder, TIMEOUT, tmp_path)


@pytest.mark.engine
@pytest.mark.parametrize("step", ["sleep 100", "while :; do echo steeping; sleep 0.2; done"])
def test_a_build_ends_when_its_time_is_up(client: DockerClient, busybox: str, tmp_path: Path, step: str) -> None:
    folder = written(tmp_path / "x", f"FROM {busybox}\nRUN {step}\n")
    began = time.monotonic()
    with pytest.raises(SandboxUnavailable, match="took longer than 3 s") as caught:
        built(client, folder, 3, tmp_path)
    assert time.monotonic() - began < 40
    assert caught.value.line == 2


@pytest.mark.engine
def test_a_base_image_that_is_not_there_is_named(client: DockerClient, tmp_path: Path) -> None:
    folder = written(tmp_path / "x", "FROM localhost:1/tea:1\n")
    with pytest.raises(
        SandboxUnavailable, match=r"(?s)Dockerfile:1: .*localhost:1/tea:1.*docker pull localhost:1/tea:1"
    ):
        built(client, folder, TIMEOUT, tmp_path)


@pytest.mark.parametrize("name", ["docker-compose.yaml", "compose.yaml"])
def test_several_containers_are_refused(tmp_path: Path, name: str) -> None:
    (written(tmp_path / "x", "FROM scratch\n") / name).touch()
    with pytest.raises(SandboxUnavailable, match="only a Dockerfile") as caught:
        built(None, tmp_path / "x", TIMEOUT, tmp_path)  # type: ignore[arg-type]
    assert caught.value.path == tmp_path / "x" / name


def test_a_folder_without_a_dockerfile_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SandboxUnavailable, match="Dockerfile: there is none"):
        built(None, tmp_path, TIMEOUT, tmp_path)  # type: ignore[arg-type]
