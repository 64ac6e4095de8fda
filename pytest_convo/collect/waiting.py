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

    runs = of(item.config).runs
    try:
        measurement = runs.measurement(item.stash[RUN], _Patience(item))
    except Spared:
        msg = "the verdict is known without this run"
        raise Needless(msg) from None
    item.stash[MEASURED] = measurement
    return measurement


class _Patience:
    """Tells a person at a terminal, seldom, what is being waited for."""

    def __init__(self, item: pytest.Item) -> None:
        self.item = item
        self.next_word = FIRST_WORD

    def __call__(self, seconds: float) -> None:
        if seconds < self.next_word:
            return
        self.next_word *= 2
        capture = self.item.config.pluginmanager.get_plugin("capturemanager")
        with capture.global_and_fixture_disabled() if capture is not None else nullcontext():
            if sys.stderr.isatty():
                others = of(self.item.config).runs.engine.in_flight() - 1
                more = f" and {others} more" if others > 0 else ""
                sys.stderr.write(f"\nconvo: waiting for {self.item.nodeid}{more} for {seconds:.0f} s\n")
                sys.stderr.flush()
