"""Where all reports come together: the controller of xdist, or the only process."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .. import options
from ..agreement.outcome import Outcome
from ..collect.recordings import SURVEY, Survey
from ..collect.selection import DESELECTED, is_seen
from ..collect.state import existing as existing_state
from ..run.results import Results
from ..run.session import STOP
from ..run.shared import PREFIX, SharedLedger, sweep
from ..run.spending import Spending, Spent
from ..run.told import show
from ..run.verdicts import Verdicts
from ..run.xdist import is_run, restartable
from . import directory, github, json_report, terminal
from .stale import tidy

if TYPE_CHECKING:
    from ..baseline.gating import Gating
    from ..options import Options
    from ..run.ledger import Ledger

_REPORTER = pytest.StashKey["Reporter"]()


class Reporter:
    """Hears of every run, has verdicts made of them, and tells people and files about both."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.options = options.read(config)
        self.began = time.time()
        self.gating = _gating(config, self.options)
        self.notes: list[str] = []
        """What the summary says besides, line by line."""
        self.always: list[str] = []
        """What is said in any case: what was removed, and what could not be written."""
        self.refinements: list[Mapping[str, Any]] = []
        """What came of mending prompts, for programs."""
        self._none, self.plain = Results(), Results()
        """What is known while there is no run; and tests that are no runs and read a prompt, each a group of one."""
        self._verdicts: Verdicts | None = None
        self._path: Path | None = None
        self._ledger: SharedLedger | None = None
        self._introduced = False
        self._restarted: set[str] = set()

    @property
    def verdicts(self) -> Verdicts:
        """The verdicts of this session; made with its first run."""
        if self._verdicts is None:
            session = self.config.pluginmanager.get_plugin("session")
            assert isinstance(session, pytest.Session)
            leaves = {} if self.gating is None else {"leaves": self.gating.leaves}
            session.testscollected += self.gating is not None  # the gate itself
            self._verdicts = Verdicts(self.config, session, self.options.inconclusive, **leaves)
        return self._verdicts

    @property
    def everything(self) -> Results:
        """What the session has found so far, and of tests that are no runs those that read a prompt."""
        return Results({**self.results.groups, **self.plain.groups})

    @property
    def results(self) -> Results:
        """What the session has found so far."""
        return self._verdicts.results if self._verdicts is not None else self._none

    @property
    def _books(self) -> Ledger | None:
        """The ledger in which this session's calls are booked, if it can be reached from here."""
        if (ledger := self.ledger()) is None and (state := existing_state(self.config)) is not None:
            return state.runs.ledger
        return ledger

    def _add_up(self) -> None:
        """Take over what the session's books say of its spending."""
        books = self._books
        self.results.books = Spending(books).spent() if books is not None else None

    @property
    def spent(self) -> Spent:
        """What the session has spent by now."""
        self._add_up()
        return self.results.spent

    def prepare(self, report: pytest.TestReport) -> None:
        """A run is about to be reported: the failure of a single one may be the regression gate's to judge."""
        told: Mapping[str, Any] = report.convo
        if self.gating is None or told["n"] != 1 or told["outcome"] != Outcome.FAIL or told.get("fresh"):
            return
        results = self.verdicts.results
        results.add(report.nodeid, told)
        if self.gating.leaves(results, told["group"]):
            report.outcome, report.longrepr, report.when = "passed", None, "call"
            report.convo_status = "below"  # type: ignore[attr-defined]

    def hear(self, report: pytest.TestReport) -> None:
        """A run has been reported."""
        told: Mapping[str, Any] = report.convo
        if self.gating is not None and told.get("fresh"):
            self.gating.fresh.add(report.nodeid, told)
            return
        self.verdicts.hear(report, told)
        if self.verdicts.session.shouldfail:
            self.stop(str(self.verdicts.session.shouldfail))

    def stop(self, reason: str) -> None:
        """Tell the workers that the session ends early."""
        if (ledger := self.ledger()) is not None:
            ledger.note(STOP, reason)

    def conclude(self) -> None:
        """The last item has been reported; what is still open is decided, and a session without any call is no pass."""
        if self._verdicts is None and self.gating is None:
            return
        verdicts = self.verdicts
        if verdicts.session.shouldfail or verdicts.session.shouldstop:
            return
        verdicts.close()
        runs = self.results.runs.values()
        asked = self.options.oracle or any(told.get("requests") or told.get("replayed") for told in runs)
        if not asked and not verdicts.session.testsfailed and any(told.get("of_conversation") for told in runs):
            verdicts.complain(NOBODY_ASKED)
        if self.options.approving:
            from ..approve.update import approve

            self.notes += approve(self.results)
        self._hold_against_baseline(verdicts)
        if (survey := self._survey()) is not None:
            removes = self.options.record == "all"
            told_anyway = self.always if removes else self.notes
            told_anyway += tidy(survey, self.config.rootpath, remove=removes)

    def _survey(self) -> Survey | None:
        """What there is of recordings, as this process or a worker found it."""
        if (state := existing_state(self.config)) is not None:
            return state.survey
        note = ledger.noted(SURVEY) if (ledger := self.ledger()) is not None else None
        return Survey.of_note(note) if note is not None else None

    def _hold_against_baseline(self, verdicts: Verdicts) -> None:
        """Judge the session by its baseline, or make it the baseline of later ones."""
        if self.gating is not None:
            self.gating.conclude(verdicts, self._books, self._sees)
            self.notes += self.gating.lines()
        if self.options.new_baseline is not None:
            from ..baseline.update import update

            path = self.options.new_baseline
            try:
                self.notes += update(path, verdicts.results, self._sees)
            except OSError as error:
                text = f"{path}: the baseline could not be written: {error.strerror or error}"
                verdicts.emit(f"{path.name}::update", "setup", "failed", text)

    def _sees(self, nodeid: str) -> bool:
        """Whether a node of this id would have been run, if there were one."""
        state, ledger = existing_state(self.config), self.ledger()
        deselects = state is not None and state.deselects
        if deselects or (ledger is not None and ledger.noted(DESELECTED) is not None):
            return False
        return is_seen(self.config, nodeid)

    def summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """The last words in the terminal."""
        if self._verdicts is not None:
            self._add_up()
            terminal.summary(terminalreporter, self.results, self.notes, directory.of_session(self.config))
        for line in self.always:
            terminalreporter.write_line(line, yellow=True)

    def write(self) -> None:
        """The reports in files: JSON where one was asked for, and the summary that GitHub shows."""
        self._add_up()
        gate = self.gating if self.gating is not None and self.gating.held is not None else None
        if self._verdicts is not None and (summary := github.path()) is not None:
            lines = [*terminal.lines(self.results), *self.notes]
            with self._told_if_unwritable(summary):
                github.add(summary, self.results, lines, gate.headline if gate is not None else None)
        if self.options.json is not None:
            with self._told_if_unwritable(self.options.json):
                figures = gate.figures() if gate is not None else None
                json_report.write(self.options.json, self.results, self.began, figures, self.refinements)

    @contextmanager
    def _told_if_unwritable(self, path: Path) -> Iterator[None]:
        """A report that cannot be written is said in the summary, and changes no verdict."""
        try:
            yield
        except OSError as error:
            self.always.append(f"convo: {path} could not be written: {error.strerror or error}")

    def clean_up(self) -> None:
        """Remove what the session shared."""
        if self._ledger is not None:
            self._ledger.close()
        if self._path is not None:
            shutil.rmtree(self._path, ignore_errors=True)  # a worker that was killed may still be writing

    # -- xdist

    def equip(self, node: Any) -> None:
        """Tell a worker where the ledger is; the first worker that needs it makes the directory."""
        if self._path is None:
            temporary = Path(tempfile.gettempdir())
            sweep(temporary)
            self._path = temporary / f"{PREFIX}{uuid.uuid4().hex}"
        node.workerinput["convo_ledger"] = str(self._path)
        node.workerinput["convo_dist"] = self.config.getoption("dist")
        node.workerinput["convo_session"] = directory.session_name(self.config)

    def ledger(self) -> SharedLedger | None:
        """The workers' ledger, if they made one that can be reached from here."""
        if self._ledger is None and self._path is not None and (self._path / "ledger.sqlite").exists():
            self._ledger = SharedLedger(self._path, "controller")
        return self._ledger

    def introduce(self, ids: list[str]) -> None:
        """A worker has collected: say once what there is to run, unless it cannot be run so."""
        if any(map(is_run, ids)):
            self._require_spread()
        ledger = self.ledger()
        if self._introduced or ledger is None or (header := ledger.noted("header")) is None:
            return
        self._introduced = True
        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None and reporter.verbosity >= 0:
            reporter.ensure_newline()
            reporter.write_line(header)

    def _require_spread(self) -> None:
        if self.config.getoption("dist") == "each":
            msg = "--dist each gives every run to every worker, but runs are to be spread over them\n  use --dist load"
            raise pytest.UsageError(msg)
        workers = len(self.config.getoption("tx"))
        if workers > self.options.concurrency:
            msg = f"--convo-concurrency {self.options.concurrency} is less than one call for each of {workers} workers"
            msg += "\n  use fewer workers: one process has many calls in flight at once"
            raise pytest.UsageError(msg)

    def lose(self, node: Any) -> None:
        """A worker has gone: what it was making is free for others."""
        if (ledger := self.ledger()) is not None:
            ledger.forget(node.gateway.id)

    def restart(self, nodeid: str, report: pytest.TestReport, scheduler: Any) -> None:
        """A worker died in a run: start the run again, once, where xdist can."""
        if not is_run(nodeid):
            return
        if restartable(scheduler) and nodeid not in self._restarted:
            self._restarted.add(nodeid)
            scheduler.mark_test_pending(nodeid)
            report.outcome, report.longrepr, report.when = "passed", None, "call"
            report.convo_status = "lost"  # type: ignore[attr-defined]
        elif (ledger := self.ledger()) is not None and (known := ledger.noted(f"group {nodeid.rpartition('::')[0]}")):
            told = {**json.loads(known), "outcome": "error", "reason": str(report.longrepr)}
            report.convo = told  # type: ignore[attr-defined]
            show(report, told, self.options.inconclusive)


NOBODY_ASKED = (
    "conversations were collected, and no model was asked: this session has measured nothing\n"
    "  set `regenerate` where every turn is answered already"
)


def _gating(config: pytest.Config, options: Options) -> Gating | None:
    if options.baseline is None:
        return None
    from ..baseline.gating import Gating

    return Gating(config, options)


def of(config: pytest.Config) -> Reporter:
    """The session's reporter, made at the first call."""
    reporter = existing(config)
    if reporter is None:
        reporter = config.stash[_REPORTER] = Reporter(config)
    return reporter


def existing(config: pytest.Config) -> Reporter | None:
    """The session's reporter, if there has been anything to report."""
    return config.stash.get(_REPORTER, None)
