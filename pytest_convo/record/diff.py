"""Which lines of a text changed, in the few lines that an error has for it."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from itertools import zip_longest

WIDTH = 100
"""Characters of a line that are shown."""

BEFORE = 30
"""Of these, how many of what comes before the change."""

MOST_LINES = 300
"""Lines that are compared; a longer text changed as a whole."""


def changed_lines(then: str, now: str, limit: int = 8) -> list[str]:
    """The lines that differ, `-` as they were and `+` as they are, each change with its place in the text as it is."""
    lines = list(_changes(then.split("\n"), now.split("\n")))
    if len(lines) <= limit:
        return lines
    left = sum(line.startswith(("-", "+")) for line in lines[limit - 1 :])
    return [*lines[: limit - 1], f"… and {left} more"]


def shown_pair(then: str, now: str) -> tuple[str, str]:
    """Two lines as a terminal can show them: what cannot be seen as escapes, long ones cut down to their difference."""
    if then.split() == now.split():
        then, now = repr(then), repr(now)
    start = max(0, _shared(then, now) - BEFORE)
    return _cut(then, start), _cut(now, start)


def _changes(then: list[str], now: list[str]) -> Iterator[str]:
    above = _shared(then, now)
    below = _shared(then[above:][::-1], now[above:][::-1])
    old, new = then[above : len(then) - below][:MOST_LINES], now[above : len(now) - below][:MOST_LINES]
    for kind, i, i_end, j, j_end in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            yield f"@@ line {above + j + 1}"
            yield from _pairs(old[i:i_end], new[j:j_end])


def _pairs(old: list[str], new: list[str]) -> Iterator[str]:
    """Each line beside the one that took its place, so that both are seen where there is no room for all."""
    for before, after in zip_longest(old, new):
        pair = shown_pair(before or "", after or "")
        if before is not None:
            yield f"-{pair[0]}"
        if after is not None:
            yield f"+{pair[1]}"


def _shared(then: str | list[str], now: str | list[str]) -> int:
    """How long the beginning is that both have."""
    return next(
        (place for place, (a, b) in enumerate(zip(then, now, strict=False)) if a != b), min(len(then), len(now))
    )


def _cut(line: str, start: int) -> str:
    if len(line) <= WIDTH:
        return _visible(line)
    end = start + WIDTH
    return f"{'…' if start else ''}{_visible(line[start:end])}{'…' if end < len(line) else ''}"


def _visible(line: str) -> str:
    return "".join(mark if mark.isprintable() else repr(mark)[1:-1] for mark in line)
