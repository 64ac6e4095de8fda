"""HTTP/1.1 requests out of bytes, without I/O (RFC 9112): strict about framing, bounded in size."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass

MAX_HEAD = 64 * 1024
MAX_BODY = 64 * 1024 * 1024

_REQUEST_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([\x21-\x7e\x80-\xff]+) HTTP/(\d)\.(\d)")
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\r\n\0]*?)[ \t]*")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;[^\r\n]*)?")
_LENGTH = re.compile(r"[0-9]{1,19}")


class BadRequest(Exception):
    """Bytes that are no acceptable request; `status` is what to refuse them with."""

    def __init__(self, status: int, what: str) -> None:
        super().__init__(what)
        self.status = status


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A whole request; the names of `headers` are lower case."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes = b""
    minor: int = 1
    """Of the version: 1 for HTTP/1.1."""

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def last(self) -> bool:
        """Whether the client wants the connection closed afterwards."""
        return self.minor == 0 or "close" in self.headers.get("connection", "").lower()


class RequestReader:
    """Takes bytes as they arrive, gives requests as they become whole.

    `on_continue` is called when a client waits for `100 Continue` before it sends the body.
    """

    def __init__(self, on_continue: Callable[[], None], max_body: int = MAX_BODY) -> None:
        self._on_continue = on_continue
        self._max_body = max_body
        self._buffer = bytearray()
        self._requests = self._read()

    def feed(self, data: bytes) -> None:
        """Take bytes."""
        self._buffer += data

    def next(self) -> HttpRequest | None:
        """The next whole request, None while there is none. Raises `BadRequest`, after which the reader is done for."""
        return next(self._requests, None)

    def _read(self) -> Generator[HttpRequest | None, None, None]:
        while True:
            line = b""
            while not line:
                line = yield from self._until(b"\r\n", MAX_HEAD, 414)
            method, target, minor = _request_line(line)
            headers = yield from self._headers()
            body = yield from self._body(headers, minor)
            yield HttpRequest(method, target, headers, body, minor)

    def _headers(self) -> Generator[None, None, dict[str, str]]:
        headers: dict[str, str] = {}
        size = 0
        while line := (yield from self._until(b"\r\n", MAX_HEAD, 431)):
            size += len(line)
            match = _HEADER.fullmatch(line)
            if match is None or size > MAX_HEAD:
                raise BadRequest(431 if match else 400, "the header is too large" if match else "not a header line")
            name, value = match[1].decode("ascii").lower(), match[2].decode("latin-1")
            if name in ("content-length", "host") and headers.get(name, value) != value:
                raise BadRequest(400, f"two different {name} headers")
            headers[name] = f"{headers[name]}, {value}" if name in headers and headers[name] != value else value
        return headers

    def _body(self, headers: Mapping[str, str], minor: int) -> Generator[None, None, bytes]:
        length = headers.get("content-length")
        coding = headers.get("transfer-encoding")
        if coding is not None and length is not None:
            raise BadRequest(400, "both content-length and transfer-encoding")
        if coding is not None and (coding.lower() != "chunked" or minor == 0):
            raise BadRequest(501, "the only transfer-encoding is chunked")
        if length is not None and not _LENGTH.fullmatch(length):
            raise BadRequest(400, "content-length is not a number")
        self._fits(int(length or 0))
        if headers.get("expect", "").lower() == "100-continue" and minor:
            self._on_continue()
        if coding is not None:
            return (yield from self._chunks())
        return (yield from self._exactly(int(length or 0)))

    def _chunks(self) -> Generator[None, None, bytes]:
        body = bytearray()
        while True:
            size = _CHUNK.fullmatch((yield from self._until(b"\r\n", MAX_HEAD, 400)))
            if size is None:
                raise BadRequest(400, "not a chunk's size")
            length = int(size[1], 16)
            if not length:
                yield from self._headers()
                return bytes(body)
            self._fits(len(body) + length)
            body += yield from self._exactly(length)
            if (yield from self._exactly(2)) != b"\r\n":
                raise BadRequest(400, "a chunk is longer than its size")

    def _fits(self, length: int) -> None:
        if length > self._max_body:
            raise BadRequest(413, f"the body has more than {self._max_body} bytes")

    def _until(self, mark: bytes, limit: int, status: int) -> Generator[None, None, bytes]:
        searched = 0
        while (end := self._buffer.find(mark, searched)) < 0:
            searched = max(0, len(self._buffer) - len(mark) + 1)
            if searched > limit:
                raise BadRequest(status, "a line is too long")
            yield None
        taken = bytes(self._buffer[:end])
        del self._buffer[: end + len(mark)]
        return taken

    def _exactly(self, length: int) -> Generator[None, None, bytes]:
        while len(self._buffer) < length:
            yield None
        taken = bytes(self._buffer[:length])
        del self._buffer[:length]
        return taken


def _request_line(line: bytes) -> tuple[str, str, int]:
    match = _REQUEST_LINE.fullmatch(line)
    if match is None:
        raise BadRequest(400, "not an HTTP request")
    if match[3] != b"1":
        raise BadRequest(505, "the only version is HTTP/1")
    return match[1].decode("ascii"), match[2].decode("latin-1"), min(int(match[4]), 1)
