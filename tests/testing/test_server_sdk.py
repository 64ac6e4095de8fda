"""The scripted server, held against OpenAI's own client."""

from __future__ import annotations

import asyncio
import json

import openai
import pytest

from pytest_convo.conversation.reply import Usage
from pytest_convo.testing import ScriptedReply

LOOK = {"name": "look", "arguments": {"id": "A17", "note": "grün"}}
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}


def ask(client, text="hello", **parameters):
    return client.chat.completions.create(model="m", messages=[{"role": "user", "content": text}], **parameters)


def test_a_plain_reply(serve, client_of):
    completion = ask(client_of(serve([ScriptedReply(text="grüß dich ✓", usage=Usage(10, 3, 4))])))
    assert completion.choices[0].message.content == "grüß dich ✓"
    assert (completion.model, completion.choices[0].finish_reason) == ("m", "stop")
    assert (completion.usage.total_tokens, completion.usage.prompt_tokens_details.cached_tokens) == (13, 4)


def test_a_streamed_reply_comes_in_its_pieces(serve, client_of):
    client = client_of(serve([ScriptedReply(pieces=["gr", "ün", " ✓"])]))
    chunks = list(ask(client, stream=True))
    assert [chunk.choices[0].delta.content for chunk in chunks] == ["", "gr", "ün", " ✓", None]
    assert [chunk.choices[0].finish_reason for chunk in chunks] == [None] * 4 + ["stop"]
    assert all(chunk.usage is None for chunk in chunks)


def test_usage_comes_last_in_a_stream_that_asks_for_it(serve, client_of):
    client = client_of(serve([ScriptedReply(text="a b c")]))
    *_, last = ask(client, stream=True, stream_options={"include_usage": True})
    assert (last.choices, last.usage.prompt_tokens, last.usage.completion_tokens) == ([], 1, 3)


@pytest.mark.parametrize("chunk_size", [1, 2, 7])
def test_a_character_may_be_cut_by_the_wire(serve, client_of, chunk_size):
    text = "Größe ✓ 🍵 茶"
    client = client_of(serve([ScriptedReply(text=text, pieces=1)], chunk_size=chunk_size))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in ask(client, stream=True)) == text


def test_tool_calls_go_to_and_fro(serve, client_of):
    server = serve(
        [ScriptedReply(when="order", calls=[LOOK, {"name": "log"}]), ScriptedReply(when="found", text="Done.")]
    )
    client = client_of(server)
    message = ask(client, "order A17", tools=[TOOL]).choices[0].message
    assert message.content is None
    assert [(call.id, call.function.name) for call in message.tool_calls] == [("call_1", "look"), ("call_2", "log")]
    assert json.loads(message.tool_calls[0].function.arguments) == LOOK["arguments"]
    results = [{"role": "tool", "tool_call_id": call.id, "content": "found"} for call in message.tool_calls]
    messages = [{"role": "user", "content": "order A17"}, message, *results]
    assert client.chat.completions.create(model="m", messages=messages).choices[0].message.content == "Done."


def test_streamed_calls_are_put_together_by_the_sdk(serve, client_of):
    client = client_of(serve([ScriptedReply(text="one moment", calls=[LOOK, {"name": "log"}])]))
    messages = [{"role": "user", "content": "x"}]
    with client.chat.completions.stream(model="m", messages=messages) as stream:
        message = stream.get_final_completion().choices[0].message
    assert message.content == "one moment"
    assert json.loads(message.tool_calls[0].function.arguments) == LOOK["arguments"]
    assert message.tool_calls[1].function.arguments == "{}"


