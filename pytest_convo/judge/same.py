"""Whether two texts say the same, as a judge sees it who is asked in both directions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..agreement.classes import normalise
from ..agreement.verdict import Verdict
from ..bot.model import Around
from ..errors import UnusableVerdict
from ..prompt.request import Request
from .judge import Judge
from .question import Question, about_two


@dataclass(frozen=True, slots=True)
class SameJudge:
    """Tells whether texts say the same; each direction of a pair is asked once, and remembered."""

    judge: Judge
    template: Path | None = None
    variables: Mapping[str, Any] = field(default_factory=dict)
    known: dict[tuple[str, str], bool] = field(default_factory=dict)
    """What it said of each direction of each pair."""

    @property
    def instructions(self) -> str:
        """What the judge is told about two empty texts: the same for the same template and variables."""
        return self._question("", "").instructions

    def preview(self, one: str, other: str) -> Request:
        """The request that is made first about two texts that are not equal in words."""
        return self.judge.preview(self._question(one, other))

    async def same(self, one: str, other: str, around: Around, run: int = 1) -> bool:
        """Whether each of the two says what the other says; equal after normalising they do, and nobody is asked.

        A judge prefers what it reads first, or last: only if both directions agree that the two are the same are they.
        Raises `UnusableVerdict` where one of them gives no verdict, and what the model raises.
        """
        if normalise(one) == normalise(other):
            return True
        return await self._says(one, other, around, run) and await self._says(other, one, around, run)

    async def _says(self, first: str, second: str, around: Around, run: int) -> bool:
        """Whether the second text says the same as the first."""
        if (first, second) not in self.known:
            decision = await self.judge.decide(self._question(first, second), around, run)
            if decision.verdict is Verdict.INCONCLUSIVE:
                raise _undecided(decision.unusable)
            self.known[first, second] = decision.verdict is Verdict.PASS
        return self.known[first, second]

    def _question(self, first: str, second: str) -> Question:
        return about_two(first, second, template=self.template, variables=self.variables)


def _undecided(unusable: tuple[UnusableVerdict, ...]) -> UnusableVerdict:
    if unusable:
        return unusable[0]
    return UnusableVerdict("the judge could not decide whether the two texts say the same")
