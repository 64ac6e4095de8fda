"""One turn: the bot is asked, its tools are run, and it is asked again, until it answers without calling any."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import TYPE_CHECKING

from ..conversation.message import Message
from ..conversation.reply import Reply
from ..errors import TooManyRounds
from ..prompt.build import build
from ..prompt.request import Request
from .events import Observer, observed, tell
from .model import ChatModel, replied
from .tools import Known, Tool, answer_calls

if TYPE_CHECKING:
    from ..settings.bots import BotSettings

Idle = Callable[[], AbstractAsyncContextManager[None]]


async def answer(
    model: ChatModel,
    *,
    system: str | None,
    history: Sequence[Message],
    tools: Sequence[Tool],
    bot: BotSettings,
    stream: Callable[[str], None] | None = None,
    observe: Observer | None = None,
    idle: Idle | None = None,
    known: Known | None = None,
) -> tuple[Reply, tuple[Message, ...]]:
    """The bot's answer to `history`: the replies of the turn as one, and its messages, the final answer last.

    At most `bot.tool_rounds` replies may call tools; one more is `TooManyRounds`. `idle` is entered while tools run
    and no model is asked; a call whose result is `known` is not run. Calls of tools that only `[bot.request]` declares
    have nobody to run them: they end the turn, as does a reply that was cut off. An error that is raised has the
    messages so far as `messages`.
    """
    box = {tool.name: tool for tool in tools}
    specs = [tool.spec for tool in tools]
    replies: list[Reply] = []
    messages: list[Message] = []
    with observed(observe):
        try:
            while True:
                request = build(system=system, history=[*history, *messages], tools=specs, bot=bot)
                reply = await ask(model, request, stream)
                replies.append(reply)
                messages.append(reply.to_message())
                if not reply.calls or not reply.whole or "tools" in bot.request:
                    return Reply.of_turn(replies), tuple(messages)
                _may_go_on(len(replies), bot.tool_rounds)
                async with idle() if idle is not None else nullcontext():
                    messages += await answer_calls(reply.calls, box, known)
        except BaseException as error:
            vars(error)["messages"] = tuple(messages)
            raise


async def ask(model: ChatModel, request: Request, stream: Callable[[str], None] | None = None) -> Reply:
    """The model's reply to one request; who observes is told of both."""
    tell("request", attempt=1, body=request.body())
    reply = replied(model, await model.complete(request, stream))
    tell(
        "reply",
        text=reply.text,
        calls=[call.to_api() for call in reply.calls],
        finish_reason=reply.finish_reason,
        usage=_counted(reply),
        seconds=round(reply.seconds, 4),
        attempts=reply.attempts,
        model=reply.model,
        replayed=reply.replayed,
    )
    return reply


def _counted(reply: Reply) -> dict[str, int] | None:
    if reply.usage is None:
        return None
    prompt, completion, cached = reply.usage.prompt_tokens, reply.usage.completion_tokens, reply.usage.cached_tokens
    return {"prompt_tokens": prompt, "completion_tokens": completion, "cached_tokens": cached}


def _may_go_on(rounds: int, limit: int) -> None:
    if rounds > limit:
        msg = f"the bot went on calling tools after {limit} rounds"
        raise TooManyRounds(msg, hint="tool_rounds in [bot] is the limit")
