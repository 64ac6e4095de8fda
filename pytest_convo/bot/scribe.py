"""Who takes down what the bot answers, turn by turn, while it is said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from ..conversation.message import Message
from ..conversation.reply import Reply


class Sheet(Protocol):
    """The answer of one turn in the making."""

    def say(self, piece: str) -> None:
        """A piece of text has arrived; may be called from any thread."""

    def observe(self, event: Mapping[str, Any]) -> None:
        """Something has happened in the turn: a further request, or a retry, makes void what was said before it."""

    def finish(self, reply: Reply, messages: Sequence[Message]) -> None:
        """The turn is over: `messages` are its calls and results, and last the answer.

        Raises `ConvoError` where the answer cannot be kept: no later turn is to be asked then.
        """


class Scribe(Protocol):
    """Takes down the turns of one run."""

    def turn(self, index: int) -> AbstractContextManager[Sheet]:
        """The sheet for the turn at `index`, which is about to be asked for; on leaving unfinished it is given up.

        Raises `ConvoError` where nobody may answer this turn: somebody else does, or has done so already.
        """
