"""Verdicts, made where results are reported: in the controller, or in the only process.

Every run's report carries a plain dict. When a group is decided, one report is made for it under the group's node id;
from there on it is ordinary pytest: terminal, JUnit, exit code, `-x`, `--maxfail` and `--lf` see one test.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from ..agreement.describe import describe, headline
from ..agreement.interval import jeffreys
from ..agreement.verdict import Verdict
from .results import GroupResult, Results, figures
from .told import INCONCLUSIVE

ASKED_NOBODY = "convo::no-model-was-asked"


class Text:
    """A text as pytest prints it under FAILURES or ERRORS, with the one line for the short summary."""

    def __init__(self, text: str, line: str) -> None:
        self.text = text
        self.reprcrash = _Crash(line)

    def toterminal(self, writer: Any) -> None:
        writer.line(self.text)

    def __str__(self) -> str:
        return self.text


class _Crash:
    """What the short summary asks of a failure: its message."""

    def __init__(self, message: str) -> None:
        self.message = message


class Verdicts:
    """Tallies the runs of every group and reports each verdict once."""

    def __init__(
        self,
        config: pytest.Config,
        session: pytest.Session,
        inconclusive: str,
        leaves: Callable[[Results, str], bool] = lambda results, group: False,  # noqa: ARG005
    ) -> None:
        self.config = config
        self.session = session
        self.inconclusive = inconclusive
        self.results = Results()
        self._leaves = leaves
        """Whether a failed verdict on a group is left to the regression gate."""

    def hear(self, report: pytest.TestReport, told: Mapping[str, Any]) -> None:
        """A run has been reported; where that decides its group, report the verdict."""
        group = self.results.add(report.nodeid, told)
        if group.rule.n == 1 or group.verdict is not None or (group.full and not group.ended):
            return
        verdict = group.rule.decide(group.tally)
        if verdict is None or (verdict is Verdict.INCONCLUSIVE and "retried" not in told):
            return  # the last run of the group tries its errors again, and says so
        self._decide(group, verdict, report)

    def close(self) -> None:
        """The last run has been reported: groups whose runs all ended without a verdict are inconclusive.

        A spared run is part of a decided group, so one without a verdict would be a mistake of ours: never green.
        """
        for group in self.results.groups.values():
            spared = any(told["outcome"] == "spared" for told in group.runs.values())
            if group.verdict is None and group.ended and (spared or (group.rule.n > 1 and group.measured)):
                self._decide(group, Verdict.INCONCLUSIVE)

    def complain(self, text: str) -> None:
        """Report an error that is no run's: the session would be green without having measured anything."""
        self.emit(ASKED_NOBODY, "setup", "failed", text)

    def _decide(self, group: GroupResult, verdict: Verdict, last: pytest.TestReport | None = None) -> None:
        group.verdict = verdict
        when, outcome = _SHOWN[verdict] if verdict is not Verdict.INCONCLUSIVE else INCONCLUSIVE[self.inconclusive]
        below = verdict is Verdict.FAIL and self._leaves(self.results, group.id)
        if below:
            outcome = "passed"
        longrepr = _longrepr(group, outcome)
        seconds = sum(told.get("seconds", 0.0) for told in group.runs.values())
        properties = _properties(group)
        sections = _sections(group)
        self.emit(
            group.id,
            when,
            outcome,
            longrepr,
            seconds=seconds,
            properties=properties,
            sections=sections,
            last=last,
            status="below" if below else None,
        )

    def emit(
        self,
        nodeid: str,
        when: Any,
        outcome: Any,
        longrepr: Any,
        *,
        seconds: float = 0.0,
        properties: list[tuple[str, Any]] | None = None,
        sections: list[tuple[str, str]] | None = None,
        last: pytest.TestReport | None = None,
        status: str | None = None,
        counted: bool = False,
    ) -> None:
        """Report something that pytest did not run, as it reports a test; `status` is a word of ours for it.

        It is progress of its own, 100 % at the end and not more: unless `counted`, one more test is collected.
        """
        location = _location(nodeid)
        common: dict[str, Any] = {"nodeid": nodeid, "location": location, "keywords": {nodeid: 1}}
        hook = self.config.hook
        self.session.testscollected += not counted
        hook.pytest_runtest_logstart(nodeid=nodeid, location=location)
        report = pytest.TestReport(
            when=when, outcome=outcome, longrepr=longrepr, duration=seconds, sections=sections or [], **common
        )
        if last is not None and hasattr(last, "node"):
            report.node = last.node  # type: ignore[attr-defined]  # the worker, for reporters that ask for it
        if status is not None:
            report.convo_status = status  # type: ignore[attr-defined]
        hook.pytest_runtest_logreport(report=report)
        # JUnit writes properties, and ends the test case, on a teardown report.
        hook.pytest_runtest_logreport(
            report=pytest.TestReport(
                when="teardown", outcome="passed", longrepr=None, user_properties=properties or [], **common
            )
        )
        hook.pytest_runtest_logfinish(nodeid=nodeid, location=location)
        self._stop_xdist()

    def _stop_xdist(self) -> None:
        """Let `-x` and `--maxfail` stop xdist too: its controller looks at its own flag only."""
        dsession = self.config.pluginmanager.get_plugin("dsession")
        if dsession is not None and self.session.shouldfail and not dsession.shouldstop:
            dsession.shouldstop = self.session.shouldfail


def _longrepr(group: GroupResult, outcome: str) -> Any:
    """What pytest shows of a verdict; a pass needs no words, and they take time."""
    if outcome == "passed":
        return None
    described = group.to_report()
    line = headline(described)
    return (group.id.partition("::")[0], 1, line) if outcome == "skipped" else Text(describe(described), line)


def _location(nodeid: str) -> tuple[str, int, str]:
    """Where pytest says that a group is: its file, and the title above its failure."""
    path, _, name = nodeid.partition("::")
    if path.endswith(".py"):
        return path, 0, name.replace("::", ".")
    return path, 0, f"{path.rpartition('/')[0]} {name}".strip() or path


_SHOWN = {Verdict.PASS: ("call", "passed"), Verdict.FAIL: ("call", "failed")}


def _sections(group: GroupResult) -> list[tuple[str, str]]:
    """What was captured in the runs that did not pass."""
    return [
        (f"{title} ({nodeid.rpartition('::')[2]})", text)
        for nodeid, told in group.runs.items()
        for title, text in told.get("sections", ())
    ]


def _properties(group: GroupResult) -> list[tuple[str, Any]]:
    """What JUnit says of a group beside its verdict: the tally, the interval, and what its runs took."""
    tally = group.tally
    found: dict[str, Any] = {"verdict": str(group.verdict), "runs": group.rule.n}
    found |= {"passes": tally.passes, "fails": tally.fails, "errors": tally.errors}
    if tally.measured:
        found["interval"] = "{:.3f} to {:.3f}".format(*jeffreys(tally.passes, tally.fails))
    found |= figures(group.runs.values())
    return [(f"convo.{name}", value) for name, value in found.items()]
