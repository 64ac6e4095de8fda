"""Which items the engine may start before pytest comes to them: those that are certain to run in this process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest

from .xdist import AHEAD, find_queue, upcoming

if TYPE_CHECKING:
    from .session import RunSession


class Ahead:
    """Offers items to the engine in time.

    One process: all at once, or with `-x` and `--maxfail` as many as keep the engine busy, so that little is paid for
    that nobody will see. A worker of xdist: what stands in its queue,
    where that is certain to stay there, else the next item.
    """

    def __init__(self, runs: RunSession, session: pytest.Session) -> None:
        self.runs = runs
        self.items = session.items
        self._worker = hasattr(session.config, "workerinput")
        own = session.config.workerinput.get("convo_dist") == "load" if self._worker else False  # type: ignore[attr-defined]
        self._queue: Any | None = find_queue(session.config) if own else None
        self._window = AHEAD * runs.share if session.config.getoption("maxfail") else len(self.items)
        self._places = {item: place for place, item in enumerate(self.items)}
        self._offered = 0

    def begin(self) -> None:
        """The first item is about to run."""
        if not self._worker:
            self._offer_until(self._window)

    def come_to(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        """Pytest begins with `item`."""
        if self._worker and self._queue is None:
            self.runs.offer([item] if nextitem is None else [item, nextitem])
        elif self._worker:
            self.runs.offer([item, *self.look()])
        else:
            self._offer_until(self._places[item] + 1 + self._window)

    def look(self) -> Sequence[pytest.Item]:
        """What has come into a worker's queue since, to be asked for while it waits."""
        return upcoming(self._queue, self.items) if self._queue is not None else ()

    def _offer_until(self, place: int) -> None:
        if place > self._offered:
            self.runs.offer(self.items[self._offered : place])
            self._offered = place
