"""The watcher: it sees what was edited, has what depends on it run, and says what came of it.

One thread does it all, and waits for files, children and keys at once: nothing is shared, and nothing happens between
two lines. It never runs anything of the user's itself, so that no error ends it.
"""

from __future__ import annotations

import selectors
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import ConvoError
from ..texts import one_line
from .bytecode import forget_bytecode
from .channel import Note
from .dependents import CONFTEST, Dependents, Unit
from .events import Events
from .job import Job, Mode, Want
from .keys import Keys
from .ledger import Change, Ledger
from .pool import Child
from .screen import Screen
from .sessions import Sessions
from .settle import Burst
from .standing import BAD, Standing, worst


@dataclass(frozen=True)
class Setup:
    """What a watcher is told once."""

    roots: Sequence[Path]
    """The directories of the command line."""
    inis: frozenset[Path]
    """The files in which pytest may be configured."""
    one_run: bool
    """Whether one run is made where the user has not said how many."""
    queue: bool
    """Whether an edit waits for what is running, instead of cancelling it."""
    writes: bool
    """Whether answers go into the directories."""


class Watcher:
    """Everything that is known while watching, and the loop."""

    def __init__(
        self,
        setup: Setup,
        *,
        sessions: Sessions,
        selector: selectors.BaseSelector,
        events: Events,
        ledger: Ledger,
        dependents: Dependents,
        screen: Screen,
        keys: Keys,
        before: Callable[[Path, Sequence[Change]], None],
        spent: Callable[[], str],
    ) -> None:
        self.setup = setup
        self.sessions, self.events, self.ledger, self.dependents = sessions, events, ledger, dependents
        self.screen, self.keys = screen, keys
        self.standing = Standing()
        self.waiting: dict[Path, Want] = {}
        self.units: set[Path] = set()
        self._before = before
        self._spent = spent
        self._burst = Burst(ledger.interesting)
        self._held: list[Change] = []
        self._surveyed = False
        self._survey_again = False
        self._last: list[Path] = []
        self._asked: dict[tuple[Child, int], Note] = {}
        """Results of tools that may be sent or not, the oldest first."""
        self._selector = selector
        self._going = True

    # -- the loop

    def run(self) -> None:
        """Watch until somebody says that it is enough."""
        if self.keys.file is not None:
            self._selector.register(self.keys.file, selectors.EVENT_READ, self._press)
        self.sessions.begin("survey", {})
        while self._going:
            self._step()

    def _step(self) -> None:
        for key, _ in self._selector.select(self._patience()):
            key.data()
        for hint in self.events.take():
            self._burst.add(hint)
        for job, note in self.sessions.hear():
            self._heard(job, note)
        now = time.monotonic()
        if self._burst.wait(now, self.ledger.half_saved) == 0:
            # What a child is about to write it has said before: it was heard above.
            self._changed(self.ledger.look(self._burst.take()))
        for job in self.sessions.over():
            self._end(job)
        for unit, want in self.sessions.overdue(now).items():
            self.waiting.setdefault(unit, want)
        self._start()

    def _patience(self) -> float | None:
        """Seconds until there is something to do, whatever happens; None: nothing."""
        now = time.monotonic()
        due = (self._burst.wait(now, self.ledger.half_saved), self.sessions.due(now))
        return min((max(0.0, seconds) for seconds in due if seconds is not None), default=None)

    # -- edits

    def _changed(self, changes: Sequence[Change]) -> None:
        """Have what depends on these files run."""
        python = [change.path for change in changes if change.path.suffix == ".py"]
        # A process that has looked for a conftest in vain does not look again.
        configured = any(
            change.path in self.setup.inis or (change.created and change.path.name == CONFTEST) for change in changes
        )
        if python or configured:
            forget_bytecode(python)
            for child in self.sessions.pool.forget([str(path) for path in python], everything=configured):
                child.end()
        concerned = self.dependents.of([*self._held, *changes])
        if not self._surveyed:
            # Only what lies in a conversation's own directory is known to concern it before all has been collected.
            self._held += [change for change in changes if change.path.parent not in concerned]
            self._survey_again = bool(changes)
        self._forget([unit for unit in self.units if not self.dependents.knows(unit)])
        for unit, why in concerned.items():
            self.screen.edited(unit, why)
            self._rewind(unit, why)
            self.waiting[unit] = Want("run")
            if not self.setup.queue:
                self.sessions.supersede(unit)

    def _rewind(self, unit: Path, why: Sequence[Change]) -> None:
        """Cut the conversation, where that is asked for, before it is answered again."""
        try:
            self._before(unit, why)
        except ConvoError as error:
            self.screen.line(f"{self.screen.name(unit)}: {error}")

    def _forget(self, units: Collection[Path]) -> None:
        """These are there no more."""
        for unit in units:
            self.sessions.supersede(unit)
            self.waiting.pop(unit, None)
            self.standing.forget(unit)
            self.units.discard(unit)
            self.screen.line(f"{self.screen.name(unit)} has gone")
        if units:
            self._say_standing()

    # -- children

    def _start(self) -> None:
        """Start what waits, as far as nothing of it is still running."""
        if self._survey_again and not self.sessions.surveying:
            self._survey_again = False
            self.sessions.begin("survey", {})
        self._forget([unit for unit in self.waiting if not unit.exists()])
        for mode in sorted({want.mode for want in self.waiting.values()}):
            busy = self.sessions.busy
            ready = {unit: want for unit, want in self.waiting.items() if want.mode == mode and unit not in busy}
            if ready and not self.sessions.full:
                for unit in ready:
                    del self.waiting[unit]
                self.sessions.begin(mode, ready)
                self._last = list(ready)

    def _heard(self, job: Job, note: Mapping[str, Any]) -> None:
        kind = note["kind"]
        if kind == "writes":
            self.ledger.account(Path(note["path"]), note["digest"])
        elif kind in ("turn", "piece", "again", "whole"):
            if Path(note["directory"]) in job.units and job.mode == "run" and (self.setup.one_run or self.setup.writes):
                self.screen.hear(note)
        elif kind == "gate":
            self._asked[job.child, note["call"]] = note
            if len(self._asked) == 1:
                self._ask()
        elif kind == "gone":
            self._asked.pop((job.child, note["call"]), None)
        elif kind == "collected":
            self._collected(note)

    def _collected(self, note: Mapping[str, Any]) -> None:
        found = [unit for unit in note["units"] if Path(unit["path"]).exists()]  # else it has gone since
        units = [Unit(Path(unit["path"]), frozenset(map(Path, unit["reads"]))) for unit in found]
        modules = {name: Path(file) for name, file in note["modules"].items()}
        self.dependents.learn(units, modules, broken=[Path(path) for path in note["broken"]])
        self.units.update(unit.path for unit in units)
        self._watch(self.dependents.files())

    def _watch(self, files: Iterable[Path]) -> None:
        """Watch what lies outside of the roots, too."""
        within = [path for path in files if not any(path.is_relative_to(root) for root in self.setup.roots)]
        try:
            self.events.watch(within)
        except ConvoError as error:
            self.screen.line(str(error))
        self.ledger.learn(within)

    def _end(self, job: Job) -> None:
        """A session is over: say what came of it."""
        self._asked = {asked: note for asked, note in self._asked.items() if asked[0] is not job.child}
        told = job.ended
        if job.mode == "survey":
            self._look_through(job)
        if told is None:
            if job.units or job.mode == "survey":
                self._broke(job)
            return
        self._tell(job, told)

    def _look_through(self, survey: Job) -> None:
        """Take in a survey; one that could not look everywhere is made again when something has changed."""
        errors = [Path(path) for path, _ in survey.ended["errors"]] if survey.ended is not None else []
        survey.units = {unit for unit in self.units if any(_about(error, unit) for error in errors)}
        is_known = all(any(_about(error, unit) for unit in survey.units) for error in errors)
        self._surveyed = survey.ended is not None and is_known
        if self._surveyed:
            self._survey_again = False
            self.dependents.prepare()
            held, self._held = self._held, []
            self._changed(held)

    def _broke(self, job: Job) -> None:
        """A child went without a word of how it ended: pytest could not begin, or something killed it."""
        self.screen.block(job.child.printed or "pytest ended without a word")
        for unit in job.units:
            self.standing.ended(unit, {}, broken="pytest could not begin")
            self.screen.ended(unit, "error", "pytest could not begin")
        self._say_standing()

    def _tell(self, job: Job, told: Mapping[str, Any]) -> None:
        outcomes: dict[Path, dict[str, str]] = {unit: {} for unit in job.units}
        reasons: dict[Path, str] = {}
        for unit, nodeid, word, reason in told["outcomes"]:
            if Path(unit) in outcomes:
                outcomes[Path(unit)][nodeid] = word
                reasons[Path(unit)] = reason
        errors = told["errors"]
        if errors or any(word in BAD for words in outcomes.values() for word in words.values()):
            self.screen.block(job.child.printed)
        for unit, words in outcomes.items():
            broken = "\n".join(text for path, text in errors if _about(Path(path), unit))
            flipped = self.standing.ended(unit, words, broken, whole=job.mode != "confirm")
            word = "error" if broken else worst(words.values())
            more = f"({reasons[unit]})" if reasons.get(unit) else f"in {time.monotonic() - job.began:.1f} s"
            self.screen.ended(unit, word, more)
            if flipped and job.mode == "run" and self.setup.one_run and not self.setup.writes:
                self.screen.line(f"{self.screen.name(unit)} flipped: all of its runs are made to confirm it")
                self.waiting.setdefault(unit, Want("confirm", tuple(flipped)))
        self._say_standing()

    def _say_standing(self) -> None:
        self.screen.standing(self.standing, len(self.units), self.sessions.running, list(self.waiting))

    # -- keys

    def _press(self) -> None:
        pressed = self.keys.pressed()
        if not pressed:  # the terminal has gone
            self._going = False
        for key in pressed:
            self._do(key)

    def _do(self, key: str) -> None:
        if key in "\r\n":
            self._want(self.units, "run")
        elif key == "f":
            self._want(self.standing.bad, "run")
        elif key == "r":
            self._want([unit for unit in self._last if unit in self.units] or self.units, "record")
        elif key in "yn" and self._asked:
            self._decide(send=key == "y")
        elif key == "s":
            self.screen.line(self._spent())
        elif key in ("q", "\x04"):
            self._going = False

    def _ask(self) -> None:
        """Ask about the oldest result that waits."""
        for note in list(self._asked.values())[:1]:
            self.screen.line(f"{note['name']}({note['arguments']}) → {one_line(note['result'])}")
            self.screen.line("send it to the bot? y, n")

    def _decide(self, *, send: bool) -> None:
        (child, call), _ = next(iter(self._asked.items()))
        del self._asked[child, call]
        child.tell({"kind": "decided", "call": call, "send": send})
        self._ask()

    def _want(self, units: Collection[Path], mode: Mode) -> None:
        if not units:
            self._say_standing()
        for unit in units:
            self.waiting[unit] = Want(mode)


def _about(path: Path, unit: Path) -> bool:
    """Whether an error in collecting what is at a path keeps a unit, or a part of it, from being run."""
    return path == unit or unit in path.parents or path in unit.parents
