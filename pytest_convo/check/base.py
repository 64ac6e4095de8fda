"""The interface of a check, and what it answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from ..agreement.outcome import Outcome
from ..bot.model import Around
from ..conversation.reply import Reply
from ..conversation.transcript import Transcript, Turn
from ..prompt.request import Request


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What a check found: its outcome, and for a fail or an error the reason as a person reads it.

    The first line of a reason is one sentence; those after it, indented, show where it went wrong and what was said.
    """

    outcome: Outcome
    reason: str = ""

    @classmethod
    def passed(cls) -> CheckResult:
        return cls(Outcome.PASS)

    @classmethod
    def failed(cls, *reason: str) -> CheckResult:
        """It does not hold; `reason` by lines or blocks of lines, empty ones left out."""
        return cls(Outcome.FAIL, "\n".join(filter(None, reason)))

    @classmethod
    def unusable(cls, *reason: str) -> CheckResult:
        """It could not be evaluated, which is neither a pass nor a fail."""
        return cls(Outcome.ERROR, "\n".join(filter(None, reason)))


class Check(Protocol):
    """Judges one turn of a transcript; the same transcript always gets the same answer.

    `name` is the check's key in `[expect]`. A check that cannot be evaluated says so in its result, or raises
    `CheckError`.
    """

    @property
    def name(self) -> str: ...

    def evaluate(self, transcript: Transcript, turn: Turn) -> CheckResult: ...


@runtime_checkable
class AskingCheck(Protocol):
    """A check that asks a model about a turn; `around` has what it asks recorded with the run.

    What the model raises goes through: a `HarnessError` of it is one of the run.
    """

    @property
    def name(self) -> str: ...

    @property
    def calls(self) -> tuple[int, int]:
        """How many model calls it takes at least and at most, when none fails and is made again."""

    @property
    def identity(self) -> Sequence[object]:
        """Beside what stands in `[expect]`, what makes it the same check tomorrow: who is asked, and how."""

    def preview(self, reply: str) -> Request:
        """The first request that it would make about a reply."""

    async def ask(self, transcript: Transcript, turn: Turn, around: Around) -> CheckResult: ...


AnyCheck = Check | AskingCheck


class ReplyCheck(ABC):
    """A check for which the reply alone counts, however the conversation came to it."""

    __slots__ = ()

    @abstractmethod
    def judge(self, reply: Reply) -> CheckResult: ...

    def evaluate(self, transcript: Transcript, turn: Turn) -> CheckResult:  # noqa: ARG002  (of the interface)
        return self.judge(turn.reply)
