from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_convo.errors import SandboxUnavailable
from pytest_convo.sandbox.base import SandboxSpec
from pytest_convo.sandbox.images import DEFAULT, ensure
from pytest_convo.sandbox.pull import pulled

if TYPE_CHECKING:
    from docker import DockerClient

Serve = Callable[..., "DockerClient"]


@pytest.fixture
def engine() -> Iterator[Serve]:
    """An engine that has no image, until one was pulled; it answers to a pull as it is told."""
    import docker

    servers: list[ThreadingHTTPServer] = []
    clients: list[DockerClient] = []
    never = threading.Event()

    def serve(
        *messages: object, status: int = 200, hangs: bool = False, pulls: list[str] | None = None
    ) -> DockerClient:
        have: list[str] = []

        class Engine(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                there = bool(have)
                self.answer(200 if there else 404, {"Id": "sha256:tea"} if there else {"message": "No such image: x"})

            def do_POST(self) -> None:
                if pulls is not None:
                    pulls.append(self.path)
                if status == 200 and "error" not in str(messages) and not hangs:
                    have.append("x")
                self.answer(status, *messages, ends=not hangs)

            def answer(self, status: int, *messages: object, ends: bool = True) -> None:
                body = b"".join(json.dumps(message).encode() + b"\r\n" for message in messages)
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body) + (not ends)))
                self.end_headers()
                self.wfile.write(body)
                self.wfile.flush()
                if not ends:
                    never.wait(60)

            def log_message(self, *_: object) -> None: ...

        server = ThreadingHTTPServer(("127.0.0.1", 0), Engine)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        client = docker.DockerClient(base_url=f"tcp://127.0.0.1:{server.server_port}", version="1.41")
        clients.append(client)
        return client

    yield serve
    never.set()
    for client in clients:
        client.close()
    for server in servers:
        server.shutdown()
        server.server_close()


def test_an_image_is_pulled_where_there_is_none(engine: Serve, tmp_path: Path) -> None:
    pulls: list[str] = []
    client = engine({"status": "Pulling"}, {"status": "Done"}, pulls=pulls)
    assert ensure(client, SandboxSpec(), lock_dir=tmp_path) == "sha256:tea"
    assert ensure(client, SandboxSpec(), lock_dir=tmp_path) == "sha256:tea"
    repository, tag = DEFAULT.split(":")
    assert pulls == [f"/v1.41/images/create?fromImage={repository}&tag={tag}"]


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("toomanyrequests: You have reached your pull rate limit.", "docker login"),
        ("pull access denied for tea, repository does not exist", "private"),
        ("manifest for tea:1 not found: manifest unknown", "none of that name"),
        ("no matching manifest for linux/arm64 in the manifest list entries", "platform"),
        ("Get https://registry-1.docker.io/v2/: dial tcp: no such host", "cannot be reached"),
        ("the pot is cracked", "to see more"),
    ],
)
@pytest.mark.parametrize("status", [200, 500])
def test_why_an_image_could_not_be_pulled(engine: Serve, tmp_path: Path, reason: str, said: str, status: int) -> None:
    client = engine({"error": reason} if status == 200 else {"message": reason}, status=status)
    with pytest.raises(SandboxUnavailable) as caught:
        pulled(client, "tea:1", 60, tmp_path)
    assert "the image tea:1 is not there" in caught.value.what
    assert reason in caught.value.what
    assert said in caught.value.hint
    assert caught.value.hint.endswith("docker pull tea:1")


@pytest.mark.parametrize("messages", [[], [{"status": "Waiting"}]])
def test_a_registry_that_says_nothing_is_not_waited_for(
    engine: Serve, tmp_path: Path, messages: list[dict[str, str]]
) -> None:
    with pytest.raises(SandboxUnavailable, match="took longer than 1 s"):
        pulled(engine(*messages, hangs=True), "tea:1", 1, tmp_path)


def test_an_id_can_not_be_pulled(engine: Serve, tmp_path: Path) -> None:
    with pytest.raises(SandboxUnavailable, match="none of that id"):
        pulled(engine(), f"sha256:{'0' * 64}", 60, tmp_path)


def test_an_engine_that_has_gone_is_said(engine: Serve, tmp_path: Path) -> None:
    import docker

    client = docker.DockerClient(base_url="tcp://127.0.0.1:1", version="1.41")
    with pytest.raises(SandboxUnavailable, match=r"(?s)the engine gave no image: .*docker info"):
        ensure(client, SandboxSpec(image="tea:1"), lock_dir=tmp_path)
    client.close()


@pytest.mark.engine
def test_an_image_that_is_there_is_taken_as_it_is(client: DockerClient, hostbin: str, tmp_path: Path) -> None:
    assert ensure(client, SandboxSpec(image=hostbin), lock_dir=tmp_path) == client.images.get(hostbin).id
    assert list(tmp_path.iterdir()) == []
