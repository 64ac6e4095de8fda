"""`bot.chat()`: a conversation in a Python test, with branches."""

from __future__ import annotations

import pytest

CONFTEST = """
import json
from pathlib import Path

from pytest_convo import Reply


class Echo:
    async def complete(self, request, stream=None):
        with Path("requests").open("a") as file:
            file.write(json.dumps(request.body()) + "\\n")
        return Reply(f"{len(request.messages)}: {request.messages[-1].text}")


def pytest_convo_model(settings):
    return Echo()
"""


@pytest.fixture
def project(convos):
    convos.pytester.makeconftest(CONFTEST)
    convos.write({"prompt.md": "Be brief."})
    return convos


def requests(project) -> list[str]:
    return (project.path / "requests").read_text().splitlines()


def test_a_branch_is_taken_up_where_it_was_left(project):
    project.pytester.makepyfile(
        """
        def test_x(bot):
            chat = bot.chat(seed=7)
            assert chat.ask("My order is late").text == "2: My order is late"
            chat.save("complained")
            first = chat.ask("Cancel it").text
            chat.rewind("complained")
            assert chat.ask("Cancel it").text == first == "4: Cancel it"
            assert [message.role for message in chat.messages] == ["user", "assistant"] * 2
        """
    )
    assert project.run().ret == 0
    asked = requests(project)
    assert len(asked) == 3
    assert asked[1] == asked[2]
    assert '"seed": 7' in asked[0]
    assert "Be brief." in asked[0]


def test_settings_of_a_chat_are_its_own(project):
    project.pytester.makepyfile(
        """
        def test_x(bot):
            form, tools = {"type": "text"}, []
            chat = bot.chat(system="", tools=tools, response_format=form)
            chat.ask("one")
            form["type"] = "json_object"
            tools.append(print)
            chat.copy().ask("two")
            assert bot.ask("three").text == "2: three"
        """
    )
    assert project.run().ret == 0
    one, two, three = requests(project)
    assert '"type": "text"' in one
    assert '"type": "text"' in two
    assert "tools" not in two
    assert "system" not in one
    assert "system" in three


def test_a_name_that_was_not_saved_is_a_plain_failure(project):
    project.pytester.makepyfile("def test_x(bot): bot.chat().rewind('complained')")
    result = project.pytester.runpytest_inprocess()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["E *LookupError: nothing was saved as 'complained'; saved: nothing"])


def test_copies_may_be_asked_at_once(project):
    project.pytester.makepyfile(
        """
        import asyncio
        import pytest

        @pytest.mark.convo(runs=2)
        async def test_x(bot):
            chat = bot.chat()
            await chat.aask("Hello")
            chats = [chat.copy() for _ in range(3)]
            replies = await asyncio.gather(*(one.aask(str(n)) for n, one in enumerate(chats)))
            assert [reply.text for reply in replies] == ["4: 0", "4: 1", "4: 2"]
        """
    )
    result = project.run()
    result.assert_outcomes(passed=1)


def test_a_chat_is_recorded_and_replayed(convos):
    convos.say("a", answer="Yes.")
    (convos.path / "a/0000_user.md").unlink()
    convos.write(
        {
            "a/test_chat.py": """
def test_x(bot):
    chat = bot.chat()
    chat.ask("one")
    chat.save("here")
    chat.ask("two")
    chat.rewind("here")
    assert chat.ask("three").text == "Yes."
"""
        }
    )
    assert convos.run("--convo-record=all").ret == 0
    (convos.path / "a/script.toml").write_text('[[reply]]\ntext = "No."\n')
    assert convos.run("--convo-record=none").ret == 0
    assert convos.run("--convo-record=all").ret == 1
