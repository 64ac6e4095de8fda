from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pytest_convo.errors import SandboxUnavailable
from pytest_convo.sandbox import engine

PATIENCE = 1.0

Serve = Callable[[str, Callable[[bytes], bytes | None]], str]


@pytest.fixture
def run(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A short directory, since the path of a socket may have 107 bytes; nothing else of this machine is looked at."""
    short = tmp_path_factory.mktemp("e")
    monkeypatch.setattr(engine, "DOCKER_SOCKET", f"{short}/docker")
    monkeypatch.setattr(engine, "PODMAN_SOCKET", f"{short}/podman")
    monkeypatch.setenv("DOCKER_CONFIG", str(short / "config"))
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setattr(engine, "_of_context", lambda environ: [])
    return short


@pytest.fixture
def serve(run: Path) -> Iterator[Serve]:
    """Serve a unix socket, or one of TCP by that name: for each request the answer, or None for never a word."""
    listeners: list[socket.socket] = []
    threads: list[threading.Thread] = []
    over = threading.Event()

    def accept(listener: socket.socket, answer: Callable[[bytes], bytes | None]) -> None:
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            with peer:
                said = answer(peer.recv(1 << 16))
                if said is None:
                    over.wait(60)
                else:
                    peer.sendall(said)

    def start(name: str, answer: Callable[[bytes], bytes | None]) -> str:
        path = run / name
        path.parent.mkdir(exist_ok=True)
        listener = socket.socket(socket.AF_INET if name == "tcp" else socket.AF_UNIX)
        listener.bind(("127.0.0.1", 0) if name == "tcp" else str(path))
        listener.listen()
        listeners.append(listener)
        threads.append(threading.Thread(target=accept, args=(listener, answer)))
        threads[-1].start()
        return f"tcp://127.0.0.1:{listener.getsockname()[1]}" if name == "tcp" else f"unix://{path}"

    yield start
    over.set()
    for listener in listeners:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
    for thread in threads:
        thread.join(60)


def http(body: object, status: str = "200 OK") -> bytes:
    text = json.dumps(body).encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(text)}\r\nConnection: close"
    return head.encode() + b"\r\n\r\n" + text


def daemon(*, api: str = "1.41", options: tuple[str, ...] = ("name=seccomp",)) -> Callable[[bytes], bytes]:
    def answer(request: bytes) -> bytes:
        target = request.split()[1] if request else b""
        if target.endswith(b"/_ping"):
            return http("OK")
        return http({"SecurityOptions": list(options)} if target.endswith(b"/info") else {"ApiVersion": api})

    return answer


def reason(environ: dict[str, str]) -> str:
    with pytest.raises(SandboxUnavailable) as caught:
        engine.find(environ, PATIENCE)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_where_there_is_nothing_the_message_says_what_was_tried_and_what_to_do(run: Path) -> None:
    said = reason({"XDG_RUNTIME_DIR": str(run / "user")})

    assert said.startswith(
        f"no container engine can be used. Tried unix://{run}/docker: absent; unix://{run}/user/docker.sock: absent; "
        f"unix://{run}/user/podman/podman.sock: absent; unix://{run}/podman: absent. To have one, "
    )


def test_a_socket_that_nobody_listens_on(run: Path) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(run / "docker"))

    assert "docker: nothing listens there;" in reason({})


def test_permission_denied(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(connection: engine._UnixConnection) -> None:  # nothing is refused to root
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(engine._UnixConnection, "connect", refuse)

    assert "permission denied (is this user in the group docker?)" in reason({})


def test_a_context_that_cannot_be_read_is_told_of_and_the_usual_places_remain(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = engine.Candidate("the context", flaw="its file is cut off")
    monkeypatch.setattr(engine, "_of_context", lambda environ: [broken])

    assert f"Tried the context: its file is cut off; unix://{run}/docker: absent;" in reason({})


def test_a_silent_engine_is_waited_for_no_longer_than_is_said(serve: Serve) -> None:
    serve("docker", lambda request: None)
    began = time.monotonic()

    assert "docker: did not answer within 1 s" in reason({})
    assert time.monotonic() - began < 20


@pytest.mark.parametrize(
    "answer, said",
    [
        (b"SSH-2.0-OpenSSH_9.2\r\n", "is no engine"),
        (b"", "is no engine"),
        (http("starting", "500 Internal Server Error"), "answered with HTTP status 500"),
    ],
)
def test_what_answers_is_no_engine_that_works(serve: Serve, answer: bytes, said: str) -> None:
    serve("docker", lambda request: answer)

    assert said in reason({})


def test_an_engine_that_is_too_old(serve: Serve) -> None:
    serve("docker", daemon(api="1.39"))

    assert "its API 1.39 is older than 1.40" in reason({})


def test_the_first_that_answers_is_taken(run: Path, serve: Serve) -> None:
    serve("docker", lambda request: b"garbage")
    rootless = serve("user/docker.sock", daemon(options=("name=seccomp", "name=rootless")))
    serve("podman", daemon())

    found = engine.find({"XDG_RUNTIME_DIR": str(run / "user")}, PATIENCE)
    found.client.close()

    assert (found.url, found.rootless, found.shares_files) == (rootless, True, True)


def test_docker_host_alone_is_tried_where_it_is_set(serve: Serve, run: Path) -> None:
    serve("docker", daemon())

    said = reason({"DOCKER_HOST": f"unix://{run}/elsewhere"})

    assert said.startswith(f"no container engine can be used. Tried unix://{run}/elsewhere: absent. To have one")


def test_an_engine_behind_a_network_does_not_see_our_files(serve: Serve) -> None:
    found = engine.find({"DOCKER_HOST": serve("tcp", daemon())}, PATIENCE)
    found.client.close()

    assert not found.shares_files


@pytest.mark.parametrize("answer, said", [(b"garbage", "BadStatusLine"), (None, "did not answer within 1 s")])
def test_behind_a_network_nothing_that_works(serve: Serve, answer: bytes | None, said: str) -> None:
    assert said in reason({"DOCKER_HOST": serve("tcp", lambda request: answer)})


def test_the_context_of_dockers_command_line_comes_first(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setenv("DOCKER_CONFIG", str(run))
    (run / "config.json").write_text('{"currentContext": "desktop"}')
    from docker.context.config import get_context_id

    meta = run / "contexts" / "meta" / get_context_id("desktop")
    meta.mkdir(parents=True)
    endpoints = {"docker": {"Host": "unix:///desktop.sock", "SkipTLSVerify": False}}
    (meta / "meta.json").write_text(json.dumps({"Name": "desktop", "Metadata": {}, "Endpoints": endpoints}))

    assert [candidate.url for candidate in engine.candidates({})] == [
        "unix:///desktop.sock",
        "unix:///var/run/docker.sock",
        "unix:///run/podman/podman.sock",
    ]
