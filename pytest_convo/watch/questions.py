"""Results of tools that wait until somebody says whether they may be sent: one is asked about at a time."""

from __future__ import annotations

from ..texts import one_line
from .channel import Note
from .pool import Child
from .screen import Screen


class Questions:
    """The oldest is asked about first; what has been cancelled meanwhile is asked about no more."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._open: dict[tuple[Child, int], Note] = {}

    def hear(self, child: Child, note: Note) -> None:
        """A result waits, or does so no more."""
        if note["kind"] == "gate":
            self._open[child, note["call"]] = note
            if len(self._open) == 1:
                self._ask()
        else:
            self._open.pop((child, note["call"]), None)

    def forget(self, child: Child) -> None:
        """The process has ended: nobody waits in it."""
        self._open = {asked: note for asked, note in self._open.items() if asked[0] is not child}

    def answer(self, *, send: bool) -> bool:
        """Somebody has decided about the oldest; False where there was nothing to decide."""
        if not self._open:
            return False
        (child, call), _ = next(iter(self._open.items()))
        del self._open[child, call]
        child.tell({"kind": "decided", "call": call, "send": send})
        self._ask()
        return True

    def _ask(self) -> None:
        for note in list(self._open.values())[:1]:
            self._screen.line(f"{note['name']}({one_line(note['arguments'])}) → {one_line(note['result'])}")
            self._screen.line("send it to the bot? y, n")
