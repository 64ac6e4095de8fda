"""Fresh runs of groups at the end of a session: what the regression gate confirms a suspicion with.

They are items like any other, collected and run once more in the process that reports, also where xdist's workers made
the first runs: their number goes on where the group's ended, no recording answers them, and none is made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from ..run.ledger import Ledger
from ..run.meter import Meter
from ..run.protocol import run_item
from .state import State, replaced


def run_fresh(session: pytest.Session, groups: Sequence[str], runs: int, books: Ledger | None) -> None:
    """Make so many fresh runs of each group, on the session's books; their reports are told as `fresh`."""
    config = session.config
    state = State(config, fresh=runs)
    if books is not None:
        state.runs.meter = Meter(books, state.runs.meter.caps)
    with replaced(config, state), _unfiltered(config), _after(session):
        collected = session.testscollected
        items = session.perform_collect([f"{config.rootpath}/{group}" for group in groups])
        session.testscollected = collected + len(items)  # for pytest's percentages
        try:
            state.runs.begin(session)
            for item, nextitem in zip(items, [*items[1:], None], strict=True):
                run_item(state.runs, item, nextitem)
        finally:
            state.close()


@contextmanager
def _unfiltered(config: pytest.Config) -> Iterator[None]:
    """Without `-k` and `-m`: what they were to select has run already."""
    option = config.option
    given = option.keyword, option.markexpr
    option.keyword = option.markexpr = ""
    try:
        yield
    finally:
        option.keyword, option.markexpr = given


@contextmanager
def _after(session: pytest.Session) -> Iterator[None]:
    """Have the session know these items beside those that it collected first."""
    items = session.items
    try:
        yield
    finally:
        session.items = [*items, *session.items]
