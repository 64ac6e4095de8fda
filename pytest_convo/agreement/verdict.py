"""From the outcomes of the runs to one verdict of their group."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from .answers import Alike, Both
from .tally import Rule, Tally, Verdict
from .threshold import KOfN, needed

__all__ = ["Agreement", "Rule", "SequentialTest", "Tally", "Verdict", "label", "rule"]


@dataclass(frozen=True, slots=True)
class Agreement(KOfN):
    """PASS ⇔ at least `k` of `n` runs pass; FAIL ⇔ so many fail that k passes are out of reach.

    Hence a PASS holds even if each error had been a fail, and a FAIL even if each had been a pass; and judging after
    every run (curtailment) decides as all n runs would have decided, in whatever order they end.
    """

    @property
    def text(self) -> str:
        return f"needs {self.k} of {self.n}"

    @property
    def demand(self) -> str:
        return f"{self.k} needed"

    def decide(self, tally: Tally) -> Verdict | None:
        if tally.passes >= self.k:
            return Verdict.PASS
        if tally.fails > self.n - self.k:
            return Verdict.FAIL
        return Verdict.INCONCLUSIVE if tally.total >= self.n else None


@dataclass(frozen=True, slots=True)
class SequentialTest:
    """Wald's sequential probability ratio test (Wald 1945) of pass rate `good` against pass rate `bad`.

    With L = (good/bad)^P · ((1−good)/(1−bad))^F: PASS ⇔ L ≥ (1−alpha)/beta, FAIL ⇔ L ≤ alpha/(1−beta). `alpha` is
    about the chance that a good bot fails, `beta` that a bad one passes. At most `n` runs; then INCONCLUSIVE.
    """

    n: int
    good: float = 0.95
    bad: float = 0.7
    alpha: float = 0.05
    beta: float = 0.05

    def __post_init__(self) -> None:
        if self.n < 1:
            msg = f"a group has at least one run, not {self.n}"
            raise ValueError(msg)
        if not 0 < self.bad < self.good < 1:
            msg = f"the pass rates must be 0 < bad < good < 1, not bad = {self.bad:g} and good = {self.good:g}"
            raise ValueError(msg)
        if not (0 < self.alpha < 0.5 and 0 < self.beta < 0.5):
            msg = f"the error rates must be above 0 and below 0.5, not {self.alpha:g} and {self.beta:g}"
            raise ValueError(msg)

    @property
    def shortest(self) -> int:
        """How many passes without a fail accept; with fewer than so many runs, nothing can pass."""
        return math.ceil(self._upper / math.log(self.good / self.bad))

    @property
    def first(self) -> int:
        return min(self.shortest, self.n)

    @property
    def text(self) -> str:
        return f"sequential test of {self.good:g} against {self.bad:g}, at most {self.n} runs"

    @property
    def demand(self) -> str:
        return f"sequential test of {self.good:g} against {self.bad:g}"

    def decide(self, tally: Tally) -> Verdict | None:
        evidence = self._evidence(tally)
        if evidence >= self._upper:
            return Verdict.PASS
        if evidence <= self._lower:
            return Verdict.FAIL
        return Verdict.INCONCLUSIVE if tally.total >= self.n else None

    def _evidence(self, tally: Tally) -> float:
        """The logarithm of the likelihood ratio of `good` to `bad`."""
        of_pass = math.log(self.good / self.bad)
        of_fail = math.log((1 - self.good) / (1 - self.bad))
        return tally.passes * of_pass + tally.fails * of_fail

    @property
    def _upper(self) -> float:
        return math.log((1 - self.alpha) / self.beta)

    @property
    def _lower(self) -> float:
        return math.log(self.alpha / (1 - self.beta))


def rule(
    n: int,
    agreement: Fraction | Literal["sprt"],
    good: float = 0.95,
    bad: float = 0.7,
    at_least: Fraction | None = None,
) -> Rule:
    """The rule for the `n` runs that were selected; `good` and `bad` are the sequential test's.

    With `at_least`, so many answers must be alike as well; that of a single run has no other to agree with.
    """
    correct = SequentialTest(n, good, bad) if agreement == "sprt" else Agreement(n, needed(n, agreement))
    return correct if at_least is None or n == 1 else Both(correct, Alike(n, needed(n, at_least)))


def label(tally: Tally, verdict: Verdict) -> str:
    """Stable or flaky pass, flaky or stable fail, or inconclusive: a group is stable whose measured runs agree."""
    if verdict == Verdict.INCONCLUSIVE:
        return "inconclusive"
    contrary = tally.fails if verdict == Verdict.PASS else tally.passes
    return f"{'flaky' if contrary else 'stable'} {verdict}"
