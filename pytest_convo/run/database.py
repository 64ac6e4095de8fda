"""A SQLite database, in a file or in memory, that several threads use."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class Database:
    """One connection; each statement, and each transaction, is one thread's at a time."""

    def __init__(self, path: Path | None = None) -> None:
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(
            ":memory:" if path is None else path, timeout=30, isolation_level=None, check_same_thread=False
        )

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def execute(self, statement: str, values: tuple[Any, ...] = ()) -> list[Any]:
        """Do one statement; the rows that it finds."""
        with self._lock:
            return self._connection.execute(statement, values).fetchall()

    def first(self, query: str, values: tuple[Any, ...]) -> Any:
        """The first row that a query finds, or None."""
        return next(iter(self.execute(query, values)), None)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """What the block does to the database is done at once, or where it raises, not at all."""
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")
