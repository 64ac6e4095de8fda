"""What a watcher says in the terminal: what was edited, what the bot answers, what came of it, how things stand."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from ..conversation.names import printable
from ..run.spending import Spent
from ..texts import tame
from .channel import Note
from .ledger import Change
from .standing import BAD, Standing

KEYS = "Enter all, f failed, r record, s spend, q quit"

COLOURS = {"passed": "32", "failed": "31;1", "error": "31;1", "inconclusive": "33;1"}

MOST_NAMES = 4
"""Names in one line; more are counted."""


class Screen:
    """Writes lines; one answer at a time is streamed among them, others wait until it is whole."""

    def __init__(self, file: TextIO, rootdir: Path, *, keys: bool) -> None:
        self._file = file
        self._rootdir = rootdir
        self._keys = keys
        self._live = file.isatty()
        self._streaming: tuple[str, str | None, int] | None = None
        """The turn whose pieces are being printed: its directory, its case, its index."""
        self._streamed = ""

    # -- lines

    def line(self, text: str = "") -> None:
        """One line of ours, with the time of day."""
        self._line(tame(text))

    def block(self, text: str) -> None:
        """What a child printed, as it stands."""
        self._end_stream()
        self._write(text if text.endswith("\n") else f"{text}\n")

    def edited(self, unit: Path, changes: Sequence[Change]) -> None:
        """Something that a unit depends on has changed."""
        said = [f"{self._in(unit, change.path)} {_how(change)}" for change in changes]
        self.line(f"{self.name(unit)}: {listed(said)}")

    def ended(self, unit: Path, word: str, more: str = "") -> None:
        """A unit has run."""
        self._line(f"{self.name(unit)} {self._coloured(word)}{f' {tame(more)}' if more else ''}")

    def standing(self, standing: Standing, watched: int, running: Sequence[Path], waiting: Sequence[Path]) -> None:
        """What is watched, what waits, what failed."""
        parts = [f"watching {watched}"]
        parts += [f"running {listed([self.name(unit) for unit in running])}"] * bool(running)
        parts += [f"waiting {listed([self.name(unit) for unit in waiting])}"] * bool(waiting)
        bad = [self.name(unit) for unit in standing.bad]
        parts += [f"failed: {listed(bad)}"] if bad else ["nothing failed"] if standing.units else []
        self.line(" · ".join([*parts, *([KEYS] * self._keys)]))
        self._keys = False  # said once

    def name(self, path: Path) -> str:
        """A path as people know it: below the rootdir, if it lies there."""
        inside = path.is_relative_to(self._rootdir) and path != self._rootdir
        return printable(str(path.relative_to(self._rootdir) if inside else path))

    def _in(self, unit: Path, path: Path) -> str:
        """A path as it is said of a unit: what is in it by its name alone."""
        return printable(path.name) if path.parent == unit else self.name(path)

    def _line(self, text: str) -> None:
        self._end_stream()
        self._write(f"{time.strftime('%H:%M:%S')} {text}\n")

    # -- answers, as they arrive

    def hear(self, note: Note) -> None:
        """A note about a turn that is being answered."""
        turn = (note["directory"], note["case"], note["index"])
        if note["kind"] == "piece" and self._live and self._streaming in (None, turn):
            self._piece(turn, note["text"])
        elif note["kind"] == "again" and self._streaming == turn:
            self._write(" …")
            self._end_stream()
        elif note["kind"] == "whole":
            self._whole(turn, note["text"])
            if note.get("file"):
                self.line(f"{self.name(Path(note['file']))} written")

    def _piece(self, turn: tuple[str, str | None, int], text: str) -> None:
        if self._streaming is None:
            self._streaming = turn
            self._write(f"  {turn[2]:04} ")
        self._streamed += text
        self._write(printable_lines(text))

    def _whole(self, turn: tuple[str, str | None, int], text: str) -> None:
        """Print what is still missing of an answer: the last word, or all of it where another one was streamed."""
        if self._streaming == turn and text.startswith(self._streamed):
            text = text.removeprefix(self._streamed)
        else:
            self._end_stream()
            self._write(f"  {turn[2]:04} ")
        self._write(f"{printable_lines(text)}\n")
        self._streaming, self._streamed = None, ""

    def _end_stream(self) -> None:
        if self._streaming is not None:
            self._streaming, self._streamed = None, ""
            self._write("\n")

    def _coloured(self, word: str) -> str:
        shown = word.upper() if word in (*BAD, "passed") else word
        return f"\033[{COLOURS[word]}m{shown}\033[0m" if self._live and word in COLOURS else shown

    def _write(self, text: str) -> None:
        self._file.write(text)
        self._file.flush()


def printable_lines(text: str) -> str:
    """The text without what would steer a terminal; later lines are indented as the first one is."""
    return "\n       ".join(tame(line) for line in text.split("\n"))


def _how(change: Change) -> str:
    return "is new" if change.created else "has gone" if change.deleted else "edited"


def listed(names: Sequence[str]) -> str:
    """Names in one line, as long as they are few."""
    ordered = list(dict.fromkeys(names))
    shown = ", ".join(ordered[:MOST_NAMES])
    return shown if len(ordered) <= MOST_NAMES else f"{shown} and {len(ordered) - MOST_NAMES} more"


def spent(found: Spent) -> str:
    """What has been spent, in a line."""
    tokens = found.billed.total_tokens
    return f"spent so far: ${found.usd:.4f}, {found.calls:,} calls, {tokens:,} tokens"
