from __future__ import annotations

import itertools
import json
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.bot.deltas import Stream
from pytest_convo.bot.faults import Server
from pytest_convo.conversation.message import ToolCall
from pytest_convo.conversation.reply import Usage
from pytest_convo.errors import ContextOverflow, ConvoError, ProviderError

HOST = Server("api.example")


def chunk(delta, finish_reason=None, **more):
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}], **more}


def sse(*chunks):
    return b"".join(b"data: " + (c if isinstance(c, bytes) else json.dumps(c).encode()) + b"\n\n" for c in chunks)


def streamed(*received):
    stream = Stream(HOST)
    pieces = [text for part in received for text in stream.feed(part)]
    return SimpleNamespace(stream=stream, pieces=pieces, reply=stream.reply())


def assembled(*deltas):
    return streamed(sse(*(chunk(delta) for delta in deltas), chunk({}, "stop"), b"[DONE]")).reply


def call(**fields):
    return {
        "tool_calls": [{"function": {key: fields.pop(key) for key in ("name", "arguments") if key in fields}, **fields}]
    }


def test_a_streamed_answer():
    usage = {"prompt_tokens": 20, "completion_tokens": 2}
    parts = [chunk({"role": "assistant", "content": ""}, model="m-1"), chunk({"content": "30"}, usage=None)]
    parts += [chunk({"content": " days"}), chunk({}, "stop"), {"choices": [], "usage": usage}]

    got = streamed(sse(*parts, b"[DONE]"))

    assert got.pieces == ["30", " days"]
    assert (got.reply.text, got.reply.finish_reason, got.reply.model) == ("30 days", "stop", "m-1")
    assert Usage(20, 2) == got.reply.usage == got.stream.usage


@pytest.mark.parametrize(
    "deltas, calls",
    [
        pytest.param(
            [
                call(index=0, id="a", name="f", arguments=""),
                call(index=0, arguments='{"x"'),
                call(index=0, arguments=":1}"),
            ],
            [ToolCall("a", "f", '{"x":1}')],
            id="the usual pieces",
        ),
        pytest.param(
            [
                call(index=0, id="a", name="f"),
                call(index=1, id="b", name="g"),
                call(index=0, arguments="1"),
                call(index=1, arguments="2"),
            ],
            [ToolCall("a", "f", "1"), ToolCall("b", "g", "2")],
            id="two calls, their pieces mixed",
        ),
        pytest.param(
            [call(index=0, id="0", name="f", arguments=""), call(index=0, id="0", name="f", arguments="{}")],
            [ToolCall("0", "f", "{}")],
            id="name and id said again",
        ),
        pytest.param(
            [call(index=0, id="a", name="f", arguments="{}"), call(index=0, id="b", name="f", arguments="{}")],
            [ToolCall("a", "f", "{}"), ToolCall("b", "f", "{}")],
            id="one index for two calls",
        ),
        pytest.param(
            [call(id="a", name="f", arguments="{"), call(arguments="}"), call(id="b", name="g", arguments="{}")],
            [ToolCall("a", "f", "{}"), ToolCall("b", "g", "{}")],
            id="no index",
        ),
        pytest.param(
            [call(id="a", index=0, name="f"), call(id="b", index=1, name="g"), call(id="a", arguments="1")],
            [ToolCall("a", "f", "1"), ToolCall("b", "g", "{}")],
            id="the index in the first piece only",
        ),
        pytest.param(
            [call(index=0, name="f"), call(index=0, id="a", arguments="{}")], [ToolCall("a", "f", "{}")], id="a late id"
        ),
        pytest.param(
            [call(index=0, id="a", name="get_"), call(index=0, name="weather")],
            [ToolCall("a", "get_weather", "{}")],
            id="a name in pieces",
        ),
        pytest.param(
            [call(index=0, id="a", name="f", arguments={"x": 1})], [ToolCall("a", "f", '{"x": 1}')], id="an object"
        ),
        pytest.param([call(index=2, id="a", name="f")], [ToolCall("a", "f", "{}")], id="no arguments, index from 2"),
        pytest.param([{"tool_calls": None}, {"content": "no calls"}], [], id="null"),
    ],
)
def test_tool_calls_from_their_pieces(deltas, calls):
    assert calls == list(assembled(*deltas).calls)


