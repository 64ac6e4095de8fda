"""A whole conversation: every turn that is to be answered, in order, each in the context of all before it."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ..conversation.message import Message
from ..conversation.reply import Reply
from ..conversation.transcript import Transcript, Turn
from ..prompt.composer import Composer
from .answer import Idle, answer
from .events import Observer, observed, tell
from .model import ChatModel
from .scribe import Scribe
from .tools import Known, Tool

if TYPE_CHECKING:
    from ..conversation.conversation import Conversation

END = 10_000
"""One past the last index that a message file can have."""

Answered = tuple[Reply, tuple[Message, ...]]
"""The replies of a turn as one, and its messages, the final answer last."""


async def play(
    conversation: Conversation,
    *,
    model: ChatModel,
    composer: Composer,
    tools: Sequence[Tool] = (),
    run: int = 1,
    case: str | None = None,
    stream: Callable[[str], None] | None = None,
    observe: Observer | None = None,
    idle: Idle | None = None,
    known: Known | None = None,
    scribe: Scribe | None = None,
) -> Transcript:
    """One run of `conversation`, whose requests `composer` makes.

    `stream`, `observe`, `idle` and `known` are as for `answer`. A `scribe` takes down each turn while it is answered;
    what it cannot keep ends the run.

    Whatever ends it early, a cancellation included, carries the conversation so far as its `transcript`: see
    `transcript_of`.
    """
    ask = partial(answer, model, composer=composer, tools=tools, idle=idle, known=known)
    course = _Course(conversation, run, case)
    with observed(observe):
        for index in conversation.turns:
            tell("turn", index=index)
            try:
                asked = partial(ask, history=conversation.history(index, course.answered))
                if scribe is None:
                    reply, messages = await asked(stream=stream)
                else:
                    reply, messages = await _taken_down(scribe, index, asked, stream, observe)
            except BaseException as error:
                vars(error)["transcript"] = course.so_far(index, vars(error).pop("messages", ()))
                raise
            course.add(Turn(index, reply, messages))
    return course.so_far(END)


class _Course:
    """A run as far as it has come."""

    def __init__(self, conversation: Conversation, run: int, case: str | None) -> None:
        self.answered: dict[int, tuple[Message, ...]] = {}
        self._conversation = conversation
        self._run = run
        self._case = case
        self._turns: list[Turn] = []
        self._begin = time.perf_counter()

    def add(self, turn: Turn) -> None:
        self.answered[turn.index] = turn.messages
        self._turns.append(turn)

    def so_far(self, end: int, unfinished: tuple[Message, ...] = ()) -> Transcript:
        """The transcript up to index `end`, with what was said there."""
        messages = (*self._conversation.history(end, self.answered), *unfinished)
        seconds = time.perf_counter() - self._begin
        return Transcript(messages, tuple(self._turns), run=self._run, case=self._case, seconds=seconds)


async def _taken_down(
    scribe: Scribe,
    index: int,
    ask: Callable[..., Awaitable[Answered]],
    stream: Callable[[str], None] | None,
    observe: Observer | None,
) -> Answered:
    """The answer at `index`, which `scribe` hears while it is made, beside whoever else does."""
    with scribe.turn(index) as sheet:
        reply, messages = await ask(stream=_both(sheet.say, stream), observe=_both(sheet.observe, observe))
        try:
            sheet.finish(reply, messages)
        except BaseException as error:
            vars(error)["messages"] = messages  # it was said all the same
            raise
    return reply, messages


def _both(first: Callable[[Any], None], second: Callable[[Any], None] | None) -> Callable[[Any], None]:
    def hear(heard: Any) -> None:
        first(heard)
        if second is not None:
            second(heard)

    return hear


def transcript_of(error: BaseException) -> Transcript | None:
    """What was said before `error`, or before the error that led to it, ended a run."""
    seen: BaseException | None = error
    while seen is not None:
        found = vars(seen).get("transcript")
        if isinstance(found, Transcript):
            return found
        seen = seen.__cause__ or seen.__context__
    return None
