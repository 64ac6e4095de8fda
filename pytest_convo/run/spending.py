"""What a session spends, over all its processes, and the caps on it.

A call is entered before it is sent, so that a cap on calls is never passed. Tokens and money are known afterwards:
those caps are passed by no more than what is in flight when they are reached.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from ..conversation.reply import Usage
from ..errors import CapReached
from .ledger import Ledger
from .pace import SCHEMA as PACE
from .pace import Pace

NOTHING = Usage()

ROUNDING = 1e-9
"""US dollars that a sum of many may be off: ten times 0.1 is a little less than 1."""

_SCHEMA = "CREATE TABLE IF NOT EXISTS spending (name TEXT PRIMARY KEY, amount)"
_ADD = "INSERT INTO spending VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET amount = amount + excluded.amount"
_FIGURES = ("calls", "usd", "uncounted", "guessed_tokens", "guessed_usd")
_TOKENS = ("prompt_tokens", "completion_tokens", "cached_tokens")
_UNPRICED = "unpriced "


@dataclass(frozen=True, slots=True)
class Spent:
    """What has been spent: `calls` sent, retries included, and what they took.

    `billed` is what servers counted, `accepted` the part of it that replies are made of. `unpriced` has the models
    whose price is not known, each with its calls: `usd` is without them. `uncounted` calls are those that nobody
    counted, because they were cancelled or broke off, or because the server does not count; what they may have taken
    is guessed, for the caps alone.
    """

    calls: int = 0
    billed: Usage = NOTHING
    accepted: Usage = NOTHING
    usd: float = 0.0
    unpriced: Mapping[str, int] = field(default_factory=dict)
    uncounted: int = 0
    guessed_tokens: int = 0
    guessed_usd: float = 0.0


@dataclass(frozen=True, slots=True)
class Caps:
    """What a session may spend; None is no cap."""

    usd: float | None = None
    calls: int | None = None
    tokens: int | None = None

    @property
    def any(self) -> bool:
        return self != NO_CAPS

    def require_room(self, spent: Spent) -> None:
        """Raise `CapReached` unless one more call may be sent."""
        tokens = spent.billed.total_tokens + spent.guessed_tokens
        usd = spent.usd + spent.guessed_usd
        if self.calls is not None and spent.calls >= self.calls:
            raise _reached(cap="calls", may=f"make {_count(self.calls, 'call')}", has=f"made {spent.calls:,}")
        if self.tokens is not None and tokens >= self.tokens:
            raise _reached(cap="tokens", may=f"use {_count(self.tokens, 'token')}", has=f"used {tokens:,}")
        if self.usd is not None and usd >= self.usd - ROUNDING:
            raise _reached(cap="usd", may=f"spend ${self.usd:g}", has=f"spent ${usd:.4g}")


NO_CAPS = Caps()


def _reached(*, cap: str, may: str, has: str) -> CapReached:
    msg = f"the session may {may} and has {has}: nothing more is asked"
    return CapReached(msg, hint=f"--convo-max-{cap} sets the cap")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


class Spending:
    """The books of a session, in its ledger."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._opened = False

    def begin(self, caps: Caps, pace: Pace, now: float, tokens: int) -> float:
        """Enter a call that is about to be sent and will take about so many `tokens`.

        Returns 0, or the seconds until it may be tried again: then nothing was entered. `CapReached` where it may
        never be sent.
        """
        with self._books() as db:
            if caps.any:
                caps.require_room(_read(db))
            if (left := pace.left(db, now)) > 0:
                return left
            pace.start(db, now, tokens)
            _add(db, {"calls": 1})
        return 0.0

    def end(self, spent: Spent, pace: Pace | None = None, more: int = 0) -> None:
        """Enter what a call took; it was so many tokens `more` than was thought when it began."""
        amounts = {name: getattr(spent, name) for name in _FIGURES}
        amounts |= {f"{_UNPRICED}{model}": calls for model, calls in spent.unpriced.items()}
        for kind, usage in (("billed", spent.billed), ("accepted", spent.accepted)):
            amounts |= {f"{kind} {name}": getattr(usage, name) for name in _TOKENS}
        with self._books() as db:
            _add(db, amounts)
            if pace is not None:
                pace.correct(db, more)

    def spent(self) -> Spent:
        """What all processes have spent so far."""
        with self._books() as db:
            return _read(db)

    @contextmanager
    def _books(self) -> Iterator[sqlite3.Connection]:
        """One entry, whole or not at all."""
        if not self._opened:  # in an entry of its own: one that is refused would take new tables back with it
            with self._ledger.transaction() as db:
                db.execute(_SCHEMA)
                db.execute(PACE)
            self._opened = True
        with self._ledger.transaction() as db:
            yield db


def _add(db: sqlite3.Connection, amounts: Mapping[str, float]) -> None:
    db.executemany(_ADD, [entry for entry in amounts.items() if entry[1]])


def _read(db: sqlite3.Connection) -> Spent:
    found = dict(db.execute("SELECT name, amount FROM spending"))
    return Spent(
        billed=_usage(found, "billed"),
        accepted=_usage(found, "accepted"),
        unpriced={name.removeprefix(_UNPRICED): found[name] for name in found if name.startswith(_UNPRICED)},
        **{name: found[name] for name in _FIGURES if name in found},
    )


def _usage(found: Mapping[str, int], kind: str) -> Usage:
    return Usage(*(found.get(f"{kind} {name}", 0) for name in _TOKENS))
