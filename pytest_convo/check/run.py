"""All checks of a run, judged together: at once those that look, and then those that ask a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ..agreement.outcome import Outcome
from ..bot.deadline import within
from ..bot.model import Around
from ..bot.retry import once_more
from ..conversation.transcript import Transcript, Turn
from ..errors import CheckError, ConvoError
from ..texts import clip
from .base import AnyCheck, AskingCheck, Check, CheckResult
from .show import clip_lines

Checks = Mapping[int, Sequence[AnyCheck]]
"""The checks of each turn, by its index."""

_MOST_CHARS = 4000
_MOST_LINES = 60


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found of the reply at index `turn`; the reason names both.

    `error` is what kept the model from answering that the check asks, where that is why it found nothing.
    """

    turn: int
    name: str
    outcome: Outcome
    reason: str = ""
    error: ConvoError | None = None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What all checks of a run found, in the order of their turns."""

    results: tuple[Finding, ...]

    @property
    def outcome(self) -> Outcome:
        """FAIL where one check fails, for no unusable one could change that; else ERROR where one is unusable.

        A run in which nothing was judged is an ERROR too: silence is no pass.
        """
        found = {finding.outcome for finding in self.results} or {Outcome.ERROR}
        return next(outcome for outcome in (Outcome.FAIL, Outcome.ERROR, Outcome.PASS) if outcome in found)

    @property
    def unasked(self) -> bool:
        """Whether it is an ERROR for the sake of a model that a check asks: half of what was to be asked is not."""
        return self.outcome is Outcome.ERROR and any(finding.error is not None for finding in self.results)

    def __add__(self, other: Evaluation) -> Evaluation:
        """Both together, in the order of their turns."""
        return Evaluation(tuple(sorted((*self.results, *other.results), key=lambda finding: finding.turn)))

    @property
    def reason(self) -> str:
        """Why the run did not pass: what failed, then what could not be evaluated; empty where it passed."""
        if not self.results:
            return "nothing was judged: no check speaks of a reply of this run"
        ranked = [f for outcome in (Outcome.FAIL, Outcome.ERROR) for f in self.results if f.outcome is outcome]
        return "\n".join(finding.reason for finding in ranked)


def evaluate(checks: Checks, transcript: Transcript) -> Evaluation:
    """Every check of every turn that asks nobody, evaluated; none is left out because another has failed."""
    return Evaluation(tuple(_findings(checks, transcript)))


async def ask(checks: Checks, transcript: Transcript, around: Around, seconds: float) -> Evaluation:
    """Every check that asks a model, one after the other; what goes wrong with the model is an error of the check.

    Each has so many `seconds` for it, which are not the run's.
    """
    findings = []
    for index, several in sorted(checks.items()):
        turn = _turn(transcript, index)
        for check in several:
            if isinstance(check, AskingCheck):
                result, error = await _answer(check, transcript, turn, index, around, seconds)
                findings.append(replace(_finding(check.name, result, index), error=error))
    return Evaluation(tuple(findings))


def asks(checks: Checks) -> bool:
    """Whether any of the checks asks a model."""
    return any(isinstance(check, AskingCheck) for several in checks.values() for check in several)


def _findings(checks: Checks, transcript: Transcript) -> Iterator[Finding]:
    for index, several in sorted(checks.items()):
        turn = _turn(transcript, index)
        for check in several:
            if not isinstance(check, AskingCheck):
                yield _finding(check.name, _result(check, transcript, turn, index), index)


def _finding(name: str, result: CheckResult, index: int) -> Finding:
    reason = f"turn {index}, {name}: {result.reason}" if result.reason else ""
    return Finding(index, name, result.outcome, _bounded(reason))


def _turn(transcript: Transcript, index: int) -> Turn | None:
    return next((turn for turn in transcript.turns if turn.index == index), None)


def _result(check: Check, transcript: Transcript, turn: Turn | None, index: int) -> CheckResult:
    if turn is None:
        return _unanswered(transcript, index)
    try:
        return check.evaluate(transcript, turn)
    except CheckError as error:
        return CheckResult.unusable(str(error))


async def _answer(
    check: AskingCheck, transcript: Transcript, turn: Turn | None, index: int, around: Around, seconds: float
) -> tuple[CheckResult, ConvoError | None]:
    """What the check found, and what kept it from finding anything.

    What may pass is tried once more, here and about the same reply: another reply in its place would give those a
    second chance on which judges stumble.
    """
    if turn is None:
        return _unanswered(transcript, index), None

    async def answer() -> CheckResult:
        async with within(seconds, f"the check {check.name}"):
            return await check.ask(transcript, turn, around)

    try:
        return await once_more(answer), None
    except ConvoError as error:  # a failure of the model that judges is no failure of the bot that is judged
        return CheckResult.unusable(str(error)), error


def _unanswered(transcript: Transcript, index: int) -> CheckResult:
    answered = ", ".join(str(turn.index) for turn in transcript.turns) or "none"
    return CheckResult.unusable(f"this run generated no reply at {index}; it generated: {answered}")


def _bounded(reason: str) -> str:
    return clip("\n".join(clip_lines(reason.split("\n"), _MOST_LINES)), _MOST_CHARS)
