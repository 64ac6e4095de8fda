"""When a group is decided by its answers: so many of them must be alike."""

from __future__ import annotations

from dataclasses import dataclass

from .tally import Rule, Tally, Verdict
from .threshold import KOfN


@dataclass(frozen=True, slots=True)
class Alike(KOfN):
    """PASS ⇔ `k` of `n` answers at least are alike, and of no other kind there are as many; FAIL ⇔ k are out of reach.

    Runs without an answer, errors and those to come, may turn out in any way: a PASS holds even if all of them were
    like the second largest class, a FAIL even if all were like the largest. So judging after every run decides as all
    n answers would have decided, in whatever order they come. A tie for first is INCONCLUSIVE.

    That is so where saying the same is an equivalence. Where two answers are compared at a time, an answer that was an
    error at first may join, or open, another class than it would have in its place, and so may those after it.
    """

    @property
    def text(self) -> str:
        return f"needs {self.k} of {self.n} answers alike"

    @property
    def demand(self) -> str:
        return f"{self.k} answers alike needed"

    def decide(self, tally: Tally) -> Verdict | None:
        largest, second, *_ = (*tally.alike, 0, 0)
        open_ = self.n - sum(tally.alike)
        if largest >= self.k and largest > second + open_:
            return Verdict.PASS
        if largest + open_ < self.k:
            return Verdict.FAIL
        return Verdict.INCONCLUSIVE if tally.total >= self.n else None


@dataclass(frozen=True, slots=True)
class Both:
    """The runs must be `correct`, and their `answers` alike: PASS where both are, FAIL where either fails.

    A sequential test is asked about all runs so far, and does not remember that it would have ended earlier. It may
    then stay open where it had decided; its chances of error remain within Wald's bounds, for these hold of its ever
    having crossed the line.
    """

    correct: Rule
    answers: Alike

    def __post_init__(self) -> None:
        if self.correct.n != self.answers.n:
            msg = f"the two are of the same runs, not of {self.correct.n} and of {self.answers.n}"
            raise ValueError(msg)

    @property
    def n(self) -> int:
        return self.answers.n

    @property
    def first(self) -> int:
        return max(self.correct.first, self.answers.first)

    @property
    def text(self) -> str:
        return f"{self.correct.text}, and {self.answers.k} of {self.n} answers alike"

    @property
    def demand(self) -> str:
        return f"{self.correct.demand}, and {self.answers.k} answers alike"

    def decide(self, tally: Tally) -> Verdict | None:
        verdicts = self.correct.decide(tally), self.answers.decide(tally)
        if Verdict.FAIL in verdicts:
            return Verdict.FAIL
        if verdicts == (Verdict.PASS, Verdict.PASS):
            return Verdict.PASS
        return Verdict.INCONCLUSIVE if tally.total >= self.n else None


def correctness(rule: Rule) -> Rule:
    """The part of a rule that asks how many runs pass: all of it, where it does not ask about the answers."""
    return rule.correct if isinstance(rule, Both) else rule


def fails_by_answers(rule: Rule, tally: Tally) -> bool:
    """Whether the answers agree so little that it is a FAIL, however many runs had passed."""
    return isinstance(rule, Both) and rule.answers.decide(tally) is Verdict.FAIL