def test_extras_are_put_together_each_in_its_way():
    first, second = {"index": 0, "type": "text", "text": "fi"}, {"index": 0, "type": "text", "text": "rst"}
    other = {"index": 0, "type": "encrypted", "data": "x"}

    reply = assembled(
        {"reasoning": "I ", "channel": "analysis", "reasoning_details": [first], "refusal": "I can"},
        {"reasoning": "think", "channel": "analysis", "reasoning_details": [second, other]},
        {"content": "4", "reasoning": None, "annotations": [{"url": "a"}]},
        {"annotations": [{"url": "b"}], "audio": {"id": "1"}, "refusal": "not"},
        {"audio": {"transcript": "t"}},
    )

    assert {
        "reasoning": "I think",
        "refusal": "I cannot",
        "channel": "analysis",
        "reasoning_details": [{"index": 0, "type": "text", "text": "first"}, other],
        "annotations": [{"url": "a"}, {"url": "b"}],
        "audio": {"id": "1", "transcript": "t"},
    } == reply.extra


def test_thinking_in_parts_is_no_text():
    thinking = [{"type": "thinking", "thinking": [{"type": "text", "text": text}]} for text in ("2", "+2")]

    reply = assembled({"content": thinking[:1]}, {"content": thinking[1:]}, {"content": "4"})

    assert (reply.text, reply.extra) == ("4", {"thinking": "2+2"})


def test_only_the_choice_of_index_0_is_read():
    other = {"index": 1, "delta": {"content": "no"}, "finish_reason": "length"}

    got = streamed(sse({"choices": [other]}, chunk({"content": "yes"}, "stop"), {"choices": [other]}, b"[DONE]"))

    assert (got.reply.text, got.reply.finish_reason) == ("yes", "stop")


def test_a_second_finish_reason_ends_no_earlier_than_done():
    got = streamed(sse(chunk({"content": "a"}, "stop"), chunk({"content": "b"}, "stop"), b"[DONE]"))

    assert got.reply.text == "ab"


@pytest.mark.parametrize("finish_reason", [None, ""])
def test_a_whole_stream_without_a_finish_reason_is_a_reply_where_it_holds_something(finish_reason):
    assert streamed(sse(chunk({"content": "4"}, finish_reason), b"[DONE]")).reply.finish_reason is None
    assert len(streamed(sse(chunk(call(id="a", name="f"), finish_reason), b"[DONE]")).reply.calls) == 1

    with pytest.raises(ProviderError, match="an empty answer without a finish reason"):
        streamed(sse(chunk({"content": ""}, finish_reason), b"[DONE]"))


def test_nothing_after_done_is_read():
    assert (
        streamed(sse(chunk({"content": "a"}, "stop"), b"[DONE]", b"rubbish", chunk({"content": "b"}))).reply.text == "a"
    )


def test_groq_counts_under_a_name_of_its_own():
    counted = {"usage": {"prompt_tokens": 5, "completion_tokens": 1}}

    assert Usage(5, 1) == streamed(sse(chunk({"content": "a"}, "stop", x_groq=counted), b"[DONE]")).reply.usage


@pytest.mark.parametrize(
    "text, kind, match",
    [
        (b"data: {bad\n\n", ProviderError, "a malformed event: {bad"),
        (b"data: 5\n\n", ProviderError, "a malformed event: 5"),
        (b"data: \xff\n\n", ProviderError, "a malformed event"),
        (b'data: {"error": {"message": "Token limit reached", "code": 400}}\n\n', ProviderError, "400: Token limit"),
        (
            b'event: error\ndata: {"error": {"message": "no", "status_code": 400}}\n\n',
            ProviderError,
            "answered 400: no",
        ),
        (b"event: error\ndata: overloaded\n\n", ProviderError, "sent an error: overloaded"),
        (b'error: {"code": 500, "message": "broken"}\n\n', ProviderError, "500: broken"),
        (b'data: {"error": {"code": "context_length_exceeded"}}\n\n', ContextOverflow, "api.example"),
        (b'data: {"choices": [{"delta": {}, "finish_reason": "error"}]}\n\n', ProviderError, "broke off"),
    ],
)
def test_errors_in_a_stream_are_raised_though_a_text_came_before(text, kind, match):
    with pytest.raises(kind, match=match):
        streamed(sse(chunk({"content": "half"})) + text + b"data: [DONE]\n\n")


