"""The interface behind which everything that answers stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from ..conversation.reply import Reply
from ..prompt.request import Request


@runtime_checkable
class ChatModel(Protocol):
    """Answers one request.

    `stream` is called with each piece of text as it arrives. The reply is whole: a model that was cut off says so
    in `finish_reason`; a broken connection raises `ProviderError`. What it raises decides the run's outcome:
    `HarnessError` an error, `BotFailure` a fail. Cancelling the call ends it at once.
    """

    async def complete(self, request: Request, stream: Callable[[str], None] | None = None) -> Reply: ...
