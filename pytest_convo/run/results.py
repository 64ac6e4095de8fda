"""What the session has found so far, where results are reported: the controller, or the only process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..agreement.describe import GroupReport, RunReport
from ..agreement.outcome import Outcome
from ..agreement.verdict import Rule, Tally, Verdict
from .group import rule_of, tally_of

Told = Mapping[str, Any]
"""What a run's report tells of it: builtins only."""

_MEASURED = {outcome.value: outcome for outcome in Outcome}


@dataclass
class GroupResult:
    """A group as its runs come in. `runs` is keyed by node id: xdist may report one crash several times."""

    id: str
    rule: Rule
    declared: int
    full: bool = False
    """Whether the verdict waits for all runs."""
    runs: dict[str, Told] = field(default_factory=dict)
    verdict: Verdict | None = None
    """None until it is decided, and for good where the session ended before."""

    @property
    def tally(self) -> Tally:
        return tally_of(told["outcome"] for told in self.runs.values())

    @property
    def ended(self) -> bool:
        """Whether nothing is left to run, whatever came of it."""
        return len(self.runs) >= self.rule.n

    @property
    def measured(self) -> bool:
        """Whether any run was made at all."""
        return any(told["outcome"] != "skipped" for told in self.runs.values())

    def to_report(self) -> GroupReport:
        """The group as it is described to a person; only once it has its verdict."""
        assert self.verdict is not None
        runs = sorted(self.runs.items(), key=lambda run: _number(run[0]))
        made = tuple(_run(nodeid, told) for nodeid, told in runs if told["outcome"] != "skipped")
        return GroupReport(self.verdict, self.rule, self.declared, made)


@dataclass
class Results:
    """All groups and runs of the session, in the order in which they were first heard of."""

    groups: dict[str, GroupResult] = field(default_factory=dict)

    def add(self, nodeid: str, told: Told) -> GroupResult:
        """Enter what a run's report tells, in place of what was told of the same run before."""
        group = self.groups.get(told["group"])
        if group is None:
            group = self.groups[told["group"]] = GroupResult(told["group"], rule_of(told), told["declared"], told["full"])
        if not group.runs.get(nodeid, {}).get("again"):  # the retry may be heard of before the run itself
            group.runs[nodeid] = told
        for again in told.get("retried", ()):
            group.runs[again["run"]] = {**again, "again": True}
        return group

    @property
    def runs(self) -> dict[str, Told]:
        """Every run that was reported, by node id."""
        return {nodeid: told for group in self.groups.values() for nodeid, told in group.runs.items()}

    @property
    def transcripts(self) -> dict[str, Told]:
        """One run for each transcript that was made: two items may have read the same one."""
        return {told["transcript"]: told for told in self.runs.values() if "transcript" in told}


def _number(nodeid: str) -> int:
    return int(nodeid.rpartition("-")[2])


def _run(nodeid: str, told: Told) -> RunReport:
    return RunReport(
        run=nodeid.rpartition("::")[2],
        outcome=_MEASURED.get(told["outcome"]),
        reason=told.get("reason", ""),
        answer=told.get("answer", ""),
        seconds=told.get("seconds", 0.0),
        retried=told.get("again", False),
    )
