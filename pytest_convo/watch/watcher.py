"""The watcher: it sees what was edited, has what depends on it run, and says what came of it.

One thread does it all, and waits for files, children and keys at once: nothing is shared, and nothing happens between
two lines. It never runs anything of the user's itself, so that no error ends it.
"""

from __future__ import annotations

import selectors
import shutil
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..collect.store import answers_of
from ..errors import ConvoError
from .bytecode import forget_bytecode
from .dependents import CONFTEST, Dependents
from .events import Events
from .job import Job, Mode, Want
from .keys import Keys
from .known import Known
from .ledger import Change, Ledger
from .outcomes import Outcomes, about, emptied
from .questions import Questions
from .screen import Screen
from .sessions import Sessions
from .settle import Burst


@dataclass(frozen=True)
class Setup:
    """What a watcher is told once."""

    roots: Sequence[Path]
    """The directories of the command line."""
    inis: frozenset[Path]
    """The files in which pytest may be configured."""
    early: frozenset[Path]
    """What pytest reads before it collects: without these files, or with bad ones, it may not come to collect."""
    one_run: bool
    """Whether one run is made where the user has not said how many."""
    queue: bool
    """Whether an edit waits for what is running, instead of cancelling it."""
    writes: bool
    """Whether answers go into the directories."""
    answers: Path | None
    """Where answers are kept for as long as the watcher lives, if they are."""


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
        rewind: Callable[[Path, Sequence[Change]], None],
        spent: Callable[[], str],
        stopped: Callable[[], bool],
    ) -> None:
        self.setup = setup
        self.sessions, self.events, self.ledger, self.dependents = sessions, events, ledger, dependents
        self.screen, self.keys = screen, keys
        self.known = Known(setup.roots, dependents, events, ledger, screen.line)
        self.outcomes = Outcomes(screen, self._confirms)
        self.waiting: dict[Path, Want] = {}
        self.edits: dict[Path, list[Change]] = {}
        """What was edited of units that wait."""
        self._rewind = rewind
        self._spent, self._stopped = spent, stopped
        self._burst = Burst(ledger.interesting)
        self._held: list[Change] = []
        self._surveyed = False
        self._half_seen = False
        """Whether there is something that the last survey could not look into."""
        self._unseen = False
        """Whether that is to be looked into again."""
        self._last: list[Path] = []
        self._questions = Questions(screen)
        self._selector = selector
        self._going = True

    # -- the loop

    def run(self) -> None:
        """Watch until somebody says that it is enough; `KeyboardInterrupt` where it was said by a signal."""
        self.known.watch(self.setup.early)
        self.sessions.begin("survey", {})
        while self._going:
            if self._stopped():
                raise KeyboardInterrupt
            self._step()

    def _step(self) -> None:
        if self.keys.stale:
            self._listen()
        for key, _ in self._selector.select(self._patience()):
            key.data()
        for hint in self.events.take():
            self._burst.add(hint)
        ended = self.sessions.ended()
        self._hear()
        now = time.monotonic()
        if self._burst.wait(now, self.ledger.half_saved) == 0:
            changes = self.ledger.look(self._burst.take())
            self._hear()  # of what was written while it was looked at, too: it is said before it is done
            self._changed([change for change in changes if not self.ledger.ours(change)])
            self.known.watch(self.ledger.targets())  # a link may be new
        for job in ended:
            self.sessions.bury(job)
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
        if not changes:
            return
        python = [change.path for change in changes if change.path.suffix == ".py"]
        # A process that has looked for a conftest in vain does not look again.
        configured = any(
            change.path in self.setup.inis or (change.created and change.path.name == CONFTEST) for change in changes
        )
        if python or configured:
            forget_bytecode(python)
            for child in self.sessions.pool.forget([str(path) for path in python], everything=configured):
                child.end()
        concerned = self.dependents.of(changes)
        if not self._surveyed:
            # Only what lies in a conversation's own directory is known to concern it before all has been collected.
            self._held += [change for change in changes if change.path.parent not in concerned]
        elif self._half_seen:
            found = [change for why in concerned.values() for change in why]
            self._held += [change for change in changes if change not in found]
        self._unseen = self._unseen or (self._half_seen and bool(python or configured))
        self._forget([unit for unit in self.known.units if not self.dependents.knows(unit)])
        for unit, why in concerned.items():
            self.screen.edited(unit, why)
            self.edits.setdefault(unit, []).extend(why)
            self.waiting[unit] = Want("run")
            if not self.setup.queue:
                self.sessions.supersede(unit)

    def _forget(self, units: Collection[Path]) -> None:
        """These are there no more."""
        for unit in units:
            self.sessions.supersede(unit)
            self.waiting.pop(unit, None)
            self.edits.pop(unit, None)
            self.outcomes.standing.forget(unit)
            self.known.units.discard(unit)
            self.screen.line(f"{self.screen.name(unit)} has gone")
        if units:
            self._say_standing()

    # -- children

    def _start(self) -> None:
        """Start what waits, as far as nothing of it is still running."""
        if self._unseen and not self.sessions.surveying:
            self._unseen = False
            self.sessions.begin("survey", {})
        self._forget([unit for unit in self.waiting if not unit.exists()])
        for mode in sorted({want.mode for want in self.waiting.values()}):
            busy = self.sessions.busy
            ready = {unit: want for unit, want in self.waiting.items() if want.mode == mode and unit not in busy}
            if ready and not self.sessions.full:
                for unit in ready:
                    del self.waiting[unit]
                    self._cut(unit)
                self.sessions.begin(mode, ready)
                self._last = list(ready)

    def _cut(self, unit: Path) -> None:
        """Cut a conversation, where that is asked for, before it is answered again: nobody is writing in it now."""
        try:
            self._rewind(unit, merged(self.edits.pop(unit, ())))
        except ConvoError as error:
            self.screen.line(f"{self.screen.name(unit)}: {error}")

    def _hear(self) -> None:
        for job, note in self.sessions.hear():
            self._heard(job, note)

    def _heard(self, job: Job, note: Mapping[str, Any]) -> None:
        kind = note["kind"]
        if kind == "writes":
            self.ledger.account(Path(note["path"]), note["digest"])
        elif kind in ("turn", "piece", "again", "whole"):
            if Path(note["directory"]) in job.units and job.mode == "run" and (self.setup.one_run or self.setup.writes):
                self.screen.hear(note)
        elif kind in ("gate", "gone"):
            self._questions.hear(job.child, note)
        elif kind == "collected":
            self.known.collected(job, note)
        elif kind == "reads":
            self.known.read(note)

    def _end(self, job: Job) -> None:
        """A session is over: say what came of it."""
        self._questions.forget(job.child)
        self._forget(emptied(job))
        if job.mode == "survey":
            self._look_through(job)
        for unit, want in self.outcomes.of(job).items():
            self.waiting.setdefault(unit, want)
        if job.units or job.mode == "survey":
            self._say_standing()

    def _look_through(self, survey: Job) -> None:
        """Take in a survey; what it could not look into is looked at again when Python or pytest's settings change."""
        errors = [Path(path) for path, _ in survey.ended["errors"]] if survey.ended is not None else []
        units = self.known.units
        broken = {unit for unit in units if any(about(error, unit) for error in errors)}
        survey.units = broken - self.sessions.busy - self.waiting.keys()  # of those something newer will be said
        self._half_seen = survey.ended is None or any(units.isdisjoint((path, *path.parents)) for path in errors)
        is_first, self._surveyed = not self._surveyed, True
        self.dependents.prepare()
        if is_first or not self._half_seen:
            held, self._held = self._held, []
            self._changed(held)

    def _confirms(self, unit: Path) -> bool:
        """Whether more runs of a unit can be made than the one that was."""
        return self.setup.one_run and not self.setup.writes and unit not in self.known.single

    def _say_standing(self) -> None:
        self.screen.standing(self.outcomes.standing, len(self.known.units), self.sessions.running, list(self.waiting))

    # -- keys

    def _listen(self) -> None:
        """Listen to keys from now on, in the foreground: at the start, and whenever the shell brings us back there."""
        if (file := self.keys.listen()) is not None and file not in self._selector.get_map():
            self._selector.register(file, selectors.EVENT_READ, self._press)

    def _press(self) -> None:
        pressed = self.keys.pressed()
        if pressed is None:  # in the background they are the shell's
            assert self.keys.file is not None
            self._selector.unregister(self.keys.file)
        elif not pressed:  # the terminal has gone
            self._going = False
        for key in pressed or ():
            self._do(key)

    def _do(self, key: str) -> None:
        if key in "\r\n":
            self._want(self.known.units, "run")
        elif key == "f":
            self._forget_answers(self.outcomes.standing.bad)
            self._want(self.outcomes.standing.bad, "run")
        elif key == "r":
            self._want([unit for unit in self._last if unit in self.known.units] or self.known.units, "record")
        elif key in "yn":
            self._questions.answer(send=key == "y")
        elif key == "s":
            self.screen.line(self._spent())
        elif key in ("q", "\x04"):
            self._going = False

    def _forget_answers(self, units: Iterable[Path]) -> None:
        """Have the bot asked anew: a failure that is replayed is the same failure."""
        if (root := self.setup.answers) is not None:
            for unit in units:
                shutil.rmtree(answers_of(root, unit), ignore_errors=True)  # maybe it has none

    def _want(self, units: Collection[Path], mode: Mode) -> None:
        if not units:
            self._say_standing()
        for unit in units:
            self.waiting[unit] = Want(mode)


def merged(edits: Iterable[Change]) -> list[Change]:
    """Edits of the same files as one each: from what was before the first to what is after the last."""
    found: dict[Path, Change] = {}
    for edit in edits:
        first = found.get(edit.path, edit)
        found[edit.path] = Change(edit.path, first.before, edit.after)
    return list(found.values())
