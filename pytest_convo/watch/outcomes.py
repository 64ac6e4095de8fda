"""What came of a session: said, entered, and confirmed where a single run has called a verdict in question."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .job import Job, Want
from .screen import Screen
from .standing import BAD, Standing, worst

NOT_BEGUN = (2, 3, 4)
"""Exit codes of a pytest that was interrupted, went wrong inside, or was used wrongly."""


class Outcomes:
    """Tells of sessions that have ended; `confirms` says of which units more runs can be made than the one that was."""

    def __init__(self, screen: Screen, confirms: Callable[[Path], bool]) -> None:
        self.standing = Standing()
        self._surveyed: list[list[str]] = []
        """The errors of the last survey."""
        self._screen = screen
        self._confirms = confirms

    def of(self, job: Job) -> dict[Path, Want]:
        """Tell of a session; what is to be run to confirm it."""
        if job.ended is not None:
            if job.mode == "survey" and job.ended["errors"] == self._surveyed:
                return {}  # nothing that was not said before
            if job.mode == "survey":
                self._surveyed = job.ended["errors"]
            return self._tell(job, job.ended)
        if job.units or job.mode == "survey":
            self._screen.block(job.child.printed or "pytest ended without a word")
            for unit in job.units:
                self._broke(unit)
        return {}

    def _broke(self, unit: Path) -> None:
        self.standing.ended(unit, {}, broken="pytest could not begin")
        self._screen.ended(unit, "error", "pytest could not begin")

    def _tell(self, job: Job, told: Mapping[str, Any]) -> dict[Path, Want]:
        outcomes: dict[Path, dict[str, str]] = {unit: {} for unit in job.units}
        reasons: dict[Path, str] = {}
        for unit, nodeid, word, reason in told["outcomes"]:
            if Path(unit) in outcomes:
                outcomes[Path(unit)][nodeid] = word
                reasons[Path(unit)] = reason
        errors = told["errors"]
        broken = told["exit"] in NOT_BEGUN and not told["outcomes"] and not errors
        if broken and not all(unit.exists() for unit in job.wanted):
            return {unit: job.wanted[unit] for unit in job.units if unit.exists()}  # pytest had missed the others
        bad = any(word in BAD for words in outcomes.values() for word in words.values())
        if bad or ((errors or broken) and (job.units or job.mode == "survey")):
            self._screen.block(job.child.printed)
        confirm: dict[Path, Want] = {}
        for unit, words in outcomes.items():
            if broken:
                self._broke(unit)
                continue
            why = "\n".join(text for path, text in errors if about(Path(path), unit))
            flipped = self.standing.ended(unit, words, why, whole=job.mode != "confirm")
            more = f"({reasons[unit]})" if reasons.get(unit) else f"in {time.monotonic() - job.began:.1f} s"
            self._screen.ended(unit, "error" if why else worst(words.values()), more)
            if flipped and job.mode == "run" and self._confirms(unit):
                self._screen.line(f"{self._screen.name(unit)} flipped: all of its runs are made to confirm it")
                confirm[unit] = Want("confirm", tuple(flipped))
        return confirm


def emptied(job: Job) -> set[Path]:
    """Directories that were to be run and hold no conversation any more; their outcomes are of no interest."""
    if job.ended is None or job.mode == "survey" or job.ended["exit"] in NOT_BEGUN:
        return set()
    errors = [Path(path) for path, _ in job.ended["errors"]]
    gone = {unit for unit in job.units - job.found if unit.is_dir() and not any(about(at, unit) for at in errors)}
    job.units -= gone
    return gone


def about(path: Path, unit: Path) -> bool:
    """Whether an error in collecting what is at a path keeps a unit, or a part of it, from being run."""
    return path == unit or unit in path.parents or path in unit.parents
