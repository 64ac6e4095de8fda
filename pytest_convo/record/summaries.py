"""The summaries of a conversation's turns, each in a file beside its recordings; the turns themselves stay where they
are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from ..errors import HarnessError
from ..prompt.blocks import Block, digest
from ..prompt.talk import Messages
from ..redaction import Redactor
from .disk import write_first

FOLDER = "summaries"
"""Below `__recordings__`."""

_HEAD = re.compile(r"\A\s*<!-- turns? .*? -->", re.DOTALL)
"""What says of which turns a file is; whoever edits it may take it out."""


class Summaries:
    """The summaries below one `__recordings__`; a `bot.summarizer.Shelf`.

    A file is named by the turns that it covers and by a digest of what they say: when they say something else, it is no
    longer looked at. What was written stays in memory, and goes to the disk where `writes`.
    """

    def __init__(self, root: Path, redactor: Redactor, *, writes: bool) -> None:
        self._folder = root / FOLDER
        self._redactor = redactor
        self._writes = writes
        self._known: dict[str, str] = {}

    def key(self, turns: Sequence[Messages], told: str) -> str:
        """What tells these turns, summarized by who is `told` so, from all others: a digest of what may be written."""
        return digest(turns, told, self._redactor.now().deep)

    def find(self, block: Block, key: str) -> str | None:
        """The text of a summary as it stands in its file, edited or not; None where there is none."""
        if key not in self._known:
            path = self._path(block, key)
            try:
                text = path.read_text(encoding="utf-8", errors="replace")
            except FileNotFoundError:
                return None
            except OSError as error:
                msg = f"cannot be read: {error.strerror or error}"
                raise HarnessError(msg, path=path, hint="remove it, and it is written anew") from None
            if not (found := _HEAD.sub("", text, count=1).strip()):
                return None  # somebody emptied it
            self._known[key] = found
        return self._known[key]

    def keep(self, block: Block, key: str, text: str) -> str:
        """Keep a summary, and return the one that is kept: another process may have been quicker.

        Whoever replays a run must be sent the same. `HarnessError` where the file cannot be written.
        """
        if self._writes:
            head = f"<!-- {block} of the conversation, {key}, for requests that have no room for them -->"
            data = f"{head}\n\n{self._redactor.now().text(text)}\n".encode(errors="backslashreplace")
            if not write_first(self._path(block, key), data) and (other := self.find(block, key)) is not None:
                return other
        self._known[key] = text
        return text

    def _path(self, block: Block, key: str) -> Path:
        return self._folder / f"turns-{block.first:04}-{block.last:04}.{key}.md"
