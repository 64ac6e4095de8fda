"""All checks of a run, judged together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..agreement.outcome import Outcome
from ..conversation.transcript import Transcript, Turn
from ..errors import CheckError
from .base import Check, CheckResult
from .show import clip, clip_lines

_MOST_CHARS = 4000
_MOST_LINES = 60


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found of the reply at index `turn`; the reason names both."""

    turn: int
    name: str
    outcome: Outcome
    reason: str = ""


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
    def reason(self) -> str:
        """Why the run did not pass: what failed, then what could not be evaluated; empty where it passed."""
        if not self.results:
            return "nothing was judged: no check speaks of a reply of this run"
        ranked = [f for outcome in (Outcome.FAIL, Outcome.ERROR) for f in self.results if f.outcome is outcome]
        return "\n".join(finding.reason for finding in ranked)


def evaluate(checks: Mapping[int, Sequence[Check]], transcript: Transcript) -> Evaluation:
    """Every check of every turn, evaluated; none is left out because another has failed."""
    return Evaluation(tuple(_findings(checks, transcript)))


def _findings(checks: Mapping[int, Sequence[Check]], transcript: Transcript) -> Iterator[Finding]:
    turns = {turn.index: turn for turn in transcript.turns}
    for index, several in sorted(checks.items()):
        for check in several:
            result = _result(check, transcript, turns.get(index), index)
            reason = f"turn {index}, {check.name}: {result.reason}" if result.reason else ""
            yield Finding(index, check.name, result.outcome, _bounded(reason))


def _result(check: Check, transcript: Transcript, turn: Turn | None, index: int) -> CheckResult:
    if turn is None:
        answered = ", ".join(str(turn.index) for turn in transcript.turns) or "none"
        return CheckResult.unusable(f"this run generated no reply at {index}; it generated: {answered}")
    try:
        return check.evaluate(transcript, turn)
    except CheckError as error:
        return CheckResult.unusable(str(error))


def _bounded(reason: str) -> str:
    return clip("\n".join(clip_lines(reason.split("\n"), _MOST_LINES)), _MOST_CHARS)
