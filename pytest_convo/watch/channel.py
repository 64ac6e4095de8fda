"""What a watcher and its children say to each other: builtins, one JSON text a line, over pipes."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

Note = Mapping[str, Any]
"""What is said: a `kind` and its fields."""


class Listening:
    """The end that never waits: the watcher's, for what one child says."""

    def __init__(self, file: int) -> None:
        os.set_blocking(file, False)
        self.file = file
        self.ended = False
        """Whether the other side has closed its end, as a process that is gone has."""
        self._rest = b""

    def take(self) -> Iterator[Note]:
        """Whatever has come by now."""
        while not self.ended:
            try:
                received = os.read(self.file, 1 << 16)
            except BlockingIOError:
                return
            self.ended = not received
            *lines, self._rest = (self._rest + received).split(b"\n")
            yield from (json.loads(line) for line in lines)

    def close(self) -> None:
        os.close(self.file)


class Line:
    """The child's two ends: it waits for what it is told, and tells from any of its threads."""

    def __init__(self, orders: int, notes: int) -> None:
        for file in (orders, notes):
            os.set_inheritable(file, False)  # what the user's tools start must not hold the line
        self._orders = os.fdopen(orders, "rb")
        self._notes = notes
        self._lock = threading.Lock()

    def wait(self) -> Note | None:
        """The next order; None when the watcher has gone."""
        line = self._orders.readline()
        if not line:
            return None
        note: Note = json.loads(line)
        if note.get("kind") == "see":  # too long for a pipe
            note = json.loads(Path(note["path"]).read_bytes())
        return note

    def tell(self, note: Note) -> None:
        """Say something; that nobody listens any more is told by `wait`."""
        line = said(note)
        with self._lock:
            while line:
                try:
                    line = line[os.write(self._notes, line) :]
                except BrokenPipeError:
                    return


def said(note: Note) -> bytes:
    """A note as it goes over the line; half a surrogate pair, as in odd file names, stays what it is."""
    return json.dumps(note).encode() + b"\n"
