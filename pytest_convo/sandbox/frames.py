"""Docker's stream of a process without a terminal: stdout and stderr in turns, each piece behind a header of 8 bytes.

The format is that of POST /containers/{id}/attach in the Engine API, "Stream format".
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from ..errors import SandboxError

STDOUT, STDERR = 1, 2

_HEADER = struct.Struct(">B3sL")


class Frames:
    """Takes the stream apart in whatever chunks it comes; no frame is ever held as a whole."""

    def __init__(self) -> None:
        self._header = b""
        self._stream = STDOUT
        self._left = 0

    def feed(self, chunk: bytes) -> Iterator[tuple[int, bytes]]:
        """The pieces of `chunk`, each with the stream it belongs to; `SandboxError` where these are no frames."""
        while chunk:
            if self._left:
                piece, chunk = chunk[: self._left], chunk[self._left :]
                self._left -= len(piece)
                yield self._stream, piece
            else:
                missing = _HEADER.size - len(self._header)
                self._header, chunk = self._header + chunk[:missing], chunk[missing:]
                if len(self._header) == _HEADER.size:
                    self._open()

    def _open(self) -> None:
        stream, padding, self._left = _HEADER.unpack(self._header)
        if stream not in (STDOUT, STDERR) or padding != b"\0\0\0":
            msg = f"the container engine sent {self._header!r} where the header of a frame belongs"
            raise SandboxError(msg, hint="Is something between us and the engine that changes what it sends?")
        self._stream, self._header = stream, b""
