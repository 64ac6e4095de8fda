"""Who hears what happens in a run while it happens.

Every event is builtins only, and names its conversation by `directory` and `case`, and its turn by `index`:

    {"kind": "turn", ...}                 the turn is about to be asked for
    {"kind": "piece", ..., "text": ...}   a piece of its answer, redacted
    {"kind": "again", ...}                what was said of this turn so far is void: a retry, or tools were called
    {"kind": "whole", ..., "text": ..., "file": ...}   the answer is whole; the path that it was written to, or None
    {"kind": "writes", "path": ..., "digest": ...}     a file is about to get this content, or to go (None)
    {"kind": "reads", "test": ..., "paths": [...]}     a test, by its file, reads prompt files; of no turn
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..conversation.disk import digest
from ..conversation.fork import writes

Listener = Callable[[Mapping[str, Any]], None]
"""Hears of each event, on whatever thread it happens."""


@dataclass(frozen=True, slots=True)
class Teller:
    """Tells a listener, if there is one, about one turn."""

    listener: Listener | None
    directory: Path
    case: str | None
    index: int

    def tell(self, kind: str, **fields: Any) -> None:
        """Tell of an event of this turn."""
        if self.listener is not None:
            whose = {"directory": str(self.directory), "case": self.case, "index": self.index}
            self.listener({"kind": kind, **whose, **fields})

    def writes(self, path: Path, data: bytes | None) -> None:
        """Tell that the file at `path` is about to hold `data`, or to go; before it does."""
        if self.listener is not None:
            self.listener(writes(path, None if data is None else digest(data)))
