"""What all processes of a session share: outcomes, transcripts in the making, and pauses.

A SQLite file in a directory of the session's own, or memory where there is one process. Without a shared disk each
host has its own: early stop is weaker there, verdicts stay exact, because they are made from the runs' reports.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import shutil
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..agreement.outcome import Outcome
from ..agreement.verdict import Tally

_SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
    grp TEXT, run TEXT, holder TEXT, outcome TEXT, reported TEXT, transient INT DEFAULT 0,
    PRIMARY KEY (grp, run));
CREATE TABLE IF NOT EXISTS transcripts (key TEXT PRIMARY KEY, holder TEXT, value BLOB);
CREATE TABLE IF NOT EXISTS notes (name TEXT PRIMARY KEY, value TEXT);
"""


class Ledger:
    """The shared state of a session; safe from any thread and any process that opened the same directory."""

    def __init__(self, directory: Path | None = None, holder: str = "main") -> None:
        self.holder = holder
        self.shared = directory is not None
        if directory is not None:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._db = sqlite3.connect(
            ":memory:" if directory is None else directory / "ledger.sqlite",
            timeout=30,
            isolation_level=None,
            check_same_thread=False,
        )
        if directory is not None:
            self._begin_journal()
            self._db.execute("PRAGMA synchronous=OFF")  # nothing here outlives the session
        self._db.executescript(_SCHEMA)
        self._paused_until = 0.0
        self._pauses_read = 0.0

    def _begin_journal(self) -> None:
        """Switch to a write-ahead log; the time-out of the database does not cover processes that do so at once."""
        deadline = time.monotonic() + 30
        while True:
            try:
                self._db.execute("PRAGMA journal_mode=WAL")
            except sqlite3.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
            else:
                return

    def close(self) -> None:
        """Close this process's connection; the directory belongs to whoever made its name."""
        with self._lock:
            self._db.close()

    # -- runs and their outcomes

    def start(self, group: str, run: str) -> None:
        """A run of `group` is being made by this process; an outcome that it has already stands until then."""
        self._write(
            "INSERT INTO runs (grp, run, holder) VALUES (?, ?, ?)"
            " ON CONFLICT (grp, run) DO UPDATE SET holder = excluded.holder",
            (group, run, self.holder),
        )

    def clear(self, group: str, run: str) -> None:
        """The run is to be made again: its outcome no longer counts."""
        self._write("UPDATE runs SET outcome = NULL WHERE grp = ? AND run = ?", (group, run))

    def abandon(self, group: str, run: str) -> None:
        """The run was cancelled: it has no outcome and nobody makes it."""
        self._write("DELETE FROM runs WHERE grp = ? AND run = ? AND outcome IS NULL", (group, run))

    def record(self, group: str, run: str, outcome: Outcome) -> None:
        """Enter what a run measured, in place of what it measured before."""
        self._write(
            "INSERT INTO runs (grp, run, holder, outcome) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (grp, run) DO UPDATE SET outcome = excluded.outcome",
            (group, run, self.holder, outcome.value),
        )

    def has_outcome(self, group: str, run: str) -> bool:
        """Whether a run has been measured."""
        row = self._read("SELECT outcome FROM runs WHERE grp = ? AND run = ?", (group, run))
        return row is not None and row[0] is not None

    def tally(self, group: str) -> Tally:
        """The outcomes of a group so far, over all processes."""
        with self._lock:
            return self._tally(self._db, group)

    def in_flight(self, group: str, besides: str = "") -> int:
        """How many runs of a group, `besides` one of them, some living process is making."""
        row = self._read(
            "SELECT count(*) FROM runs WHERE grp = ? AND run != ? AND outcome IS NULL AND reported IS NULL",
            (group, besides),
        )
        return int(row[0])

    def report(
        self, group: str, run: str, word: str, runs: int, *, transient: bool
    ) -> dict[str, tuple[str, bool]] | None:
        """A run of `group` is reported with `word`: its outcome, or why it has none.

        None, unless it is the last of `runs`: then the words of all, each with whether another try may end otherwise.
        Exactly one caller over all processes is told, so that errors are tried again once.
        """
        with self.transaction() as db:
            db.execute(
                "INSERT INTO runs (grp, run, holder, reported, transient) VALUES (?, ?, ?, ?, ?)"
                " ON CONFLICT (grp, run) DO UPDATE SET reported = excluded.reported, transient = excluded.transient",
                (group, run, self.holder, word, int(transient)),
            )
            query = "SELECT count(*) FROM runs WHERE grp = ? AND reported IS NOT NULL"
            (reported,) = db.execute(query, (group,)).fetchone()
            if reported < runs or not self._note_once(db, f"last of {group}"):
                return None
            query = "SELECT run, reported, transient FROM runs WHERE grp = ? ORDER BY rowid"
            return {run: (word, bool(transient)) for run, word, transient in db.execute(query, (group,))}

    def forget(self, holder: str) -> None:
        """A process has gone: what it was making, or made and did not report, is free for others."""
        with self.transaction() as db:
            db.execute("DELETE FROM runs WHERE holder = ? AND reported IS NULL", (holder,))
            db.execute("DELETE FROM transcripts WHERE holder = ? AND value IS NULL", (holder,))

    # -- transcripts that several items read

    def claim(self, key: str) -> bool:
        """Whether this process is the one that makes the transcript `key`."""
        with self.transaction() as db:
            cursor = db.execute("INSERT OR IGNORE INTO transcripts (key, holder) VALUES (?, ?)", (key, self.holder))
            return cursor.rowcount == 1

    def discard(self, key: str) -> None:
        """Throw a transcript away, whoever made it: the next who needs it makes another."""
        self._write("DELETE FROM transcripts WHERE key = ? AND value IS NOT NULL", (key,))

    def deliver(self, key: str, value: Any) -> None:
        """Hand over what was made for `key`; read only by processes of this session, from a private directory."""
        self._write("UPDATE transcripts SET value = ? WHERE key = ?", (pickle.dumps(value), key))

    def release(self, key: str) -> None:
        """Give up a claim: the next who needs the transcript makes it."""
        self._write("DELETE FROM transcripts WHERE key = ? AND holder = ?", (key, self.holder))

    def fetch(self, key: str) -> Any | None:
        """What was delivered for `key`, or None while nobody has."""
        row = self._read("SELECT value FROM transcripts WHERE key = ?", (key,))
        return pickle.loads(row[0]) if row and row[0] is not None else None  # noqa: S301 our own file, mode 0700

    # -- notes

    def note(self, name: str, value: str) -> None:
        """Leave a word for the other processes."""
        self._write("INSERT OR REPLACE INTO notes (name, value) VALUES (?, ?)", (name, value))

    def note_all(self, notes: Mapping[str, str]) -> None:
        """Leave many words at once; one that stands already is left as it is."""
        with self.transaction() as db:
            db.executemany("INSERT OR IGNORE INTO notes (name, value) VALUES (?, ?)", notes.items())

    def noted(self, name: str) -> str | None:
        """The word that was left under `name`."""
        row = self._read("SELECT value FROM notes WHERE name = ?", (name,))
        return None if row is None else str(row[0])

    # -- pauses: a server that says 429 to one worker says it to all

    def hold(self, seconds: float) -> None:
        """No process starts a call for so many seconds."""
        until = time.time() + seconds
        if until > self._paused_until:
            self._paused_until = until
            self.note("paused until", repr(until))

    async def wait(self) -> None:
        """Return when no pause is on."""
        import asyncio

        while (left := self._pause_left()) > 0:
            await asyncio.sleep(min(left, 0.5))

    def _pause_left(self) -> float:
        now = time.time()
        if self.shared and now - self._pauses_read > 0.05:
            self._pauses_read = now
            self._paused_until = max(self._paused_until, float(self.noted("paused until") or 0))
        return self._paused_until - now

    # -- the database

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """What the block does to the database is done at once, or where it raises, not at all."""
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def _write(self, statement: str, values: tuple[Any, ...]) -> None:
        with self._lock:
            self._db.execute(statement, values)

    def _read(self, statement: str, values: tuple[Any, ...]) -> Any:
        with self._lock:
            return self._db.execute(statement, values).fetchone()

    @staticmethod
    def _tally(db: sqlite3.Connection, group: str) -> Tally:
        counts = dict(db.execute("SELECT outcome, count(*) FROM runs WHERE grp = ? GROUP BY outcome", (group,)))
        return Tally(*(counts.get(outcome.value, 0) for outcome in (Outcome.PASS, Outcome.FAIL, Outcome.ERROR)))

    @staticmethod
    def _note_once(db: sqlite3.Connection, name: str) -> bool:
        return db.execute("INSERT OR IGNORE INTO notes (name, value) VALUES (?, '')", (name,)).rowcount == 1


PREFIX = "pytest-convo-"
"""How the name of a ledger's directory begins."""

FORGOTTEN = 86_400.0
"""Seconds without a word after which a ledger is nobody's any more."""


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
        return Ledger(holder=holder)
    path = Path(directory)
    return Ledger(path if os.access(path.parent, os.W_OK) else None, holder)
