"""The engine: one event loop in one thread, which makes transcripts ahead of pytest.

Generation depends on files and hooks alone, never on fixtures of a function, so the engine may start runs before
pytest reaches their items. It starts the runs that verdicts need, in the order of the items, then spare ones where a
group has used those up and is still open; it cancels what nobody needs any more.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import threading
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from ..agreement.verdict import Verdict
from ..bot.answer import Idle
from ..bot.clients import close_clients
from ..bot.threads import running
from .alike import Classes, compared
from .group import DECIDED, Group
from .ledger import Ledger
from .measure import Measurement, Spec, measure, portable
from .slots import Place, Slots

T = TypeVar("T")

POLL = 0.02
"""Seconds between two looks at what other processes have done."""

PATIENCE = 1.0
"""Seconds that the end of a session waits for cancelled calls."""


class Spared(Exception):
    """The run was not needed any more."""


@dataclass(eq=False)
class Job:
    """The making of one transcript, for every item that reads it.

    `judged` is the group, and the run in it, that the conversation's own checks decide; `readers` are all groups with
    an item that reads the transcript. A `leased` job is made by the first process that claims it, for all.
    """

    spec: Spec
    run: int
    order: int
    readers: Mapping[str, str]
    judged: str | None = None
    leased: bool = False
    future: Future[Measurement] = field(default_factory=Future)
    task: asyncio.Task[Measurement] | None = None

    @property
    def fresh(self) -> bool:
        """Whether it has neither been started nor been spared."""
        return self.task is None and not self.future.done()

    @property
    def key(self) -> str:
        return self.spec.key(self.run)


class Engine:
    """Makes transcripts, at most `limit` model calls at a time."""

    def __init__(self, limit: int, ledger: Ledger, groups: Mapping[str, Group], *, eager: bool = False) -> None:
        self.ledger = ledger
        self.groups = groups
        self.eager = eager
        self._slots = Slots(limit, self._pump)
        self._ready: list[tuple[int, int, Job]] = []
        self._offered: defaultdict[str, deque[Job]] = defaultdict(deque)
        self._active: set[Job] = set()
        self._classes: dict[str, Classes] = {}
        self._withdrawn: set[Path] = set()
        self._count = itertools.count()
        self._ending = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="convo-engine", daemon=True)
        self._thread.start()

    # -- called from pytest's thread

    def offer(self, jobs: Iterable[Job]) -> None:
        """Take on jobs, to be started when their turn comes."""
        self._loop.call_soon_threadsafe(self._take_on, list(jobs))

    def want(self, job: Job) -> None:
        """Pytest has come to this job: start it next, spare or not."""
        if job.fresh:
            self._loop.call_soon_threadsafe(self._promote, job)

    def settled(self, group: str) -> None:
        """An outcome of `group` was entered in the ledger outside the engine."""
        self._loop.call_soon_threadsafe(self._look_at, group)

    def verdict(self, group: str) -> Verdict | None:
        """The verdict on a group, if its outcomes so far, over all processes, decide it."""
        return self.groups[group].decide(self.ledger.tally(group))

    def withdraw(self, directories: Collection[Path]) -> Future[None]:
        """Spare every job of conversations in these directories, also later ones; done when none is in flight."""
        return asyncio.run_coroutine_threadsafe(self._withdraw(directories), self._loop)

    def in_flight(self) -> int:
        """How many transcripts are being made at this moment."""
        return len(self._active)

    def submit(self, work: Callable[[Idle], Awaitable[T]]) -> Future[T]:
        """Run `work` on the loop with a slot, before anything that was only offered."""
        return asyncio.run_coroutine_threadsafe(self._with_slot(work), self._loop)

    def close(self) -> list[str]:
        """Cancel what is in flight and end the thread; the names of tools that still run in threads of their own."""
        if self._loop.is_closed():
            return []
        done = asyncio.run_coroutine_threadsafe(self._end(), self._loop)
        try:
            done.result(PATIENCE)
        except TimeoutError:
            return running()  # something does not let itself be cancelled: the thread is a daemon and ends with us
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE)
        self._loop.close()
        return running()

    # -- on the loop: what starts when

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        if self.ledger.shared:
            self._watcher = self._loop.create_task(self._watch())
        self._loop.run_forever()

    def _take_on(self, jobs: list[Job]) -> None:
        for job in jobs:
            if self.eager or any(not self.groups[group].spare(run) for group, run in job.readers.items()):
                self._make_ready(job, job.order)
            for group in job.readers:
                self._offered[group].append(job)
        self._pump()

    def _make_ready(self, job: Job, order: int) -> None:
        heapq.heappush(self._ready, (order, next(self._count), job))

    def _promote(self, job: Job) -> None:
        if job.fresh:
            self._make_ready(job, -1)
            self._pump()

    def _pump(self) -> None:
        """Start what is ready, as long as there are slots for it."""
        while self._ready and self._slots.free and not self._ending:
            _, _, job = heapq.heappop(self._ready)
            if job.fresh and job.spec.directory in self._withdrawn:
                job.future.set_exception(Spared())
            if job.fresh and self.ledger.shared:
                self._spare_if_needless(job)  # other processes may have decided it since
            if job.fresh:
                self._slots.take()
                self._start(job, Place(self._slots, (job.order,), held=True))

    def _start(self, job: Job, place: Place) -> None:
        self._active.add(job)
        job.task = self._loop.create_task(self._leased(job, place) if job.leased else self._measure(job, place))
        # A callback, because a task that is cancelled before its first step runs none of its own `finally`.
        job.task.add_done_callback(lambda task: self._ended(job, place, task))

    def _ended(self, job: Job, place: Place, task: asyncio.Task[Measurement]) -> None:
        self._active.discard(job)
        if task.cancelled():
            if job.judged is not None:
                self.ledger.abandon(job.judged, job.readers[job.judged])
            job.future.set_exception(Spared())
        elif (error := task.exception()) is not None:
            job.future.set_exception(error)  # a bug of ours or a user's hook: for the item to show
        else:
            job.future.set_result(task.result())
        place.give_up()
        if job.judged is not None and not self._ending:
            self._look_at(job.judged)

    def _look_at(self, group: str) -> None:
        """Cancel what a decided group no longer needs; start the next spare run of one that is open."""
        if self.verdict(group) is not None:
            for job in [job for job in self._active if group in job.readers]:
                self._spare_if_needless(job)
            for job in self._offered.pop(group, ()):
                self._spare_if_needless(job)
        elif not self.ledger.in_flight(group):
            waiting = self._offered[group]
            while waiting and not waiting[0].fresh:
                waiting.popleft()
            if waiting:
                self._promote(waiting.popleft())

    def _spare_if_needless(self, job: Job) -> None:
        """Spare a job of which every reader is decided, and none by this very run: that is to be reported."""
        if all(
            self.verdict(group) in DECIDED and not self.ledger.has_outcome(group, run)
            for group, run in job.readers.items()
        ):
            if job.task is not None:
                job.task.cancel()
            elif job.fresh:
                job.future.set_exception(Spared())

    async def _withdraw(self, directories: Collection[Path]) -> None:
        self._withdrawn.update(directories)
        tasks = [job.task for job in self._active if job.spec.directory in directories and job.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(POLL)
            for group in {group for job in self._active for group in job.readers}:
                self._look_at(group)

    # -- on the loop: one job

    async def _leased(self, job: Job, place: Place) -> Measurement:
        """Make the transcript, or wait for the process that does: whoever claims it first makes it for all."""
        while not self.ledger.claim(job.key):
            place.give_up()
            made: Measurement | None = self.ledger.fetch(job.key)
            if made is not None:
                return made
            await asyncio.sleep(POLL)
        try:
            await place.take()
            measurement = await self._measure(job, place)
            self.ledger.deliver(job.key, portable(measurement))
        except BaseException:
            self.ledger.release(job.key)
            raise
        return measurement

    async def _measure(self, job: Job, place: Place) -> Measurement:
        if job.judged is None:
            return await measure(job.spec, job.run, place.lent)
        run = job.readers[job.judged]
        self.ledger.start(job.judged, run)
        measurement = await measure(job.spec, job.run, place.lent)
        if (classes := self._classes_of(job.judged, job.spec)) is not None:
            measurement = await compared(classes, run, measurement, job.spec, place.lent)
        self.ledger.record(job.judged, run, measurement.outcome)
        return measurement

    def _classes_of(self, group: str, spec: Spec) -> Classes | None:
        """The classes of a group's answers, where these are to be told while the runs come in."""
        if spec.likeness is None or len(self.groups[group].runs) == 1:
            return None
        if group not in self._classes:
            self._classes[group] = Classes(spec.likeness, self.groups[group], self.ledger)
        return self._classes[group]

    async def _with_slot(self, work: Callable[[Idle], Awaitable[T]]) -> T:
        place = Place(self._slots, (-1,))
        await place.take()
        try:
            return await work(place.lent)
        finally:
            place.give_up()

    async def _end(self) -> None:
        self._ending = True
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await close_clients()


def result(future: Future[T], waiting: Callable[[float], None] = lambda _: None, *, every: float = 0.5) -> T:
    """Wait for a future on pytest's thread; `waiting` hears, every so many seconds, for how long it has been.

    Raises `Spared` where the run was cancelled. The wait is cut in pieces so that Ctrl-C is heard everywhere.
    """
    seconds = 0.0
    while True:
        try:
            return future.result(timeout=every)
        except CancelledError:
            raise Spared from None
        except TimeoutError:
            if future.done():
                raise
            seconds += every
            waiting(seconds)
