"""The plugin of a session that somebody watches: it collects what it was asked for, and tells what comes of it."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Collection
from pathlib import Path

import pytest

from ..agreement.verdict import Verdict
from ..collect.conversation import ConversationRun
from ..collect.state import GATE, LISTENER, STORE, existing
from ..report.directory import name_session
from ..report.reporter import existing as existing_reporter
from ..run.meter import Meter
from ..run.shared import SharedLedger
from ..run.verdicts import ASKED_NOBODY
from .channel import Note
from .facts import collected, group_of, unit_of
from .gate import Gate
from .standing import ANSWERED

WORDS = {Verdict.PASS: "passed", Verdict.FAIL: "failed", Verdict.INCONCLUSIVE: "inconclusive"}


class Watched:
    """Narrows the collection to what is asked for, has answers and books outlive the session, and tells of it."""

    def __init__(self, tell: Callable[[Note], None], order: Note) -> None:
        self._tell = tell
        self.gate = Gate(tell)
        self._order = order
        self._books = SharedLedger(Path(order["books"]), str(os.getpid()))
        self._units: frozenset[str] = frozenset()
        self._ways: frozenset[str] = frozenset()
        self._outcomes: dict[str, str] = {}
        self._unit_of: dict[str, str] = {}
        self._reasons: dict[str, str] = {}
        self._superseded: set[Path] = set()
        self._errors: list[list[str]] = []
        self._told = False

    def begin(self, config: pytest.Config, units: Collection[str]) -> None:
        """Take part in a session that is to run these, or everything where there are none."""
        self._config = config
        self._units = frozenset(units)
        self._ways = frozenset(str(above) for unit in units for above in Path(unit).parents)
        config.stash[LISTENER] = self._tell
        if self._order["tools"]:
            config.stash[GATE] = self.gate.ask
        if self._order["store"] is not None:
            config.stash[STORE] = Path(self._order["store"])
        name_session(config, self._order["session"])
        config.pluginmanager.register(self, "convo-watched")

    # -- hooks, in the order in which pytest calls them

    @pytest.hookimpl(tryfirst=True)
    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Pass by what is neither on the way to a unit nor directly in one: others are not to be looked into."""
        if not self._units:
            return None
        path = str(collection_path)
        if path in self._units or path in self._ways:
            return None
        parent = os.path.dirname(path)  # noqa: PTH120 asked for every entry of every directory
        return None if parent in self._units and not os.path.isdir(path) else True  # noqa: PTH112

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            path = self._config.rootpath / report.nodeid.partition("::")[0]
            self._errors.append([str(path), report.longreprtext])

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        gc.freeze()  # no search for garbage in what stays until the end; there was none so far
        gc.enable()
        self._session = session
        if (state := existing(self._config)) is not None:
            state.runs.meter = Meter(self._books, state.runs.meter.caps)
            state.runs.supersede(self._superseded)  # while it collected there was nothing to cancel
        if self._config.option.collectonly:
            self._tell_collected(session)

    def pytest_runtest_logstart(self) -> None:
        """Tell what was collected when the first item begins: the engine has begun by then, and is not kept waiting."""
        if not self._told:
            self._tell_collected(self._session)

    def _tell_collected(self, session: pytest.Session) -> None:
        self._told = True
        for item in session.items:
            self._unit_of[group_of(item)] = str(unit_of(item))
            if isinstance(item, ConversationRun) and not item.spec.conversation.turns:
                self._outcomes[group_of(item)] = ANSWERED
        self._tell(collected(existing(self._config), session))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note how tests end that are no runs of ours; those of groups are asked of their verdicts."""
        if hasattr(report, "convo"):
            if report.skipped and isinstance(report.longrepr, tuple):
                self._reasons[report.convo["group"]] = report.longrepr[2].removeprefix("Skipped: ")
            return
        if report.nodeid not in self._unit_of:
            return
        if report.failed:
            self._outcomes[report.nodeid] = "failed" if report.when == "call" else "error"
        elif report.skipped or report.when == "call":
            self._outcomes.setdefault(report.nodeid, report.outcome)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if not self._told:
            self._tell_collected(session)
        if (reporter := existing_reporter(self._config)) is not None:
            for group in reporter.results.groups.values():
                if group.settled is not None:
                    self._outcomes[group.id] = WORDS[group.settled]
                else:
                    self._outcomes.setdefault(group.id, "skipped")
        outcomes = [
            [self._unit_of[nodeid], nodeid, word, self._reasons.get(nodeid, "")]
            for nodeid, word in self._outcomes.items()
            if nodeid in self._unit_of and nodeid != ASKED_NOBODY
        ]
        self._tell({"kind": "ended", "exit": int(exitstatus), "outcomes": outcomes, "errors": self._errors})

    # -- from the thread that hears the watcher

    def supersede(self, units: Collection[str]) -> None:
        """Run these no more: they have been edited. Files of tests cannot be let go of, they run in the main thread."""
        conversations = [unit for unit in units if not unit.endswith(".py")]
        self._superseded.update(map(Path, conversations))
        if (state := existing(self._config)) is not None:
            state.runs.supersede(self._superseded)
        self._tell({"kind": "superseded", "units": conversations})
