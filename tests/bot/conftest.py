from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import pytest_asyncio

from pytest_convo.bot.clients import close_clients
from pytest_convo.bot.retry import LocalPauses, Retry
from pytest_convo.conversation.message import Message
from pytest_convo.prompt.request import Request

RECORDED = Path(__file__).parents[3] / "shared/conversations/wire"


@dataclass
class Answer:
    """What the server below answers: a body in pieces, each a chunk; `cut` leaves the connection without an end."""

    pieces: list[bytes]
    status: int = 200
    kind: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False
    hang: float = 0.0
    raw: bytes | None = None

    @classmethod
    def json(cls, value: Any, status: int = 200, **more: Any) -> Answer:
        return cls([json.dumps(value).encode()], status, **more)

    @classmethod
    def text(cls, text: str, **more: Any) -> Answer:
        return cls.json(completion({"role": "assistant", "content": text}), **more)

    @classmethod
    def events(cls, *chunks: Any, **more: Any) -> Answer:
        return cls(events(*chunks), kind="text/event-stream", **more)


def completion(message: dict[str, Any], finish_reason: Any = "stop", **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": message, "finish_reason": finish_reason}
    return {"object": "chat.completion", "model": "m-1", "choices": [choice], **more}


def chunk(delta: dict[str, Any], finish_reason: Any = None, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {"object": "chat.completion.chunk", "model": "m-1", "choices": [choice], **more}


def events(*chunks: Any) -> list[bytes]:
    """SSE events; a text is sent as it stands."""
    return [b"data: " + (one if isinstance(one, str) else json.dumps(one)).encode() + b"\n\n" for one in chunks]


class Server:
    """A chat-completions server on the test's own loop; the last of `answers` is given again and again."""

    def __init__(self) -> None:
        self.answers: list[Answer | Callable[[dict[str, Any]], Answer]] = []
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.connections = 0
        self.lost = asyncio.Event()
        self._writers: set[asyncio.StreamWriter] = set()

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

    async def stop(self) -> None:
        self._server.close()
        for writer in self._writers:
            writer.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.add(writer)
        try:
            while await self._one(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            self.lost.set()
        finally:
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
        body = json.loads(await reader.readexactly(int(headers.get("content-length", 0))))
        self.requests.append(body)
        self.headers.append(headers)
        self.paths.append(head[0].split()[1])
        given = self.answers[min(len(self.requests), len(self.answers)) - 1]
        answer = given if isinstance(given, Answer) else given(body)
        if answer.raw is not None:
            writer.write(answer.raw)
            return False
        lines = [f"HTTP/1.1 {answer.status} X", f"content-type: {answer.kind}", "transfer-encoding: chunked"]
        lines += [f"{name}: {value}" for name, value in answer.headers.items()]
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n")
        for piece in answer.pieces:
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            await writer.drain()
        if answer.hang and not await reader.read(1):
            raise ConnectionResetError
        if answer.cut:
            return False
        writer.write(b"0\r\n\r\n")
        return True


@pytest_asyncio.fixture
async def server():
    one = Server()
    await one.start()
    yield one
    await close_clients()
    await one.stop()


@pytest.fixture(params=["httpx2", "aiohttp"])
def transport(request):
    if request.param == "aiohttp":
        pytest.importorskip("aiohttp")
    return request.param


@pytest.fixture
def patience(clock):
    """Arguments of a model that tries again at once: no chance in its waits, and a clock that it moves itself."""
    return {
        "retry": Retry(3, chance=lambda: 0.0, sleep=clock.sleep),
        "pauses": LocalPauses(clock=clock, sleep=clock.sleep),
    }


def hello(**parameters: Any) -> Request:
    return Request("m", (Message("user", "Hello?"),), parameters=parameters)


@pytest.fixture
def make():
    """The makers of wire things, for tests to use by name."""
    return SimpleNamespace(Answer=Answer, chunk=chunk, completion=completion, events=events, hello=hello)


def recordings() -> list[dict[str, Any]]:
    texts = [path.read_text(encoding="utf-8") for path in sorted(RECORDED.glob("*.jsonl"))]
    found = [json.loads(line) for text in texts for line in text.split("\n") if line]
    for path in sorted(RECORDED.glob("openai-python-sse/*.sse")):
        text = path.read_text(encoding="utf-8")
        found.append({"host": "api.openai.com", "path": path.name, "status": 200, "kind": "sse", "response_text": text})
    for record in found:
        value = record.get("response_json")
        record["body"] = (record["response_text"] or "" if value is None else json.dumps(value)).encode()
    return found


@pytest.fixture(scope="session")
def recorded():
    """Replies of many servers, recorded; they do not come with the project."""
    if not RECORDED.is_dir():
        pytest.skip("no recorded replies beside the repository")
    return recordings()
