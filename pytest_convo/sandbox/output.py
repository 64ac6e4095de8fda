"""What is kept of a command's output: its beginning and its end, however long it was."""

from __future__ import annotations


class HeadTail:
    """A sink for one stream that keeps the first and the last `kept // 2` bytes of it and counts the others."""

    def __init__(self, kept: int) -> None:
        self.total = 0
        self._half = kept // 2
        self._head = bytearray()
        self._tail = bytearray()

    def add(self, data: bytes) -> None:
        self.total += len(data)
        missing = self._half - len(self._head)
        self._head += data[:missing] if missing > 0 else b""
        self._tail += data[max(missing, 0) :]
        if len(self._tail) > 2 * self._half:  # not at each byte too many: cutting moves the rest
            self._cut()

    @property
    def omitted(self) -> int:
        """How many bytes are left out of the middle."""
        return max(self.total - 2 * self._half, 0)

    def text(self) -> str:
        """The stream as text; where bytes are left out, a line says how many; what is no UTF-8 is replaced."""
        self._cut()
        between = f"\n[... {self.omitted} bytes omitted ...]\n".encode() if self.omitted else b""
        return (bytes(self._head) + between + bytes(self._tail)).decode("utf-8", "replace")

    def _cut(self) -> None:
        if (surplus := len(self._tail) - self._half) > 0:
            del self._tail[:surplus]
