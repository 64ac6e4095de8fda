"""A group: the runs of one case, which end in one verdict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

from ..agreement.outcome import Outcome
from ..agreement.verdict import Rule, Tally, Verdict, rule

DECIDED = (Verdict.PASS, Verdict.FAIL)
"""The verdicts that no further run can change; an inconclusive group may yet try its errors again."""


@dataclass
class Group:
    """The runs of one case or test. `id` is the node id of their parent and of their verdict.

    `declared` is the number of runs that the settings ask for; `runs` are the node ids of those that were selected,
    in order: n is their number, and k is computed from it.
    """

    id: str
    declared: int
    agreement: Fraction | Literal["sprt"]
    good: float = 0.95
    bad: float = 0.7
    at_least: Fraction | None = None
    """The share of the runs whose answers must be alike, where they must."""
    full: bool = False
    """Whether all runs are made, though fewer may decide the verdict."""
    first: int = 1
    """The number of the first run."""
    fresh: bool = False
    """Whether these are further runs of a group that has its verdict, made to confirm or dispel a suspicion."""
    identity: Mapping[str, Any] | None = None
    """What is asked and how it is judged, in digests, where a baseline is made or compared with."""
    runs: list[str] = field(default_factory=list)

    @cached_property
    def rule(self) -> Rule:
        """The rule for the selected runs; not to be asked before all of them are known."""
        return rule(len(self.runs), self.agreement, self.good, self.bad, self.at_least)

    @property
    def numbers(self) -> range:
        """The numbers of its runs."""
        return range(self.first, self.first + self.declared)

    def decide(self, tally: Tally) -> Verdict | None:
        """The verdict that the outcomes so far decide, if they do and no further run is wanted."""
        return None if self.full and tally.total < self.rule.n else self.rule.decide(tally)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {run: place for place, run in enumerate(self.runs)}

    def spare(self, run: str) -> bool:
        """Whether the verdict can come without this run, if those before it pass."""
        return not self.full and self._places[run] >= self.rule.first

    def to_report(self) -> dict[str, Any]:
        """What travels with each run's report to where the verdict is made; builtins only, xdist carries no more."""
        told: dict[str, Any] = {
            "group": self.id,
            "n": len(self.runs),
            "declared": self.declared,
            "agreement": self.agreement if self.agreement == "sprt" else str(self.agreement),
            "good": self.good,
            "bad": self.bad,
            "at_least": None if self.at_least is None else str(self.at_least),
            "full": self.full,
        }
        if self.fresh:
            told["fresh"] = True
        return told if self.identity is None else {**told, "identity": self.identity}


_OUTCOMES = {outcome.value: outcome for outcome in Outcome}


def tally_of(words: Iterable[str], alike: tuple[int, ...] = ()) -> Tally:
    """The tally of what is told of runs: outcomes count, and words as `spared` and `skipped` do not.

    `alike` are the sizes of the classes of their answers, where these are compared.
    """
    return replace(Tally.of(_OUTCOMES[word] for word in words if word in _OUTCOMES), alike=alike)


def rule_of(report: Mapping[str, Any]) -> Rule:
    """The rule that a run's report names."""
    agreement, at_least = report["agreement"], report.get("at_least")
    return rule(
        report["n"],
        "sprt" if agreement == "sprt" else Fraction(agreement),
        report["good"],
        report["bad"],
        None if at_least is None else Fraction(at_least),
    )
