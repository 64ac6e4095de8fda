"""Server-sent events from bytes that arrive in any pieces (WHATWG HTML 9.2)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

DONE = b"[DONE]"


class Event(NamedTuple):
    """An event: its data lines, joined, and its type; `error` for an error line as llama.cpp once sent them."""

    data: bytes
    kind: bytes = b""


class Decoder:
    """Events as soon as they are complete; comments and unknown fields are passed over, an unended event is none.

    `[DONE]` is told without the blank line after it: some servers end there.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []
        self._kind = b""
        self._begun = False

    def feed(self, received: bytes) -> Iterator[Event]:
        """The events that `received` completes."""
        text = self._rest + received
        # A carriage return at the end may be half of a line end.
        lines = text.removesuffix(b"\r").splitlines(keepends=True)
        self._rest = b"\r" if text.endswith(b"\r") else b""
        if lines and not lines[-1].endswith((b"\n", b"\r")):
            self._rest = lines.pop() + self._rest
        for line in lines:
            yield from self._line(line.rstrip(b"\r\n"))

    @property
    def done_at_end(self) -> bool:
        """Whether what was held back would say `[DONE]`, should nothing come after it."""
        return self._rest.rstrip(b"\r") in (b"data:" + DONE, b"data: " + DONE)

    def _line(self, line: bytes) -> Iterator[Event]:
        if not self._begun:
            self._begun = True
            line = line.removeprefix(b"\xef\xbb\xbf")
        if not line:
            yield from self._dispatch()
            return
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data" and value == DONE and not self._data:
            yield Event(DONE)
        elif name == b"data":
            self._data.append(value)
        elif name == b"event":
            self._kind = value
        elif name == b"error":
            yield Event(value, b"error")

    def _dispatch(self) -> Iterator[Event]:
        data, kind = b"\n".join(self._data), self._kind
        self._data, self._kind = [], b""
        if data.strip():
            yield Event(data, kind)
