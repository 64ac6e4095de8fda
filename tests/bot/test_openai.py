from __future__ import annotations

import asyncio
import gc
import logging
import socket
import warnings

import openai
import pytest

from pytest_convo.bot.clients import close_clients, shared_client
from pytest_convo.bot.events import observed
from pytest_convo.bot.model import ChatModel
from pytest_convo.bot.openai import OpenAIModel
from pytest_convo.conversation.message import Message, ToolCall
from pytest_convo.conversation.reply import Usage
from pytest_convo.errors import BotFailure, ContextOverflow, ConvoError, NoCredentials, ProviderError, SettingsError
from pytest_convo.prompt.request import Request, ToolSpec

pytestmark = pytest.mark.asyncio

KEY = "sk-a-secret-of-ours"


@pytest.fixture
def model(server, transport, patience):
    def made(**more):
        return OpenAIModel(**{"base_url": server.url, "transport": transport, **patience, **more})

    return made


def done(make, *deltas, finish_reason="stop", **last):
    return make.Answer.events(*(make.chunk(delta) for delta in deltas), make.chunk({}, finish_reason, **last), "[DONE]")


async def test_a_plain_answer(server, model, make):
    usage = {"prompt_tokens": 20, "completion_tokens": 9}
    server.answers = [make.Answer.json(make.completion({"content": "30 days"}, usage=usage))]

    reply = await model().complete(make.hello(temperature=0, seed=7))

    assert isinstance(model(), ChatModel)
    assert (reply.text, reply.finish_reason, reply.model, reply.attempts) == ("30 days", "stop", "m-1", 1)
    assert reply.usage == reply.billed == Usage(20, 9)
    assert 0 < reply.seconds < 10
    messages = [{"role": "user", "content": "Hello?"}]
    assert server.requests == [{"model": "m", "messages": messages, "temperature": 0, "seed": 7}]


async def test_a_streamed_answer(server, model, make):
    usage = {"prompt_tokens": 20, "completion_tokens": 2}
    server.answers = [done(make, {"role": "assistant", "content": "30"}, {"content": " days"}, usage=usage)]
    pieces = []

    reply = await model().complete(make.hello(), pieces.append)

    assert pieces == ["30", " days"]
    assert (reply.text, reply.usage, reply.finish_reason) == ("30 days", Usage(20, 2), "stop")
    assert server.requests[0]["stream"] is True
    assert server.requests[0]["stream_options"] == {"include_usage": True}


@pytest.mark.parametrize("streamed", [False, True])
async def test_tools_are_offered_and_calls_come_back(server, model, make, streamed):
    call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"id": 7}'}}
    answer = {"content": None, "tool_calls": [call]}
    plain = make.Answer.json(make.completion(answer, "tool_calls"))
    server.answers = [done(make, answer, finish_reason="tool_calls") if streamed else plain]
    request = Request("m", (Message("user", "Hello?"),), (ToolSpec("look", "Looks."),))

    reply = await model().complete(request, [].append if streamed else None)

    assert reply.calls == (ToolCall("c1", "look", '{"id": 7}'),)
    assert reply.finish_reason == "tool_calls"
    assert server.requests[0]["tools"] == [request.tools[0].to_api()]


