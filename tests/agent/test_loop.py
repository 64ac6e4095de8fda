from __future__ import annotations

import asyncio
import json
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.agent.loop import work
from pytest_convo.agent.policy import Policy
from pytest_convo.bot.tools import Tool
from pytest_convo.conversation.message import Message, ToolCall
from pytest_convo.conversation.reply import Reply, Usage
from pytest_convo.errors import (
    BotFailure,
    ContextOverflow,
    ProviderError,
    SandboxDied,
    SandboxUnavailable,
    SettingsError,
)
from pytest_convo.prompt.stack import Stack
from pytest_convo.sandbox.base import CommandResult
from pytest_convo.sandbox.tool import AgentTool
from pytest_convo.settings.bots import BotSettings
from tests.agent.conftest import FakeSandbox, Model, calling, shell

DONE = Reply("It is 3.")
UNKNOWN = Reply("", (ToolCall("c9", "fly", "{}"),), "tool_calls")
LONG = 60.0


def worked(model, sandbox, **more):
    given = {"stack": Stack.of("Be kind."), "bot": BotSettings(), "timeout": LONG, **more}
    return asyncio.run(work("How many?", model=model, sandbox=sandbox, **given))


def results(done):
    return [message.text for message in done.messages if message.role == "tool"]


def kinds(events, *wanted):
    return [event["kind"] for event in events if event["kind"] in wanted]


def test_a_model_that_answers_at_once_has_run_nothing(sandbox):
    done = worked(Model(DONE), sandbox)

    assert (done.end, done.result, done.error, done.iterations) == ("done", "It is 3.", None, 0)
    assert done.messages == (Message("assistant", "It is 3."),)
    assert sandbox.commands == []


def test_commands_are_run_and_the_model_is_told_what_came_of_them(sandbox):
    sandbox.results = [CommandResult(0, "3\n", ""), CommandResult(2, "", "no\n")]
    model = Model(calling("wc -l", usage=Usage(5, 1)), calling("cat x", usage=Usage(9, 2)), DONE)

    done = worked(model, sandbox)

    assert sandbox.commands == ["wc -l", "cat x"]
    assert results(done) == ["stdout:\n3", "stderr:\nno\nended with 2"]
    assert (done.end, done.iterations, done.usage) == ("done", 2, Usage(14, 3))
    assert [message.role for message in model.requests[2].messages] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
    ]
    assert [tool.name for tool in model.requests[0].tools] == ["shell"]


def test_several_calls_of_a_reply_are_run_in_their_order(sandbox):
    sandbox.results = [CommandResult(0, "1", ""), CommandResult(0, "2", ""), CommandResult(0, "3", "")]

    done = worked(Model(calling("a", "b", "c"), DONE), sandbox)

    assert sandbox.commands == ["a", "b", "c"]
    assert [message.tool_call_id for message in done.messages if message.role == "tool"] == ["c1", "c2", "c3"]
    assert results(done) == ["stdout:\n1", "stdout:\n2", "stdout:\n3"]


def test_one_command_means_one_and_then_the_model_may_still_answer(sandbox):
    done = worked(Model(calling("ls"), DONE), sandbox, max_iterations=1)

    assert (done.end, done.result, done.iterations) == ("done", "It is 3.", 1)
    assert "That was the last of 1 commands" in results(done)[0]


def test_a_model_that_goes_on_when_its_commands_are_used_up_reaches_the_limit(sandbox):
    done = worked(Model(calling("ls")), sandbox, max_iterations=1)

    assert (done.end, done.result, done.iterations) == ("limit", None, 1)
    assert done.error == "the limit of 1 commands was reached"
    assert sandbox.commands == ["ls"]
    assert results(done)[1].startswith("Not run: the limit of 1 commands is reached.")


def test_calls_beyond_the_limit_within_one_reply_are_answered_and_not_run(sandbox):
    done = worked(Model(calling("a", "b", "c"), DONE), sandbox, max_iterations=2)

    assert sandbox.commands == ["a", "b"]
    assert (done.end, len(results(done))) == ("done", 3)
    assert results(done)[2].startswith("Not run")


def test_a_reply_that_calls_for_nothing_that_there_is_is_corrected_and_no_iteration(sandbox):
    events = []
    done = worked(Model(UNKNOWN, calling("ls"), DONE), sandbox, observe=events.append)

    assert (done.end, done.iterations) == ("done", 1)
    assert results(done)[0] == "Error: there is no tool 'fly'; the tools are: shell"
    assert [event["number"] for event in events if event["kind"] == "correction"] == [1]


def test_the_reply_after_the_last_correction_still_counts(sandbox):
    assert worked(Model(UNKNOWN, UNKNOWN, DONE), sandbox, corrections=2).end == "done"


def test_more_wrong_replies_in_a_row_are_the_bots_failure(sandbox):
    model = Model(UNKNOWN)
    done = worked(model, sandbox, corrections=2)

    assert (done.end, len(model.requests)) == ("error", 3)
    assert isinstance(done.failure, BotFailure)
    assert "3 replies in a row could not be carried out; the last: there is no tool 'fly'" in done.error


