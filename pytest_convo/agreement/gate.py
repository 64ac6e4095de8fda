"""The regression gate: has the suite got worse than its baseline, or one of its cases?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import ceil
from typing import Any

from ..texts import one_line
from .drop import common_drop, largest_drop
from .power import Stratum, smallest_drop
from .regression import Arm, Pair, stratified_p
from .suspects import (
    CASES_ALPHA,
    CONFIRMATION_RUNS,
    Case,
    Suspect,
    could_be_confirmed,
    independent,
    suspects_of,
    suspicious,
)

__all__ = [
    "CONFIRMATION_RUNS",
    "SUITE_ALPHA",
    "Case",
    "Gate",
    "GateResult",
    "Suspect",
    "describe",
    "headline",
    "judge",
    "suspicious",
]

SUITE_ALPHA = 0.025
"""The chance that the test of the suite is red where nothing has changed; with `CASES_ALPHA` it is 0.05 in all."""

_POWER = 0.8
_SHOWN = 10
_TOO_FEW = "too few runs to show anything, even if all had failed now"


class GateResult(StrEnum):
    """What the comparison with a baseline says; `NOT_SHOWN` is not "the same"."""

    REGRESSED = "regressed"
    NOT_SHOWN = "not shown"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True)
class Gate:
    """What was found; `p` is that of the whole suite, `before` and `now` sum up its `cases` comparable cases.

    Drops are differences of pass rates, None where there are none. `drop` is the mean drop of the cases, and
    `largest_drop` its one-sided 95 % bound. `smallest_drop` is the drop in every case that the test of the suite
    would have seen 4 times in 5. `reason` says why the result is inconclusive.
    """

    result: GateResult
    p: float
    cases: int
    same_answers: int
    before: Arm
    now: Arm
    confirmed: tuple[Suspect, ...]
    unconfirmed: tuple[Suspect, ...]
    drop: float | None
    largest_drop: float | None
    smallest_drop: float | None
    non_inferior: float | None = None
    reason: str = ""

    def to_report(self) -> dict[str, Any]:
        """The findings as builtins."""
        return {
            "result": str(self.result),
            "reason": self.reason,
            "p": self.p,
            "cases": self.cases,
            "same_answers": self.same_answers,
            **_counts("before", self.before),
            **_counts("now", self.now),
            "drop": self.drop,
            "largest_drop": self.largest_drop,
            "smallest_drop": self.smallest_drop,
            "non_inferior": self.non_inferior,
            "confirmed": [_report(suspect) for suspect in self.confirmed],
            "unconfirmed": [_report(suspect) for suspect in self.unconfirmed],
        }


def judge(cases: Sequence[Case], *, confirmable: bool, non_inferior: float | None = None) -> Gate:
    """Hold what the cases do now against their baseline; α is 0.05 in all, half of it for each way to regress.

    The suite regresses by `stratified_p` of all runs but the fresh ones, of cases that judge the same answers but one
    (`independent`); a single case where it is suspicious and its
    fresh runs confirm that. Where nothing is `confirmable`, as no run can be made, the suite alone is judged.

    What has not regressed is inconclusive where no outcome would have been a regression, and where fresh runs are
    missing that could have confirmed one. With `non_inferior`, above 0 and below 1, the first is not asked, but that
    `largest_drop` is below it. The order of the cases does not matter.
    """
    if non_inferior is not None and not 0 < non_inferior < 1:
        msg = f"the drop to be excluded is a difference of pass rates, above 0 and below 1, not {non_inferior:g}"
        raise ValueError(msg)
    cases = [case if confirmable else replace(case, confirmation=None) for case in cases if case.is_comparable]
    alone = independent(cases)
    pairs = [(case.before, case.now) for case in alone]
    suspects = suspects_of(cases)
    found = Gate(
        result=GateResult.NOT_SHOWN,
        p=stratified_p(pairs),
        cases=len(cases),
        same_answers=len(cases) - len(alone),
        before=sum((before for before, _ in pairs), Arm()),
        now=sum((now for _, now in pairs), Arm()),
        confirmed=tuple(suspect for suspect in suspects if suspect.is_confirmed),
        unconfirmed=tuple(suspect for suspect in suspects if not suspect.is_confirmed),
        drop=common_drop(pairs),
        largest_drop=largest_drop(pairs),
        smallest_drop=_smallest_drop(pairs),
        non_inferior=non_inferior,
    )
    if found.p <= SUITE_ALPHA or found.confirmed:
        return replace(found, result=GateResult.REGRESSED)
    reason = _undecided(found, cases, confirmable)
    return replace(found, result=GateResult.INCONCLUSIVE, reason=reason) if reason else found


def _smallest_drop(pairs: Sequence[Pair]) -> float | None:
    """From the Jeffreys means of the pass rates before: that a few runs all passed does not prove 100 %."""
    strata = [Stratum((before.passes + 0.5) / (before.runs + 1), before.runs, now.runs) for before, now in pairs]
    return smallest_drop(strata, SUITE_ALPHA, _POWER)


def _undecided(found: Gate, cases: Sequence[Case], confirmable: bool) -> str:
    """Why not even `NOT_SHOWN` can be said; empty where it can."""
    if not cases:
        return "no case can be compared"
    among = len(found.unconfirmed)
    if confirmable and (missed := sum(_is_cut_short(suspect.case, among) for suspect in found.unconfirmed)):
        return f"{_count(missed, 'suspicious case')} could not be run again often enough"
    if found.non_inferior is not None:
        excluded = found.largest_drop is not None and found.largest_drop < found.non_inferior
        return "" if excluded else "the drop may be larger than is allowed"
    return _TOO_FEW if is_blind(cases, confirmable) else ""


def is_blind(cases: Sequence[Case], confirmable: bool) -> bool:
    """Whether the gate could not have regressed, even if all runs had failed now."""
    at_worst = [replace(case, now=Arm(0, case.now.runs)) for case in cases]
    if confirmable and any(case.is_suspicious and could_be_confirmed(case) for case in at_worst):
        return False
    return stratified_p((case.before, case.now) for case in at_worst) > SUITE_ALPHA


def _is_cut_short(case: Case, among: int) -> bool:
    """Whether the fresh runs that were made are too few to confirm the case, and all of them would have been enough."""
    made = case.confirmation.runs if case.confirmation else 0
    return could_be_confirmed(case, among) and not could_be_confirmed(case, among, made)


def _report(suspect: Suspect) -> dict[str, Any]:
    case = suspect.case
    fresh = _counts("fresh", case.confirmation) if case.confirmation else {}
    return {"id": case.id, "p": suspect.p, **_counts("before", case.before), **_counts("now", case.now), **fresh}


def _counts(when: str, arm: Arm) -> dict[str, int]:
    return {f"passes_{when}": arm.passes, f"runs_{when}": arm.runs}


def describe(gate: Gate) -> str:
    """The whole paragraph: the result and what it rests on, the cases that stand out, what could have been seen."""
    details = [
        *_listed("confirmed by fresh runs", gate.confirmed),
        *_listed("suspicious, not confirmed", gate.unconfirmed),
        *_limits(gate),
    ]
    return "\n".join([headline(gate), *(f"  {detail}" for detail in details)])


def headline(gate: Gate) -> str:
    """One line: the result, why it is inconclusive if it is, and what all cases together did."""
    parts = [gate.reason] if gate.reason else []
    if gate.cases:
        now = f"{gate.now.passes} of {gate.now.runs} now ({_change(gate.drop or 0.0)})"
        parts.append(f"{_passed(gate.before)} before, {now}, {_compared(gate.p, SUITE_ALPHA)}")
    if gate.confirmed:
        parts.append(f"{_count(len(gate.confirmed), 'case')} confirmed by fresh runs")
    return f"{gate.result.upper()}: {'; '.join(parts)}"


def _listed(title: str, suspects: Sequence[Suspect]) -> Iterator[str]:
    if suspects:
        yield f"{title}:"
        yield from (f"  {_suspect(suspect)}" for suspect in suspects[:_SHOWN])
    if len(suspects) > _SHOWN:
        yield f"  and {len(suspects) - _SHOWN} more"


def _suspect(suspect: Suspect) -> str:
    case, fresh = suspect.case, suspect.case.confirmation
    told = f"{one_line(case.id)}: {_passed(case.before)} before, {case.now.passes} of {case.now.runs} now"
    if fresh is None or suspect.p is None:
        return told
    return f"{told}, {fresh.passes} of {fresh.runs} run again, {_compared(suspect.p, CASES_ALPHA)}"


def _limits(gate: Gate) -> Iterator[str]:
    """What the comparison leaves possible, and what it could have seen: never to be read as "the same"."""
    if gate.same_answers:
        verb = "judges" if gate.same_answers == 1 else "judge"
        yield f"{_count(gate.same_answers, 'case')} {verb} the same answers as another: these count once"
    if gate.largest_drop is not None and gate.result is not GateResult.REGRESSED:
        asked = "" if gate.non_inferior is None else f"; below {100 * gate.non_inferior:g} is asked for"
        yield f"the mean drop is {100 * max(0.0, gate.largest_drop):.1f} points at most (one-sided 95 % bound){asked}"
    if gate.smallest_drop is not None:
        yield f"a drop of {_count(ceil(100 * gate.smallest_drop), 'point')} in every case would be seen 4 times in 5"
    elif gate.cases:
        yield "no drop, however large, would be seen 4 times in 5: make more runs"


def _change(drop: float) -> str:
    points = round(-100 * drop)
    return f"{points:+} point{'' if abs(points) == 1 else 's'}" if points else "±0 points"


def _passed(arm: Arm) -> str:
    return f"{arm.passes} of {_count(arm.runs, 'run')} passed"


def _compared(p: float, alpha: float) -> str:
    """The p-value beside what it is held against."""
    if p < 0.0001:
        return "p < 0.0001"
    return f"p = {round(p, 4):g} {'≤' if p <= alpha else '>'} {alpha:g}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
