from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_convo.bot.faults import Server
from pytest_convo.bot.wire import identified, mended, message_reply, read_reply, read_usage
from pytest_convo.conversation.message import Message, ToolCall
from pytest_convo.conversation.reply import Usage
from pytest_convo.errors import BotFailure, ContextOverflow, ConvoError, ProviderError

HOST = Server("api.example")
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"id": 7}'}}


def body(message, finish_reason="stop", **more):
    return json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": finish_reason}], **more}).encode()


def said(message, finish_reason="stop", **more):
    return read_reply(body(message, finish_reason, **more), HOST)


def test_a_plain_answer():
    usage = {"prompt_tokens": 20, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": 4}}

    reply = said({"role": "assistant", "content": "30 days"}, usage=usage, model="m-1")

    assert (reply.text, reply.calls, reply.finish_reason, reply.model) == ("30 days", (), "stop", "m-1")
    assert Usage(20, 9, 4) == reply.usage == reply.billed
    assert reply.extra == {}


@pytest.mark.parametrize(
    "content, text, extra",
    [
        (None, "", {}),
        ("", "", {}),
        ([{"type": "text", "text": "30 "}, {"type": "text", "text": "days"}], "30 days", {}),
        (
            [{"type": "thinking", "thinking": [{"type": "text", "text": "2+2"}], "closed": True}, {"text": "4"}],
            "4",
            {"thinking": "2+2"},
        ),
        ([{"type": "thinking", "thinking": "2+2"}, {"type": "reference", "ids": [1]}, "4"], "4", None),
    ],
)
def test_contents_that_are_not_a_text(content, text, extra):
    reply = said({"content": content})

    assert text == reply.text
    assert (
        {"thinking": "2+2", "parts": [{"type": "reference", "ids": [1]}]} if extra is None else extra
    ) == reply.extra


def test_extras_are_kept_and_empty_ones_are_not():
    empty = {"refusal": "", "annotations": [], "audio": {"data": "", "expires_at": 0}, "function_call": {"name": ""}}

    reply = said({"content": "4", "reasoning": "hm", "reasoning_details": [{"text": "hm"}], **empty})

    assert reply.extra == {"reasoning": "hm", "reasoning_details": [{"text": "hm"}]}


@pytest.mark.parametrize("finish_reason", ["", None])
def test_an_answer_that_gives_no_finish_reason_is_a_reply_where_it_holds_something(finish_reason):
    assert (
        said({"content": "4"}, finish_reason).text,
        said({"content": "4"}, finish_reason).finish_reason,
    ) == ("4", None)
    assert len(said({"content": "", "tool_calls": [CALL]}, finish_reason).calls) == 1

    with pytest.raises(ProviderError, match="an empty answer without a finish reason"):
        said({"content": "", "tool_calls": None}, finish_reason)


def test_an_empty_answer_that_says_stop_is_a_reply():
    assert said({"content": ""}).text == ""


@pytest.mark.parametrize(
    "call, expected",
    [
        (CALL, ToolCall("c1", "look", '{"id": 7}')),
        ({"id": "c1", "function": {"name": "look"}}, ToolCall("c1", "look", "{}")),
        ({"id": "c1", "function": {"name": "look", "arguments": None}}, ToolCall("c1", "look", "{}")),
        ({"id": 3, "function": {"name": "look", "arguments": {"é": 1}}}, ToolCall("3", "look", '{"é": 1}')),
        ({"function": {"name": "look", "arguments": "{bad"}}, ToolCall("", "look", "{bad")),
        ({**CALL, "custom": {"name": "", "input": ""}}, ToolCall("c1", "look", '{"id": 7}')),
    ],
)
def test_tool_calls(call, expected):
    assert (expected,) == said({"content": None, "tool_calls": [call]}, "tool_calls").calls


def test_the_choice_of_index_0_is_the_reply():
    choices = [{"index": n, "message": {"content": str(n)}, "finish_reason": "stop"} for n in (1, 0, 2)]

    assert read_reply(json.dumps({"choices": choices}).encode(), HOST).text == "0"


@pytest.mark.parametrize("finish_reason", ["stop", None])
def test_a_refusal_is_a_reply_that_says_so(finish_reason):
    reply = said({"content": None, "refusal": "I cannot"}, finish_reason)

    assert (reply.text, reply.extra) == ("", {"refusal": "I cannot"})


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"method=POST pathname=/bin/chat",
        b"<html><body>nginx</body></html>",
        b"[]",
        b"null",
        b'"text"',
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b"{}",
        b'{"method": "POST"}',
        b'{"choices": []}',
        b'{"choices": null}',
        b'{"choices": [null]}',
        b'{"choices": {"0": 1}}',
        b'{"choices": [{"text": "a completion of old"}]}',
        b'{"choices": [{"message": "text"}]}',
        b'{"choices": [{"message": {"content": 5}}]}',
        b'{"choices": [{"message": {"tool_calls": [{"id": "1"}]}}]}',
        b'{"choices": [{"message": {"tool_calls": [5]}}]}',
        b'{"choices": [{"message": {"tool_calls": [{"function": {"name": ""}}]}}]}',
    ],
)
def test_what_is_no_chat_completion_is_never_a_reply_and_not_asked_for_again(answer):
    with pytest.raises(ProviderError, match="sent no chat completion") as raised:
        read_reply(answer, HOST)

    assert not raised.value.transient
    assert len(str(raised.value)) < 600


