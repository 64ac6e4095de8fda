"""An item waits for its transcript; who watches a terminal hears about it when that takes long."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING

import pytest

from ..run.session import RUN
from ..run.told import MEASURED, Needless
from .state import of

if TYPE_CHECKING:
    from ..run.measure import Measurement

FIRST_WORD = 10.0
"""Seconds until the first word about a wait; each further one after twice as long."""


def wait_for(item: pytest.Item) -> Measurement:
    """The measurement that `item` reads; the run is spared where its group was decided meanwhile."""
    from ..run.engine import Spared

    runs, patience = of(item.config).runs, _Patience(item)
    try:
        measurement = runs.measurement(item.stash[RUN], patience)
    except Spared:
        msg = "the verdict is known without this run"
        raise Needless(msg) from None
    finally:
        patience.end()
    item.stash[MEASURED] = measurement
    return measurement


class _Patience:
    """Tells a person at a terminal what is being waited for: seldom; and where answers are written, what they say."""

    def __init__(self, item: pytest.Item) -> None:
        self.item = item
        self.next_word = FIRST_WORD
        self._state = of(item.config)

    def __call__(self, seconds: float) -> None:
        if self._show():
            self.next_word = seconds + FIRST_WORD
        if seconds < self.next_word:
            return
        self.next_word *= 2
        capture = self.item.config.pluginmanager.get_plugin("capturemanager")
        with capture.global_and_fixture_disabled() if capture is not None else nullcontext():
            if sys.stderr.isatty():
                others = self._state.runs.engine.in_flight() - 1
                more = f" and {others} more" if others > 0 else ""
                sys.stderr.write(f"\nconvo: waiting for {self.item.nodeid}{more} for {seconds:.0f} s\n")
                sys.stderr.flush()

    def end(self) -> None:
        """The wait is over."""
        self._show(last=True)

    def _show(self, *, last: bool = False) -> bool:
        if not self._state.options.write:
            return False
        from .writing import show

        return show(self.item, self._state, last=last)
