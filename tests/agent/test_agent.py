from __future__ import annotations

import asyncio
import json

import pytest

import pytest_convo
from pytest_convo import Agent, AgentTool, SandboxSpec
from pytest_convo.conversation.message import ToolCall
from pytest_convo.conversation.reply import Reply
from pytest_convo.errors import ProviderError, SandboxDied, SandboxUnavailable, SettingsError
from pytest_convo.sandbox.base import CommandResult
from tests.agent.conftest import FakeSandbox, Model, calling

DONE = Reply("It is 3.")


class FakeEnvironment:
    """Opens fake sandboxes, and keeps what was asked for."""

    name = "fake"

    def __init__(self, *, reason=None, isolation=True, results=()):
        self.reason = reason
        self.capabilities = frozenset({"isolation"} if isolation else ())
        self.results = results
        self.specs = []
        self.sandboxes = []
        self.closed = False

    def available(self):
        return self.reason

    def prepare(self, spec):
        return spec

    def open(self, spec):
        self.specs.append(spec)
        self.sandboxes.append(FakeSandbox(results=list(self.results)))
        return self.sandboxes[-1]

    def close(self):
        self.closed = True


def agent(model, environment, **more):
    return Agent("worker", bot=model, environment=environment, **more)


def test_a_run_has_a_sandbox_of_its_own_that_ends_with_it():
    environment = FakeEnvironment(results=[CommandResult(0, "3\n", "")])
    worker = agent(Model(calling("wc -l"), DONE, calling("wc -l"), DONE), environment)

    first, second = worker.run("How many?"), worker.run("How many?")

    assert (first.status, first.result, first.error, first.iterations) == ("done", "It is 3.", None, 1)
    assert second.status == "done"
    assert [sandbox.closed for sandbox in environment.sandboxes] == [True, True]
    assert not environment.closed  # it is not the agent's


def test_each_run_begins_with_an_empty_history():
    model = Model(DONE)
    worker = agent(model, FakeEnvironment())
    worker.run("One")
    worker.run("Two")

    assert [message.text for message in model.requests[1].messages][1:] == ["Two"]


def test_inside_with_all_runs_share_one_sandbox_which_stays_to_be_looked_at():
    environment = FakeEnvironment()
    worker = agent(Model(calling("touch a"), DONE), environment)
    with worker:
        worker.run("One")
        worker.run("Two")
        (sandbox,) = environment.sandboxes
        assert worker.sandbox is sandbox
        assert not sandbox.closed

    assert sandbox.closed
    with pytest.raises(SettingsError, match="keeps its sandbox inside `with` only"):
        worker.sandbox  # noqa: B018


def test_with_is_entered_once():
    worker = agent(Model(DONE), FakeEnvironment())
    with worker, pytest.raises(SettingsError, match="has a sandbox already"), worker:
        pass


def test_the_spec_is_what_was_given_with_the_kinds_permission(tmp_path):
    environment = FakeEnvironment()
    given = SandboxSpec(network=True, memory=1 << 20)
    agent(Model(DONE), environment, kind="reading", folder=tmp_path, sandbox=given).run("x")
    agent(Model(DONE), environment, kind="reading", permission="READ_WRITE").run("x")

    first, second = environment.specs
    assert (first.permission, first.folder, first.network, first.memory) == ("READ_ONLY", tmp_path, True, 1 << 20)
    assert (second.permission, second.folder, second.owner) == ("READ_WRITE", None, "worker")


@pytest.mark.parametrize(
    "isolation, told", [(True, "`/workspace`"), (False, "the directory in which your commands begin")]
)
def test_the_model_is_told_where_its_folder_is(tmp_path, isolation, told):
    model = Model(DONE)
    agent(model, FakeEnvironment(isolation=isolation), folder=tmp_path).run("x")

    assert told in model.requests[0].messages[0].text


def test_a_system_prompt_of_ones_own_comes_in_the_place_of_the_kinds():
    model = Model(DONE)
    agent(model, FakeEnvironment(), system_prompt="Be kind.").run("x")

    assert model.requests[0].messages[0].text.startswith("Be kind.\n\nYou run commands by calling `shell`.")


def test_the_log_is_json_in_order_and_an_observer_hears_the_same():
    heard = []
    worker = agent(Model(calling("ls"), DONE), FakeEnvironment())

    result = asyncio.run(worker.arun("x", observe=heard.append))

    assert [{name: value for name, value in event.items() if name != "at"} for event in result.log] == heard
    assert [event["kind"] for event in result.log] == ["request", "reply", "command", "request", "reply", "end"]
    times = [event["at"] for event in json.loads(json.dumps(result.log))]
    assert times == sorted(times)


def test_functions_run_on_this_machine():
    def price(item: str) -> str:
        return f"{item}: 3 €"

    call = Reply("", (ToolCall("c1", "price", '{"item": "tea"}'),), "tool_calls")
    result = agent(Model(call, DONE), FakeEnvironment(), functions=[price]).run("x")

    assert result.transcript.messages[2].text == "tea: 3 €"


def test_tools_are_set_up_before_and_uninstalled_after_the_work():
    environment = FakeEnvironment()
    tool = AgentTool("rg", "Searches.", setup=("rg-setup",), uninstall=("rg-end",))
    agent(Model(calling("rg x"), DONE), environment, tools=[tool]).run("x")

    (sandbox,) = environment.sandboxes
    assert sandbox.commands == ["rg-setup", "rg x", "rg-end"]


@pytest.mark.parametrize("error", [SandboxDied("gone"), ProviderError("refused", status=400)])
def test_what_is_no_fault_of_the_bots_is_raised_and_the_sandbox_closed(error):
    environment = FakeEnvironment(results=[error] if isinstance(error, SandboxDied) else ())
    with pytest.raises(type(error)):
        agent(Model(calling("ls"), error), environment).run("x")

    assert environment.sandboxes[0].closed


def test_an_environment_that_cannot_be_used_says_why():
    with pytest.raises(SandboxUnavailable, match="no engine here"):
        agent(Model(DONE), FakeEnvironment(reason="no engine here")).run("x")


def test_an_environment_that_nobody_knows_is_an_error():
    with pytest.raises(SettingsError, match="there is no environment 'nowhere'"):
        agent(Model(DONE), "nowhere").run("x")


@pytest.mark.parametrize(
    "more, told",
    [
        ({"kind": "flying"}, "kind must be one of 'reading', 'writing'"),
        ({"protocol": "xml"}, "protocol must be one of 'tools', 'json', not 'xml'"),
        ({"permission": "ro"}, "permission must be one of 'READ_ONLY', 'READ_WRITE', not 'ro'"),
    ],
)
def test_what_is_not_known_is_listed(more, told):
    with pytest.raises(SettingsError, match=told):
        agent(Model(DONE), FakeEnvironment(), **more)


@pytest.mark.parametrize("limits", [{"max_iterations": 0}, {"timeout": 0}])
def test_an_agent_needs_a_command_and_some_time(limits):
    with pytest.raises(SettingsError, match="at least one command and some time"):
        agent(Model(DONE), FakeEnvironment()).run("x", **limits)


def test_it_runs_where_an_event_loop_runs_already():
    async def main():
        return agent(Model(calling("ls"), DONE), FakeEnvironment()).run("x")

    assert asyncio.run(main()).status == "done"


@pytest.mark.parametrize("name", ["Agent", "AgentResult", "AgentTool", "SandboxSpec"])
def test_the_public_names_are_handed_on(name):
    assert name in pytest_convo.__all__
    assert getattr(pytest_convo, name).__name__ == name
