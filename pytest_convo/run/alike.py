"""Which runs of a group say the same, told while they come in, so that a group whose answers disagree ends early.

Where equal keys are equal answers, each run has its class as soon as it has its answer. Where answers are compared two
by two, they are in run order, for which class one joins may depend on it: an answer waits until those before it are
there. What is recorded, or counted in full, is compared once all of it is there, by one process.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING

from ..agreement.outcome import Outcome
from ..bot.events import observed
from ..bot.threads import in_thread
from ..conversation.reply import Reply
from ..errors import ConvoError
from ..texts import plain
from .shelter import sheltered

if TYPE_CHECKING:
    from ..bot.answer import Idle
    from ..bot.model import Around
    from ..check.equivalence import Join
    from ..record.recording import RunRecording
    from .group import Group
    from .ledger import Ledger
    from .measure import Measurement, Spec

POLL = 0.02
"""Seconds between two looks at whether another process has done comparing."""

NO_CLASS = ""
"""The label of a run that measured nothing."""

NOTE = "not compared"
"""The note in the ledger, before a group's id, that says why its answers could not be compared."""


@dataclass(frozen=True, slots=True)
class Likeness:
    """When two answers of a conversation say the same: when they have one key, or else by comparing the two.

    `join` makes what puts an answer into a class; what that asks is recorded in what `recording` opens.
    """

    key: Callable[[Reply], str] | None
    join: Callable[[Around], Join] | None = None
    recording: Callable[[], RunRecording] | None = None


class Classes:
    """The classes of one group's answers, as one process makes them; on the engine's loop."""

    def __init__(self, likeness: Likeness, group: Group, ledger: Ledger) -> None:
        self._likeness = likeness
        self._group = group
        self._ledger = ledger
        self._lock = asyncio.Lock()
        self._recording = likeness.recording() if likeness.recording is not None else None
        self._join: Join | None = None

    async def enter(self, run: str, measurement: Measurement, idle: Idle) -> None:
        """A run has been measured: put its answer, and those that waited for it, into their classes.

        `idle` is entered while others compare. Raises what keeps two answers from being compared: a `ConvoError`.
        """
        group, ledger, key = self._group, self._ledger, self._likeness.key
        reply = _answer(measurement)
        if measurement.outcome is Outcome.ERROR:
            ledger.classify(group.id, run, NO_CLASS)
        elif reply is None:
            ledger.classify(group.id, run, f"no answer of {run}")
        elif key is not None:
            ledger.classify(group.id, run, key(reply))
        else:
            ledger.say(group.id, run, plain(reply.text))
        if key is None:
            async with idle():
                await self._lock.acquire()
            try:
                await self._compare(idle)
            finally:
                self._lock.release()

    def give_up(self, reason: str) -> None:
        """The answers are not compared, and this is why."""
        self._ledger.note(f"{NOTE} {self._group.id}", plain(reason))

    def withdraw(self, run: str) -> None:
        """The run's answer is in no class, and will be in none."""
        self._ledger.withdraw(self._group.id, run)

    async def _compare(self, idle: Idle) -> None:
        """Give every answer its class that has all before it; one process at a time, so that no pair is asked twice."""
        group, ledger, claim = self._group, self._ledger, f"classes of {self._group.id}"
        if group.full and not ledger.said(group.id).keys() >= set(group.runs):
            return
        while not ledger.claim(claim):
            if group.full:
                return  # whoever compares them has all
            async with idle():
                await asyncio.sleep(POLL)
        try:
            await self._put(ledger.said(group.id))
            ledger.note(f"{NOTE} {group.id}", "")
        finally:
            ledger.release(claim)
            if self._recording is not None and self._recording.unsaved:
                await in_thread(self._recording.save)

    async def _put(self, said: Mapping[str, tuple[str | None, str | None]]) -> None:
        classes: defaultdict[str, list[str]] = defaultdict(list)
        for run in takewhile(said.__contains__, self._group.runs):
            answer, label = said[run]
            if label is None:
                assert answer is not None
                label = self._ledger.classify(self._group.id, run, await self._class_of(answer, classes))
            if answer is not None:
                classes[label].append(answer)

    async def _class_of(self, answer: str, classes: defaultdict[str, list[str]]) -> str:
        if self._join is None:
            assert self._likeness.join is not None
            assert self._recording is not None
            self._join = self._likeness.join(self._recording.around)
        place = await self._join([*classes.values()], answer)
        return [*classes, f"class {place + 1}"][place]


async def compared(classes: Classes, run: str, measurement: Measurement, spec: Spec, idle: Idle) -> Measurement:
    """The measurement, once its answer is in its class; an error where it must be and cannot.

    Where the agreement of the answers is shown only, and not judged, the summary says why it is not.
    """
    try:
        async with sheltered():
            with observed(lambda event: measurement.events.append({"at": round(measurement.seconds, 4), **event})):
                await classes.enter(run, measurement, idle)
    except ConvoError as error:
        if spec.settings.agree.at_least is None:
            classes.give_up(str(error))
            return measurement
        classes.withdraw(run)
        reason = f"its answer could not be compared with the others: {error}"
        return replace(measurement, outcome=Outcome.ERROR, reason=reason)
    return measurement


def _answer(measurement: Measurement) -> Reply | None:
    """The last reply of a whole transcript."""
    whole = measurement.transcript is not None and measurement.error is None and measurement.transcript.replies
    return measurement.transcript.last if whole and measurement.transcript is not None else None
