"""The sessions that a watcher has under way: each is a child, told what to run, heard, and looked after to its end."""

from __future__ import annotations

import selectors
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from .channel import Note
from .job import Job, Mode, Want, arguments, options_of
from .pool import GRACE, Child, Pool

MOST = 8
"""Sessions at once; each is a process of some 100 MB."""

ROUND, SOON = 1.0, 0.03
"""Seconds between two looks whether a child has ended; where it is about to."""

LETTING_GO = 2.0
"""Seconds that a child has to cancel the calls of a conversation that was edited."""


class Sessions:
    """Starts children of `pool`; `selector` is woken by what they say.

    `args` is what the first collection is given, the paths of the command line; `one_run`: whether one run of each
    group is made, because the user has not said how many.
    """

    def __init__(
        self, pool: Pool, selector: selectors.BaseSelector, *, rootdir: Path, args: Sequence[str], one_run: bool
    ) -> None:
        self.pool = pool
        self.jobs: list[Job] = []
        self._selector = selector
        self._rootdir = rootdir
        self._args = list(args)
        self._one_run = one_run

    @property
    def full(self) -> bool:
        """Whether there are as many as may be."""
        return len(self.jobs) >= MOST

    @property
    def surveying(self) -> bool:
        """Whether everything is being collected."""
        return any(job.mode == "survey" for job in self.jobs)

    @property
    def busy(self) -> set[Path]:
        """The units that must not be started once more yet."""
        return {unit for job in self.jobs for unit in job.busy}

    @property
    def running(self) -> list[Path]:
        """The units whose outcomes are being waited for."""
        return [unit for job in self.jobs for unit in sorted(job.units)]

    def begin(self, mode: Mode, wanted: Mapping[Path, Want]) -> None:
        """Start a session of these units; of everything where there are none."""
        child = self.pool.take()
        child.tell(
            {
                "args": arguments(wanted, self._rootdir) if wanted else self._args,
                "units": [str(unit) for unit in wanted],
                "options": options_of(mode, one_run=self._one_run),
            }
        )
        self.jobs.append(Job(child, mode, wanted, set(wanted)))
        self._selector.register(child.notes.file, selectors.EVENT_READ, _nothing)  # every step hears all of them
        self._selector.register(child.output, selectors.EVENT_READ, partial(self._read, child))

    def supersede(self, unit: Path) -> None:
        """Cancel what is running of a unit; it is busy until the child has let go of it.

        A child that has nothing else to run ends as at Ctrl-C: tests in its own thread cannot be cancelled otherwise.
        """
        for job in self.jobs:
            if unit in job.units:
                job.units.discard(unit)
                job.leaving[unit] = time.monotonic() + LETTING_GO
                job.child.tell({"kind": "supersede", "units": [str(unit)]})
                if not job.units:
                    job.interrupt(GRACE)

    def overdue(self, now: float) -> dict[Path, Want]:
        """Break off children that do not let go of what they were to; what else these were running, to be run again."""
        again: dict[Path, Want] = {}
        for job in self.jobs:
            if job.ends_by is not None and job.ends_by <= now:
                job.child.kill()
            elif job.ends_by is None and job.leaving and min(job.leaving.values()) <= now:
                again |= {unit: job.wanted[unit] for unit in job.units}
                job.units.clear()
                job.interrupt(GRACE)
        return again

    def due(self, now: float) -> float | None:
        """Seconds until there is something to look after; None where there is not."""
        found = [until - now for job in self.jobs if job.ends_by is None for until in job.leaving.values()]
        # Nothing tells that a process has ended while one that it has started holds its pipes.
        found += [ROUND if job.ended is None and job.ends_by is None else SOON for job in self.jobs]
        if (fill := self.pool.fill(now)) is not None:
            found.append(fill)
        return min(found, default=None)

    def hear(self) -> Iterator[tuple[Job, Note]]:
        """All that the children have said, down to the last word."""
        for child in self.pool.idle:
            child.read()
            for _ in child.heard():
                pass
        for job in list(self.jobs):
            for note in job.child.heard():
                if note["kind"] == "superseded":
                    for unit in note["units"]:
                        job.leaving.pop(Path(unit), None)
                elif note["kind"] == "ended":
                    job.ended = note
                else:
                    yield job, note

    def ended(self) -> list[Job]:
        """Those whose processes have ended by now; what they said last is there to be heard."""
        return [job for job in self.jobs if job.child.notes.ended or job.child.gone]

    def bury(self, job: Job) -> None:
        """All of an ended one was heard: let go of it, and end what it has left behind."""
        self._selector.unregister(job.child.notes.file)
        if job.child.output in self._selector.get_map():
            self._selector.unregister(job.child.output)
        job.child.end()
        self.jobs.remove(job)

    def close(self) -> None:
        """End all of them, and those that wait."""
        for job in self.jobs:
            job.interrupt(GRACE)
        deadline = time.monotonic() + GRACE
        for job in self.jobs:
            job.child.end(deadline)
        self.jobs = []
        self.pool.close()

    def _read(self, child: Child) -> None:
        if not child.read():
            self._selector.unregister(child.output)


def _nothing() -> None:
    """What is called when a child has said something."""
