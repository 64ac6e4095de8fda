"""A chat: a conversation that grows with each question, and can be taken back to where it was."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from copy import deepcopy

from ..conversation.message import Message
from ..conversation.reply import Reply
from ..conversation.transcript import Turn
from .asked import Asked, messages_of


class Chat:
    """A conversation of its own with the bot of a test, made by `bot.chat()`.

    What it has said is its own: no message that goes in or comes out is shared with anybody, so that a branch that was
    saved is exactly what it was, whatever is done to what was read from it.
    """

    def __init__(
        self, submit: Callable[[Sequence[Message]], Future[Turn]], wait: Callable[[Future[Turn]], Turn]
    ) -> None:
        self._submit = submit
        self._wait = wait
        self._said: tuple[Message, ...] = ()
        self._saved: dict[str, tuple[Message, ...]] = {}
        self._asks = False

    @property
    def messages(self) -> tuple[Message, ...]:
        """All that was said, in order: what was asked, calls and results of tools, answers."""
        return deepcopy(self._said)

    def ask(self, asked: Asked) -> Reply:
        """The bot's answer to what was said so far and `asked`; both are said from then on.

        A question that is not answered, because of whatever is raised, was not said.
        """
        with self._asking(asked) as (history, answered):
            return answered(self._wait(self._submit(deepcopy(history))))

    async def aask(self, asked: Asked) -> Reply:
        """As `ask`, for tests that are coroutines; a chat answers one question at a time, its copies another."""
        with self._asking(asked) as (history, answered):
            return answered(await asyncio.wrap_future(self._submit(deepcopy(history))))

    def save(self, name: str) -> None:
        """Remember what was said so far under a name, in place of what had it."""
        self._saved[name] = self._said

    def rewind(self, name: str) -> None:
        """Go back to what was said when `name` was saved; `LookupError` names those that were."""
        self._require_quiet()
        if name not in self._saved:
            msg = f"nothing was saved as {name!r}; saved: {', '.join(map(repr, self._saved)) or 'nothing'}"
            raise LookupError(msg)
        self._said = self._saved[name]

    def copy(self) -> Chat:
        """A chat that has said the same, with what is saved, and goes on by itself."""
        chat = Chat(self._submit, self._wait)
        chat._said, chat._saved = self._said, dict(self._saved)
        return chat

    @contextmanager
    def _asking(self, asked: Asked) -> Iterator[tuple[Sequence[Message], Callable[[Turn], Reply]]]:
        """What to ask, and what to tell of the answer."""
        self._require_quiet()
        history = (*self._said, *deepcopy(messages_of(asked)))

        def answered(turn: Turn) -> Reply:
            self._said = (*history, *deepcopy(turn.messages))
            return turn.reply

        self._asks = True
        try:
            yield history, answered
        finally:
            self._asks = False

    def _require_quiet(self) -> None:
        if self._asks:
            msg = "this chat is being answered: wait for the answer, or ask a copy of it, `chat.copy()`"
            raise RuntimeError(msg)
