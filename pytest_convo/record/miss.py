"""Why no recording fits a request, against the nearest that there is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .compare import Asked, Difference, TextOf, differences, nearest
from .exchange import Exchange
from .format import read
from .stale import recordings

MOST_LINES = 11
"""Lines of an explanation."""

MOST_CHANGED = 6
"""Of these, lines of one text."""

MOST_RUNS = 5
"""Recordings of other runs that are looked at where this one has none."""


def explain(asked: Asked, number: int, then: Exchange | None, path: Path, text_of: TextOf) -> str:
    """Why request `number` (from 1) of a run is not in its recording at `path`, where `then` comes nearest to it.

    Without any, it is compared with what is recorded of other runs beside `path`.
    """
    if then is None:
        return _not_recorded(asked, path, text_of)
    found = differences(asked, then.outline, text_of) or [Difference("the same parts stand in another order")]
    return _told(f"request {number} of this run fits no recording: ", found)


def used_up(number: int, times: int) -> str:
    """Why request `number` of a run fits none, where the same request was recorded, but only `times` times."""
    recorded = "once" if times == 1 else f"{times} times"
    return f"request {number} of this run fits no recording: it was recorded {recorded}, and is asked once more"


def _not_recorded(asked: Asked, path: Path, text_of: TextOf) -> str:
    others = {other: read(other) for other in recordings(path.parent, deep=False)[:MOST_RUNS] if other != path}
    owner = {id(exchange): other.name for other, exchanges in others.items() for exchange in exchanges}
    then = nearest(asked.outline, [exchange for exchanges in others.values() for exchange in exchanges])
    if then is None:
        return "nothing is recorded here yet"
    found = differences(asked, then.outline, text_of)
    if not found:
        return f"this run is not recorded yet; {owner[id(then)]} is"
    return _told(f"this run is not recorded yet, and since {owner[id(then)]} was, ", found)


def _told(head: str, found: Sequence[Difference]) -> str:
    first, *others = found
    lines = [head + first.what, *_indented(first.lines(MOST_CHANGED))]
    for number, other in enumerate(others):
        room = MOST_LINES - len(lines) - (1 if number < len(others) - 1 else 0)
        if room < 1:
            lines.append(f"  … and {len(others) - number} more differences")
            break
        lines += [f"  also, {other.what}", *_indented(other.lines(min(room - 1, MOST_CHANGED)) if room > 3 else [])]
    return "\n".join(lines)


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]