@pytest.mark.parametrize(
    "status, kind, code",
    [
        (400, openai.BadRequestError, None),
        (401, openai.AuthenticationError, "invalid_api_key"),
        (404, openai.NotFoundError, "model_not_found"),
        (429, openai.RateLimitError, "rate_limit_exceeded"),
        (500, openai.InternalServerError, None),
        (503, openai.InternalServerError, None),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_errors_are_the_apis_own(serve, client_of, status, kind, code, stream):
    client = client_of(serve([ScriptedReply(error=status, text="no tea")]))
    with pytest.raises(kind, match="no tea") as caught:
        ask(client, stream=stream)
    assert (caught.value.status_code, caught.value.code) == (status, code)


def test_a_client_that_retries_gets_the_reply_that_comes_next(serve, client_of):
    server = serve([ScriptedReply(error=429, times=2, retry_after=0.001), ScriptedReply(text="at last")])
    assert ask(client_of(server, max_retries=2)).choices[0].message.content == "at last"
    assert [request.status for request in server.requests] == [429, 429, 200]


def test_a_full_context_has_its_code(serve, client_of):
    client = client_of(serve([ScriptedReply(error=400, code="context_length_exceeded")]))
    with pytest.raises(openai.BadRequestError) as caught:
        ask(client)
    assert caught.value.code == "context_length_exceeded"


def test_a_script_that_has_run_out_is_not_asked_again(serve, client_of):
    server = serve([ScriptedReply(when="tea", text="T")])
    with pytest.raises(openai.APIStatusError, match="no reply left for 'hello'") as caught:
        ask(client_of(server, max_retries=3))
    assert (caught.value.status_code, caught.value.code) == (410, "script_exhausted")
    assert server.count == 1


def test_a_slow_first_byte_is_a_timeout(serve, client_of):
    server = serve([ScriptedReply(when="slow", text="late", latency=30), ScriptedReply(text="soon")])
    client = client_of(server)
    with pytest.raises(openai.APITimeoutError):
        ask(client, "slow", timeout=0.1)
    assert ask(client).choices[0].message.content == "soon"


@pytest.mark.parametrize("cut, arrived", [(0, [""]), (1, ["", "a"]), (9, ["", "a", "b"])])
def test_a_stream_may_break_off(serve, client_of, cut, arrived):
    client = client_of(serve([ScriptedReply(pieces=["a", "b"], cut=cut)]))
    stream, pieces = ask(client, stream=True), []
    with pytest.raises(openai.APIConnectionError):
        pieces.extend(chunk.choices[0].delta.content for chunk in stream)
    assert pieces == arrived


@pytest.mark.parametrize("cut", [0, 1, 9])
def test_a_body_may_break_off(serve, client_of, cut):
    client = client_of(serve([ScriptedReply(pieces=["a", "b"], cut=cut)]))
    with pytest.raises(openai.APIConnectionError):
        ask(client)


def test_a_stream_may_be_malformed(serve, client_of):
    client = client_of(serve([ScriptedReply(pieces=["a", "b"], malformed=True)]))
    with pytest.raises(json.JSONDecodeError):
        list(ask(client, stream=True))


def test_a_body_may_be_malformed(serve, client_of):
    client = client_of(serve([ScriptedReply(text="a", malformed=True)]))
    with pytest.raises((json.JSONDecodeError, openai.APIResponseValidationError)):
        ask(client)


def test_a_wrong_key_is_refused_and_the_right_one_is_not(serve, client_of):
    server = serve([ScriptedReply(text="hi")], api_key="right-key")
    with pytest.raises(openai.AuthenticationError):
        ask(client_of(server, api_key="wrong-key"))
    with pytest.raises(openai.AuthenticationError):
        client_of(server, api_key="wrong-key").models.list()
    assert ask(client_of(server, api_key="right-key")).choices[0].message.content == "hi"
    assert [request.status for request in server.requests] == [401, 200]
    assert all("right-key" not in repr(request) for request in server.requests)


def test_the_models_are_listed(serve, client_of):
    assert [model.id for model in client_of(serve([])).models.list()] == ["scripted"]


def test_a_function_answers_with_the_whole_request_in_hand(serve, client_of):
    def reply(request):
        assert request.parameters == {"temperature": 0, "seed": 7}
        return ScriptedReply(text=f"{request.model}/{request.tools[0].name}/{request.messages[-1].text}")

    client = client_of(serve(reply))
    completion = ask(client, temperature=0, seed=7, tools=[TOOL])
    assert completion.choices[0].message.content == "m/look/hello"


def test_a_function_that_fails_is_told_and_logged_and_not_asked_again(serve, client_of, caplog):
    def reply(request):
        raise ZeroDivisionError("a mistake of the test's")

    server = serve(reply)
    with pytest.raises(openai.InternalServerError, match="ZeroDivisionError: a mistake of the test's"):
        ask(client_of(server, max_retries=3))
    assert server.count == 1
    assert "ZeroDivisionError" in caplog.text


def test_a_hundred_at_once_are_all_answered_side_by_side(serve):
    server = serve(lambda request: f"re: {request.messages[-1].text}", latency=0.05)

    async def ask_all():
        async with openai.AsyncOpenAI(base_url=server.url, api_key="k", max_retries=0) as client:
            asked = (
                client.chat.completions.create(model="m", messages=[{"role": "user", "content": str(n)}])
                for n in range(100)
            )
            return [completion.choices[0].message.content for completion in await asyncio.gather(*asked)]

    assert asyncio.run(ask_all()) == [f"re: {n}" for n in range(100)]
    assert server.count == len({request.raw for request in server.requests}) == 100
    assert server.in_flight_max > 1
    assert server.in_flight == 0


def test_a_call_that_is_cancelled_leaves_nothing_in_flight(serve):
    server = serve([ScriptedReply(when="slow", text="late", latency=30), ScriptedReply(text="soon")])

    async def in_flight(number):
        while server.in_flight != number:
            await asyncio.sleep(0.005)

    async def cancel_one():
        async with asyncio.timeout(5), openai.AsyncOpenAI(base_url=server.url, api_key="k", max_retries=0) as client:
            create = client.chat.completions.create
            task = asyncio.create_task(create(model="m", messages=[{"role": "user", "content": "slow"}]))
            await in_flight(1)
            task.cancel()
            await in_flight(0)
            return await create(model="m", messages=[{"role": "user", "content": "x"}])

    assert asyncio.run(cancel_one()).choices[0].message.content == "soon"


def test_a_large_message_goes_both_ways(serve, client_of):
    client = client_of(serve(lambda request: request.messages[-1].text))
    text = "tea " * 500_000
    assert ask(client, text).choices[0].message.content == text
