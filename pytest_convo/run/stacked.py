"""What a run's requests were made of, as its report tells it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..bot.events import STACK

Told = dict[str, Any]


def stacked(events: Sequence[Mapping[str, Any]]) -> Told:
    """The parts of the last request, and how servers counted what we counted; nothing where nobody looked at it."""
    made = [event for event in events if event["kind"] == STACK]
    if not made:
        return {}
    told = {key: value for key, value in made[-1].items() if key not in ("kind", "at", "server_counts")}
    return {"stack": {**told, "counts": list(_counts(events))}}


def _counts(events: Sequence[Mapping[str, Any]]) -> Iterator[list[int]]:
    """Of each request that a server has counted, our count and its own."""
    ours: int | None = None
    for event in events:
        if event["kind"] == STACK:
            ours = event["tokens"] if event["server_counts"] else None
        elif event["kind"] == "reply" and ours is not None:
            if (usage := event["usage"]) is not None and usage["prompt_tokens"] > 0:
                yield [ours, usage["prompt_tokens"]]
            ours = None
