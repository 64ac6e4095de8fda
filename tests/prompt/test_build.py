from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.conversation.message import Message, ToolCall
from pytest_convo.errors import SettingsError
from pytest_convo.prompt.build import build
from pytest_convo.prompt.request import ToolSpec
from pytest_convo.prompt.stack import Stack
from pytest_convo.settings.bots import BotSettings

HISTORY = (Message("user", "Hello?"),)


def body(system=None, tools=(), history=HISTORY, **settings):
    return build(stack=Stack.of(system), history=history, tools=tools, bot=BotSettings(**settings)).request.body()


def test_what_is_not_given_is_not_sent():
    assert body() == {"messages": [{"role": "user", "content": "Hello?"}]}


def test_the_system_prompt_comes_first():
    messages = body(system="Be kind.", history=(Message("system", "Be brief."), *HISTORY))["messages"]

    assert [message["content"] for message in messages] == ["Be kind.", "Be brief.", "Hello?"]
    assert messages[0]["role"] == "system"


def test_an_empty_system_prompt_is_none():
    assert len(body(system="")["messages"]) == 1


@pytest.mark.parametrize("temperature", [0, 0.0, 1, 0.7])
def test_the_temperature_is_sent_exactly_as_given(temperature):
    sent = body(temperature=temperature)["temperature"]

    assert (sent, type(sent)) == (temperature, type(temperature))


def test_further_fields_are_sent_exactly_as_given():
    request = {"seed": 0, "top_p": 0.0, "stop": [], "logit_bias": {}, "user": "", "store": False}

    sent = body(model="m", request=request)

    assert {name: sent[name] for name in request} == request
    assert sent["model"] == "m"


def test_tools_are_sent_with_their_schema():
    sent = body(tools=[ToolSpec("look", "Looks.", {"type": "object"})])

    function = {"name": "look", "description": "Looks.", "parameters": {"type": "object"}}
    assert sent["tools"] == [{"type": "function", "function": function}]


def test_calls_and_results_are_sent_and_extras_are_not():
    calls = Message("assistant", None, tool_calls=(ToolCall("c1", "look", "{}"),), extra={"reasoning": "hm"})

    sent = body(history=(*HISTORY, calls, Message("tool", "7", tool_call_id="c1")))["messages"][1:]

    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    assert sent == [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "7", "tool_call_id": "c1"},
    ]


@pytest.mark.parametrize(
    "name, settings, tools",
    [
        ("messages", {}, ()),
        ("model", {}, ()),
        ("stream", {}, ()),
        ("n", {}, ()),
        ("temperature", {"temperature": 0}, ()),
        ("tools", {}, [ToolSpec("look")]),
    ],
)
def test_fields_that_are_filled_already_are_an_error(name, settings, tools):
    bot = BotSettings.model_construct(request={name: 1}, **settings)
    with pytest.raises(SettingsError, match=f"must not hold '{name}'"):
        build(stack=Stack(), history=HISTORY, tools=tools, bot=bot)


def test_tools_that_only_the_request_declares_are_sent():
    assert body(request={"tools": [{"type": "web_search"}]})["tools"] == [{"type": "web_search"}]


@given(st.text(), st.lists(st.text(min_size=1), max_size=4))
def test_no_text_is_changed_or_lost(system, contents):
    messages = body(system=system, history=[Message("user", content) for content in contents])["messages"]

    assert [message["content"] for message in messages] == [*([system] if system else []), *contents]
