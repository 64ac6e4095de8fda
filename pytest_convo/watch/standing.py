"""How things stand: the last verdict on every group, and which of them a single run has called in question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

BAD = ("failed", "error", "inconclusive")
"""Words for a group, or for a collection, that somebody should look at."""

ANSWERED = "nothing to answer"
"""The word for a conversation in which the bot is to say nothing: what was said of it before still holds."""


def worst(words: Iterable[str]) -> str:
    """One word for several: the worst."""
    found = set(words)
    return next((word for word in (*BAD, "passed", "skipped", ANSWERED) if word in found), "nothing to run")


@dataclass
class UnitStanding:
    """A conversation's directory, or a file of tests: the last word on each of its groups."""

    groups: dict[str, str] = field(default_factory=dict)
    broken: str = ""
    """Why it could not be collected; empty where it could."""

    @property
    def word(self) -> str:
        """One word for all."""
        return "error" if self.broken else worst(self.groups.values())


class Standing:
    """The last words on all that is watched."""

    def __init__(self) -> None:
        self.units: dict[Path, UnitStanding] = {}

    def ended(self, unit: Path, outcomes: Mapping[str, str], broken: str = "", *, whole: bool = True) -> list[str]:
        """Enter how a unit ended; the ids of groups that flipped. `whole`: whether all of its groups were to run."""
        known = self.units.setdefault(unit, UnitStanding())
        before = known.groups
        words = {nodeid: before.get(nodeid, word) if word == ANSWERED else word for nodeid, word in outcomes.items()}
        if words or not broken:
            known.groups = words if whole else {**before, **words}
        known.broken = broken
        return [nodeid for nodeid, word in words.items() if {word, before.get(nodeid)} == {"passed", "failed"}]

    def forget(self, unit: Path) -> None:
        """It is there no more."""
        self.units.pop(unit, None)

    @property
    def bad(self) -> list[Path]:
        """The units that somebody should look at."""
        return [path for path, unit in self.units.items() if unit.word in BAD]
