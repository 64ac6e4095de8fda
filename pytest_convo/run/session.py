"""What one process knows of its session: the groups, the ledger, and the engine once somebody needs it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from .._compat import Skipped
from ..agreement.verdict import Verdict
from .group import DECIDED, Group
from .shared import open_ledger

if TYPE_CHECKING:
    from concurrent.futures import Future

    from ..agreement.outcome import Outcome
    from ..options import Options
    from .ahead import Ahead
    from .engine import Engine, Job
    from .ledger import Ledger
    from .measure import Measurement, Spec
    from .meter import Meter

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Run:
    """What makes a pytest item one of several runs; kept in the item's stash.

    `spec` is the conversation whose transcript the item reads, if it reads one; `judged` says that the item is that
    conversation itself, so that its outcome is known when the transcript is.
    """

    group: Group
    number: int
    spec: Spec | None = None
    judged: bool = False


RUN = pytest.StashKey[Run]()

SUPERSEDED = "its files have changed since: it runs anew"

STOP = "stop"
"""The note in the ledger by which the controller of xdist says that the session ends early, and why."""


class RunSession:
    """The runs of this process; made when the first conversation or redundant test is collected."""

    def __init__(self, options: Options, worker: Mapping[str, Any] | None = None) -> None:
        self.options = options
        self.groups: dict[str, Group] = {}
        self.items: dict[str, pytest.Item] = {}
        self._controller = os.getppid() if worker else None
        worker = worker or {"workercount": 1, "workerid": "gw0"}
        self.share = _share(options.concurrency, worker["workercount"], int(worker["workerid"].removeprefix("gw")))
        self.ledger: Ledger = open_ledger(worker.get("convo_ledger"), worker["workerid"])
        self._stealing = worker.get("convo_dist") == "worksteal"
        self._readers: dict[str, dict[str, str]] = {}
        self._order: dict[str, int] = {}
        self._jobs: dict[str, Job] = {}
        self._engine: Engine | None = None
        self._ahead: Ahead | None = None
        self._superseded: set[Path] = set()

    @cached_property
    def meter(self) -> Meter:
        """What counts the calls of this process, on the books of the whole session."""
        from .meter import Meter
        from .spending import Caps

        options = self.options
        return Meter(self.ledger, Caps(options.max_usd, options.max_calls, options.max_tokens))

    # -- what there is to run

    def plan(self, items: Iterable[pytest.Item]) -> None:
        """Learn the selected items, in their order: with them each group's n and k are fixed."""
        for order, item in enumerate(items):
            run = item.stash.get(RUN, None)
            if run is None:
                continue
            run.group.runs.append(item.nodeid)
            self.groups[run.group.id] = run.group
            self.items[item.nodeid] = item
            if run.spec is not None:
                key = run.spec.key(run.number)
                self._readers.setdefault(key, {})[run.group.id] = item.nodeid
                self._order.setdefault(key, order)
        if self.ledger.shared:  # a worker that dies in every run of a group has told nothing of it
            self.ledger.note_all({f"group {group.id}": json.dumps(group.to_report()) for group in self.groups.values()})

    def begin(self, session: pytest.Session) -> None:
        """Collection is over and items are about to run."""
        from .ahead import Ahead

        self._ahead = Ahead(self, session)
        self._ahead.begin()

    def come_to(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        """Pytest begins with `item`: whatever may start ahead of it is offered to the engine."""
        if self._ahead is not None:
            self._ahead.come_to(item, nextitem)

    def offer(self, items: Iterable[pytest.Item]) -> None:
        """Let the engine run ahead in these items."""
        jobs = [job for item in items if (job := self._new_job(item)) is not None]
        if jobs:
            self.engine.offer(jobs)

    @property
    def engine(self) -> Engine:
        """The engine, started when it is first asked for."""
        if self._engine is None:
            from .engine import Engine

            self._engine = Engine(self.share, self.ledger, self.groups, eager=self.options.eager)
            if self._superseded:
                self._engine.withdraw(frozenset(self._superseded))
        return self._engine

    def _new_job(self, item: pytest.Item) -> Job | None:
        """The job of an item's transcript, unless it has one already or needs none."""
        run = item.stash.get(RUN, None)
        if run is None or run.spec is None or run.spec.key(run.number) in self._jobs:
            return None
        return self._job(run)

    def _job(self, run: Run) -> Job:
        from .engine import Job

        assert run.spec is not None
        key = run.spec.key(run.number)
        if key not in self._jobs:
            readers = self._readers[key]
            judged = next((group for group in readers if self._judges(group)), None)
            # Another worker may take an item whose transcript is being made here, or read the same one.
            leased = self.ledger.shared and (self._stealing or len(readers) > 1)
            self._jobs[key] = Job(run.spec, run.number, self._order[key], readers, judged, leased)
        return self._jobs[key]

    def _judges(self, group: str) -> bool:
        return self.items[self.groups[group].runs[0]].stash[RUN].judged

    # -- what is not to run any more

    def supersede(self, directories: Collection[Path]) -> None:
        """Make no more of the conversations in these directories, whose files have changed: they run anew elsewhere.

        May be called from any thread; returns when no call of theirs is in flight here any more.
        """
        self._superseded.update(directories)
        if self._engine is not None:
            self._engine.withdraw(directories).result()

    def superseded(self, item: pytest.Item) -> bool:
        """Whether what `item` was collected from has changed since."""
        return item.path.parent in self._superseded

    def stopped(self) -> str | None:
        """Why the whole session ends early, where this process is a worker that has to hear of it.

        The controller says so, or it has been killed: then execnet itself waits for 5 seconds, while calls are paid for
        and sandboxes go on, before it interrupts a worker.
        """
        if self._controller is not None and os.getppid() != self._controller:
            return "the controller has gone"
        return self.ledger.noted(STOP) if self.ledger.shared else None

    # -- what came of it

    def measurement(self, run: Run, waiting: Callable[[float], None]) -> Measurement:
        """Wait for the transcript that `run` reads; raises `Spared` where nobody needs it any more."""
        from .engine import Spared, result

        job = self._job(run)
        self.engine.want(job)

        def tick(seconds: float) -> None:
            if reason := self.stopped():
                pytest.exit(reason)  # the controller does not wait for calls, so neither does a worker
            if self._ahead is not None:
                self.offer(self._ahead.look())
            waiting(seconds)

        try:
            return result(job.future, tick, every=self._patience)
        except Spared:
            if run.spec is not None and run.spec.directory in self._superseded:
                raise Skipped(SUPERSEDED, _use_item_location=True) from None
            raise

    @property
    def _patience(self) -> float:
        """Seconds between two looks at what else there is to do while a transcript is waited for."""
        if self.ledger.shared:
            return 0.02
        return 0.05 if self.options.write else 0.5  # what is being written is shown meanwhile

    def wait(self, future: Future[T]) -> T:
        """Wait for work that was submitted to the engine."""
        from .engine import result

        try:
            return result(future)
        except BaseException:
            future.cancel()
            raise

    def verdict(self, group: Group) -> Verdict | None:
        """The verdict on a group, if its outcomes so far, over all processes, decide it."""
        return group.decide(self.ledger.tally(group.id))

    def needless(self, item: pytest.Item) -> bool:
        """Whether the verdict stands without this item's run.

        A spare run first waits for those that are being made elsewhere: they may well decide the group.
        """
        run = item.stash[RUN]
        if len(run.group.runs) == 1:
            return False
        while (verdict := self.verdict(run.group)) is None:
            spare = run.group.spare(item.nodeid) and not self.options.eager
            if not (self.ledger.shared and spare and self.ledger.in_flight(run.group.id, besides=item.nodeid)):
                return False
            time.sleep(0.02)
        # A run whose outcome is there has been paid for and may have decided the group: it is reported.
        return verdict in DECIDED and not self.ledger.has_outcome(run.group.id, item.nodeid)

    def record(self, item: pytest.Item, outcome: Outcome) -> None:
        """Enter the outcome of an item that the engine does not judge itself."""
        run = item.stash[RUN]
        self.ledger.record(run.group.id, item.nodeid, outcome)
        if self._engine is not None:
            self._engine.settled(run.group.id)

    def again(self, item: pytest.Item) -> None:
        """Forget what an item's run measured, so that it can be measured once more."""
        run = item.stash[RUN]
        self.ledger.clear(run.group.id, item.nodeid)
        if run.spec is not None:
            key = run.spec.key(run.number)
            job = self._jobs.get(key)
            if job is None or not job.future.done() or job.future.exception() or job.future.result().error:
                self._jobs.pop(key, None)
                stale: Measurement | None = self.ledger.fetch(key)
                if stale is not None and stale.error is not None:  # another reader's retry may have made a good one
                    self.ledger.discard(key)

    def close(self) -> list[str]:
        """End the engine; the names of tools that still run."""
        hanging = self._engine.close() if self._engine is not None else []
        self.ledger.close()
        return hanging


def _share(total: int, workers: int, number: int) -> int:
    """A worker's share of the calls in flight: at least one, and the remainder goes to the first workers."""
    return max(1, total // workers + (number % workers < total % workers))
