"""What all processes of a session share: outcomes, transcripts in the making, pauses, and the books.

Where there is one process it is kept in a notebook, else in a file that all of them open: see `notebook` and `shared`.
"""

from __future__ import annotations

import sqlite3
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from ..agreement.outcome import Outcome
from ..agreement.verdict import Tally

_PAUSE = "paused until"


def sizes(labels: Iterable[str]) -> tuple[int, ...]:
    """The sizes of the classes that have these labels, the largest first."""
    return tuple(sorted(Counter(labels).values(), reverse=True))


class Ledger(ABC):
    """The state of a session, as the process `holder` sees it; safe from any thread."""

    shared: bool
    """Whether other processes see it, too."""

    def __init__(self, holder: str = "main") -> None:
        self.holder = holder
        self._paused_until = 0.0
        self._pauses_read = 0.0

    @abstractmethod
    def close(self) -> None:
        """Nothing more is entered by this process."""

    # -- runs and their outcomes

    @abstractmethod
    def start(self, group: str, run: str) -> None:
        """A run of `group` is being made by this process; an outcome that it has already stands until then."""

    @abstractmethod
    def clear(self, group: str, run: str) -> None:
        """The run is to be made again: its outcome no longer counts, nor does what it answered.

        Answers that were compared with others are in no class then: which one they join depends on those before.
        """

    @abstractmethod
    def abandon(self, group: str, run: str) -> None:
        """The run was cancelled: it has no outcome and nobody makes it."""

    @abstractmethod
    def record(self, group: str, run: str, outcome: Outcome) -> None:
        """Enter what a run measured, in place of what it measured before."""

    @abstractmethod
    def has_outcome(self, group: str, run: str) -> bool:
        """Whether a run has been measured."""

    @abstractmethod
    def tally(self, group: str) -> Tally:
        """The outcomes of a group so far, over all processes, and the sizes of the classes of these runs' answers.

        A class that is known before the outcome does not count until then: a run must not be spared by its own answer.
        """

    @abstractmethod
    def in_flight(self, group: str, besides: str = "") -> int:
        """How many runs of a group, `besides` one of them, some living process is making."""

    @abstractmethod
    def report(
        self, group: str, run: str, word: str, runs: int, *, transient: bool
    ) -> dict[str, tuple[str, bool]] | None:
        """A run of `group` is reported with `word`: its outcome, or why it has none.

        None, unless it is the last of `runs`: then the words of all, each with whether another try may end otherwise.
        Exactly one caller over all processes is told, so that errors are tried again once.
        """

    # -- which runs of a group say the same

    @abstractmethod
    def say(self, group: str, run: str, answer: str) -> None:
        """What a run that is being made has answered, to be compared with what others have."""

    @abstractmethod
    def classify(self, group: str, run: str, label: str) -> str:
        """Put a run's answer into a class, unless it is in one already; the class that it is in then.

        The label "" is no class: that of a run that measured nothing.
        """

    @abstractmethod
    def withdraw(self, group: str, run: str) -> None:
        """A run's answer cannot be compared: it is in no class, whichever it was in."""

    @abstractmethod
    def said(self, group: str) -> dict[str, tuple[str | None, str | None]]:
        """The answer and the class of each run that has one of the two, over all processes."""

    # -- transcripts that several items read

    @abstractmethod
    def claim(self, key: str) -> bool:
        """Whether this process is the one that makes the transcript `key`."""

    @abstractmethod
    def deliver(self, key: str, value: Any) -> None:
        """Hand over what was made for `key`; read only by processes of this session."""

    @abstractmethod
    def fetch(self, key: str) -> Any | None:
        """What was delivered for `key`, or None while nobody has."""

    @abstractmethod
    def discard(self, key: str) -> None:
        """Throw a transcript away, whoever made it: the next who needs it makes another."""

    @abstractmethod
    def release(self, key: str) -> None:
        """Give up a claim: the next who needs the transcript makes it."""

    # -- notes

    @abstractmethod
    def note(self, name: str, value: str) -> None:
        """Leave a word for the other processes."""

    @abstractmethod
    def note_all(self, notes: Mapping[str, str]) -> None:
        """Leave many words at once; one that stands already is left as it is."""

    @abstractmethod
    def noted(self, name: str) -> str | None:
        """The word that was left under `name`."""

    # -- the books

    @abstractmethod
    def transaction(self) -> AbstractContextManager[sqlite3.Connection]:
        """What the block does to the database is done at once, or where it raises, not at all."""

    # -- pauses: a server that says 429 to one worker says it to all

    def hold(self, seconds: float) -> None:
        """No process starts a call for so many seconds."""
        until = time.time() + seconds
        if until > self._paused_until:
            self._paused_until = until
            self.note(_PAUSE, repr(until))

    async def wait(self) -> None:
        """Return when no pause is on."""
        import asyncio

        while (left := self._pause_left()) > 0:
            await asyncio.sleep(min(left, 0.5))

    def _pause_left(self) -> float:
        now = time.time()
        if self.shared and now - self._pauses_read > 0.05:
            self._pauses_read = now
            self._paused_until = max(self._paused_until, float(self.noted(_PAUSE) or 0))
        return self._paused_until - now
