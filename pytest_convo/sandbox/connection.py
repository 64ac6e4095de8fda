"""The two-way stream of one command in a container, read and written without ever waiting longer than is said."""

from __future__ import annotations

import selectors
import socket
import ssl
import time
from types import TracebackType
from typing import Any, Self

_CHUNK = 1 << 16
# paramiko, under ssh://, says "not now" by a TimeoutError.
_NOT_NOW = (BlockingIOError, InterruptedError, TimeoutError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class Connection:
    """What `exec_start(socket=True)` of docker-py gives, as a stream that never blocks.

    docker-py hands out the socket under http.client's buffered reader, which may hold the first bytes already
    (docker-py#3332): they are taken from there first.
    """

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        # With TLS it is the socket itself, else the io object around it.
        self._socket: socket.socket = getattr(raw, "_sock", raw)
        self._socket.setblocking(False)
        self._held = _buffered(raw)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._socket, selectors.EVENT_READ)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._selector.close()
        self._raw.close()
        self._socket.close()

    def wait(self, until: float, *, writing: bool) -> None:
        """Returns when there is something to read, or, if `writing`, room to write, or at `until` (monotonic)."""
        if self._held or self._decrypted():
            return
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if writing else 0)
        self._selector.modify(self._socket, events)
        self._selector.select(max(until - time.monotonic(), 0))

    def send(self, data: memoryview) -> int:
        """How many bytes of `data` could be sent without waiting; `OSError` when nobody reads them any more."""
        try:
            return self._socket.send(data[:_CHUNK])
        except _NOT_NOW:
            return 0

    def receive(self) -> bytes | None:
        """What has come, None while nothing has, and b"" at the end."""
        if self._held:
            held, self._held = self._held, b""
            return held
        try:
            return self._socket.recv(_CHUNK)
        except _NOT_NOW:
            return None

    def _decrypted(self) -> bool:
        """Whether TLS holds bytes that no selector sees."""
        return isinstance(self._socket, ssl.SSLSocket) and self._socket.pending() > 0


def _buffered(raw: Any) -> bytes:
    """What http.client's reader has read too much; the socket does not block any more, so neither does this."""
    response = getattr(raw, "_response", None)
    reader = getattr(getattr(getattr(response, "raw", None), "_fp", None), "fp", None)
    return (reader.read1(_CHUNK) or b"") if reader is not None else b""
