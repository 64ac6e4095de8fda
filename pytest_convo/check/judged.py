"""Checks that ask a judge: by a criterion, and whether the reply says the same as the approved one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..agreement.verdict import Verdict
from ..bot.model import Around
from ..conversation.message import Message
from ..conversation.transcript import Transcript, Turn
from ..errors import UnusableVerdict
from ..judge.judge import Decision, Judge
from ..judge.question import Question, about_reply
from ..judge.same import SameJudge
from ..prompt.request import Request
from ..texts import clip, one_line, visible, word_diff
from .approved import UPDATE
from .base import CheckResult
from .show import indented, quoted, said


@dataclass(frozen=True, slots=True)
class Judged:
    """A judge finds that the criterion holds of the reply. An `AskingCheck`."""

    criterion: str
    judge: Judge
    template: Path | None = None
    variables: Mapping[str, Any] = field(default_factory=dict)
    name = "judge"

    @property
    def calls(self) -> tuple[int, int]:
        return self.judge.calls

    @property
    def identity(self) -> Sequence[object]:
        return [*self.judge.identity, self.question("").instructions]

    def question(self, reply: str, steps: Sequence[Message] = (), before: Sequence[Message] = ()) -> Question:
        """What the judge is asked about a reply."""
        return about_reply(
            self.criterion, reply, steps=steps, before=before, template=self.template, variables=self.variables
        )

    def preview(self, reply: str) -> Request:
        return self.judge.preview(self.question(reply))

    async def ask(self, transcript: Transcript, turn: Turn, around: Around) -> CheckResult:
        question = self.question(turn.reply.text, turn.messages[:-1], _before(transcript, turn))
        decision = await self.judge.decide(question, around, transcript.run)
        if decision.verdict is Verdict.PASS:
            return CheckResult.passed()
        if decision.verdict is Verdict.INCONCLUSIVE:
            raise _undecided(decision, self.criterion)
        because = decision.because
        evidence = f"  evidence: {quoted(because.evidence, 300)}" if because.evidence else ""
        why = f"{quoted(self.criterion, 200)} does not hold: {visible(one_line(clip(because.reason)))}"
        return CheckResult.failed(why, _tally(self.judge, decision), evidence, said(turn.reply.text))


@dataclass(frozen=True, slots=True)
class ApprovedByJudge:
    """A judge finds that the reply says the same as the approved text. An `AskingCheck`."""

    text: str
    judge: SameJudge
    name = "approved"

    @property
    def calls(self) -> tuple[int, int]:
        """None where the two are equal in words; else each direction is one decision."""
        return 0, 2 * self.judge.judge.calls[1]

    @property
    def identity(self) -> Sequence[object]:
        return [*self.judge.judge.identity, self.judge.instructions]

    def preview(self, reply: str) -> Request:
        return self.judge.preview(self.text, reply)

    async def ask(self, transcript: Transcript, turn: Turn, around: Around) -> CheckResult:
        judge = replace(self.judge, known={})  # each run asks for itself: its recording must do without the others'
        if await judge.same(self.text, turn.reply.text, around, transcript.run):
            return CheckResult.passed()
        why = "the reply does not say what the approved one says: [-approved-] {+said+}"
        return CheckResult.failed(why, indented(word_diff(self.text, turn.reply.text)), UPDATE)


def _before(transcript: Transcript, turn: Turn) -> list[Message]:
    """The messages before the turn's own."""
    own = turn.messages[0] if turn.messages else None
    messages = list(transcript.messages)
    return messages[: next((place for place, message in enumerate(messages) if message is own), len(messages))]


def _tally(judge: Judge, decision: Decision) -> str:
    if judge.rule.n == 1:
        return ""
    tally = decision.tally
    return f"  {tally.passes} of {tally.total} judgements passed, {judge.rule.demand}"


def _undecided(decision: Decision, criterion: str) -> UnusableVerdict:
    tally, first = decision.tally, next(iter(decision.unusable), None)
    what = f"{quoted(criterion, 200)}: the judge did not decide ({tally.passes} pass, {tally.fails} fail"
    what += f", {tally.errors} without a verdict)" if tally.errors else ")"
    return UnusableVerdict(what, hint=str(first) if first is not None else "")
