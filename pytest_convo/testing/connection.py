"""One connection of the scripted server: requests in, responses out, one after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import cast

from .http_request import BadRequest, HttpRequest, RequestReader

JSON = "application/json"
EVENTS = "text/event-stream; charset=utf-8"
_MAX_WAITING = 64 * 1024


def _nothing() -> None:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """What is sent back: the body in `bursts`, the first after `latency` seconds, each further one after `pause`.

    `length` is the content-length that is declared; without it each part of a burst is an HTTP chunk of its own. `cut`
    breaks the connection off after the last burst. `done` is called once, when everything is as good as sent or the
    client is gone.
    """

    status: int = 200
    bursts: Sequence[Sequence[bytes]]
    content_type: str = JSON
    length: int | None = None
    headers: Sequence[tuple[str, str]] = ()
    latency: float = 0.0
    pause: float = 0.0
    cut: bool = False
    done: Callable[[], None] = _nothing

    def head(self, *, close: bool, chunked: bool) -> bytes:
        """The status line and the headers."""
        lines = [f"HTTP/1.1 {self.status} {_PHRASES.get(self.status, 'Status')}", f"content-type: {self.content_type}"]
        lines += [f"{name}: {value}" for name, value in self.headers]
        if self.length is not None:
            lines.append(f"content-length: {self.length}")
        elif chunked:
            lines.append("transfer-encoding: chunked")
        if close:
            lines.append("connection: close")
        return "\r\n".join([*lines, "", ""]).encode("latin-1")

    def framed(self, *, chunked: bool) -> list[bytes]:
        """The bursts as they go over the wire; at least one."""
        if self.length is not None or not chunked:
            return [b"".join(burst) for burst in self.bursts] or [b""]
        frames = [b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in burst if part) for burst in self.bursts]
        return frames if self.cut else [*frames[:-1], b"".join([*frames[-1:], b"0\r\n\r\n"])]


_PHRASES = {status.value: status.phrase for status in HTTPStatus}


class Connection(asyncio.Protocol):
    """Reads requests, asks `respond` for each, and sends what it says; `refuse` words an unacceptable request."""

    def __init__(
        self,
        respond: Callable[[HttpRequest], Response],
        refuse: Callable[[int, str], Response],
        connections: set[Connection],
    ) -> None:
        self._respond = respond
        self._refuse = refuse
        self._connections = connections
        self._reader = RequestReader(self._continue)
        self._response: Response | None = None
        self._task: asyncio.Task[None] | None = None
        self._waiting = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        self._connections.discard(self)
        if self._task is not None:
            self._task.cancel()
        self._ended()

    def data_received(self, data: bytes) -> None:
        self._reader.feed(data)
        if self._response is None:
            self._advance()
        elif (waiting := self._waiting + len(data)) > _MAX_WAITING:
            self._transport.pause_reading()
        else:
            self._waiting = waiting

    def abort(self) -> None:
        """Break the connection off."""
        self._transport.abort()

    def _continue(self) -> None:
        self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _advance(self) -> None:
        """Answer every request that is whole, until one of them takes its time."""
        while self._response is None and not self._transport.is_closing():
            try:
                request = self._reader.next()
            except BadRequest as error:
                self._send(self._refuse(error.status, str(error)), close=True)
                return
            if request is None:
                return
            self._send(self._respond(request), close=request.last, method=request.method, minor=request.minor)

    def _send(self, response: Response, *, close: bool, method: str = "", minor: int = 1) -> None:
        self._response = response
        close = close or response.cut
        frames = response.framed(chunked=minor > 0) if method != "HEAD" else [b""]
        frames[0] = response.head(close=close, chunked=minor > 0) + frames[0]
        if response.latency or len(frames) > 1:
            self._task = asyncio.get_running_loop().create_task(self._send_slowly(response, frames, close))
        else:
            self._finish(frames[0], close)

    async def _send_slowly(self, response: Response, frames: list[bytes], close: bool) -> None:
        await asyncio.sleep(response.latency)
        for frame in frames[:-1]:
            self._transport.write(frame)
            await asyncio.sleep(response.pause)
        self._task = None
        self._finish(frames[-1], close)
        self._resume()

    def _finish(self, last: bytes, close: bool) -> None:
        """Send the last bytes of a response, which is over before the client can have seen them."""
        self._ended()
        self._transport.write(last)
        if close:
            self._transport.close()

    def _resume(self) -> None:
        """Go on with what arrived in the meantime."""
        self._waiting = 0
        if not self._transport.is_closing():
            self._transport.resume_reading()
            self._advance()

    def _ended(self) -> None:
        response, self._response = self._response, None
        if response is not None:
            response.done()
