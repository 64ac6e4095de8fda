from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.agent.hands import Shell
from pytest_convo.agent.protocol import CUT_OFF, PROTOCOLS, SHELL, Calls, Final, Misread, whole_stack
from pytest_convo.conversation.message import Message, ToolCall
from pytest_convo.conversation.reply import Reply
from pytest_convo.prompt.request import ToolSpec
from pytest_convo.prompt.stack import Stack

TOOLS, JSON = PROTOCOLS["tools"], PROTOCOLS["json"]
CALL = ToolCall("c1", SHELL, '{"command": "ls"}')
LOOK = ToolSpec("look", "Look it up.", {"type": "object", "properties": {"id": {"type": "string"}}})


def answer(**fields):
    return json.dumps({"task_done": False, "thoughts": "", "command": "", **fields})


def test_a_reply_with_calls_wants_them_done_and_one_without_is_the_end():
    assert TOOLS.read(Reply("Let me see.", (CALL, CALL))) == Calls((CALL, CALL))
    assert TOOLS.read(Reply("It is 3.")) == Final("It is 3.")


@pytest.mark.parametrize("calls", [(), (CALL,)])
def test_a_reply_that_was_cut_off_is_never_carried_out(calls):
    assert TOOLS.read(Reply("I ", calls, "length")) == Misread(CUT_OFF)


def test_each_call_of_a_corrected_reply_has_an_answer():
    assert TOOLS.correction(Reply("", (CALL,)), "why") == [Message("tool", "Error: why", tool_call_id="c1")]
    assert TOOLS.correction(Reply("x"), "why") == [Message("user", "Error: why")]


@pytest.mark.parametrize(
    "text, reading",
    [
        (answer(command="ls -l"), Calls((ToolCall("", SHELL, '{"command": "ls -l"}'),))),
        (answer(tool="look", arguments={"id": "a"}), Calls((ToolCall("", "look", '{"id": "a"}'),))),
        (answer(tool="look"), Calls((ToolCall("", "look", "{}"),))),
        (answer(task_done=True, thoughts="It is 3."), Final("It is 3.")),
        (answer(task_done=True, thoughts="hm", result="It is 3."), Final("It is 3.")),
        (f"Well:\n```json\n{answer(command='ls')}\n```", Calls((ToolCall("", SHELL, '{"command": "ls"}'),))),
        (f'{{"a": 1}} {{not JSON {answer(command="ls")}', Calls((ToolCall("", SHELL, '{"command": "ls"}'),))),
        ('{"task_done": true, "thoughts": "two\nlines"}', Final("two\nlines")),
    ],
)
def test_a_json_reply_is_read_wherever_it_stands(text, reading):
    assert reading == JSON.read(Reply(text))


@pytest.mark.parametrize(
    "text, why",
    [
        ("I am done.", "there is no JSON object"),
        ("", "there is no JSON object"),
        ("{" * 5000, "there is no JSON object"),
        (answer(), "`command` is empty"),
        (answer(task_done="yes"), "must be true or false"),
        (answer(thoughts=3, task_done=True), "`thoughts` must be a text"),
        (answer(command=["ls"]), "`command` must be a text"),
        (answer(task_done=True, command="ls"), "there is a command"),
    ],
)
def test_a_json_reply_that_says_nothing_usable_is_told_why(text, why):
    reading = JSON.read(Reply(text))

    assert isinstance(reading, Misread)
    assert why in reading.why


def test_a_json_reply_that_was_cut_off_within_its_object_is_told_so():
    assert JSON.read(Reply(answer(command="ls")[:-3], finish_reason="length")) == Misread(CUT_OFF)


@given(st.text(), st.text())
def test_a_command_arrives_as_it_was_meant_whatever_stands_around_it(command, around):
    reading = JSON.read(Reply(f"{around.replace('{', '')}{answer(command=command)}{around}"))

    if command.strip():
        assert isinstance(reading, Calls)
        assert Shell().order(reading.calls[0].arguments).command == command if "\0" not in command else True
    else:
        assert isinstance(reading, Misread)


def test_in_json_further_tools_are_described_and_none_is_declared():
    specs = [Shell.spec, LOOK]

    assert list(JSON.declared(specs)) == []
    assert "`look`: Look it up." in JSON.instructions(specs)
    assert "`look`" not in JSON.instructions(specs[:1])
    assert list(TOOLS.declared(specs)) == specs


@pytest.mark.parametrize("protocol", [TOOLS, JSON])
def test_the_system_prompt_begins_with_what_the_agent_is_told_of_itself(protocol):
    assert whole_stack(Stack.of("Be kind."), protocol, [Shell.spec]).system.startswith("Be kind.\n\n")
    assert whole_stack(Stack(), protocol, [Shell.spec]).system == protocol.instructions([Shell.spec])
