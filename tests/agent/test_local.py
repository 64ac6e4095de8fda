"""Agents in sandboxes that are directories of this machine: nothing here writes outside of its working directory."""

from __future__ import annotations

import pytest

from pytest_convo import Agent
from pytest_convo.conversation.reply import Reply
from pytest_convo.sandbox.base import Change
from tests.agent.conftest import Model, calling

DONE = Reply("Done.")


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "shop"
    made.mkdir()
    (made / "a.txt").write_text("one\n")
    return made


def local(model, folder, **more):
    return Agent("worker", bot=model, environment="local", folder=folder, **more)


def test_an_agent_works_on_a_copy_and_what_changed_is_its_diff(folder):
    result = local(Model(calling("echo two >>a.txt; echo new >b.txt"), DONE), folder).run("Write.")

    assert result.changes == (Change("a.txt", "M"), Change("b.txt", "A"))
    assert "+two\n" in result.diff
    assert "+new\n" in result.diff
    assert [(path.name, path.read_text()) for path in folder.iterdir()] == [("a.txt", "one\n")]


def test_directory_and_exported_variables_last_until_the_next_command(folder):
    model = Model(calling("mkdir sub; cd sub; export A=b; C=d"), calling('echo "${PWD##*/} $A $C."'), DONE)
    result = local(model, folder).run("x")

    assert result.transcript.messages[4].text == "stdout:\nsub b ."


def test_a_command_whose_time_is_up_is_killed_and_the_next_one_works(folder):
    model = Model(calling("echo part; sleep 300"), calling("echo on"), DONE)
    result = local(model, folder, command_timeout=2.0).run("x")

    texts = [message.text for message in result.transcript.messages if message.role == "tool"]
    assert texts[0].startswith("stdout:\npart\nkilled after 2 s: its time was up")
    assert (texts[1], result.status) == ("stdout:\non", "done")


def test_work_whose_time_is_up_ends_at_once_and_its_command_with_it(folder):
    result = local(Model(calling("echo part; sleep 300")), folder).run("x", timeout=3.0)

    assert (result.status, result.result) == ("timeout", None)
    assert "killed" in result.transcript.messages[2].text
    assert result.seconds < 60


def test_what_a_sandbox_holds_can_be_looked_at_inside_with(folder):
    worker = local(Model(calling("echo new >b.txt"), DONE), folder)
    with worker:
        worker.run("Write.")
        copy = worker.sandbox.workspace
        assert (copy / "b.txt").read_text() == "new\n"
        assert worker.sandbox.execute("cat b.txt").output == "new\n"

    assert not copy.exists()


def test_the_same_work_is_asked_for_with_the_same_requests(folder):
    models = [Model(calling("ls; pwd >/dev/null; cat missing"), DONE) for _ in range(2)]
    for model in models:
        local(model, folder).run("x")

    first, second = ([request.body() for request in model.requests] for model in models)
    assert first == second
