"""What came of an agent's work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ..conversation.message import Message
from ..conversation.reply import Reply, Usage, total
from ..conversation.transcript import Transcript, Turn
from ..errors import BotFailure
from ..sandbox.base import Change

End = Literal["done", "limit", "timeout", "error"]
"""The agent said that it was done; it went on when its commands were used up; its time was up; it could not be read, or
could not answer. Only the first has a result, and none says whether the task was done."""

Event = Mapping[str, Any]
"""One thing that happened: `at` so many seconds, its `kind`, and its fields, all of them builtins."""


@dataclass(frozen=True, slots=True)
class Work:
    """What an agent did about a task, in a sandbox that is somebody else's."""

    task: str
    end: End
    result: str | None = None
    """The final answer."""
    error: str | None = None
    """Why there is none."""
    failure: BotFailure | None = None
    """With the end `error`: what the bot is to be blamed for."""
    messages: tuple[Message, ...] = ()
    """What was said after the task: the bot's calls and what came of them, last the final answer."""
    replies: tuple[Reply, ...] = ()
    iterations: int = 0
    """Calls that were carried out."""
    seconds: float = 0.0

    @property
    def usage(self) -> Usage | None:
        """Tokens of all replies; None where nobody counted."""
        return total(reply.usage for reply in self.replies)

    def transcript(self, run: int = 1, case: str | None = None) -> Transcript:
        """The work as a conversation of one turn: the task, and what the bot made of it."""
        turns = (Turn(1, Reply.of_turn(self.replies), self.messages),) if self.replies else ()
        messages = (Message("user", self.task), *self.messages)
        return Transcript(messages, turns, run=run, case=case, seconds=self.seconds)


@dataclass(frozen=True, slots=True)
class AgentResult:
    """What came of one run of an `Agent`."""

    status: End
    result: str | None
    error: str | None
    log: tuple[Event, ...]
    """Everything that happened, in order: requests, replies, commands, corrections, the end."""
    iterations: int
    """Commands and other calls that were carried out."""
    transcript: Transcript
    changes: tuple[Change, ...]
    """What is not as it was in the folder."""
    diff: str
    usage: Usage | None
    """Tokens of all replies; None where nobody counted."""
    seconds: float = 0.0