async def test_ids_that_the_conversation_has_already_are_replaced(server, model, make):
    call = {"id": "0", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    server.answers = [make.Answer.json(make.completion({"content": None, "tool_calls": [call]}))]
    before = (Message("assistant", None, tool_calls=(ToolCall("0", "look"),)), Message("tool", "x", tool_call_id="0"))

    reply = await model().complete(Request("m", before))

    assert [call.id for call in reply.calls] == ["call_2"]


async def test_a_server_that_streams_unasked_or_not_when_asked(server, model, make):
    server.answers = [done(make, {"content": "a"}), make.Answer.text("b")]
    pieces = []

    assert (await model().complete(make.hello())).text == "a"
    assert (await model().complete(make.hello(), pieces.append)).text == "b"
    assert pieces == ["b"]


@pytest.mark.parametrize("status", [400, 422])
async def test_a_server_that_cannot_count_in_a_stream_is_asked_without(server, model, make, status):
    refusal = make.Answer.json({"error": {"message": "Unknown parameter: 'stream_options'"}}, status)
    server.answers = [refusal, done(make, {"content": "a"}), done(make, {"content": "b"})]
    one = model()

    texts = [(await one.complete(make.hello(), [].append)).text for _ in range(2)]

    assert texts == ["a", "b"]
    assert ["stream_options" in request for request in server.requests] == [True, False, False]


async def test_stream_options_of_the_user_s_own_are_left_alone(server, model, make):
    server.answers = [make.Answer.json({"error": {"message": "Unknown parameter: 'stream_options'"}}, 400)]

    with pytest.raises(ProviderError, match="stream_options"):
        await model().complete(make.hello(stream_options={"include_usage": False}), [].append)
    assert [request["stream_options"] for request in server.requests] == [{"include_usage": False}]


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    "status, body, kind, match",
    [
        (400, {"error": {"message": "Unsupported value"}}, ProviderError, "answered 400: Unsupported value"),
        (400, {"error": {"code": "context_length_exceeded", "message": "too long"}}, ContextOverflow, "too long"),
        (400, {"error": {"code": "content_filter", "message": "filtered"}}, BotFailure, "filtered"),
        (
            401,
            {"error": {"message": f"Incorrect API key provided: {KEY}"}},
            ProviderError,
            "provided: .secret OPENAI_API_KEY.",
        ),
        (403, "no", ProviderError, "answered 403"),
        (404, {"error": {"message": "no such model"}}, ProviderError, "no such model"),
        (422, {"detail": "no"}, ProviderError, "answered 422: no"),
        (429, {"error": {"message": "no credit", "code": "insufficient_quota"}}, ProviderError, "no credit"),
    ],
)
async def test_refusals_are_final(server, model, make, streamed, status, body, kind, match):
    server.answers = [make.Answer.json(body, status)]

    with pytest.raises(kind, match=match) as raised:
        await model(api_key=KEY).complete(make.hello(), [].append if streamed else None)

    assert type(raised.value) is kind
    assert len(server.requests) == 1


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("status", [408, 409, 429, 500, 503])
async def test_what_may_pass_is_tried_again(server, model, make, clock, status, streamed):
    fails = make.Answer.json({"error": {"message": "later"}}, status, headers={"retry-after": "3"})
    server.answers = [fails, fails, done(make, {"content": "a"}) if streamed else make.Answer.text("a")]

    reply = await model().complete(make.hello(), [].append if streamed else None)

    assert (reply.text, reply.attempts) == ("a", 3)
    assert clock.slept == [3.0, 3.0]


async def test_the_sdk_s_own_retries_are_off(server, model, make, patience):
    server.answers = [make.Answer.json({}, 500)]
    own = openai.AsyncOpenAI(base_url=server.url, api_key=KEY, max_retries=5)
    with pytest.raises(ProviderError):
        await model(client=own, retry=type(patience["retry"])(0)).complete(make.hello())
    await own.close()

    assert len(server.requests) == 1


