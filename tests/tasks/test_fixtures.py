"""The fixtures `sandbox` and `agent`, in a folder of this machine: what they do does not depend on where."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

LOCAL = 'environment = "local"\nmax_iterations = 2\n'


@pytest.fixture
def shop(convos):
    """A project whose bot lists the files, and then says what it saw."""
    call = "calls = [{ name = 'shell', arguments = { command = 'ls; echo seen > note.txt' } }]"

    def write(test: str, *, toml: str = LOCAL):
        convos.write(
            {
                "convo.toml": f'{toml}\n[bot]\nprovider = "scripted"\n',
                "script.toml": f"[[reply]]\nwhen = 'Look'\n{call}\n\n[[reply]]\nwhen = '(tea|cup)'\n"
                "text = 'I saw \\1.'\n",
                "workspace/tea.txt": "sencha\n",
                "cups/cup.txt": "",
                "test_it.py": f"import pytest\n\n{test}",
            }
        )
        return convos

    return write


def test_a_sandbox_has_the_workspace_beside_the_test_and_ends_with_it(shop):
    convos = shop(
        "from pathlib import Path\n"
        "def test_it(sandbox):\n"
        "    assert sandbox.execute('cat tea.txt').output == 'sencha\\n'\n"
        "    sandbox.execute('echo milk > milk.txt')\n"
        "    assert [change.path for change in sandbox.changes()] == ['milk.txt']\n"
        "    Path('where').write_text(str(sandbox.workspace))\n",
    )
    assert convos.run().ret == 0
    assert not (convos.path / "workspace/milk.txt").exists()
    assert not Path((convos.path / "where").read_text()).exists()


def test_an_agent_works_as_the_settings_say_and_asks_the_bot_of_the_directory(shop):
    convos = shop(
        "def test_it(agent):\n"
        "    result = agent(folder='cups').run('Look around.')\n"
        "    assert (result.status, result.result, result.iterations) == ('done', 'I saw cup.', 1)\n"
        "    assert [change.path for change in result.changes] == ['note.txt']\n",
    )
    result = convos.run()
    assert (result.ret, result.parseoutcomes()) == (0, {"passed": 1})


def test_inside_with_the_sandbox_is_there_to_be_looked_at(shop):
    convos = shop(
        "def test_it(agent):\n"
        "    with agent(folder='cups', kind='developer') as clerk:\n"
        "        clerk.run('Look around.')\n"
        "        assert clerk.sandbox.execute('cat note.txt').output == 'seen\\n'\n"
        "@pytest.mark.convo(runs=1)\n"
        "async def test_async(agent):\n"
        "    assert (await agent(folder='cups').arun('Look around.')).result == 'I saw cup.'\n",
    )
    assert convos.run().parseoutcomes() == {"passed": 2}


def test_what_an_agent_asks_in_a_redundant_test_is_counted_kept_and_recorded(shop):
    convos = shop(
        "@pytest.mark.convo(runs=2, agreement=1)\n"
        "def test_it(agent):\n"
        "    assert agent(folder='cups').run('Look around.').status == 'done'\n",
    )
    result = convos.run("--convo-record=all")
    result.stdout.fnmatch_lines(["4 calls*"])
    assert sorted(path.name for path in convos.path.glob("__recordings__/test_it/test_it/*.yaml")) == [
        "run-1.yaml",
        "run-2.yaml",
    ]
    (events,) = convos.path.glob(".convo/runs/*/test_it.py/test_it/run-1/events.jsonl")
    kinds = [json.loads(line)["kind"] for line in events.read_text().splitlines()]
    assert [kind for kind in kinds if kind in ("command", "end")] == ["command", "end"]
    convos.write({"script.toml": "[[reply]]\nerror = 500\n"})
    result = convos.run("--convo-record=none")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["0 calls · 4 answers replayed*"])


def test_a_cap_holds_for_agents_too(shop):
    convos = shop("@pytest.mark.convo(runs=1)\ndef test_it(agent):\n    agent(folder='cups').run('Look around.')\n")
    result = convos.run("--convo-max-calls=1")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*1 call*"])


@pytest.mark.parametrize("fixture", ["agent", "sandbox"])
def test_without_an_engine_they_are_skipped_or_an_error(shop, monkeypatch, fixture):
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere")
    call = "agent().run('Look around.')" if fixture == "agent" else "sandbox.execute('ls')"
    convos = shop(f"def test_it({fixture}):\n    {call}\n", toml='environment = "docker"')
    assert convos.run().parseoutcomes() == {"skipped": 1}
    result = convos.run("--convo-sandbox=require")
    assert result.parseoutcomes() == {"failed" if fixture == "agent" else "errors": 1}
    result.stdout.fnmatch_lines(["*no container engine can be used*"])


def test_a_mistake_is_told_without_our_traceback(shop):
    convos = shop("def test_it(agent):\n    agent(kind='poetic')\n")
    result = convos.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*kind must be one of 'reading', 'writing'*not 'poetic'"])
    result.stdout.no_fnmatch_line("*pytest_convo/collect*")


TOOL = """
name = "svc"
description = "A service."
usage = "svc"
[[variable]]
name = "SERVICE_LOGIN"
secret = true
"""


@pytest.mark.parametrize("named", ["settings", "test"])
def test_what_a_tool_calls_secret_is_shown_and_written_nowhere(shop, monkeypatch, named):
    monkeypatch.setenv("SERVICE_LOGIN", "tortoise-of-the-house")
    given = "tools=['svc.toml']" if named == "test" else ""
    convos = shop(
        "def test_it(agent):\n"
        f"    result = agent(folder='cups', {given}).run('Look around.')\n"
        "    assert result.diff == '', result.diff\n",
        toml=LOCAL + ("tools = ['svc.toml']\n" if named == "settings" else ""),
    )
    call = "calls = [{ name = 'shell', arguments = { command = 'echo $SERVICE_LOGIN | tee cup.txt' } }]"
    script = f"[[reply]]\nwhen = 'Look'\n{call}\n\n[[reply]]\nwhen = '(.+)'\ntext = 'It is \\1.'\n"
    convos.write({"svc.toml": TOOL, "script.toml": script})
    result = convos.run("--convo-record=new", "--convo-json=report.json", "--junitxml=junit.xml")
    assert result.parseoutcomes() == {"failed": 1}
    result.stdout.fnmatch_lines(["*[[]secret SERVICE_LOGIN]*"])
    result.stdout.no_fnmatch_line("*tortoise*")
    files = [path for path in convos.path.rglob("*") if path.is_file()]
    assert [path for path in files if b"tortoise" in path.read_bytes()] == []
    assert list(convos.path.glob("__recordings__/**/*.yaml"))


def test_what_commands_of_a_sandbox_are_given_is_not_shown_either(shop, monkeypatch):
    monkeypatch.setenv("SHOP_TOKEN", "tortoise-of-the-house")
    convos = shop(
        "def test_it(sandbox):\n    assert sandbox.execute('echo $SHOP_TOKEN').output == ''\n",
        toml=LOCAL + "env = ['SHOP_TOKEN']\n",
    )
    result = convos.run("--junitxml=junit.xml")
    assert result.parseoutcomes() == {"failed": 1}
    result.stdout.fnmatch_lines(["*[[]secret SHOP_TOKEN]*"])
    result.stdout.no_fnmatch_line("*tortoise*")
    assert "tortoise" not in (convos.path / "junit.xml").read_text()
