from __future__ import annotations

import pytest

from pytest_convo.conversation.message import Message, ToolCall
from pytest_convo.prompt.request import Request, ToolSpec
from pytest_convo.testing.chat_body import BadBody, check_body, request_of

USER = {"role": "user", "content": "hello"}
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CALLED = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "42"}


@pytest.mark.parametrize(
    "messages",
    [
        [USER],
        [{"role": "system", "content": ""}],
        [{"role": "developer", "content": "x"}, USER],
        [{"role": "user", "content": [{"type": "text", "text": "a"}]}],
        [USER, CALLED, RESULT],
        [USER, {**CALLED, "content": "look"}, RESULT, CALLED, RESULT],
    ],
)
def test_what_the_api_takes_is_taken(messages):
    check_body({"model": "m", "messages": messages, "tools": None, "stream": None, "n": 1})


@pytest.mark.parametrize(
    "body, param",
    [
        ({"model": None}, "model"),
        ({"model": ""}, "model"),
        ({"messages": []}, "messages"),
        ({"messages": "hello"}, "messages"),
        ({"messages": [USER, "hello"]}, "messages[1]"),
        ({"messages": [{"role": "bot", "content": "x"}]}, "messages[0].role"),
        ({"messages": [{"role": "user"}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": ["x"]}]}, "messages[0].content"),
        ({"messages": [USER, {**CALLED, "tool_calls": [{"id": "c1"}]}]}, "messages[1]"),
        ({"messages": [USER, {**CALLED, "tool_calls": 5}]}, "messages[1]"),
        ({"messages": [USER, RESULT]}, "messages[1]"),
        ({"messages": [USER, CALLED]}, "messages"),
        ({"messages": [USER, CALLED, USER]}, "messages[2]"),
        ({"messages": [USER, CALLED, RESULT, RESULT]}, "messages[3]"),
        ({"messages": [USER, CALLED, {**RESULT, "tool_call_id": "c2"}]}, "messages[2]"),
        ({"messages": [USER, CALLED, {**RESULT, "tool_call_id": ["c1"]}]}, "messages[2]"),
        ({"tools": {"a": 1}}, "tools"),
        ({"tools": [{"type": "function"}]}, "tools[0]"),
        ({"n": 2}, "n"),
        ({"stream": "yes"}, "stream"),
        ({"stream_options": True}, "stream_options"),
    ],
)
def test_what_the_api_refuses_is_refused_with_the_parameter(body, param):
    whole = {"model": "m", "messages": [USER], **body}
    with pytest.raises(BadBody) as caught:
        check_body(whole)
    assert caught.value.param == param


def test_a_request_survives_its_way_over_the_wire():
    request = Request(
        model="m",
        messages=(
            Message("system", "s"),
            Message("user", "u", name="ann"),
            Message("assistant", None, tool_calls=(ToolCall("c1", "f", '{"a": 1}'),)),
            Message("tool", "42", tool_call_id="c1"),
        ),
        tools=(ToolSpec("f", "does f", {"type": "object"}),),
        parameters={"temperature": 0, "seed": 7},
    )
    assert request_of(request.body()) == request
