"""The interface behind which everything that answers stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from ..conversation.reply import Reply
from ..errors import HarnessError
from ..prompt.request import Request


@runtime_checkable
class ChatModel(Protocol):
    """Answers one request.

    `stream` is called with each piece of text as it arrives. The reply is whole: a model that was cut off says so
    in `finish_reason`; a broken connection raises `ProviderError`. What it raises decides the run's outcome:
    `HarnessError` an error, `BotFailure` a fail. Cancelling the call ends it at once.
    """

    async def complete(self, request: Request, stream: Callable[[str], None] | None = None) -> Reply: ...


def replied(model: ChatModel, answer: object) -> Reply:
    """The answer, which must be a `Reply`: a user's model may return anything, and then it is a `HarnessError`."""
    if isinstance(answer, Reply):
        return answer
    msg = f"{type(model).__name__}.complete answered with {answer!r}, which is no Reply"
    raise HarnessError(msg)


Around = Callable[[Callable[[], ChatModel]], ChatModel]
"""Wraps whoever is to be asked into what a run keeps of its questions: `RunRecording.around`, or `aside`.

The function that it is given makes that model, and is called only when somebody must really be asked.
"""
