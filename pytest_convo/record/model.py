"""The model that answers from a recording, and asks another one for what is not there."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ..conversation.reply import Reply
from ..errors import BotFailure, NoCredentials, NoRecording, ProviderError
from .exchange import Failure

if TYPE_CHECKING:
    from ..bot.model import ChatModel
    from ..prompt.request import Request
    from .recording import Question, RunRecording

HINT = "record it with --convo-record=new, or the whole run anew with --convo-record=all"

_WORDS = re.compile(r"\S+\s*|\s+")


class RecordedModel:
    """A `ChatModel` that answers from `recording`; `make` is called when another one must be asked first.

    A replay comes at once, is given to `stream` word by word, and has `replayed` set. A failure of the bot that was
    recorded is raised again. Where nothing fits, and no model may be asked, it is `NoRecording`, with what changed;
    where the model cannot be reached, the model's own error, with the same.
    """

    def __init__(self, recording: RunRecording, make: Callable[[], ChatModel], *, aside: bool = False) -> None:
        self._recording = recording
        self._aside = aside
        self._make = make
        self._model: ChatModel | None = None

    async def complete(self, request: Request, stream: Callable[[str], None] | None = None) -> Reply:
        question = self._recording.ask(request, aside=self._aside)
        if question.recorded is not None:
            return _replayed(question.recorded.answer, stream)
        if self._recording.mode == "none":
            raise NoRecording(self._recording.explain(question), path=self._recording.path.parent, hint=HINT)
        try:
            reply = await self._live(request, stream)
        except BotFailure as error:
            self._recording.keep(question, Failure.of(error))
            raise
        except (NoCredentials, ProviderError) as error:
            self._explain(error, question)
            raise
        if isinstance(reply, Reply):  # a user's model may answer with anything
            self._recording.keep(question, reply)
        return reply

    async def _live(self, request: Request, stream: Callable[[str], None] | None) -> Reply:
        if self._model is None:
            self._model = self._make()
        return await self._model.complete(request, stream)

    def _explain(self, error: NoCredentials | ProviderError, question: Question) -> None:
        """Have an error say why the model was asked at all, where it could not be."""
        unreached = isinstance(error, NoCredentials) or (error.status is None and question.nearest is not None)
        if unreached and self._recording.mode != "all":
            why = f"{self._recording.path}: {self._recording.explain(question)}"
            error.hint = f"{error.hint}\n  {why}" if error.hint else why


def _replayed(answer: Reply | Failure, stream: Callable[[str], None] | None) -> Reply:
    if isinstance(answer, Failure):
        raise answer.error()
    if stream is not None:
        for piece in _WORDS.findall(answer.text):
            stream(piece)
    return replace(answer, replayed=True)
