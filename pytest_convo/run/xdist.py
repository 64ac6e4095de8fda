"""How runs spread over xdist's workers: a scheduler that keeps each worker's queue filled, and a look at that queue."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest

_RUN = re.compile(r"::run-\d+$")

AHEAD = 4
"""Items queued at a worker, for each model call that it may have in flight."""


_INHERITED = ("_send_tests", "_check_nodes_have_same_collection", "check_schedule", "schedule")
"""What our scheduler takes from xdist's; where one is missing it is another xdist than we know."""


def make_scheduler(config: pytest.Config, log: Any, concurrency: int) -> Any | None:
    """The scheduler for `--dist load`, or None where xdist's own must be used.

    It keeps a window of items queued at each worker, so that the worker's engine can run ahead in items that are
    certainly its own. xdist's `load` queues ever fewer; `worksteal` takes items back that were already paid for.
    Where no runs are collected it behaves as xdist's own.
    """
    from xdist.scheduler import LoadScheduling

    if not _is_plain_load(config) or not all(hasattr(LoadScheduling, name) for name in _INHERITED):
        return None

    class WindowScheduling(LoadScheduling):
        collection: list[str] | None
        depth = 0

        def schedule(self) -> None:
            if self.collection is None and any(map(_has_runs, self.node2collection.values())):
                if not self._check_nodes_have_same_collection():
                    return
                self.collection = self.node2collection[self.nodes[0]]
                self.pending[:] = range(len(self.collection))
                workers = len(self.nodes)
                self.depth = max(2, AHEAD * concurrency // workers)
                share = max(1, -(-len(self.pending) // workers))
                for node in self.nodes:  # the first fill must not starve the last worker
                    self._send_tests(node, min(self.depth, share))
                for node in self.nodes:
                    self.check_schedule(node)
            else:
                super().schedule()

        def check_schedule(self, node: Any, duration: float = 0) -> None:
            if not self.depth:
                super().check_schedule(node, duration)
                return
            if node.shutting_down:
                return
            room = self.depth - len(self.node2pending[node])
            if self.pending and room > 0:
                self._send_tests(node, room)
            if not self.pending:
                node.shutdown()

    return WindowScheduling(config, log)


def _is_plain_load(config: pytest.Config) -> bool:
    """Whether xdist spreads by load, and nobody has said how many items at once."""
    return config.getoption("dist") == "load" and config.getoption("maxschedchunk") is None


def restartable(scheduler: Any) -> bool:
    """Whether the scheduler can hand out an item again: `load` and `worksteal` can."""
    from xdist.scheduler import LoadScheduling, WorkStealingScheduling

    return isinstance(scheduler, LoadScheduling | WorkStealingScheduling)


def is_run(nodeid: str) -> bool:
    """Whether a node id is that of one of several runs."""
    return _RUN.search(nodeid) is not None


def _has_runs(collection: Sequence[str]) -> bool:
    return any(map(is_run, collection))


def find_queue(config: pytest.Config) -> Any | None:
    """xdist's object in a worker that holds the queue of items, known by its shape: its class has no public name."""
    for plugin in config.pluginmanager.get_plugins():
        if callable(getattr(getattr(plugin, "torun", None), "lock", None)) and hasattr(plugin, "nextitem_index"):
            return plugin
    return None


def upcoming(queue: Any, items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """The items that this worker will run after the current one, in order."""
    with queue.torun.lock() as entries:
        indices = [queue.nextitem_index, *entries]
    return [items[index] for index in indices if type(index) is int and 0 <= index < len(items)]
