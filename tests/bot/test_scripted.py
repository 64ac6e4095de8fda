from __future__ import annotations

import asyncio
import time

import pytest

from pytest_convo.bot.model import ChatModel
from pytest_convo.bot.script_reply import ScriptedReply
from pytest_convo.bot.scripted import ScriptedModel
from pytest_convo.conversation.message import Message
from pytest_convo.conversation.reply import Usage
from pytest_convo.errors import ContextOverflow, ProviderError, ScriptExhausted
from pytest_convo.prompt.request import Request


def request(text="hello"):
    return Request("m", (Message("user", text),))


def complete(model, asked=None, stream=None):
    return asyncio.run(model.complete(asked or request(), stream))


def test_it_is_a_chat_model():
    assert isinstance(ScriptedModel([]), ChatModel)


def test_a_reply_has_all_that_a_servers_reply_has():
    call = {"name": "look", "arguments": {"id": 1}}
    reply = complete(ScriptedModel([ScriptedReply(text="one moment", calls=[call])]))
    assert (reply.text, reply.finish_reason, reply.model) == ("one moment", "tool_calls", "m")
    assert [(made.name, made.parsed()) for made in reply.calls] == [("look", {"id": 1})]
    assert reply.usage == reply.billed == Usage(1, 2 + 3)


def test_it_answers_from_a_file(tmp_path):
    path = tmp_path / "script.toml"
    path.write_text('[[reply]]\nwhen = "hello"\ntext = "hi"\n')
    assert complete(ScriptedModel.from_file(path)).text == "hi"


def test_a_function_is_called_with_the_request():
    model = ScriptedModel(lambda asked: f"{asked.model}: {asked.messages[-1].text}")
    assert complete(model).text == "m: hello"


def test_the_pieces_are_streamed_one_by_one():
    pieces = []
    reply = complete(ScriptedModel([ScriptedReply(pieces=["gr", "ün", " ✓"])]), stream=pieces.append)
    assert pieces == ["gr", "ün", " ✓"]
    assert reply.text == "grün ✓"


def test_latency_and_pauses_are_kept():
    model = ScriptedModel([ScriptedReply(pieces=["a", "b", "c"], latency=0.03, pause=0.01)])
    arrived = []
    started = time.perf_counter()
    reply = complete(model, stream=lambda piece: arrived.append(time.perf_counter() - started))
    assert arrived[0] >= 0.03
    assert arrived[2] >= 0.05
    assert reply.seconds >= 0.05
    assert complete(model).seconds >= 0.03


def test_a_call_that_is_cancelled_ends_at_once():
    async def cancelled():
        async with asyncio.timeout(0.01):
            await ScriptedModel([ScriptedReply(text="late", latency=60)]).complete(request())

    started = time.perf_counter()
    with pytest.raises(TimeoutError):
        asyncio.run(cancelled())
    assert time.perf_counter() - started < 5


@pytest.mark.parametrize("status, transient", [(400, False), (401, False), (404, False), (429, True), (500, True)])
def test_an_error_is_raised_as_a_server_would_have_it(status, transient):
    with pytest.raises(ProviderError, match=f"{status}: no tea") as caught:
        complete(ScriptedModel([ScriptedReply(error=status, text="no tea", retry_after=3)]))
    assert (caught.value.status, caught.value.transient, caught.value.retry_after) == (status, transient, 3)


def test_a_full_context_is_the_bots_own_failure():
    with pytest.raises(ContextOverflow):
        complete(ScriptedModel([ScriptedReply(error=400, code="context_length_exceeded")]))


@pytest.mark.parametrize("broken, arrived", [({"cut": 1}, ["a"]), ({"cut": 0}, []), ({"malformed": True}, ["a"])])
def test_a_reply_that_does_not_arrive_whole_is_no_reply(broken, arrived):
    pieces = []
    model = ScriptedModel([ScriptedReply(pieces=["a", "b"], **broken)])
    with pytest.raises(ProviderError):
        complete(model, stream=pieces.append)
    assert pieces == arrived
    with pytest.raises(ProviderError):
        complete(model)


def test_a_script_that_has_run_out_is_an_error_that_no_retry_mends():
    model = ScriptedModel([ScriptedReply(text="once", times=1)])
    complete(model)
    with pytest.raises(ScriptExhausted) as caught:
        complete(model)
    assert not caught.value.transient


def test_five_runs_of_a_case_pass_four_times_whichever_is_held_first():
    fuzzy = [ScriptedReply(text="good", weight=4), ScriptedReply(text="bad", weight=1)]

    async def held(order):
        runs = {run: ScriptedModel(fuzzy, seed="convos/a", run=run) for run in order}
        replies = await asyncio.gather(*(model.complete(request()) for model in runs.values()))
        return dict(sorted(zip(runs, (reply.text for reply in replies), strict=True)))

    answers = asyncio.run(held([1, 2, 3, 4, 5]))
    assert sorted(answers.values()) == ["bad", *["good"] * 4]
    assert asyncio.run(held([4, 2, 5, 1, 3])) == answers
