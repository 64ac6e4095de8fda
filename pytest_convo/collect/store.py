"""Answers that are kept for as long as somebody watches: after an edit, what comes before it is not asked for again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ..record.recording import RunRecording
from ..redaction import Redactor
from .state import STORE, State

if TYPE_CHECKING:
    from ..bot.model import ChatModel
    from ..conversation.reply import Reply
    from ..prompt.request import Request


def stored(
    state: State, directory: Path, case: str | None, name: str, redactor: Redactor, make: Callable[[int], ChatModel]
) -> Callable[[int], ChatModel]:
    """`make`, with models that answer from the store what they have been asked before; `name` is who answers.

    Without a store, and where the session asks everything anew or keeps it in recordings, `make` as it is.
    """
    root = state.config.stash.get(STORE, None)
    if root is None or state.fresh or state.options.record != "auto":
        return make
    folder = root.joinpath(*directory.parts[1:])

    def make_stored(run: int) -> ChatModel:
        path = folder.joinpath(*([case] if case else []), f"{name}-{run}.yaml")
        return _Stored(RunRecording(path, folder, "new", redactor), make(run))

    return make_stored


class _Stored:
    """A `ChatModel` that asks another one only once for the same; each answer is kept when it is there."""

    def __init__(self, recording: RunRecording, model: ChatModel) -> None:
        self._recording = recording
        self._model = recording.around(lambda: model)

    async def complete(self, request: Request, stream: Callable[[str], None] | None = None) -> Reply:
        try:
            return await self._model.complete(request, stream)
        finally:
            if self._recording.unsaved:
                self._recording.save()
