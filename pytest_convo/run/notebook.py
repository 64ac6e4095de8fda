"""The ledger of a session of one process: what nobody else reads needs no database."""

from __future__ import annotations

import sqlite3
import threading
from collections import defaultdict
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..agreement.outcome import Outcome
from ..agreement.verdict import Tally
from .database import Database
from .ledger import Ledger, sizes


@dataclass(slots=True)
class _Entry:
    """What is known of a run; one without an outcome that nobody has reported is being made."""

    outcome: Outcome | None = None
    reported: str | None = None
    transient: bool = False
    answer: str | None = None
    label: str | None = None


class Notebook(Ledger):
    """The state of a session, in the memory of its only process."""

    shared = False

    def __init__(self, holder: str = "main") -> None:
        super().__init__(holder)
        self._lock = threading.Lock()
        self._groups: defaultdict[str, dict[str, _Entry]] = defaultdict(dict)
        self._told: set[str] = set()
        self._transcripts: dict[str, Any] = {}
        self._notes: dict[str, str] = {}

    def close(self) -> None:
        if "_books" in vars(self):
            self._books.close()

    # -- runs and their outcomes

    def start(self, group: str, run: str) -> None:
        with self._lock:
            self._entry(group, run)

    def clear(self, group: str, run: str) -> None:
        with self._lock:
            if run in self._groups[group]:
                entry = self._groups[group][run]
                entry.outcome = entry.answer = entry.label = None
                for other in self._groups[group].values():
                    if other.answer is not None:
                        other.label = None

    def abandon(self, group: str, run: str) -> None:
        with self._lock:
            entry = self._groups[group].get(run)
            if entry is not None and entry.outcome is None:
                del self._groups[group][run]

    def record(self, group: str, run: str, outcome: Outcome) -> None:
        with self._lock:
            self._entry(group, run).outcome = outcome

    def has_outcome(self, group: str, run: str) -> bool:
        with self._lock:
            entry = self._groups[group].get(run)
            return entry is not None and entry.outcome is not None

    def tally(self, group: str) -> Tally:
        with self._lock:
            outcomes = [entry.outcome for entry in self._groups[group].values()]
            labels = [
                entry.label for entry in self._groups[group].values() if entry.outcome is not None and entry.label
            ]
        passes, fails, errors = map(outcomes.count, (Outcome.PASS, Outcome.FAIL, Outcome.ERROR))
        return Tally(passes, fails, errors, sizes(labels))

    def in_flight(self, group: str, besides: str = "") -> int:
        with self._lock:
            return sum(
                run != besides and entry.outcome is None and entry.reported is None
                for run, entry in self._groups[group].items()
            )

    def report(
        self, group: str, run: str, word: str, runs: int, *, transient: bool
    ) -> dict[str, tuple[str, bool]] | None:
        with self._lock:
            entry = self._entry(group, run)
            entry.reported, entry.transient = word, transient
            entries = self._groups[group].items()
            words = {run: (entry.reported, entry.transient) for run, entry in entries if entry.reported is not None}
            if len(words) < runs or group in self._told:
                return None
            self._told.add(group)
            return words

    def _entry(self, group: str, run: str) -> _Entry:
        return self._groups[group].setdefault(run, _Entry())

    # -- which runs of a group say the same

    def say(self, group: str, run: str, answer: str) -> None:
        with self._lock:
            self._entry(group, run).answer = answer

    def classify(self, group: str, run: str, label: str) -> str:
        with self._lock:
            entry = self._entry(group, run)
            if entry.label is None:
                entry.label = label
            return entry.label

    def withdraw(self, group: str, run: str) -> None:
        with self._lock:
            entry = self._entry(group, run)
            entry.answer, entry.label = None, ""

    def said(self, group: str) -> dict[str, tuple[str | None, str | None]]:
        with self._lock:
            return {
                run: (entry.answer, entry.label)
                for run, entry in self._groups[group].items()
                if entry.answer is not None or entry.label is not None
            }

    # -- transcripts that several items read

    def claim(self, key: str) -> bool:
        with self._lock:
            if key in self._transcripts:
                return False
            self._transcripts[key] = None
            return True

    def deliver(self, key: str, value: Any) -> None:
        with self._lock:
            if key in self._transcripts:
                self._transcripts[key] = value

    def fetch(self, key: str) -> Any | None:
        with self._lock:
            return self._transcripts.get(key)

    def discard(self, key: str) -> None:
        with self._lock:
            if self._transcripts.get(key) is not None:
                del self._transcripts[key]

    def release(self, key: str) -> None:
        with self._lock:
            self._transcripts.pop(key, None)

    # -- notes

    def note(self, name: str, value: str) -> None:
        with self._lock:
            self._notes[name] = value

    def note_all(self, notes: Mapping[str, str]) -> None:
        with self._lock:
            self._notes = {**notes, **self._notes}

    def noted(self, name: str) -> str | None:
        with self._lock:
            return self._notes.get(name)

    # -- the books

    @cached_property
    def _books(self) -> Database:
        """Opened when the first call is made: a session that replays has none to book."""
        return Database()

    def transaction(self) -> AbstractContextManager[sqlite3.Connection]:
        return self._books.transaction()
