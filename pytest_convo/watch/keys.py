"""The keys of a watcher, one at a time and without Enter, as long as it watches; none where there is no terminal."""

from __future__ import annotations

import os
import sys
import termios
import tty
from types import TracebackType
from typing import Any


class Keys:
    """Reads single keys from the terminal; its modes are put back in the end, whatever the end is."""

    def __init__(self) -> None:
        self.file: int | None = None
        """What to wait for; None where nobody can press anything."""
        self._modes: list[Any] = []

    def __enter__(self) -> Keys:
        # A watcher in the background would be stopped by the terminal if it changed the terminal's modes.
        if sys.stdin.isatty() and os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp():
            self.file = sys.stdin.fileno()
            self._modes = termios.tcgetattr(self.file)
            tty.setcbreak(self.file, termios.TCSADRAIN)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.file is not None:
            termios.tcsetattr(self.file, termios.TCSADRAIN, self._modes)

    def pressed(self) -> str:
        """The keys that have been pressed; empty where the terminal has gone."""
        assert self.file is not None
        return os.read(self.file, 64).decode(errors="replace")
