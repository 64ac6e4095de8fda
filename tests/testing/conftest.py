from __future__ import annotations

import json
import socket
from contextlib import suppress
from urllib.parse import urlsplit

import openai
import pytest

from pytest_convo.testing import ScriptedServer


class RawClient:
    """A connection on which a test writes what it likes."""

    def __init__(self, url):
        parts = urlsplit(url)
        self.socket = socket.create_connection((parts.hostname, parts.port), timeout=5)

    def send(self, data):
        self.socket.sendall(data)

    def chat(self, text="hello", *headers, **body):
        raw = json.dumps({"model": "m", "messages": [{"role": "user", "content": text}], **body}).encode()
        self.post(raw, *headers)

    def post(self, raw, *headers):
        head = ["POST /v1/chat/completions HTTP/1.1", "Host: x", f"Content-Length: {len(raw)}", *headers, "", ""]
        self.send("\r\n".join(head).encode() + raw)

    def until(self, end):
        """What the server sends, up to `end`."""
        received = b""
        while not received.endswith(end):
            piece = self.socket.recv(1)
            assert piece, f"the connection ended after {received!r}"
            received += piece
        return received

    def response(self):
        """The status and the body of one response that has a length."""
        head = self.until(b"\r\n\r\n").decode()
        status = int(head.split()[1])
        length = next(int(line[15:]) for line in head.splitlines() if line.startswith("content-length:"))
        body = b""
        while len(body) < length:
            body += self.socket.recv(length - len(body))
        return status, json.loads(body)

    def rest(self):
        """What the server sends up to the end of the connection, be it orderly or not."""
        received = b""
        with suppress(ConnectionResetError):
            while piece := self.socket.recv(65536):
                received += piece
        return received


@pytest.fixture
def serve():
    """Start a server, stopped at the end of the test."""
    servers = []

    def serve(script, **options):
        servers.append(ScriptedServer(script, **options).start())
        return servers[-1]

    yield serve
    for server in servers:
        server.stop()


@pytest.fixture
def connect():
    """Open a raw connection to a server, closed at the end of the test."""
    clients = []

    def connect(server):
        clients.append(RawClient(server.url))
        return clients[-1]

    yield connect
    for client in clients:
        client.socket.close()


@pytest.fixture
def client_of():
    """OpenAI's own client of a server, closed at the end of the test."""
    clients = []

    def client_of(server, **options):
        clients.append(openai.OpenAI(base_url=server.url, **{"api_key": "k", "max_retries": 0, **options}))
        return clients[-1]

    yield client_of
    for client in clients:
        client.close()
