"""The regression gate of one session: it holds what was found against the baseline, and is reported as one test."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from ..agreement.answers import fails_by_answers
from ..agreement.describe import describe as describe_group
from ..agreement.gate import CONFIRMATION_RUNS, Gate, GateResult, describe, headline, judge, suspicious
from ..agreement.verdict import Verdict
from ..collect.fresh import run_fresh
from ..errors import ConvoError
from ..options import Options
from ..run.ledger import Ledger
from ..run.results import Results
from ..run.told import INCONCLUSIVE
from ..run.verdicts import Text, Verdicts
from .compare import Comparison, arm_of, compare, unlike
from .file import Baseline, read
from .words import notes

NO_BASELINE = "no baseline: {path} does not exist, so nothing can be said\n  make one with --convo-update-baseline"

NOTHING_NEW = "nothing new to compare: every run is one of the baseline's own recordings"
"""Not red: as long as nobody changes a prompt, this is what a session of replays finds."""


@dataclass(frozen=True, slots=True)
class Held:
    """What the gate found: None for `gate` where there is no baseline."""

    comparison: Comparison
    gate: Gate | None


class Gating:
    """Leaves the verdicts of comparable cases to the gate, confirms what looks worse, and reports the result."""

    def __init__(self, config: pytest.Config, options: Options) -> None:
        assert options.baseline is not None
        self.config = config
        self.options = options
        self.path = options.baseline
        self.baseline = _baseline(options)
        self.fresh = Results()
        self.held: Held | None = None
        self._left = False
        """Whether a failed verdict was left to the gate."""

    @property
    def nodeid(self) -> str:
        root = self.config.rootpath
        shown = self.path.relative_to(root).as_posix() if self.path.is_relative_to(root) else self.path.name
        return f"{shown}::gate"

    def leaves(self, results: Results, group: str) -> bool:
        """Whether a failed verdict on a group is left to the gate: the baseline has the same case.

        The gate compares how often runs pass. Answers that do not agree with each other are not its matter.
        """
        entry = self.baseline.cases.get(group) if self.baseline is not None else None
        found = results.groups[group]
        left = entry is not None and not unlike(entry, found) and not fails_by_answers(found.rule, found.tally)
        self._left |= left
        return left

    def conclude(self, verdicts: Verdicts, books: Ledger | None, sees: Callable[[str], bool]) -> None:
        """The last run has been reported: compare, confirm what looks worse by fresh runs, and report the gate.

        `sees` says whether a case of the baseline that was not found would have been run.
        """
        if self.baseline is None:
            self.held = Held(Comparison(), None)
        else:
            comparison = compare(self.baseline, verdicts.results.groups.values(), sees)
            self.held = Held(comparison, self._judge(comparison, verdicts.session, books))
        when, outcome = self._shown(self.held)
        text = "\n".join(self._text(self.held, verdicts.results))
        longrepr: Any = None if outcome == "passed" else Text(text, self.headline)
        if outcome == "skipped":
            longrepr = (self.nodeid.partition("::")[0], 1, self.headline)
        verdicts.emit(self.nodeid, when, outcome, longrepr, properties=list(self._properties()), counted=True)

    def _judge(self, comparison: Comparison, session: pytest.Session, books: Ledger | None) -> Gate:
        confirmable = self.options.record != "none"
        if confirmable and (doubtful := suspicious(comparison.cases)):
            self._say(f"{_cases(len(doubtful))} worse: {CONFIRMATION_RUNS} fresh runs of each")
            run_fresh(session, doubtful, CONFIRMATION_RUNS, books)
        arms = {id_: arm_of(group) for id_, group in self.fresh.groups.items()}
        cases = [replace(case, confirmation=arms.get(case.id)) for case in comparison.cases]
        return judge(cases, confirmable=confirmable, non_inferior=self.options.non_inferior)

    def _say(self, what: str) -> None:
        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None and reporter.verbosity >= 0:
            if self.config.get_terminal_writer().width_of_current_line:  # under xdist `ensure_newline` sees none
                reporter.write_line("")
            reporter.write_line(f"convo: {what}")

    def _shown(self, held: Held) -> tuple[Any, Any]:
        """The phase and the outcome under which pytest counts the gate."""
        comparison, gate = held.comparison, held.gate
        if comparison.gone or comparison.gone_checks or (gate is not None and gate.result is GateResult.REGRESSED):
            return "call", "failed"
        if comparison.is_nothing_new:
            return INCONCLUSIVE["skip"]
        if gate is None or gate.result is GateResult.INCONCLUSIVE:
            # A failed verdict that was left to the gate is no pass because the gate cannot tell.
            left_open = self._left and self.options.inconclusive == "skip"
            return ("call", "failed") if left_open else INCONCLUSIVE[self.options.inconclusive]
        return "call", "passed"

    @property
    def headline(self) -> str:
        """One line, for the summaries."""
        assert self.held is not None
        comparison, gate = self.held.comparison, self.held.gate
        if gate is None:
            return NO_BASELINE.format(path=self.path.name).partition("\n")[0]
        found = NOTHING_NEW if comparison.is_nothing_new else headline(gate)
        lost = [f"{len(comparison.gone)} gone"] if comparison.gone else []
        lost += [f"{len(comparison.gone_checks)} checks gone"] if comparison.gone_checks else []
        return ", ".join([found, *lost])

    def lines(self) -> list[str]:
        """What the summary says of the gate."""
        if self.held is None:
            return []
        if self.held.gate is None:
            return [f"gate: {self.headline}"]
        return [f"gate: {self._described(self.held.comparison, self.held.gate)}", *notes(self.held.comparison)]

    def _described(self, comparison: Comparison, gate: Gate) -> str:
        return NOTHING_NEW if comparison.is_nothing_new else describe(gate)

    def _text(self, held: Held, results: Results) -> Iterator[str]:
        if held.gate is None:
            yield NO_BASELINE.format(path=self.path)
            return
        yield self._described(held.comparison, held.gate)
        yield from notes(held.comparison)
        for case in held.comparison.cases:
            group = results.groups[case.id]
            if group.settled is Verdict.FAIL:
                yield f"\n{case.id}\n{describe_group(group.to_report())}"

    def _properties(self) -> Iterator[tuple[str, Any]]:
        for name, value in self.figures().items():
            if value is not None and not isinstance(value, list | dict):
                yield f"convo.gate.{name}", value

    def figures(self) -> Mapping[str, Any]:
        """What the gate found, for programs."""
        assert self.held is not None
        comparison, gate = self.held.comparison, self.held.gate
        found = {} if gate is None else gate.to_report()
        return {
            "result": str(GateResult.INCONCLUSIVE),
            **found,
            "not_comparable": dict(comparison.unlike),
            "new": list(comparison.new),
            "gone": list(comparison.gone),
            "gone_checks": [list(each) for each in comparison.gone_checks],
            "same_sample": dict(comparison.same),
            "errors": dict(comparison.errors),
        }


def _cases(number: int) -> str:
    return "1 case looks" if number == 1 else f"{number} cases look"


def _baseline(options: Options) -> Baseline | None:
    assert options.baseline is not None
    try:
        return read(options.baseline)
    except FileNotFoundError:
        return None
    except ConvoError as error:
        raise pytest.UsageError(str(error)) from None
