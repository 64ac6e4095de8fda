"""A judge: asked as often as its agreement needs, it passes a reply, fails it, or cannot tell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING

from ..agreement.outcome import Outcome
from ..agreement.verdict import Rule, Tally, Verdict
from ..bot.events import tell
from ..bot.model import Around, ChatModel
from ..errors import UnusableVerdict
from ..prompt.request import Request
from ..prompt.stack import Stack
from .forms import FORMS, Output, Place, ask, request
from .question import Question
from .verdict import Judgement, read

if TYPE_CHECKING:
    from ..settings.bots import BotSettings
    from ..settings.expect import Criterion
    from ..settings.model import Settings


@dataclass(frozen=True, slots=True)
class Decision:
    """What a judge decided: the verdict of its agreement, each judgement, and what was no verdict."""

    verdict: Verdict
    judgements: tuple[Judgement, ...]
    unusable: tuple[UnusableVerdict, ...] = ()

    @property
    def tally(self) -> Tally:
        passes = sum(judgement.passed for judgement in self.judgements)
        return Tally(passes, len(self.judgements) - passes, len(self.unusable))

    @property
    def because(self) -> Judgement:
        """The first judgement that says what the verdict says; of a verdict that says pass or fail."""
        return next(one for one in self.judgements if one.passed == (self.verdict is Verdict.PASS))


@dataclass(frozen=True, slots=True)
class Judge:
    """Who judges, and when it has decided: `make` gives the model for run i, `rule` how many judgements must agree."""

    make: Callable[[int], ChatModel]
    bot: BotSettings
    rule: Rule
    output: Output = "auto"
    refused: set[Place] = field(default_factory=set)
    """Which forms of asking which servers are known to refuse: shared by all judges of a session."""
    stack: Stack = field(default_factory=Stack)
    """Who the judge is, before what it is asked."""

    @property
    def calls(self) -> tuple[int, int]:
        """How many calls a decision takes at least and at most, when none fails and each gives a verdict."""
        alike = ((Tally(passes=number), Tally(fails=number)) for number in range(1, self.rule.n))
        least = (number for number, both in enumerate(alike, 1) if any(map(self.rule.decide, both)))
        return next(least, self.rule.n), self.rule.n

    @property
    def identity(self) -> list[object]:
        """What makes it the same judge tomorrow."""
        bot = self.bot
        told = [self.stack.system] if self.stack.parts else []
        return [bot.model, bot.provider, bot.temperature, dict(bot.request), self.output, self.rule.text, *told]

    def preview(self, question: Question) -> Request:
        """The request that is made first."""
        return request(question, self.bot, FORMS[0] if self.output == "auto" else self.output, self.stack)

    async def decide(self, question: Question, around: Around, run: int = 1) -> Decision:
        """Ask, one judgement after the other, until the rest cannot change the verdict.

        What is no verdict is asked for once more, and is then an error among the judgements. Raises what the model
        raises.
        """
        asking, judgements = self.asking(run), list[Judgement]()
        unusable: list[UnusableVerdict] = []
        tally = Tally()
        while (verdict := self.rule.decide(tally)) is None:
            try:
                judgement = await asking.judge(question, around)
            except UnusableVerdict as error:
                unusable.append(error)
                tally = tally.add(Outcome.ERROR)
            else:
                judgements.append(judgement)
                tally = tally.add(Outcome.PASS if judgement.passed else Outcome.FAIL)
        return Decision(verdict, tuple(judgements), tuple(unusable))

    def asking(self, run: int = 1) -> Asking:
        """One model of this judge, made when it is first asked."""
        return Asking(self.bot, self.output, cache(partial(self.make, run)), self.refused, self.stack)


@dataclass(frozen=True, slots=True)
class Asking:
    """A judge in person: all that is asked here, one model is asked."""

    bot: BotSettings
    output: Output
    make: Callable[[], ChatModel]
    refused: set[Place]
    stack: Stack = field(default_factory=Stack)

    async def judge(self, question: Question, around: Around) -> Judgement:
        """One judgement; `UnusableVerdict` where the second answer is no verdict either."""
        try:
            return await self._once(question, around)
        except UnusableVerdict:
            return await self._once(question, around)

    async def _once(self, question: Question, around: Around) -> Judgement:
        reply = await ask(question, self.bot, self.output, self.make, around, self.refused, self.stack)
        try:
            judgement = read(reply, question.held)
        except UnusableVerdict as error:
            tell("judgement", about=question.about, verdict=None, reason=str(error), replayed=reply.replayed)
            raise
        verdict = "pass" if judgement.passed else "fail"
        told = {"verdict": verdict, "reason": judgement.reason, "evidence": judgement.evidence}
        tell("judgement", about=question.about, **told, replayed=reply.replayed)
        return judgement


def judge_bot(settings: Settings, criterion: Criterion | None = None) -> BotSettings:
    """The bot that judges: what `[judge]` says of it, and where that is silent the bot's own."""
    return settings.judge.of(settings.bot, criterion.model if criterion is not None else None)