def test_the_tokens_of_a_broken_stream_are_known():
    stream = Stream(HOST)
    with pytest.raises(ProviderError):
        list(stream.feed(sse({"error": {"message": "no"}, "usage": {"prompt_tokens": 43, "completion_tokens": 10}})))

    assert Usage(43, 10) == stream.usage


WHOLE = sse(
    chunk({"role": "assistant", "content": "Grüße 😀"}, model="m-1"),
    chunk({"content": "!", "reasoning": "ö"}),
    chunk(call(index=0, id="a", name="f", arguments='{"x": "')),
    chunk(call(index=0, arguments='é"}')),
    chunk({}, "tool_calls", usage={"prompt_tokens": 1, "completion_tokens": 2}),
    b"[DONE]",
)


@given(st.lists(st.integers(0, len(WHOLE)), max_size=8), st.sampled_from([b"\n", b"\r\n"]))
def test_how_the_bytes_are_cut_changes_nothing(cuts, end):
    whole = WHOLE.replace(b"\n", end)
    places = [0, *sorted(cuts), len(whole)]

    got = streamed(*(whole[start:stop] for start, stop in itertools.pairwise(places)))

    assert streamed(whole).reply == got.reply


@given(st.text(max_size=40), st.lists(st.integers(0, 40), max_size=6))
def test_arguments_and_text_come_out_as_they_went_in(text, cuts):
    places = [0, *sorted(cuts), len(text)]
    pieces = [text[start:stop] for start, stop in itertools.pairwise(places)]
    deltas = [{"content": piece} for piece in pieces] + [call(index=0, id="a", name="f")]
    deltas += [call(index=0, arguments=piece) for piece in pieces]

    reply = assembled(*deltas)

    assert (text, text or "{}") == (reply.text, reply.calls[0].arguments)


def test_a_stream_cut_at_any_byte_is_no_reply():
    stream = Stream(HOST)
    for place, byte in enumerate(WHOLE[: WHOLE.index(b"[DONE]") + 5]):
        with pytest.raises(ProviderError, match="without"):
            stream.reply()
        assert place < len(WHOLE)
        list(stream.feed(bytes([byte])))
    list(stream.feed(b"]"))

    assert stream.reply().text == "Grüße 😀!"


def test_every_recorded_stream_is_read_and_none_that_was_cut_is_a_reply(recorded):
    streams = [record for record in recorded if record["kind"] == "sse"]
    refused = []
    for record in streams:
        stream, cut, naive = Stream(HOST), 0, ""
        try:
            for event in record["body"].split(b"\n\n"):
                with pytest.raises(ProviderError, match="without"):
                    stream.reply()
                for text in stream.feed(event + b"\n\n"):
                    naive += text
                cut += 1
                if stream.done:
                    break
            reply = stream.reply()
        except ConvoError as error:
            refused.append((record["path"].rpartition("/")[2], type(error)))
            continue
        assert naive == reply.text
        assert reply.text or reply.calls or reply.extra["refusal"]
        assert cut > 1

    assert len(streams) > 80
    assert [
        ("test_tool_use_failed_error_streaming.yaml", ProviderError),
        ("test_tool_use_failed_error_streaming_with_text.yaml", ProviderError),
        ("test_openrouter_stream_error.yaml", ProviderError),
    ] == refused


def test_a_few_recorded_streams_cut_at_every_byte_are_no_replies(recorded):
    streams = sorted((record["body"] for record in recorded if record["kind"] == "sse"), key=len)
    for body in [*streams[:4], streams[len(streams) // 2]]:
        stream, whole = Stream(HOST), body.find(b"[DONE]") + 6
        for place in range(whole):
            with pytest.raises(ProviderError):
                stream.reply()
            list(stream.feed(body[place : place + 1]))
        stream.reply()
