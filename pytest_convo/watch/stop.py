"""The signals that end a watcher, taken where nothing is half done."""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType


class Stop:
    """Whether somebody has asked the process to end.

    An exception out of a signal's handler comes between any two instructions: one that falls into the making of a
    process loses that process, and one that falls into a finaliser is lost itself. So while the watcher makes
    processes, the handler takes a note and wakes it.
    """

    def __init__(self) -> None:
        self._asked = False
        self._wake: Callable[[], object] | None = None

    def at(self, *numbers: int) -> None:
        """End as at Ctrl-C at these signals, as far as they are not ignored, as nohup has it."""
        for number in numbers:
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self._ask)

    def between_steps(self, wake: Callable[[], object]) -> Callable[[], bool]:
        """From now on no exceptions: what is given back says whether to end, and `wake` is called to have it asked."""
        self._wake = wake
        return lambda: self._asked

    def _ask(self, _number: int, _frame: FrameType | None) -> None:
        self._asked = True
        if self._wake is None:
            raise KeyboardInterrupt
        self._wake()
