"""The ledger that all processes of a session share: a SQLite file in a directory of the session's own.

Without a shared disk each host has its own: early stop is weaker there, verdicts stay exact, because they are made from
the runs' reports.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import shutil
import sqlite3
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from ..agreement.outcome import Outcome
from ..agreement.verdict import Tally
from .database import Database
from .ledger import Ledger, sizes
from .notebook import Notebook

PREFIX = "pytest-convo-ledger-"
"""How the name of a ledger's directory begins."""

FORGOTTEN = 86_400.0
"""Seconds without a word after which a ledger is nobody's any more."""

_SCHEMA = (
    "runs (grp TEXT, run TEXT, holder TEXT, outcome TEXT, reported TEXT, transient INT DEFAULT 0,"
    " answer TEXT, label TEXT, PRIMARY KEY (grp, run))",
    "transcripts (key TEXT PRIMARY KEY, holder TEXT, value BLOB)",
    "notes (name TEXT PRIMARY KEY, value TEXT)",
)


class SharedLedger(Ledger):
    """The state of a session; safe from any thread and any process that opened the same directory."""

    shared = True

    def __init__(self, directory: Path, holder: str = "main") -> None:
        super().__init__(holder)
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._database = Database(directory / "ledger.sqlite")
        self._begin_journal()
        self._database.execute("PRAGMA synchronous=OFF")  # nothing here outlives the session
        for table in _SCHEMA:
            self._database.execute(f"CREATE TABLE IF NOT EXISTS {table}")

    def _begin_journal(self) -> None:
        """Switch to a write-ahead log; the time-out of the database does not cover processes that do so at once."""
        deadline = time.monotonic() + 30
        while True:
            try:
                self._database.execute("PRAGMA journal_mode=WAL")
            except sqlite3.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
            else:
                return

    def close(self) -> None:
        """Close this process's connection; the directory belongs to whoever made its name."""
        self._database.close()

    # -- runs and their outcomes

    def start(self, group: str, run: str) -> None:
        self._database.execute(
            "INSERT INTO runs (grp, run, holder) VALUES (?, ?, ?)"
            " ON CONFLICT (grp, run) DO UPDATE SET holder = excluded.holder",
            (group, run, self.holder),
        )

    def clear(self, group: str, run: str) -> None:
        with self.transaction() as db:
            clear = "UPDATE runs SET outcome = NULL, answer = NULL, label = NULL WHERE grp = ? AND run = ?"
            db.execute(clear, (group, run))
            db.execute("UPDATE runs SET label = NULL WHERE grp = ? AND answer IS NOT NULL", (group,))

    def abandon(self, group: str, run: str) -> None:
        self._database.execute("DELETE FROM runs WHERE grp = ? AND run = ? AND outcome IS NULL", (group, run))

    def record(self, group: str, run: str, outcome: Outcome) -> None:
        self._database.execute(
            "INSERT INTO runs (grp, run, holder, outcome) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (grp, run) DO UPDATE SET outcome = excluded.outcome",
            (group, run, self.holder, outcome.value),
        )

    def has_outcome(self, group: str, run: str) -> bool:
        row = self._database.first("SELECT outcome FROM runs WHERE grp = ? AND run = ?", (group, run))
        return row is not None and row[0] is not None

    def tally(self, group: str) -> Tally:
        query = "SELECT outcome, label FROM runs WHERE grp = ? AND outcome IS NOT NULL"
        rows = self._database.execute(query, (group,))
        counts = Counter(outcome for outcome, _ in rows)
        passes, fails, errors = (counts[outcome.value] for outcome in (Outcome.PASS, Outcome.FAIL, Outcome.ERROR))
        return Tally(passes, fails, errors, sizes(label for _, label in rows if label))

    def in_flight(self, group: str, besides: str = "") -> int:
        row = self._database.first(
            "SELECT count(*) FROM runs WHERE grp = ? AND run != ? AND outcome IS NULL AND reported IS NULL",
            (group, besides),
        )
        return int(row[0])

    def report(
        self, group: str, run: str, word: str, runs: int, *, transient: bool
    ) -> dict[str, tuple[str, bool]] | None:
        with self.transaction() as db:
            db.execute(
                "INSERT INTO runs (grp, run, holder, reported, transient) VALUES (?, ?, ?, ?, ?)"
                " ON CONFLICT (grp, run) DO UPDATE SET reported = excluded.reported, transient = excluded.transient",
                (group, run, self.holder, word, int(transient)),
            )
            query = "SELECT count(*) FROM runs WHERE grp = ? AND reported IS NOT NULL"
            (reported,) = db.execute(query, (group,)).fetchone()
            once = "INSERT OR IGNORE INTO notes (name, value) VALUES (?, '')"
            if reported < runs or db.execute(once, (f"last of {group}",)).rowcount == 0:
                return None
            query = "SELECT run, reported, transient FROM runs WHERE grp = ? AND reported IS NOT NULL ORDER BY rowid"
            return {run: (word, bool(transient)) for run, word, transient in db.execute(query, (group,))}

    def forget(self, holder: str) -> None:
        """A process has gone: what it was making, or made and did not report, is free for others."""
        with self.transaction() as db:
            lost = "holder = ? AND reported IS NULL"
            groups = f"SELECT grp FROM runs WHERE {lost} AND answer IS NOT NULL"  # noqa: S608 (two words of ours)
            unlabel = f"UPDATE runs SET label = NULL WHERE answer IS NOT NULL AND grp IN ({groups})"  # noqa: S608
            db.execute(unlabel, (holder,))
            db.execute(f"DELETE FROM runs WHERE {lost}", (holder,))  # noqa: S608
            db.execute("DELETE FROM transcripts WHERE holder = ? AND value IS NULL", (holder,))

    # -- which runs of a group say the same

    def say(self, group: str, run: str, answer: str) -> None:
        say = "UPDATE runs SET answer = ? WHERE grp = ? AND run = ?"
        self._database.execute(say, (answer, group, run))

    def classify(self, group: str, run: str, label: str) -> str:
        with self.transaction() as db:
            db.execute("UPDATE runs SET label = coalesce(label, ?) WHERE grp = ? AND run = ?", (label, group, run))
            found = db.execute("SELECT label FROM runs WHERE grp = ? AND run = ?", (group, run)).fetchone()
        return label if found is None else str(found[0])

    def withdraw(self, group: str, run: str) -> None:
        withdraw = "UPDATE runs SET answer = NULL, label = '' WHERE grp = ? AND run = ?"
        self._database.execute(withdraw, (group, run))

    def said(self, group: str) -> dict[str, tuple[str | None, str | None]]:
        query = "SELECT run, answer, label FROM runs WHERE grp = ? AND (answer IS NOT NULL OR label IS NOT NULL)"
        return {run: (answer, label) for run, answer, label in self._database.execute(query, (group,))}

    # -- transcripts that several items read

    def claim(self, key: str) -> bool:
        with self.transaction() as db:
            cursor = db.execute("INSERT OR IGNORE INTO transcripts (key, holder) VALUES (?, ?)", (key, self.holder))
            return cursor.rowcount == 1

    def discard(self, key: str) -> None:
        self._database.execute("DELETE FROM transcripts WHERE key = ? AND value IS NOT NULL", (key,))

    def deliver(self, key: str, value: Any) -> None:
        self._database.execute("UPDATE transcripts SET value = ? WHERE key = ?", (pickle.dumps(value), key))

    def release(self, key: str) -> None:
        self._database.execute("DELETE FROM transcripts WHERE key = ? AND holder = ?", (key, self.holder))

    def fetch(self, key: str) -> Any | None:
        row = self._database.first("SELECT value FROM transcripts WHERE key = ?", (key,))
        return pickle.loads(row[0]) if row and row[0] is not None else None  # noqa: S301 our own file, mode 0700

    # -- notes

    def note(self, name: str, value: str) -> None:
        self._database.execute("INSERT OR REPLACE INTO notes (name, value) VALUES (?, ?)", (name, value))

    def note_all(self, notes: Mapping[str, str]) -> None:
        with self.transaction() as db:
            db.executemany("INSERT OR IGNORE INTO notes (name, value) VALUES (?, ?)", notes.items())

    def noted(self, name: str) -> str | None:
        row = self._database.first("SELECT value FROM notes WHERE name = ?", (name,))
        return None if row is None else str(row[0])

    # -- the books

    def transaction(self) -> AbstractContextManager[sqlite3.Connection]:
        return self._database.transaction()


def sweep(directory: Path) -> None:
    """Remove the ledgers that sessions which were killed left in a directory: they hold whole transcripts."""
    for left in directory.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):  # another user's, or another session is sweeping it away
            changed = max(path.stat().st_mtime for path in (left, *left.iterdir()))
            if time.time() - changed > FORGOTTEN:
                shutil.rmtree(left, ignore_errors=True)


def open_ledger(directory: str | None, holder: str) -> Ledger:
    """The session's ledger: shared at `directory`, or this process's own where that cannot be reached."""
    if directory is None:
        return Notebook(holder)
    path = Path(directory)
    return SharedLedger(path, holder) if os.access(path.parent, os.W_OK) else Notebook(holder)
