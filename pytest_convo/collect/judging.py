"""Who is asked about the replies of a conversation: its judge, and what measures how alike two texts are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..agreement.verdict import rule
from ..bot.deadline import untimed
from ..bot.factory import PROVIDERS, make_similarity_model
from ..check.equivalence import joining, key_of, verify
from ..check.judged import ApprovedByJudge, Judged
from ..check.similar import SimilarByMeaning
from ..errors import CheckError, SettingsError
from ..judge.judge import Judge, judge_bot
from ..judge.question import INSTRUCTIONS, SAME, nearest
from ..judge.same import SameJudge
from ..run.alike import Likeness
from ..run.measure import within
from ..settings.model import AgreeSettings
from .models import judge_maker
from .probing import Probed, Probing
from .recordings import of_answers
from .state import State

if TYPE_CHECKING:
    from ..bot.model import Around, ChatModel
    from ..check.base import AskingCheck
    from ..check.equivalence import Join
    from ..check.run import Checks
    from ..conversation.message import Message
    from ..redaction import Redactor
    from ..settings.expect import Criterion, Similarity
    from ..settings.model import Settings


@dataclass(frozen=True, slots=True)
class Judging:
    """Makes what asks a model about the replies of one conversation, or of one case of it."""

    state: State
    directory: Path
    case: str | None
    settings: Settings
    hook: Any
    redactor: Redactor

    def judged(self, criterion: Criterion, approved: Message | None) -> AskingCheck:
        """The check by a criterion; where judges are checked first, one that needs its judge to have passed."""
        judge = self._judge(criterion)
        check = Judged(criterion.criterion, judge, self._template(INSTRUCTIONS), self.settings.vars)
        verified(lambda: check.identity)  # the template is rendered here, so that a mistake in it is told
        if not self.state.options.judge_check:
            return check
        return Probed(check, Probing.of(self.state, self.directory, self.settings, self.redactor, approved))

    def approved(self, text: str) -> AskingCheck:
        """The check whether the reply says the same as an approved text."""
        check = ApprovedByJudge(text, self._same())
        verified(lambda: check.identity)
        return check

    def similar(self, similarity: Similarity) -> AskingCheck:
        """The check of how similar a reply is to a text, in meaning."""
        verified(self._similarity)
        model = self.settings.embeddings.model
        assert model is not None
        return SimilarByMeaning(similarity.to, similarity.at_least, model, self._similarity)

    def likeness(self) -> Likeness | None:
        """When two answers say the same; None where `[agree]` says nothing of it.

        Raises `CheckError` for what cannot be asked.
        """
        agree = self.settings.agree
        if agree == AgreeSettings():
            return None
        key = key_of(agree)
        if key is not None:
            return Likeness(key)
        verify(agree)
        if agree.by == "judge":
            verified(lambda: self._same().instructions)
        return Likeness(None, self._join, self._answers)

    def recordings(self, checks: Checks, likeness: Likeness | None) -> tuple[Path, ...]:
        """The recordings that are of no single run."""
        answers = [self._answers().path] if likeness is not None and likeness.join is not None else []
        probed = [check for several in checks.values() for check in several if isinstance(check, Probed)]
        return (*answers, *(check.recording.path for check in probed))

    def _answers(self) -> Any:
        return of_answers(self.state, self.directory, self.case, self.redactor)

    def _join(self, around: Around) -> Join:
        """What compares answers; a judge is not asked about those that are too unlike in meaning to say the same.

        The limit of a run's time holds for each question and each answer, not for those of all runs together.
        """
        agree, same = self.settings.agree, self._same() if self.settings.agree.by == "judge" else None

        async def judged(one: str, other: str) -> bool:
            assert same is not None
            with untimed():
                async with within(self.settings.timeout):
                    return await self._may_be_alike(one, other, around) and await same.same(one, other, around)

        async def timed(classes: Sequence[Sequence[str]], new: str) -> int:
            assert join is not None
            with untimed():
                async with within(self.settings.timeout):
                    return await join(classes, new)

        join = joining(agree, judged)
        return timed

    async def _may_be_alike(self, one: str, other: str, around: Around) -> bool:
        from ..bot.embedding import similarity

        embeddings = self.settings.embeddings
        if embeddings.model is None:
            return True
        return await similarity(around(self._similarity), embeddings.model, one, other) >= embeddings.differ_below

    def _same(self) -> SameJudge:
        return SameJudge(self._judge(None), self._template(SAME), self.settings.vars)

    def _judge(self, criterion: Criterion | None) -> Judge:
        own, bot = self.settings.judge, judge_bot(self.settings, criterion)
        if bot.model is None and bot.provider in PROVIDERS and bot.provider != "scripted":
            msg = "no model is set for the judge"
            raise CheckError(msg, hint="set `model` in [judge] of a convo.toml, or in [bot]")
        make = judge_maker(self.state, self.settings, bot, self.directory, self.case, self.hook, self.redactor)
        verified(partial(make, 1))
        runs, agreement = own.runs, own.agreement
        if criterion is not None:
            runs, agreement = criterion.runs or runs, criterion.agreement or agreement
        return Judge(make, bot, rule(runs, agreement, self.settings.good, self.settings.bad), own.output)

    def _template(self, name: str) -> Path | None:
        named = self.settings.judge.prompt if name == INSTRUCTIONS else None
        return named or nearest(name, self.directory, self.state.config.rootpath)

    def _similarity(self) -> ChatModel:
        return make_similarity_model(self.settings, meter=self.state.runs.meter, redactor=self.redactor)


def verified(make: Callable[[], Any]) -> None:
    """Raise as a `CheckError` what the settings have wrong, so that it is told with their place."""
    try:
        make()
    except SettingsError as error:
        raise CheckError(error.what, path=error.path, line=error.line, hint=error.hint) from None
