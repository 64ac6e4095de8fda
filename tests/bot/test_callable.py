from __future__ import annotations

import asyncio
import threading

import pytest

from pytest_convo.bot.callable import CallableModel
from pytest_convo.bot.model import ChatModel
from pytest_convo.conversation.message import Message, ToolCall
from pytest_convo.conversation.reply import Reply
from pytest_convo.errors import BotFailure, HarnessError
from pytest_convo.prompt.request import Request

ASKED = Request("m", (Message("system", "Be kind."), Message("user", "Hello?")), parameters={"seed": 7})


def said(function, stream=None):
    return asyncio.run(CallableModel(function).complete(ASKED, stream))


def test_it_is_a_chat_model():
    assert isinstance(CallableModel(len), ChatModel)


def test_a_function_is_given_the_messages_and_gives_the_text():
    def shop_bot(messages):
        return f"{messages[0]['content']} {messages[1]['role']}"

    reply = said(shop_bot)

    assert (reply.text, reply.model, reply.finish_reason) == ("Be kind. user", "shop_bot", "stop")
    assert reply.seconds > 0


def by_name(request):
    return str(request.parameters["seed"])


def by_annotation(asked: Request):
    return str(asked.parameters["seed"])


@pytest.mark.parametrize("function", [by_name, by_annotation])
def test_a_function_that_asks_for_the_request_is_given_it(function):
    assert said(function).text == "7"


async def coroutine(messages):
    return threading.current_thread().name


class Application:
    async def __call__(self, messages):
        return threading.current_thread().name


def returns_a_coroutine(messages):
    return coroutine(messages)


@pytest.mark.parametrize("function", [coroutine, Application(), returns_a_coroutine])
def test_async_applications_run_on_the_loop(function):
    assert said(function).text == threading.current_thread().name


def test_sync_applications_run_beside_it():
    assert said(lambda messages: threading.current_thread().name).text != threading.current_thread().name


def test_a_message_may_hold_calls_and_what_else_a_server_sends():
    call = {"type": "function", "function": {"name": "look", "arguments": {"id": 7}}}

    reply = said(lambda messages: {"role": "assistant", "content": None, "tool_calls": [call], "reasoning": "hm"})

    assert reply.calls == (ToolCall("call_1", "look", '{"id": 7}'),)
    assert reply.extra == {"reasoning": "hm"}


def test_a_reply_is_taken_as_it_is():
    given = Reply("Hi", finish_reason="length", seconds=3.0, model="mine")

    assert said(lambda messages: given) == given


def test_what_is_said_is_streamed_in_one_piece():
    pieces = []
    said(lambda messages: "Hi there", pieces.append)

    assert pieces == ["Hi there"]


@pytest.mark.parametrize("answer", [None, 5, ["Hi"], b"Hi"])
def test_anything_else_is_an_error_of_the_harness(answer):
    with pytest.raises(HarnessError, match=f"returned {type(answer).__name__}, not a text, a message or a Reply"):
        said(lambda messages: answer)


def crash(messages):
    raise KeyError("A17")


async def time_out(messages):
    raise TimeoutError("the database")


@pytest.mark.parametrize("function, text", [(crash, "crash raised KeyError: 'A17'"), (time_out, "the database")])
def test_an_application_that_crashes_is_an_error_that_names_its_line(function, text):
    with pytest.raises(HarnessError) as raised:
        said(function)

    assert text in raised.value.what
    assert (raised.value.path, raised.value.line) == (__file__, function.__code__.co_firstlineno + 1)


def test_an_application_may_say_itself_that_it_failed():
    def give_up(messages):
        raise BotFailure("I used up my budget")

    with pytest.raises(BotFailure, match="budget"):
        said(give_up)
