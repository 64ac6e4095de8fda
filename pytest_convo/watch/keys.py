"""The keys of a watcher, one at a time and without Enter, as long as it watches; none where there is no terminal."""

from __future__ import annotations

import os
import sys
import termios
import tty
from contextlib import suppress
from typing import Any


class Keys:
    """Reads single keys from the terminal; `restore` puts its modes back, whenever it is called."""

    def __init__(self) -> None:
        self.file: int | None = sys.stdin.fileno() if sys.stdin.isatty() else None
        """What to wait for; None where there is no terminal."""
        self.stale = True
        """Whether to `listen` anew: the shell has put its own modes in the place of ours."""
        self._modes: list[Any] = []

    def listen(self) -> int | None:
        """Have keys come one by one; the file to wait for, None unless we are in the foreground of a terminal."""
        self.stale = False
        if self.file is None or not self._in_foreground():
            return None
        if not self._modes:
            self._modes = termios.tcgetattr(self.file)
        tty.setcbreak(self.file, termios.TCSADRAIN)
        return self.file

    def restore(self) -> None:
        """End; a terminal that has gone needs nothing back, and in the background it is the shell's."""
        if self.file is not None and self._modes:
            with suppress(OSError, termios.error):
                if self._in_foreground():
                    termios.tcsetattr(self.file, termios.TCSADRAIN, self._modes)

    def pressed(self) -> str | None:
        """The keys that have been pressed; empty where the terminal has gone, None in the background."""
        assert self.file is not None
        try:
            return os.read(self.file, 64).decode(errors="replace") if self._in_foreground() else None
        except OSError:
            return ""

    def _in_foreground(self) -> bool:
        assert self.file is not None
        return os.tcgetpgrp(self.file) == os.getpgrp()
