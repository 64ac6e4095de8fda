"""The scribe of one run of a conversation: which of its turns are written, and what is offered after the last."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ..conversation.names import MAX_INDEX, message_name
from ..conversation.scan import scan
from ..errors import ConvoError
from ..redaction import Redactor
from .listener import Listener, Teller
from .paper import Paper, offer
from .sheet import Sheet


@dataclass(frozen=True, slots=True)
class Writer:
    """A `bot.scribe.Scribe`: tells a `listener`, and writes the turns at `holes` into the conversation's `directory`.

    After the answer at `offers_after` an empty message is offered to whoever writes the user's.
    """

    directory: Path
    case: str | None
    redactor: Redactor
    listener: Listener | None = None
    holes: Collection[int] = ()
    offers_after: int | None = None

    @contextmanager
    def turn(self, index: int) -> Iterator[Sheet]:
        teller = Teller(self.listener, self.directory, self.case, index)
        paper = Paper(self.directory, index, teller) if index in self.holes else None
        try:
            teller.tell("turn")
            sheet = Sheet(teller, self.redactor.now(), paper)
            try:
                yield sheet
            except BaseException as error:
                with suppress(ConvoError):  # of two errors the first is the one to tell
                    sheet.give_up(error)
                raise
        finally:
            if paper is not None:
                paper.close()
        if index == self.offers_after and sheet.answer is not None and not sheet.answer.tool_calls:
            self._offer(index + 1, teller)

    def _offer(self, index: int, teller: Teller) -> None:
        """Offer an empty message of the user at `index`, unless something stands there or after it."""
        if index <= MAX_INDEX and not any(file.index >= index for file in scan(self.directory).files):
            offer(self.directory / message_name(index, "user"), teller)
