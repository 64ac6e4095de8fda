from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import pytest

from pytest_convo.bot.answer import answer
from pytest_convo.bot.tools import Tool
from pytest_convo.conversation.message import Message, ToolCall
from pytest_convo.conversation.reply import Reply, Usage
from pytest_convo.errors import ProviderError, SettingsError, TooManyRounds
from pytest_convo.prompt.composer import Composer
from pytest_convo.prompt.stack import Stack
from pytest_convo.settings.bots import BotSettings

HISTORY = (Message("user", "Where is A17?"),)
CALL = ToolCall("c1", "look", '{"order_id": "A17"}')


class Model:
    """Says each of `replies` in turn, the last again and again; an exception among them is raised."""

    def __init__(self, *replies):
        self.replies = replies
        self.requests = []

    async def complete(self, request, stream=None):
        self.requests.append(request)
        reply = self.replies[min(len(self.requests), len(self.replies)) - 1]
        if isinstance(reply, BaseException):
            raise reply
        if stream is not None:
            stream(reply.text)
        return reply


def look(order_id: str) -> str:
    return f"{order_id} is on its way"


def calling(*calls, text="", **more):
    return Reply(text, calls or (CALL,), "tool_calls", **more)


def answered(model, tools=(look,), **more):
    bot = more.pop("bot", None) or BotSettings(
        **{key: more.pop(key) for key in ("tool_rounds", "request") if key in more}
    )
    made = [Tool.of(tool) for tool in tools]
    composer = Composer(Stack.of("Be kind."), bot=bot, tools=[tool.spec for tool in made])
    return asyncio.run(answer(model, composer=composer, history=HISTORY, tools=made, **more))


def test_a_plain_answer():
    model = Model(Reply("Soon."))

    reply, messages = answered(model)

    assert reply == Reply("Soon.")
    assert messages == (Message("assistant", "Soon."),)
    assert [message.text for message in model.requests[0].messages] == ["Be kind.", "Where is A17?"]
    assert [tool.name for tool in model.requests[0].tools] == ["look"]


def test_tools_are_run_and_the_bot_is_asked_again():
    model = Model(calling(usage=Usage(5, 1), seconds=1.0), Reply("On its way.", usage=Usage(9, 3), seconds=2.0))

    reply, messages = answered(model)

    steps = (Message("assistant", None, tool_calls=(CALL,)), Message("tool", "A17 is on its way", tool_call_id="c1"))
    assert messages == (*steps, Message("assistant", "On its way."))
    assert model.requests[1].messages[2:] == steps
    assert (reply.text, reply.calls, reply.usage, reply.seconds) == ("On its way.", (CALL,), Usage(14, 4), 3.0)


def test_an_unknown_tool_is_told_to_the_bot():
    _, messages = answered(Model(calling(ToolCall("c9", "find")), Reply("Sorry.")))

    assert messages[1] == Message("tool", "Error: there is no tool 'find'; the tools are: look", tool_call_id="c9")


@pytest.mark.parametrize("rounds", [0, 1, 3])
def test_rounds_are_limited(rounds):
    model = Model(calling())
    with pytest.raises(TooManyRounds, match=f"after {rounds} rounds") as raised:
        answered(model, tool_rounds=rounds)

    assert len(model.requests) == rounds + 1
    assert len(raised.value.messages) == 2 * rounds + 1


def test_the_last_round_may_be_used():
    reply, _ = answered(Model(calling(), calling(), Reply("Done.")), tool_rounds=2)

    assert reply.text == "Done."


@pytest.mark.parametrize("finish_reason", ["length", "content_filter"])
def test_calls_of_a_reply_that_was_cut_off_are_not_run(finish_reason):
    model = Model(Reply("", (CALL,), finish_reason))

    reply, messages = answered(model)

    assert len(model.requests) == len(messages) == 1
    assert reply.finish_reason == finish_reason


def test_calls_of_tools_that_the_request_declares_end_the_turn():
    reply, messages = answered(Model(calling(text="Let me see.")), (), request={"tools": [{"type": "web_search"}]})

    assert (reply.text, reply.calls, len(messages)) == ("Let me see.", (CALL,), 1)


def test_the_text_of_every_reply_is_streamed():
    pieces = []
    answered(Model(calling(text="Let me see."), Reply("Soon.")), stream=pieces.append)

    assert pieces == ["Let me see.", "Soon."]


def test_idle_is_on_while_tools_run_and_at_no_other_time():
    happened = []

    @asynccontextmanager
    async def idle():
        happened.append("idle")
        yield
        happened.append("busy")

    def look(order_id: str):
        happened.append("tool")

    class Noted(Model):
        async def complete(self, request, stream=None):
            happened.append("asked")
            return await super().complete(request, stream)

    answered(Noted(calling(), Reply("Soon.")), (look,), idle=idle)

    assert happened == ["asked", "idle", "tool", "busy", "asked"]


def test_observers_hear_everything_in_order():
    heard = []
    answered(Model(calling(usage=Usage(5, 1, 2)), Reply("Soon.", model="m-1", attempts=2)), observe=heard.append)

    assert [event["kind"] for event in heard] == ["request", "reply", "tool", "request", "reply"]
    assert heard[0]["body"]["messages"][-1]["content"] == "Where is A17?"
    assert heard[1]["calls"] == [CALL.to_api()]
    assert heard[1]["usage"] == {"prompt_tokens": 5, "completion_tokens": 1, "cached_tokens": 2}
    assert (heard[4]["text"], heard[4]["model"], heard[4]["attempts"], heard[4]["usage"]) == ("Soon.", "m-1", 2, None)


def test_an_error_has_the_messages_so_far():
    with pytest.raises(ProviderError) as raised:
        answered(Model(calling(), ProviderError("broken", status=500)))

    assert [message.role for message in raised.value.messages] == ["assistant", "tool"]


def test_a_field_that_is_given_twice_is_an_error_before_anything_is_asked():
    model = Model(Reply("Soon."))
    with pytest.raises(SettingsError):
        answered(model, request={"tools": []})

    assert model.requests == []
