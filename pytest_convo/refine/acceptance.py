"""Whether a candidate may take the place of the prompt, and what is claimed of it.

What it was made with proves nothing: attempts were written for the training items and chosen by those of validation.
Only of the holdout, which nobody looked at, is anything claimed (Dwork et al. 2015, "The reusable holdout").
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from ..agreement.gate import SUITE_ALPHA
from ..agreement.interval import jeffreys
from ..agreement.regression import Arm, fisher_p, stratified_p
from ..agreement.suspects import Case, independent
from ..agreement.verdict import Verdict
from .items import Score, Scores, together, verdicts_passed

BETTER_ALPHA = 0.05
"""The chance that a prompt is called better on the holdout where nothing has changed."""

_FEW = 1
"""Runs of a round with which three rounds, however clear, come to p = 1/20."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What the scores before and now show; the figures of the holdout are of items that were measured both times.

    `worse` is the gate's test of the whole suite (VERDICTS 4), of the validation and of the holdout each. `p_better` is
    the same test with the arms swapped: the chance that the holdout does as well as now, if nothing has changed.
    """

    fixed: bool
    """Every training item passes."""
    broken: tuple[str, ...]
    """Items of any part that were a stable pass, or sound, and fail now."""
    worse: bool
    held_before: Arm
    held_now: Arm
    held_items: int
    held_passed_before: int
    held_passed_now: int
    p_better: float
    unmeasured: tuple[str, ...] = ()
    """Items of any part of which nothing is known now."""
    made_with: int = 0
    """The items of training and validation."""

    @property
    def accepted(self) -> bool:
        return self.fixed and not (self.broken or self.worse or self.unmeasured)


def mends(old: Sequence[Score], new: Sequence[Score], *, last: bool = False) -> bool:
    """Whether rounds of runs show that an item passes under a new text, and not by chance.

    By Fisher's test of all its runs (1935), one-sided. With one run a round no outcome could be so clear: then
    it is enough, when no further round is to come, that every round says the same.
    """
    before, now = (sum((score.arm for score in scores), Arm()) for scores in (old, new))
    if fisher_p(now, before) <= SUITE_ALPHA:
        return True
    few = all(score.arm.runs <= _FEW for score in (*old, *new))
    alike = all(score.passed for score in new) and not any(score.passed for score in old)
    return last and few and alike


def prove(
    before: Scores,
    now: Scores,
    training: Sequence[str],
    validation: Sequence[str],
    holdout: Sequence[str],
    *,
    units: Mapping[str, str] | None = None,
    sound: Collection[str] = (),
) -> Proof:
    """Compare a prompt's scores with those of its candidate.

    `sound` are items that passed each time that the prompt was run: they are broken where they fail now, as is every
    stable pass. `units` names the answers that an item reads: of several that read the same, one is evidence (see
    `independent`).
    The tests hold for groups that made all their runs; one that stopped early has fewer of them, by its outcome.
    """
    known = {*training, *validation, *holdout}
    unmeasured = {id_ for id_ in known if not _measured(now, id_)}
    passed = {id_ for id_ in known - unmeasured if id_ in sound or _stable(before, id_)}
    held = _alone(now, before, holdout, units or {})
    return Proof(
        fixed=verdicts_passed(now, training) == len(training),
        broken=tuple(sorted(id_ for id_ in passed if _fails(now, id_))),
        worse=any(_p(before, now, part, units or {}) <= SUITE_ALPHA for part in (validation, holdout)),
        held_before=together(before, held),
        held_now=together(now, held),
        held_items=len(held),
        held_passed_before=verdicts_passed(before, held),
        held_passed_now=verdicts_passed(now, held),
        p_better=_p(now, before, holdout, units or {}),
        unmeasured=tuple(sorted(unmeasured)),
        made_with=len({*training, *validation}),
    )


def claim(proof: Proof) -> list[str]:
    """What may be said to a person of the candidate, in up to three lines; never that it is better without the p."""
    if not proof.held_items:
        return [f"nothing is proved beyond the {_cases(proof.made_with)} that it was made with"]
    before, now = proof.held_before, proof.held_now
    low, high = jeffreys(now.passes, now.fails)
    shown = f"interval {low:.2f} to {high:.2f}, {_compared(proof.p_better)}"
    counts = f"{before.passes} of {before.runs} runs passed before, {now.passes} of {now.runs} now"
    of_cases = f"{proof.held_passed_before} of them passed before, {proof.held_passed_now} now"
    return [
        f"held out, {_cases(proof.held_items)} never shown: {counts} ({shown})",
        f"by their verdicts, {of_cases}",
        _better(proof),
    ]


def _better(proof: Proof) -> str:
    before, now = proof.held_before, proof.held_now
    if proof.p_better <= BETTER_ALPHA:
        return "shown to be better there"
    if now.passes * before.runs < before.passes * now.runs:
        return "not shown to be better there: fewer of the runs passed than before"
    return "not shown to be better there: too few runs, or no difference"


def _p(one: Scores, other: Scores, ids: Sequence[str], units: Mapping[str, str]) -> float:
    """The chance of as few passes in the other, if nothing has changed."""
    return stratified_p((one[id_].arm, other[id_].arm) for id_ in _alone(one, other, ids, units))


def _alone(one: Scores, other: Scores, ids: Sequence[str], units: Mapping[str, str]) -> list[str]:
    """The items that were measured both times, one for all that read the same answers.

    It is the one that did worst in the first arm, which hides a fall from there sooner than it makes one up.
    """
    both = [id_ for id_ in dict.fromkeys(ids) if _measured(one, id_) and _measured(other, id_)]
    cases = [Case(id_, Arm(), one[id_].arm, other[id_].arm, answers=units.get(id_, "")) for id_ in both]
    return [case.id for case in independent(cases)]


def _measured(scores: Scores, id_: str) -> bool:
    return id_ in scores and scores[id_].verdict is not None and scores[id_].arm.runs > 0


def _fails(scores: Scores, id_: str) -> bool:
    return id_ in scores and scores[id_].verdict is Verdict.FAIL


def _stable(scores: Scores, id_: str) -> bool:
    return id_ in scores and scores[id_].stable


def _compared(p: float) -> str:
    """The p-value beside what it is held against."""
    if p < 0.0001:
        return "p < 0.0001"
    return f"p = {p:.2g} {'≤' if p <= BETTER_ALPHA else '>'} {BETTER_ALPHA:g}"


def _cases(number: int) -> str:
    return f"{number} case{'' if number == 1 else 's'}"
