"""Who is asked about the replies of a conversation: its judge, and what measures how alike two texts are.

Most conversations ask nobody; so the rooms that judge are imported by the first that does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..bot.deadline import within
from ..bot.retry import once_more
from ..errors import CheckError, SettingsError
from ..run.alike import Likeness
from ..settings.files import nearest
from ..settings.model import AgreeSettings
from .recordings import of_answers
from .state import State

if TYPE_CHECKING:
    from ..bot.model import Around, ChatModel
    from ..check.base import AskingCheck
    from ..check.equivalence import Join
    from ..check.run import Checks
    from ..conversation.conversation import Conversation
    from ..conversation.message import Message
    from ..judge.judge import Judge
    from ..judge.probes import Probe
    from ..judge.same import SameJudge
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
    conversation: Conversation

    def judged(self, criterion: Criterion, approved: Message | None) -> AskingCheck:
        """The check by a criterion; where judges are checked first, one that needs its judge to have passed."""
        from ..check.judged import Judged
        from ..judge.question import INSTRUCTIONS

        judge = self._judge(criterion)
        check = Judged(criterion.criterion, judge, self._template(INSTRUCTIONS), self.settings.vars)
        verified(lambda: check.identity)  # the template is rendered here, so that a mistake in it is told
        if not self.state.options.judge_check:
            return check
        from .probing import Probed, Probing

        probe = self._probe(approved) if approved is not None else None
        return Probed(check, Probing.of(self.state, self.directory, self.settings, self.redactor, probe))

    def _probe(self, approved: Message) -> Probe:
        """An approved reply, with what stands before it."""
        from ..judge.probes import of_approved

        given, replies = self.conversation.messages, self.conversation.approved
        turn = next(turn for turn, reply in replies.items() if reply is approved)
        return of_approved(approved, [message for at in sorted(given) if at < turn for message in given[at]])

    def approved(self, text: str) -> AskingCheck:
        """The check whether the reply says the same as an approved text."""
        from ..check.judged import ApprovedByJudge

        check = ApprovedByJudge(text, self._same())
        verified(lambda: check.identity)
        return check

    def similar(self, similarity: Similarity) -> AskingCheck:
        """The check of how similar a reply is to a text, in meaning."""
        from ..check.similar import SimilarByMeaning

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
        from ..check.equivalence import key_of, verify

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
        if not self.state.options.judge_check:
            return tuple(answers)
        from .probing import Probed

        probed = [check for several in checks.values() for check in several if isinstance(check, Probed)]
        return (*answers, *(check.recording.path for check in probed))

    def _answers(self) -> Any:
        return of_answers(self.state, self.directory, self.case, self.redactor)

    def _join(self, around: Around) -> Join:
        """What compares answers; a judge is not asked about those that are too unlike in meaning to say the same.

        The limit of a run's time holds for each question to a judge, and for each answer that a function compares.
        """
        from ..check.equivalence import joining

        agree, seconds = self.settings.agree, self.settings.timeout
        if agree.by != "judge":
            join = joining(agree)

            async def timed(classes: Sequence[Sequence[str]], new: str) -> int:
                async with within(seconds, "comparing an answer with the others"):
                    return await join(classes, new)

            return timed
        same = self._same()

        async def judged(one: str, other: str) -> bool:
            async with within(seconds, "comparing two answers"):
                return await self._may_be_alike(one, other, around) and await same.same(one, other, around)

        return joining(agree, lambda one, other: once_more(partial(judged, one, other)))

    async def _may_be_alike(self, one: str, other: str, around: Around) -> bool:
        from ..bot.embedding import similarity

        embeddings = self.settings.embeddings
        if embeddings.model is None:
            return True
        return await similarity(around(self._similarity), embeddings.model, one, other) >= embeddings.differ_below

    def _same(self) -> SameJudge:
        from ..judge.question import SAME
        from ..judge.same import SameJudge

        return SameJudge(self._judge(None), self._template(SAME), self.settings.vars)

    def _judge(self, criterion: Criterion | None) -> Judge:
        from ..agreement.verdict import rule
        from ..bot.factory import JUDGE_SCRIPT, PROVIDERS
        from ..judge.judge import Judge, judge_bot
        from .models import other_maker
        from .recipes import other_stack

        own, bot = self.settings.judge, judge_bot(self.settings, criterion)
        if bot.model is None and bot.provider in PROVIDERS and bot.provider != "scripted":
            msg = "no model is set for the judge"
            raise CheckError(msg, hint="set `model` in [judge] of a convo.toml, or in [bot]")
        make = other_maker(
            self.state,
            self.settings,
            bot,
            self.directory,
            self.case,
            self.hook,
            self.redactor,
            script=JUDGE_SCRIPT,
        )
        verified(partial(make, 1))
        runs, agreement = own.runs, own.agreement
        if criterion is not None:
            runs, agreement = criterion.runs or runs, criterion.agreement or agreement
        decides = rule(runs, agreement, self.settings.good, self.settings.bad)
        return Judge(make, bot, decides, own.output, self.state.refused, other_stack(self.settings, own, "judge"))

    def _template(self, name: str) -> Path | None:
        from ..judge.question import INSTRUCTIONS

        named = self.settings.judge.prompt if name == INSTRUCTIONS else None
        return named or nearest(name, self.directory, self.state.config.rootpath)

    def _similarity(self) -> ChatModel:
        from ..bot.factory import make_similarity_model

        return make_similarity_model(self.settings, meter=self.state.runs.meter, redactor=self.redactor)


def verified(make: Callable[[], Any]) -> None:
    """Raise as a `CheckError` what the settings have wrong, so that it is told with their place."""
    try:
        make()
    except SettingsError as error:
        raise CheckError(error.what, path=error.path, line=error.line, hint=error.hint) from None