def test_what_could_be_carried_out_in_between_starts_the_count_again(sandbox):
    model = Model(UNKNOWN, UNKNOWN, calling("ls"), UNKNOWN, UNKNOWN, DONE)

    assert worked(model, sandbox, corrections=2).end == "done"


def test_a_call_that_does_not_fit_beside_one_that_does_is_no_correction(sandbox):
    events = []
    mixed = Reply("", (ToolCall("c1", "fly", "{}"), shell("ls", "c2")), "tool_calls")
    done = worked(Model(mixed, DONE), sandbox, observe=events.append)

    assert (done.iterations, kinds(events, "correction")) == (1, [])
    assert results(done)[0].startswith("Error: there is no tool")


@pytest.mark.parametrize("finish_reason", ["length", "content_filter"])
def test_a_reply_that_was_cut_off_is_not_carried_out(sandbox, finish_reason):
    cut = Reply("", (shell("rm -r build"),), finish_reason)
    done = worked(Model(cut, DONE), sandbox)

    assert sandbox.commands == []
    assert results(done) == ["Error: your reply was cut off; be shorter, and go in smaller steps"]


def test_time_that_is_up_while_the_model_is_asked_ends_the_work(sandbox):
    async def never():
        await asyncio.Event().wait()

    done = worked(Model(calling("ls"), never), sandbox, timeout=0.5)

    assert (done.end, done.result, done.error) == ("timeout", None, "the task was not done within 0.5 s")
    assert (done.iterations, sandbox.kills) == (1, 1)


def test_time_that_is_up_while_a_command_runs_kills_it_and_answers_every_call(sandbox):
    sandbox.by_command = {"sleep": sandbox.until_killed}
    events = []

    done = worked(Model(calling("ls", "sleep", "pwd")), sandbox, timeout=0.5, observe=events.append)

    assert (done.end, sandbox.kills, sandbox.commands) == ("timeout", 1, ["ls", "sleep"])
    assert len(results(done)) == 3
    assert "stdout:\npart\nkilled" in results(done)[1]
    assert results(done)[2] == "Not run: the time is up."
    assert [event["killed"] for event in events if event["kind"] == "command"] == [None, "kill"]


def test_a_command_never_has_more_time_than_the_work(sandbox):
    worked(Model(calling("a"), DONE), sandbox, timeout=30.0, command_timeout=500.0)
    worked(Model(calling("b"), DONE), sandbox, timeout=500.0, command_timeout=30.0)

    assert sandbox.timeouts[0] <= 30.0
    assert sandbox.timeouts[1] == 30.0


def test_who_cancels_the_work_has_its_command_killed(sandbox):
    begun = threading.Event()

    def run(command):
        begun.set()
        return sandbox.until_killed(command)

    sandbox.by_command = {"sleep": run}

    async def main():
        model = Model(calling("sleep"))
        task = asyncio.ensure_future(
            work("x", model=model, stack=Stack(), bot=BotSettings(), sandbox=sandbox, timeout=LONG)
        )
        while not begun.is_set():
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as raised:
            await task
        return raised.value

    error = asyncio.run(main())

    assert sandbox.kills == 1
    assert [message.role for message in error.messages] == ["assistant", "tool"]


@pytest.mark.parametrize("error", [SandboxDied("gone"), ProviderError("refused", status=400)])
def test_what_is_no_fault_of_the_bots_is_raised_with_the_messages_so_far(sandbox, error):
    if isinstance(error, SandboxDied):
        sandbox.results = [CommandResult(0, "1", ""), error]
        model = Model(calling("ls", "pwd", "id"))
    else:
        model = Model(calling("ls", "pwd", "id"), error)

    with pytest.raises(type(error)) as raised:
        worked(model, sandbox)

    assert raised.value is error
    assert [message.role for message in error.messages] == ["assistant", "tool", "tool", "tool"]
    assert error.transcript.messages[0] == Message("user", "How many?")


def test_a_failure_of_the_bots_ends_the_work_and_is_kept(sandbox):
    failure = ContextOverflow("too long")
    done = worked(Model(calling("ls"), failure), sandbox)

    assert (done.end, done.failure, done.iterations) == ("error", failure, 1)


def test_a_known_result_is_told_and_the_command_is_run_all_the_same(sandbox):
    sandbox.results = [CommandResult(0, "today", "")]
    events = []
    done = worked(Model(calling("date"), DONE), sandbox, known=lambda _: "stdout:\nyesterday", observe=events.append)

    assert sandbox.commands == ["date"]
    assert results(done) == ["stdout:\nyesterday"]
    (command,) = [event for event in events if event["kind"] == "command"]
    assert (command["output"], command["replayed"]) == ("today", True)


