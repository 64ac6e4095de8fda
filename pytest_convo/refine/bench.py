"""The interface behind which the loop has texts tried out and written: sessions of pytest, or a simulation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ..conversation.message import Message
from .items import Scores


class LimitReached(Exception):
    """What the loop may take is used up; the message says what."""


class Trouble(Exception):
    """A text could not be tried out, or none was written, through no fault of the text."""


@dataclass(frozen=True, slots=True)
class Measured:
    """How a text did."""

    scores: Scores
    problem: str = ""
    """Why some items could not even be collected with it."""


class Bench(Protocol):
    """Measures and writes; both raise `LimitReached` and `Trouble`."""

    @property
    def spent(self) -> Mapping[str, float]:
        """What all of it took by now: `calls`, `tokens`, `usd`, `seconds`."""

    def measure(self, text: str, ids: Sequence[str], *, number: int, again: int = 0, give_up: int = 0) -> Measured:
        """How these items do under a text; `number` is that of the attempt.

        `again`, from 1 on: all their runs, under numbers that no other round has. With `give_up` it need not go on
        after so many groups that do not pass.
        """

    def write(self, messages: Sequence[Message], *, number: int, asked: int) -> str:
        """What the rewriter answers, for attempt `number`; `asked` is the number of the question."""