async def test_observers_hear_of_retries(server, model, make):
    server.answers = [make.Answer.json({"error": "later"}, 503), make.Answer.text("a")]
    heard = []
    with observed(heard.append):
        await model().complete(make.hello())

    assert [event["kind"] for event in heard] == ["retry", "request"]
    assert heard[0]["reason"].endswith("answered 503: later")


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_server_that_is_not_there(model, make, streamed, clock):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    with pytest.raises(ProviderError, match=f"the connection to 127.0.0.1:{port} failed") as raised:
        await model(base_url=f"http://127.0.0.1:{port}/v1").complete(make.hello(), [].append if streamed else None)

    assert raised.value.hint == "is the server running, and base_url in [bot] right?; given up after 4 attempts"
    assert len(clock.slept) == 3


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    "raw", [b"", b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{", b"what?\r\n\r\n", b"HTTP/1.1 2"]
)
async def test_a_connection_that_breaks_is_tried_again_and_then_an_error(server, model, make, raw, streamed):
    server.answers = [make.Answer([], raw=raw)]

    with pytest.raises(ProviderError, match="the connection to"):
        await model().complete(make.hello(), [].append if streamed else None)

    assert len(server.requests) == 4


async def test_a_silent_server_is_given_up_and_not_said_to_be_gone(server, model, make):
    server.answers = [make.Answer([], hang=1)]

    with pytest.raises(ProviderError, match=r"was silent for 0\.05 s"):
        await model(timeout=0.05).complete(make.hello())

    assert len(server.requests) == 4


async def test_a_stream_that_falls_silent_is_given_up(server, model, make):
    server.answers = [make.Answer.events(make.chunk({"content": "half"}), hang=1)]

    with pytest.raises(ProviderError, match=r"was silent for 0\.05 s"):
        await model(timeout=0.05).complete(make.hello(), [].append)


WHOLE = [{"role": "assistant", "content": "30"}, {"content": " days"}]


@pytest.mark.parametrize("cut", [True, False], ids=["broken off", "ended in order"])
@pytest.mark.parametrize("events", range(4))
async def test_a_truncated_stream_is_never_a_reply(server, model, make, events, cut):
    pieces = make.events(*(make.chunk(delta) for delta in WHOLE), make.chunk({}, "stop"), "[DONE]")
    server.answers = [make.Answer(pieces[:events], kind="text/event-stream", cut=cut)]

    with pytest.raises(ProviderError):
        await model().complete(make.hello(), [].append)
    assert len(server.requests) == 4


async def test_a_stream_that_breaks_off_begins_anew(server, model, make):
    usage = {"prompt_tokens": 20, "completion_tokens": 1}
    broken = make.Answer.events(make.chunk({"content": "half"}, usage=usage), cut=True)
    server.answers = [broken, done(make, {"content": "whole"}, usage=usage)]
    pieces, heard = [], []

    with observed(heard.append):
        reply = await model().complete(make.hello(), pieces.append)

    assert pieces == ["half", "whole"]
    assert [event["kind"] for event in heard] == ["retry", "request"]
    assert (reply.text, reply.usage, reply.billed) == ("whole", Usage(20, 1), Usage(40, 2))


async def test_a_connection_lost_after_done_is_of_no_interest(server, model, make):
    answer = done(make, {"content": "a"})
    answer.cut = True
    server.answers = [answer]

    assert (await model().complete(make.hello(), [].append)).text == "a"
    assert len(server.requests) == 1


async def test_a_server_that_does_not_end_after_done_is_not_waited_for(server, model, make):
    answer = done(make, {"content": "a"})
    answer.hang = 1
    server.answers = [answer]

    async with asyncio.timeout(5):
        assert (await model().complete(make.hello(), [].append)).text == "a"


async def test_an_error_in_a_stream_is_read_as_one(server, model, make):
    error = {"error": {"message": "overloaded", "code": 503}}
    server.answers = [
        make.Answer.events(make.chunk({"content": "half"}), error, "[DONE]"),
        done(make, {"content": "a"}),
    ]

    assert (await model().complete(make.hello(), [].append)).text == "a"


async def test_what_the_listener_raises_is_the_listener_s(server, model, make):
    server.answers = [done(make, {"content": "a"})]

    def full(text):
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        await model().complete(make.hello(), full)
    assert len(server.requests) == 1


@pytest.mark.parametrize("streamed", [False, True])
async def test_cancelling_ends_the_call_at_once_and_the_client_goes_on(server, model, make, streamed):
    hangs = make.Answer.events(make.chunk({"content": "half"}), hang=1) if streamed else make.Answer([b"{"], hang=1)
    server.answers = [hangs, make.Answer.text("a")]
    one, begun = model(), asyncio.Event()
    task = asyncio.create_task(one.complete(make.hello(), (lambda text: begun.set()) if streamed else None))
    if streamed:
        await begun.wait()
    while not server.requests:
        await asyncio.sleep(0.001)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(server.lost.wait(), 5)

    assert (await one.complete(make.hello())).text == "a"
    assert len(server.requests) == 2


async def test_a_429_holds_up_everybody(server, model, make, clock):
    limited = make.Answer.json({}, 429, headers={"retry-after": "7"})
    server.answers = [limited, make.Answer.text("a")]
    one, other = model(), model()
    await one.complete(make.hello())
    moment = clock.now
    one._pauses.hold(5.0)

    await other.complete(make.hello())

    assert clock.slept == [7.0, 5.0]
    assert clock.now == moment + 5.0


async def test_the_key_is_sent_and_shown_nowhere(server, model, make):
    server.answers = [make.Answer.json({"error": {"message": f"bad key {KEY} and Bearer {KEY}"}}, 401)]
    one = model(api_key=KEY, variable="MY_KEY")

    with pytest.raises(ProviderError) as raised:
        await one.complete(make.hello())

    error = raised.value
    shown = "".join((str(error), repr(error), repr(one._endpoint.server), str(raised.getrepr(style="long"))))
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert KEY not in shown
    assert "MY_KEY" in raised.value.hint


async def test_an_address_with_a_password_is_shown_without(make, model):
    with pytest.raises(ProviderError) as raised:
        await model(base_url="http://someone:password@127.0.0.1:9/v1").complete(make.hello())

    assert "password" not in str(raised.value)


async def test_no_key_is_needed_where_the_server_has_an_address(server, model, make, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "of-another-server")
    server.answers = [make.Answer.text("a")]

    await model().complete(make.hello())

    assert "of-another-server" not in server.headers[0]["authorization"]


async def test_without_an_address_and_a_key_nothing_is_sent(server, make, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)

    with pytest.raises(NoCredentials, match="MY_KEY is not set"):
        await OpenAIModel(variable="MY_KEY").complete(make.hello())

    assert server.requests == []


@pytest.mark.parametrize("base_url", ["localhost:8080/v1", "ftp://x/v1", "", "/v1"])
async def test_what_is_no_address_is_an_error_at_once(base_url):
    with pytest.raises(SettingsError, match="is not an address"):
        OpenAIModel(base_url=base_url)


async def test_one_client_is_shared_and_its_connections_are_used_again(server, model, make):
    server.answers = [make.Answer.text("a")]

    for one in (model(), model()):
        await one.complete(make.hello())
    streams = [done(make, {"content": "b"})] * 2
    server.answers = [None, None, *streams]
    for _ in streams:
        await model().complete(make.hello(), [].append)

    assert server.connections == 1
    assert shared_client(server.url, "k", 5.0) is shared_client(server.url, "k", 5.0)
    assert shared_client(server.url, "k", 5.0) is not shared_client(server.url, "other", 5.0)


async def test_a_client_of_the_user_s_own_is_used_and_left_open(server, make):
    server.answers = [make.Answer.text("a")]
    headers = {"x-team": "shop"}
    own = openai.AsyncAzureOpenAI(
        azure_endpoint=server.url, api_key=KEY, api_version="2026-01-01", default_headers=headers
    )

    reply = await OpenAIModel(client=own).complete(make.hello())
    await close_clients()

    assert reply.text == "a"
    assert not own.is_closed()
    await own.close()
    assert (server.headers[0]["api-key"], server.headers[0]["x-team"]) == (KEY, "shop")
    assert server.paths == ["/v1/openai/deployments/m/chat/completions?api-version=2026-01-01"]


async def test_twenty_at_once(server, model, make):
    server.answers = [lambda body: make.Answer.text(body["messages"][0]["content"])]
    one = model()

    asked = [Request("m", (Message("user", str(number)),)) for number in range(20)]
    replies = await asyncio.gather(*(one.complete(request) for request in asked))

    assert [reply.text for reply in replies] == [str(number) for number in range(20)]


async def test_every_recorded_reply_is_read_over_the_wire(server, model, make, recorded):
    """Not one is taken for what it is not; 18 servers, 6 of whose answers are no replies."""
    kinds = {"sse": "text/event-stream", "json": "application/json"}
    outcomes = []
    one = model(retry=type(model()._retry)(0))
    for record in recorded:
        server.answers = [make.Answer([record["body"]], record["status"], kinds[record["kind"]])]
        try:
            reply = await one.complete(make.hello(), [].append if record["kind"] == "sse" else None)
        except ConvoError as error:
            outcomes.append((record["status"], type(error)))
        else:
            assert reply.text or reply.calls or reply.extra
            outcomes.append((record["status"], None))

    assert outcomes.count((200, None)) == sum(record["status"] == 200 for record in recorded) - 5
    assert [kind for status, kind in outcomes if kind is not None] == [ProviderError] * 22


@pytest.mark.parametrize("cut", [True, False], ids=["broken off", "ended in order"])
async def test_recorded_streams_cut_anywhere_are_no_replies_over_the_wire(server, model, make, recorded, cut):
    streams = sorted((record["body"] for record in recorded if record["kind"] == "sse"), key=len)
    one = model(retry=type(model()._retry)(0))
    for body in streams[:: len(streams) // 6]:
        end = body.find(b"[DONE]") + 5 if b"[DONE]" in body else len(body)
        for place in range(0, end, max(1, end // 6)):
            server.answers = [make.Answer([body[:place]] if place else [], kind="text/event-stream", cut=cut)]
            with pytest.raises(ProviderError):
                await one.complete(make.hello(), [].append)


def plain_run(url, transport, make, closing):
    async def main():
        reply = await OpenAIModel(base_url=url, transport=transport).complete(make.hello())
        if closing:
            await close_clients()
        return reply

    return asyncio.run(main())


async def test_closing_leaves_nothing_behind(server, transport, make):
    server.answers = [make.Answer.text("a")]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first = await asyncio.to_thread(plain_run, server.url, transport, make, True)
        second = await asyncio.to_thread(plain_run, server.url, transport, make, True)
        gc.collect()

    assert (first.text, second.text) == ("a", "a")
    assert server.connections == 2


async def test_nothing_is_logged_about_what_was_said(server, model, make, caplog):
    server.answers = [make.Answer.text("an answer")]
    with caplog.at_level(logging.DEBUG):
        await model(api_key=KEY).complete(make.hello())

    assert KEY not in caplog.text