@pytest.mark.parametrize(
    "answer, kind, status, transient",
    [
        ({"error": {"message": "no", "code": 429}}, ProviderError, 429, True),
        ({"error": {"message": "no", "code": "502"}}, ProviderError, 502, True),
        ({"error": {"message": "no", "type": "invalid_request_error"}}, ProviderError, 400, False),
        ({"error": {"message": "no", "type": "server_error", "code": None}}, ProviderError, 500, True),
        ({"error": "overloaded"}, ProviderError, None, True),
        ({"choices": [], "error": {"message": "no", "status_code": 400}}, ProviderError, 400, False),
        ({"object": "error", "message": "no", "code": 404}, ProviderError, 404, False),
        (
            {"choices": [{"error": {"message": "no", "code": 503}, "message": {"content": "half"}}]},
            ProviderError,
            503,
            True,
        ),
        ({"choices": [{"finish_reason": "error", "message": {"content": "half"}}]}, ProviderError, None, True),
        ({"error": {"code": "context_length_exceeded", "message": "too long"}}, ContextOverflow, None, None),
        ({"error": {"code": "content_filter", "message": "no"}}, BotFailure, None, None),
    ],
)
def test_an_error_within_a_good_answer_is_raised(answer, kind, status, transient):
    with pytest.raises(ConvoError) as raised:
        read_reply(json.dumps(answer).encode(), HOST)

    assert kind is type(raised.value)
    assert status == getattr(raised.value, "status", None)
    assert transient == getattr(raised.value, "transient", None)


@pytest.mark.parametrize(
    "usage, expected",
    [
        (None, None),
        ({}, None),
        ({"prompt_tokens": None}, None),
        ("many", None),
        ({"prompt_tokens": 5, "completion_tokens": 0}, Usage(5, 0)),
        ({"prompt_tokens": 5.0, "completion_tokens": True}, Usage(5, 0)),
        ({"input_tokens": 5, "output_tokens": 2}, Usage(5, 2)),
        ({"prompt_tokens": 5, "prompt_cache_hit_tokens": 3}, Usage(5, 0, 3)),
        ({"prompt_tokens": 5, "prompt_tokens_details": None, "num_cached_tokens": 2}, Usage(5, 0, 2)),
    ],
)
def test_usage_by_the_names_it_goes_by(usage, expected):
    assert expected == read_usage(usage)


def test_a_whole_stream_that_nobody_asked_for_is_read_all_the_same(make):
    stream = b"".join(make.events(make.chunk({"content": "4"}, "stop"), "[DONE]"))

    assert read_reply(stream, HOST).text == "4"
    with pytest.raises(ProviderError, match="without"):
        read_reply(stream[:-9], HOST)


