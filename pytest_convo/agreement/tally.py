"""What the runs of a group came to so far, and what may be made of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol

from .outcome import Outcome


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
    alike: tuple[int, ...] = ()
    """The sizes of the classes of answers so far, the largest first, where these are compared.

    A run that was measured and gave no answer is a class by itself; an error is in none.
    """

    @classmethod
    def of(cls, outcomes: Iterable[Outcome]) -> Tally:
        """The tally of `outcomes`, whose order does not matter."""
        count = Counter(outcomes)
        return cls(count[Outcome.PASS], count[Outcome.FAIL], count[Outcome.ERROR])

    def add(self, outcome: Outcome) -> Tally:
        """The tally with one more run; which class its answer is in is another matter."""
        return replace(
            self,
            passes=self.passes + (outcome == Outcome.PASS),
            fails=self.fails + (outcome == Outcome.FAIL),
            errors=self.errors + (outcome == Outcome.ERROR),
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
