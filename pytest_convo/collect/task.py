"""A task directory as pytest nodes: its file, and its runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .._compat import Skipped
from ..layout import TASK_FOLDERS
from ..settings.task import is_task
from .conversation import ConversationRun, runs
from .errors import told_as_collect_error
from .sandboxes import skip_without_engine
from .spec import require_plain, specs_of_all
from .state import of
from .waiting import wait_for


def collect_file(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """The collector of the task that a task.toml is of; None for another project's file of that name."""
    if not is_task(path.parent):
        return None
    return TaskFile.from_parent(parent, path=path)


def is_tasks_own(path: Path) -> bool:
    """Whether a folder is a task's, so that what looks like a test in it is none of this session's."""
    return path.name in TASK_FOLDERS and path.is_dir() and is_task(path.parent)


class TaskFile(pytest.File):
    """A task; the group of its runs."""

    def collect(self) -> Iterator[pytest.Item]:
        directory = self.path.parent
        state = of(self.config)
        state.broken.add(directory)
        with told_as_collect_error(self.config, directory):
            _, (spec,) = specs_of_all(self, directory)
            require_plain(self.nodeid, spec.redactor, self.path)
        state.broken.remove(directory)
        yield from runs(self, spec, TaskRun)


class TaskRun(ConversationRun):
    """One run of a task: it passes when the verifier says so."""

    def runtest(self) -> None:
        state = of(self.config)
        if state.options.oracle and self.spec.player is None:
            msg = "there is no solution/solve.sh"
            raise Skipped(msg, _use_item_location=True)
        measurement = wait_for(self)
        skip_without_engine(state, self.spec.settings, measurement.error)
        measurement.raise_unless_passed()
