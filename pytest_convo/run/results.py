"""What the session has found so far, where results are reported: the controller, or the only process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..agreement.describe import GroupReport, RunReport
from ..agreement.outcome import Outcome
from ..agreement.verdict import Rule, Tally, Verdict
from ..conversation.reply import Usage
from .group import rule_of, tally_of
from .ledger import sizes
from .spending import Spent

FIGURES = ("calls", "replayed", "tokens", "usd")

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
    alike: dict[str, str] = field(default_factory=dict)
    """The class of each run's answer, where the answers are compared."""
    not_compared: str = ""
    """Why the answers could not be compared, where they were to be."""

    @property
    def tally(self) -> Tally:
        return tally_of((told["outcome"] for told in self.runs.values()), sizes(filter(None, self.alike.values())))

    @property
    def ended(self) -> bool:
        """Whether nothing is left to run, whatever came of it."""
        return len(self.runs) >= self.rule.n

    @property
    def measured(self) -> bool:
        """Whether any run was made at all."""
        return any(told["outcome"] != "skipped" for told in self.runs.values())

    @property
    def settled(self) -> Verdict | None:
        """The verdict; a single run is its own, and what was not finished has none."""
        return self.rule.decide(self.tally) if self.rule.n == 1 else self.verdict

    def to_report(self) -> GroupReport:
        """The group as it is described to a person; only once it has its verdict."""
        verdict = self.settled
        assert verdict is not None
        runs = sorted(self.runs.items(), key=lambda run: _number(run[0]))
        made = tuple(
            _run(nodeid, told, self.alike.get(nodeid, "")) for nodeid, told in runs if told["outcome"] != "skipped"
        )
        return GroupReport(verdict, self.rule, self.declared, made, skipped=len(runs) - len(made))


@dataclass
class Results:
    """All groups and runs of the session, in the order in which they were first heard of."""

    groups: dict[str, GroupResult] = field(default_factory=dict)
    judge_checks: list[Told] = field(default_factory=list)
    """How judges did in their self-tests."""
    books: Spent | None = None
    """What the session spent by its own books, where they can be read: they know of cancelled calls too."""

    def add(self, nodeid: str, told: Told) -> GroupResult:
        """Enter what a run's report tells, in place of what was told of the same run before."""
        group = self.groups.get(told["group"])
        if group is None:
            group = GroupResult(told["group"], rule_of(told), told["declared"], told["full"])
            self.groups[group.id] = group
        if not group.runs.get(nodeid, {}).get("again"):  # the retry may be heard of before the run itself
            group.runs[nodeid] = told
            _compare(group, told)
        for again in told.get("retried", ()):
            group.runs[again["run"]] = {**again, "again": True}
            _compare(group, again)
        for one in (told, *told.get("retried", ())):
            self.judge_checks += one.get("judge_checks", ())
        return group

    @property
    def runs(self) -> dict[str, Told]:
        """Every run that was reported, by node id."""
        return {nodeid: told for group in self.groups.values() for nodeid, told in group.runs.items()}

    @property
    def transcripts(self) -> dict[str, Told]:
        """One run for each transcript that was made: two items may have read the same one."""
        return {told["transcript"]: told for told in self.runs.values() if "transcript" in told}

    @property
    def spent(self) -> Spent:
        """What the session spent: by its books, or where these are not whole, as far as its runs have told."""
        told = spent_by(self.transcripts.values())
        return told if self.books is None or self.books.calls < told.calls else self.books


def _compare(group: GroupResult, told: Told) -> None:
    """Enter the classes of answers that a run's report tells."""
    group.alike.update(told.get("alike", {}))
    group.not_compared = told.get("not_compared", group.not_compared)


def spent_by(runs: Iterable[Told]) -> Spent:
    """What these runs have told of what they spent."""
    runs = list(runs)
    return Spent(
        calls=sum(told.get("requests", 0) for told in runs),
        billed=_usage(runs, "billed"),
        accepted=_usage(runs, "tokens"),
        usd=sum(told.get("usd") or 0.0 for told in runs),
        unpriced=Counter(model for told in runs for model in told.get("unpriced", ())),
        uncounted=sum(told.get("uncounted", 0) for told in runs),
    )


def figures(runs: Iterable[Told]) -> dict[str, Any]:
    """What runs took, for programs: each of `FIGURES` that is known of any of them, summed."""
    found: dict[str, Any] = {}
    for told in runs:
        tokens = told.get("tokens")
        amounts = (told.get("requests"), told.get("replayed"), sum(tokens) if tokens else None, told.get("usd"))
        for name, amount in zip(FIGURES, amounts, strict=True):
            if amount is not None:
                found[name] = round(found.get(name, 0) + amount, 9)
    return found


def _usage(runs: Iterable[Told], key: str) -> Usage:
    found = [told[key] for told in runs if told.get(key)]
    return Usage(sum(sent for sent, _ in found), sum(received for _, received in found))


def _number(nodeid: str) -> int:
    return int(nodeid.rpartition("-")[2])


def _run(nodeid: str, told: Told, alike: str) -> RunReport:
    return RunReport(
        run=nodeid.rpartition("::")[2],
        outcome=_MEASURED.get(told["outcome"]),
        reason=told.get("reason", ""),
        answer=told.get("answer", ""),
        seconds=told.get("seconds", 0.0),
        retried=told.get("again", False),
        replayed=bool(told.get("replayed")) and not told.get("requests"),
        alike=alike,
    )
