"""Answers that are kept for as long as somebody watches: after an edit, what comes before it is not asked for again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ..conversation.disk import digest
from ..record.recording import RunRecording
from ..redaction import Redactor
from .state import STORE, State

if TYPE_CHECKING:
    from ..bot.model import ChatModel
    from ..conversation.reply import Reply
    from ..prompt.request import Request


def answers_of(root: Path, directory: Path) -> Path:
    """Where the answers of a conversation are kept."""
    return root / digest(str(directory).encode(errors="surrogateescape"))


def stored(
    state: State, directory: Path, case: str | None, redactor: Redactor, make: Callable[[int], ChatModel]
) -> Callable[[int], ChatModel]:
    """`make`, with models that answer from the store what they have been asked before.

    Only servers are asked through it, each with answers of its own: what else answers may be what is being edited.
    Without a store, and where the session asks everything anew or records it, `make` as it is.
    """
    root = state.config.stash.get(STORE, None)
    if root is None or state.fresh is not None or state.options.record != "auto":
        return make
    folder = answers_of(root, directory)

    def make_stored(run: int) -> ChatModel:
        from ..bot.metered import MeteredModel
        from ..bot.openai import OpenAIModel

        model = make(run)
        if not (isinstance(model, MeteredModel) and isinstance(model.inner, OpenAIModel)):
            return model
        name = f"{digest(model.terms.server.encode())}-{run}.yaml"
        return _Stored(RunRecording(folder.joinpath(*([case] if case else []), name), folder, "new", redactor), model)

    return make_stored


class _Stored:
    """A `ChatModel` that asks another one only once for the same; each answer is kept when it is there."""

    def __init__(self, recording: RunRecording, model: ChatModel) -> None:
        self._recording = recording
        self._model = recording.around(lambda: model)

    async def complete(self, request: Request, stream: Callable[[str], None] | None = None) -> Reply:
        reply = await self._model.complete(request, stream)
        if self._recording.unsaved:  # what the bot failed at is not kept: it is to be tried again
            self._recording.save()
        return reply