def test_calls_get_ids_of_their_own_where_the_server_s_are_missing_or_used():
    before = Message("assistant", None, tool_calls=(ToolCall("0", "look"), ToolCall("call_3", "look")))

    calls = identified([ToolCall(one, "look") for one in ("", "0", "x", "x", "call_7")], [before])

    assert [call.id for call in calls] == ["call_3_", "call_4", "x", "call_6", "call_7"]


@given(st.text(st.characters(codec=None, categories=("Cs", "Lu", "So")), max_size=8))
def test_mended_text_can_be_written_to_a_file(text):
    assert mended(text).encode().decode() == mended(text)


def test_halves_of_a_character_find_each_other():
    assert mended("a\ud83d\ude00b") == "a😀b"
    assert mended("a\ud83db") == "a\ufffdb"


JUNK = st.sampled_from([None, True, 0, -1, 429, 1.5, "", "x", "\ud83d", [], {}, [None], [[]], ["x"], {"x": {}}])


def exact(**fields):
    """An object with any of these fields, each as it should be or junk."""
    return st.fixed_dictionaries({}, optional={name: value | JUNK for name, value in fields.items()})


def parts(**fields):
    return exact(**fields) | JUNK


FUNCTION = parts(name=st.just("look"), arguments=st.just("{}"))
MESSAGE = parts(
    content=st.lists(parts(text=JUNK, thinking=JUNK), max_size=2),
    tool_calls=st.lists(parts(id=JUNK, function=FUNCTION, index=JUNK), max_size=2),
    refusal=JUNK,
    reasoning=st.just([{"index": 0}]),
)
CHOICE = parts(message=MESSAGE, delta=MESSAGE, finish_reason=JUNK, index=JUNK, error=JUNK)
ERROR = parts(message=JUNK, code=JUNK, type=JUNK, innererror=parts(code=JUNK))
ANSWER = exact(
    choices=st.lists(CHOICE, max_size=2), usage=parts(prompt_tokens=JUNK), error=ERROR, model=JUNK, x_groq=JUNK
)


@settings(max_examples=500)
@given(ANSWER)
def test_no_answer_whatever_breaks_the_reader(answer):
    with suppress(ConvoError):
        assert read_reply(json.dumps(answer).encode(), HOST).text is not None


@settings(max_examples=300)
@given(st.lists(ANSWER, max_size=3))
def test_no_stream_whatever_breaks_the_reader(chunks):
    body = b"".join(b"data: %s\n\n" % json.dumps(one).encode() for one in chunks)
    with suppress(ConvoError):
        assert read_reply(body + b"data: [DONE]", HOST).text is not None


def test_a_message_of_an_application_needs_no_usage_or_model():
    reply = message_reply({"role": "assistant", "content": "Hi"}, HOST, finish_reason="stop")

    assert (reply.text, reply.usage, reply.model) == ("Hi", None, None)


def test_every_recorded_json_reply_is_read_as_it_was_sent(recorded):
    replies = [record for record in recorded if record["status"] == 200 and record["kind"] == "json"]
    refused = []
    for record in replies:
        answer = record.get("response_json")
        try:
            reply = read_reply(record["body"], HOST)
        except ConvoError as error:
            refused.append(
                (record["path"].rpartition("/")[2], type(error), isinstance(answer, dict) and "choices" in answer)
            )
            continue
        if answer is None:
            answer = json.loads(record["response_text"])
        message = answer["choices"][0]["message"]
        parts = (
            message["content"] if isinstance(message.get("content"), list) else [{"text": message.get("content") or ""}]
        )
        assert "".join(part.get("text", "") for part in parts) == reply.text
        calls = [
            (c["id"], c["function"]["name"], c["function"].get("arguments", "{}"))
            for c in message.get("tool_calls") or ()
        ]
        assert calls == [(call.id, call.name, call.arguments) for call in reply.calls]
        assert (answer["choices"][0]["finish_reason"] or None) == reply.finish_reason
        assert answer["usage"]["completion_tokens"] == reply.usage.completion_tokens
        for kept in ("reasoning", "reasoning_content", "reasoning_details", "executed_tools"):
            assert (message.get(kept) or None) == reply.extra.get(kept)

    assert len(replies) > 400
    assert [
        ("test_invalid_response.yaml", ProviderError, False),
        ("test_text_response.yaml", ProviderError, False),
    ] == refused
