"""How fast one server may be asked by all processes together: requests and tokens per minute.

Requests are spaced evenly: where sixty may be made in a minute, each waits until a second after the one before it.
Tokens are a debt: a request may start when those before it have been paid off, at so many a minute; what it will take
is guessed when it starts, and put right when it is counted. Nobody queues for a place in time: who waits looks again
when the time has come, so that one who is cancelled, or whose process dies, leaves no gap.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

MINUTE = 60.0

SCHEMA = "CREATE TABLE IF NOT EXISTS pace (server TEXT PRIMARY KEY, ready REAL, paid REAL)"
"""For each server, the moment from which the next request may start, and that when all tokens will be paid off."""


@dataclass(frozen=True, slots=True)
class Pace:
    """The limits of a `server`, per minute; None is no limit. Moments are in seconds, of a clock that all share."""

    server: str
    requests: float | None = None
    tokens: float | None = None

    @property
    def limited(self) -> bool:
        return self.requests is not None or self.tokens is not None

    def left(self, db: sqlite3.Connection, now: float) -> float:
        """The seconds until the next request may start; 0 where it may at once."""
        if not self.limited:
            return 0.0
        ready, paid = self._moments(db, now)
        return max(ready - now if self.requests else 0.0, paid - now if self.tokens else 0.0, 0.0)

    def start(self, db: sqlite3.Connection, now: float, tokens: int) -> None:
        """A request starts, and will take about so many tokens."""
        if not self.limited:
            return
        ready, paid = self._moments(db, now)
        ready = now + MINUTE / self.requests if self.requests else ready
        db.execute("INSERT OR REPLACE INTO pace VALUES (?, ?, ?)", (self.server, ready, paid + self._time(tokens)))

    def correct(self, db: sqlite3.Connection, tokens: int) -> None:
        """A request took so many tokens more than was thought, or fewer where they are negative."""
        if self.tokens is not None:
            db.execute("UPDATE pace SET paid = paid + ? WHERE server = ?", (self._time(tokens), self.server))

    def _time(self, tokens: int) -> float:
        """The seconds in which so many tokens are paid off."""
        return tokens * MINUTE / self.tokens if self.tokens else 0.0

    def _moments(self, db: sqlite3.Connection, now: float) -> tuple[float, float]:
        """When the next request may start, and when the tokens are paid off; neither before `now`."""
        row = db.execute("SELECT ready, paid FROM pace WHERE server = ?", (self.server,)).fetchone()
        return (now, now) if row is None else (max(row[0], now), max(row[1], now))
