"""A whole conversation: every turn that is to be answered, in order, each in the context of all before it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ..conversation.message import Message
from ..conversation.transcript import Transcript, Turn
from .answer import Idle, answer
from .events import Observer, observed, tell
from .model import ChatModel
from .tools import Known, Tool

if TYPE_CHECKING:
    from ..conversation.conversation import Conversation
    from ..settings.bots import BotSettings

END = 10_000
"""One past the last index that a message file can have."""


async def play(
    conversation: Conversation,
    *,
    model: ChatModel,
    system: str | None,
    bot: BotSettings,
    tools: Sequence[Tool] = (),
    run: int = 1,
    case: str | None = None,
    stream: Callable[[str], None] | None = None,
    observe: Observer | None = None,
    idle: Idle | None = None,
    known: Known | None = None,
) -> Transcript:
    """One run of `conversation`; `stream`, `observe`, `idle` and `known` as for `answer`.

    Whatever ends it early, a cancellation included, carries the conversation so far as its `transcript`: see
    `transcript_of`.
    """
    begin = time.perf_counter()
    turns: list[Turn] = []
    answered: dict[int, tuple[Message, ...]] = {}

    def so_far(end: int, unfinished: tuple[Message, ...] = ()) -> Transcript:
        messages = (*conversation.history(end, answered), *unfinished)
        return Transcript(messages, tuple(turns), run=run, case=case, seconds=time.perf_counter() - begin)

    with observed(observe):
        for index in conversation.turns:
            tell("turn", index=index)
            history = conversation.history(index, answered)
            try:
                reply, messages = await answer(
                    model,
                    system=system,
                    history=history,
                    tools=tools,
                    bot=bot,
                    stream=stream,
                    idle=idle,
                    known=known,
                )
            except BaseException as error:
                vars(error)["transcript"] = so_far(index, vars(error).pop("messages", ()))
                raise
            answered[index] = messages
            turns.append(Turn(index, reply, messages))
    return so_far(END)


def transcript_of(error: BaseException) -> Transcript | None:
    """What was said before `error`, or before the error that led to it, ended a run."""
    seen: BaseException | None = error
    while seen is not None:
        found = vars(seen).get("transcript")
        if isinstance(found, Transcript):
            return found
        seen = seen.__cause__ or seen.__context__
    return None
