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
from collections.abc import Awaitable, Callable, Iterable, Mapping
from concurrent.futures import CancelledError, Future
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import TypeVar

from ..agreement.verdict import Verdict
from ..bot.clients import close_clients
from ..bot.threads import running
from .group import Group
from .ledger import Ledger
from .measure import Measurement, Spec, measure
from .slots import Place, Slots

T = TypeVar("T")
Idle = Callable[[], AbstractAsyncContextManager[None]]

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
    an item that reads the transcript.
    """

    spec: Spec
    run: int
    order: int
    readers: Mapping[str, str]
    judged: str | None = None
    future: Future[Measurement] = field(default_factory=Future)
    task: asyncio.Task[None] | None = None

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
        self._spares: defaultdict[str, deque[Job]] = defaultdict(deque)
        self._active: set[Job] = set()
        self._count = itertools.count()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name="convo-engine", daemon=True)
        self._thread.start()

    # -- called from pytest's thread

    def offer(self, jobs: Iterable[Job]) -> None:
        """Take on jobs, to be started when their turn comes."""
        self._loop.call_soon_threadsafe(self._take_on, list(jobs))

    def want(self, job: Job) -> None:
        """Pytest has come to this job: start it next, spare or not."""
        self._loop.call_soon_threadsafe(self._promote, job)

    def settled(self, group: str) -> None:
        """An outcome of `group` was entered in the ledger outside the engine."""
        self._loop.call_soon_threadsafe(self._look_at, group)

    def verdict(self, group: str) -> Verdict | None:
        """The verdict on a group, if its outcomes so far, over all processes, decide it."""
        return self.groups[group].rule.decide(self.ledger.tally(group))

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
            if self.eager or any(not self._spare(group, run) for group, run in job.readers.items()):
                self._make_ready(job)
            for group in job.readers:
                self._spares[group].append(job)
        self._pump()

    def _spare(self, group: str, run: str) -> bool:
        return self.groups[group].spare(run)

    def _make_ready(self, job: Job, order: int | None = None) -> None:
        heapq.heappush(self._ready, (job.order if order is None else order, next(self._count), job))

    def _promote(self, job: Job) -> None:
        if job.task is None and not job.future.done():
            self._make_ready(job, -1)
            self._pump()

    def _pump(self) -> None:
        while self._ready and self._slots.free:
            _, _, job = heapq.heappop(self._ready)
            if self.ledger.shared and job.task is None:
                self._spare_if_needless(job)  # other processes may have decided it since
            if job.task is None and not job.future.done():
                self._slots.take()
                self._active.add(job)
                job.task = self._loop.create_task(self._make(job))

    def _look_at(self, group: str) -> None:
        """Cancel what a decided group no longer needs; start the next spare run of one that is open."""
        if self.verdict(group) is not None:
            for job in [job for job in self._active if group in job.readers]:
                self._spare_if_needless(job)
            for job in self._spares.pop(group, ()):
                self._spare_if_needless(job)
        elif self._spares[group] and not self.ledger.in_flight(group):
            spares = self._spares[group]
            while spares and (spares[0].task is not None or spares[0].future.done()):
                spares.popleft()
            if spares:
                self._promote(spares.popleft())

    def _spare_if_needless(self, job: Job) -> None:
        if all(self.verdict(reader) is not None for reader in job.readers):
            if job.task is not None:
                job.task.cancel()
            elif not job.future.done():
                job.future.set_exception(Spared())

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(POLL)
            for group in {group for job in self._active for group in job.readers}:
                self._look_at(group)

    # -- on the loop: one job

    async def _make(self, job: Job) -> None:
        place = Place(self._slots, (job.order,), held=True)
        try:
            measurement = await (self._shared(job, place) if self._is_shared(job) else self._measure(job, place))
        except asyncio.CancelledError:
            if job.judged is not None:
                self.ledger.abandon(job.judged, job.readers[job.judged])
            job.future.set_exception(Spared())
        except BaseException as error:
            job.future.set_exception(error)
        else:
            job.future.set_result(measurement)
        finally:
            self._active.discard(job)
            place.give_up()
            if job.judged is not None:
                self._look_at(job.judged)

    def _is_shared(self, job: Job) -> bool:
        return self.ledger.shared and len(job.readers) > 1

    async def _shared(self, job: Job, place: Place) -> Measurement:
        """Make the transcript, or wait for the process that does: whoever claims it first makes it for all."""
        while not self.ledger.claim(job.key):
            place.give_up()
            made: Measurement | None = self.ledger.fetch(job.key)
            if made is not None:
                return made
            await asyncio.sleep(POLL)
        await place.take()
        try:
            measurement = await self._measure(job, place)
        except BaseException:
            self.ledger.release(job.key)
            raise
        self.ledger.deliver(job.key, measurement)
        return measurement

    async def _measure(self, job: Job, place: Place) -> Measurement:
        if job.judged is None:
            return await measure(job.spec, job.run, place.lent)
        run = job.readers[job.judged]
        self.ledger.start(job.judged, run)
        measurement = await measure(job.spec, job.run, place.lent)
        self.ledger.record(job.judged, run, measurement.outcome, transient=measurement.transient)
        return measurement

    async def _with_slot(self, work: Callable[[Idle], Awaitable[T]]) -> T:
        place = Place(self._slots, (-1,))
        await place.take()
        try:
            return await work(place.lent)
        finally:
            place.give_up()

    async def _end(self) -> None:
        self._ready.clear()
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
