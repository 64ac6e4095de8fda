"""From the outcomes of the runs to one verdict of their group."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Literal, Protocol

from .outcome import Outcome
from .threshold import needed


class Verdict(StrEnum):
    """What a group's runs prove together."""

    PASS = "pass"
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True)
class Tally:
    """How many runs of a group have ended, by outcome."""

    passes: int = 0
    fails: int = 0
    errors: int = 0

    @classmethod
    def of(cls, outcomes: Iterable[Outcome]) -> Tally:
        """The tally of `outcomes`, whose order does not matter."""
        count = Counter(outcomes)
        return cls(count[Outcome.PASS], count[Outcome.FAIL], count[Outcome.ERROR])

    def add(self, outcome: Outcome) -> Tally:
        """The tally with one more run."""
        return Tally(
            self.passes + (outcome == Outcome.PASS),
            self.fails + (outcome == Outcome.FAIL),
            self.errors + (outcome == Outcome.ERROR),
        )

    @property
    def measured(self) -> int:
        """The runs that say something about the bot: an error says nothing."""
        return self.passes + self.fails

    @property
    def total(self) -> int:
        return self.passes + self.fails + self.errors


class Rule(Protocol):
    """When a group is decided, and how."""

    @property
    def n(self) -> int:
        """The most runs that may be made."""

    @property
    def first(self) -> int:
        """The fewest passes that can be a PASS: so many runs may start at once without starting one too many."""

    @property
    def text(self) -> str:
        """What the rule asks for, in words that stand by themselves: "needs 4 of 5"."""

    @property
    def demand(self) -> str:
        """The same behind a tally: "4 needed"."""

    def decide(self, tally: Tally) -> Verdict | None:
        """The verdict, or None while it is open; to be asked after every run.

        INCONCLUSIVE comes only when nothing is left to run: where errors are tried again, ask with the tally in
        which the new outcomes stand in their place. The first PASS or FAIL holds, whatever ends after it.
        """


@dataclass(frozen=True, slots=True)
class Agreement:
    """PASS ⇔ at least `k` of `n` runs pass; FAIL ⇔ so many fail that k passes are out of reach.

    Hence a PASS holds even if each error had been a fail, and a FAIL even if each had been a pass; and judging after
    every run (curtailment) decides as all n runs would have decided, in whatever order they end.
    """

    n: int
    k: int

    def __post_init__(self) -> None:
        if not 1 <= self.k <= self.n:
            msg = f"between 1 and all of the {self.n} runs can be needed, not {self.k}"
            raise ValueError(msg)

    @property
    def first(self) -> int:
        return self.k

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


def rule(n: int, agreement: Fraction | Literal["sprt"], good: float = 0.95, bad: float = 0.7) -> Rule:
    """The rule for the `n` runs that were selected; `good` and `bad` are the sequential test's."""
    if agreement == "sprt":
        return SequentialTest(n, good, bad)
    return Agreement(n, needed(n, agreement))


def label(tally: Tally, verdict: Verdict) -> str:
    """Stable or flaky pass, flaky or stable fail, or inconclusive: a group is stable whose measured runs agree."""
    if verdict == Verdict.INCONCLUSIVE:
        return "inconclusive"
    contrary = tally.fails if verdict == Verdict.PASS else tally.passes
    return f"{'flaky' if contrary else 'stable'} {verdict}"
