"""What is kept of an agent's run as files of their own: its commands with all they wrote, its diff, its verifier."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..run.measure import Event


def artefacts(events: Iterable[Event]) -> dict[str, str]:
    """By the names of the files what stands in them; nothing for a run without a sandbox."""
    found: dict[str, str] = {}
    seen: Counter[str] = Counter()
    for event in events:
        kind = event["kind"]
        seen[kind] += 1
        if kind == "command":
            found[f"command-{seen[kind]:03}.txt"] = _written(event, f"$ {event['command']}")
        elif kind == "verifier":
            name = "verifier.txt" if seen[kind] == 1 else f"verifier-{seen[kind]}.txt"
            found[name] = _written(event, _verdict(event))
        elif kind == "solution":
            found["solution.txt"] = _written(event, "$ /solution/solve.sh")
        elif kind == "changes":
            found["changes.diff"] = event["diff"]
    return found


def _verdict(event: Event) -> str:
    reward = "" if event["reward"] is None else f", reward {event['reward']:g}"
    return "\n".join([f"{event['outcome']}{reward}", *event["notes"]])


def _written(event: Event, head: str) -> str:
    return "\n".join([head, *_streams(event)]) + "\n"


def _streams(event: Event) -> Iterator[str]:
    for name in ("output", "error"):
        if text := event.get(name):
            yield f"--- {name}"
            yield text.removesuffix("\n")
    if "return_code" in event:
        killed = f", killed: {event['killed']}" if event.get("killed") else ""
        yield f"--- ended with {event['return_code']}{killed}"
