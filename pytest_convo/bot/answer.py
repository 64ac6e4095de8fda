"""One turn: the bot is asked, its tools are run, and it is asked again, until it answers without calling any."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext

from ..conversation.message import Message
from ..conversation.reply import Reply
from ..errors import TooManyRounds
from ..prompt.build import Built
from ..prompt.composer import Composer
from .events import STACK, Observer, observed, tell
from .model import ChatModel, replied
from .tools import Known, Tool, answer_calls

Idle = Callable[[], AbstractAsyncContextManager[None]]


async def answer(
    model: ChatModel,
    *,
    composer: Composer,
    history: Sequence[Message],
    tools: Sequence[Tool],
    stream: Callable[[str], None] | None = None,
    observe: Observer | None = None,
    idle: Idle | None = None,
    known: Known | None = None,
) -> tuple[Reply, tuple[Message, ...]]:
    """The bot's answer to `history`: the replies of the turn as one, and its messages, the final answer last.

    `composer` makes the requests, which declare `tools`; it is of this run alone.

    At most `bot.tool_rounds` replies may call tools; one more is `TooManyRounds`. `idle` is entered while tools run
    and no model is asked; a call whose result is `known` is not run. Calls of tools that only `[bot.request]` declares
    have nobody to run them: they end the turn, as does a reply that was cut off. An error that is raised has the
    messages so far as `messages`.
    """
    box = {tool.name: tool for tool in tools}
    bot = composer.bot
    replies: list[Reply] = []
    messages: list[Message] = []
    with observed(observe):
        try:
            while True:
                reply = await ask(model, composer, await composer.compose(history, messages), stream)
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


async def ask(model: ChatModel, composer: Composer, built: Built, stream: Callable[[str], None] | None = None) -> Reply:
    """The model's reply to a request of `composer`, which learns of it; who observes is told of both."""
    request = built.request
    if (made_of := composer.told(built)) is not None:
        tell(STACK, **made_of)
    tell("request", attempt=1, body=request.body())
    reply = replied(model, await model.complete(request, stream))
    composer.learn(built, reply.usage)
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
