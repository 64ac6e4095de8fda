"""One session that a watcher has under way, and the ways in which one can be asked for."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from .pool import Child

SPECIAL = re.compile(r"\[|::")
"""What ends a path and begins a test's name in an argument of pytest."""

Mode = Literal["survey", "run", "record", "confirm"]
"""`survey` collects and runs nothing, `run` makes one run of each group, `confirm` all runs that the settings ask for,
`record` the same, every question asked anew and recorded."""


@dataclass(frozen=True)
class Want:
    """What is to be run of a unit: all of it, or some groups by their node ids."""

    mode: Mode
    groups: tuple[str, ...] = ()


@dataclass
class Job:
    """A child and what it was to run; `units` are those whose outcomes are still of interest."""

    child: Child
    mode: Mode
    wanted: Mapping[Path, Want]
    units: set[Path]
    began: float = field(default_factory=time.monotonic)
    leaving: dict[Path, float] = field(default_factory=dict)
    """Units that were edited since, each with the time by which the child must have let go of it."""
    ends_by: float | None = None
    """When it is ended with all that it has started, unless it ends by itself; None while it may go on."""
    found: set[Path] = field(default_factory=set)
    """The units that its collection has told of."""
    ended: Mapping[str, Any] | None = None
    """What it told in the end."""

    @property
    def busy(self) -> set[Path]:
        """The units that must not be started elsewhere yet."""
        return self.units | set(self.leaving)

    def interrupt(self, grace: float) -> None:
        """Have it end as at Ctrl-C, in so many seconds."""
        if self.ends_by is None:
            self.ends_by = time.monotonic() + grace
            self.child.interrupt()


def options_of(mode: Mode, *, one_run: bool) -> dict[str, Any]:
    """Options of the command line that a mode sets; `one_run`: unless the user has said how many there are to be."""
    found: dict[str, Any] = {}
    if mode == "survey":
        found["collectonly"] = True
    if mode == "run" and one_run:
        found["convo_runs"] = "1"
    if mode == "record":
        found["convo_record"] = "all"
    return found


def arguments(wanted: Mapping[Path, Want], rootdir: Path) -> list[str]:
    """What pytest is to collect: units whole, or the groups of them that are wanted.

    To pytest brackets and double colons in a path begin a test's name: there it is given the directory above, and looks
    into nothing but the unit.
    """
    found: list[str] = []
    for unit, want in wanted.items():
        plain = next(path for path in (unit, *unit.parents) if not SPECIAL.search(str(path)))
        groups = [f"{rootdir}/{nodeid}" for nodeid in want.groups] if plain == unit else []
        found += groups or [str(plain)]
    return list(dict.fromkeys(found))
