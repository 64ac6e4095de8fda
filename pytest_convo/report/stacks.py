"""What a person is told of token budgets: what was left out of requests, and how well tokens were counted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import median
from typing import Any

from ..prompt.table import SENT
from ..run.results import Results
from .words import count

MOST = 5
"""Groups of which it is told what was left out."""


def stack_lines(results: Results) -> Iterator[str]:
    """Of each group what the last request of a run did without, and one line on how tokens were counted."""
    made = [
        (group, told["stack"]) for group in results.groups.values() for told in group.runs.values() if "stack" in told
    ]
    left_out = {group.id: line for group, stack in made if (line := _left_out(stack))}
    for id_, line in list(left_out.items())[:MOST]:
        yield f"{id_}: {line}"
    if len(left_out) > MOST:
        yield f"and {count(len(left_out) - MOST, 'other group')} whose requests did without something: --convo-json"
    estimated = [pair for _, stack in made if _rests_on_estimate(stack) for pair in stack["counts"]]
    if estimated:
        yield _estimates(estimated)


def _rests_on_estimate(stack: Mapping[str, Any]) -> bool:
    return stack["budget"] is not None and stack["counted_by"] == "estimate"


def _left_out(stack: Mapping[str, Any]) -> str:
    rows = [row for row in stack["rows"] if row["status"] not in SENT or row["status"] == "shortened"]
    if not rows:
        return ""
    parts = [f"{row['section']} {row['name']} {row['status']}" for row in rows]
    room = f" of {stack['room']:,}" if stack["room"] is not None else ""
    about = "about " if stack["counted_by"] == "estimate" else ""
    return f"sent {about}{stack['tokens']:,} tokens{room}: {', '.join(parts)}"


def _estimates(pairs: list[list[int]]) -> str:
    """How far our counts were from those of servers: a positive error is a count that was too high."""
    errors = [100 * (ours - servers) / servers for ours, servers in pairs]
    low = sum(error < 0 for error in errors)
    worst = f", {count(low, 'time')} too low, by {-min(errors):.0f} % at most" if low else ", never too low"
    return f"tokens of {count(len(pairs), 'request')} were estimated: {median(errors):+.0f} % in the median{worst}"