def test_a_function_is_called_on_this_machine_unless_its_result_is_known(sandbox):
    asked = []

    def price(item: str) -> str:
        asked.append(item)
        return "3 €"

    call = Reply("", (ToolCall("c1", "price", '{"item": "tea"}'),), "tool_calls")
    functions = [Tool.of(price)]

    first = worked(Model(call, DONE), sandbox, functions=functions)
    second = worked(Model(call, DONE), sandbox, functions=functions, known=lambda _: "4 €")

    assert (results(first), results(second), asked) == (["3 €"], ["4 €"], ["tea"])
    assert (first.iterations, sandbox.commands) == (1, [])


def test_a_tool_that_is_called_by_its_name_is_a_command_with_its_arguments_in_a_variable():
    given = []

    class Seeing(FakeSandbox):
        def execute(self, command, timeout=60.0, *, trusted=False, variables=None, user=None):
            given.append(dict(variables or {}))
            return super().execute(command, timeout)

    tool = AgentTool("look", "Looks.", parameters={"type": "object", "required": ["id"]}, command="look-up")
    sandbox = Seeing()
    calls = [Reply("", (ToolCall("c1", "look", text),), "tool_calls") for text in ("{}", '{"id": "é"}')]
    done = worked(Model(*calls, DONE), sandbox, tools=[tool])

    assert sandbox.commands == ["look-up"]
    assert json.loads(given[0]["ARGUMENTS"]) == {"id": "é"}
    assert (done.iterations, results(done)[0].startswith("Error: ")) == (1, True)


def test_a_command_that_is_advised_against_is_an_iteration_and_not_run(sandbox):
    events = []
    done = worked(Model(calling("tree"), DONE), sandbox, policy=Policy(["tree"]), observe=events.append)

    assert (done.iterations, sandbox.commands, kinds(events, "denied")) == (1, [], ["denied"])
    assert results(done)[0].startswith("not run: 'tree' is not wanted here.")


def test_two_tools_of_one_name_and_a_sandbox_without_a_browser_are_errors_before_anything_is_asked(sandbox):
    model = Model(DONE)
    tool = AgentTool("shell", parameters={"type": "object"}, command="x")

    with pytest.raises(SettingsError, match="two tools that are named 'shell'"):
        worked(model, sandbox, tools=[tool])
    with pytest.raises(SandboxUnavailable, match="no browser"):
        worked(model, sandbox, browses=True)
    assert model.requests == []


def test_the_json_protocol_needs_no_tool_calls(sandbox):
    sandbox.results = [CommandResult(0, "3\n", "")]
    model = Model(
        Reply("Let me see."),
        Reply('{"task_done": false, "thoughts": "", "command": "wc -l"}'),
        Reply('{"task_done": true, "thoughts": "It is 3.", "command": ""}'),
    )

    done = worked(model, sandbox, protocol="json")

    assert (done.end, done.result, sandbox.commands) == ("done", "It is 3.", ["wc -l"])
    assert [message.role for message in done.messages] == ["assistant", "user"] * 2 + ["assistant"]
    assert done.messages[3].text == "stdout:\n3"
    assert all(request.tools == () for request in model.requests)


def test_events_tell_what_happened_in_its_order(sandbox):
    events = []
    worked(Model(UNKNOWN, calling("ls"), DONE), sandbox, observe=events.append)

    told = "request reply correction request reply command request reply end"
    assert [event["kind"] for event in events] == told.split()
    json.dumps(events)


REPLIES = st.sampled_from(
    [
        DONE,
        Reply(""),
        UNKNOWN,
        calling("ls"),
        calling("a", "b", "c"),
        calling("tree"),
        calling("sandbox says no"),
        Reply("", (shell("ls"),), "length"),
        Reply("", (ToolCall("c1", "shell", "{bad"), shell("pwd", "c2")), "tool_calls"),
        Reply('{"task_done": false, "thoughts": "", "command": "ls"}'),
        Reply('{"task_done": true, "thoughts": "yes", "command": ""}'),
        ContextOverflow("too long"),
        "cannot",
    ]
)


async def until_somebody_cancels():
    await asyncio.Event().wait()


@given(st.lists(REPLIES, max_size=8), st.integers(1, 5), st.integers(0, 3), st.sampled_from(["tools", "json"]))
def test_any_replies_end_in_one_of_four_ways_with_every_call_answered_once(replies, limit, corrections, protocol):
    said = [until_somebody_cancels if one == "cannot" else one for one in replies]
    sandbox = FakeSandbox(by_command={"sandbox says no": CommandResult(1, "", "no")})
    done = worked(
        Model(*said, DONE, Reply('{"task_done": true, "thoughts": ""}')),
        sandbox,
        max_iterations=limit,
        corrections=corrections,
        protocol=protocol,
        policy=Policy(["tree"]),
        timeout=0.05 if "cannot" in replies else LONG,
    )

    assert done.end in ("done", "limit", "timeout", "error")
    assert (done.end == "done") == (done.result is not None)
    assert (done.end == "error") == (done.failure is not None)
    assert len(sandbox.commands) <= done.iterations <= limit
    calls = [call.id for message in done.messages for call in message.tool_calls or ()]
    assert calls == [message.tool_call_id for message in done.messages if message.role == "tool"]
