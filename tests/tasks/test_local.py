"""Tasks where no engine is: in a folder of this machine, if somebody says so, and otherwise skipped or an error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

NOWHERE = "unix:///nowhere/docker.sock"


@pytest.fixture
def task(convos):
    """A task in the environment "local", or in another."""

    def write(toml: str = 'environment = "local"', *, command: str = "echo hello > out.txt", **files: str) -> Path:
        call = f"calls = [{{ name = 'shell', arguments = {{ command = {json.dumps(command)} }} }}]"
        written = {
            "task.toml": f"[convo]\n{toml}\n",
            "instruction.md": "Write hello into out.txt.",
            "convo.toml": '[bot]\nprovider = "scripted"\n',
            "script.toml": f"[[reply]]\nwhen = 'Write'\n{call}\n[[reply]]\ntext = 'Done.'\n",
            "workspace/in.txt": "tea\n",
            "tests/test.sh": "#!/bin/sh\ngrep -q hello out.txt\n",
            **{name.replace("__", "/").replace("_dot_", "."): text for name, text in files.items()},
        }
        convos.write({f"tasks/one/{name}": text for name, text in written.items() if text})
        return convos.path / "tasks/one"

    return write


@pytest.fixture
def nowhere(monkeypatch):
    """No engine is to be found."""
    monkeypatch.setenv("DOCKER_HOST", NOWHERE)


def test_a_task_runs_in_a_folder_where_somebody_says_so(convos, task, nowhere):
    directory = task(solution__solve_dot_sh="#!/bin/sh\necho hello > out.txt\n")
    result = convos.run("-v")
    assert (result.ret, result.parseoutcomes()) == (0, {"passed": 1})
    result.stdout.fnmatch_lines(["*no isolation: commands run on this machine as you*"])
    assert [path.name for path in (directory / "workspace").iterdir()] == ["in.txt"]
    assert convos.run("--convo-oracle").ret == 0
    assert convos.run("-p", "xdist.plugin", "-n2").ret == 0


def test_without_an_engine_a_task_is_skipped_with_a_line_that_says_what_was_tried(convos, task, nowhere):
    task("runs = 3")
    convos.say("conversation")
    result = convos.run("-rs")
    assert (result.ret, result.parseoutcomes()) == (0, {"passed": 1, "skipped": 3})
    result.stdout.fnmatch_lines([f"SKIPPED [[]3[]] tasks/one/task.toml:1: no container engine*{NOWHERE}: absent*"])


def test_a_session_of_skipped_tasks_alone_is_never_green(convos, task, nowhere):
    task()
    assert convos.run("-q").ret == 0
    task("")
    result = convos.run("-q")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*this session has measured nothing*"])


@pytest.mark.parametrize("args, ci", [(["--convo-sandbox=require"], ""), ([], "true")], ids=["asked for", "CI"])
def test_where_an_engine_is_required_each_run_without_one_is_an_error(convos, task, nowhere, monkeypatch, args, ci):
    task("runs = 3")
    monkeypatch.setenv("CI", ci)
    result = convos.run(*args)
    assert result.ret == 1
    assert result.parseoutcomes() == {"errors": 1, "unmeasured": 3}
    result.stdout.fnmatch_lines([f"*{NOWHERE}: absent*"])


def test_in_ci_tasks_can_be_skipped_if_somebody_says_so(convos, task, nowhere, monkeypatch):
    task("")
    convos.say("conversation")
    monkeypatch.setenv("CI", "true")
    assert convos.run("--convo-sandbox=skip", "--convo-record=auto").parseoutcomes() == {"passed": 1, "skipped": 1}


def test_no_model_is_asked_where_there_is_no_sandbox(convos, task, nowhere):
    task("")
    result = convos.run("--convo-sandbox=require")
    result.stdout.fnmatch_lines(["0 calls*"])


@pytest.mark.parametrize(
    "files, message",
    [
        ({"instruction_dot_md": ""}, "tasks/one/instruction.md: the task has no instruction*"),
        ({"tests__test_dot_sh": ""}, "tasks/one/task.toml: nothing says whether the agent did it*"),
        ({"toml": "kindd = 'reading'"}, 'tasks/one/task.toml:2: unknown key "kindd"*'),
        ({"toml": "kind = 'poetic'"}, "tasks/one/task.toml:2: kind must be*"),
        ({"toml": "memory = 'much'"}, "tasks/one/task.toml:2: memory must be a size*"),
        ({"toml": "tools = ['rg.toml']"}, "tasks/one/task.toml:2: tools*names a file that is not there*"),
        ({"task_dot_toml": "[convo]\n[agent]\ntimeout_sec = -1\n"}, "tasks/one/task.toml:3: agent.timeout_sec*"),
        ({"task_dot_toml": "[convo]\n["}, "tasks/one/task.toml:2: is not TOML*"),
        ({"toml": "write_back = true", "workspace__in_dot_txt": ""}, "*there is no workspace/*"),
        ({"toml": "[[convo.case]]\nid = 'a'"}, "*a task has no cases*"),
        ({"tests__test_dot_sh": "\n"}, "tasks/one/tests/test.sh: the verifier is empty*"),
        ({"environment__compose_dot_yaml": "services: {}"}, "tasks/one/environment/compose.yaml: several containers*"),
        ({"workspace__in_dot_txt": "", "workspace": "tea"}, "tasks/one/workspace: is no folder*"),
    ],
)
def test_what_is_wrong_with_a_task_is_told_when_it_is_collected(convos, task, files, message):
    task(files.pop("toml", ""), **files)
    result = convos.run()
    assert result.ret == 2
    result.stdout.fnmatch_lines([message])


def test_a_task_toml_of_another_project_is_none_of_our_business(convos):
    convos.write({"task.toml": "[task]\nname = 'x'\n", "a/task.toml": "broken [", "test_x.py": "def test_x(): pass"})
    assert convos.run().parseoutcomes() == {"passed": 1}


def test_what_lies_in_a_tasks_folders_is_no_test_of_the_session(convos, task):
    task(tests__test_outputs_dot_py="def test_outputs(): assert False", workspace__test_it_dot_py="raise SystemExit")
    assert convos.run().parseoutcomes() == {"passed": 1}


def test_dry_prints_the_first_request_and_makes_no_sandbox(convos, task, nowhere):
    task('kind = "reading"')
    result = convos.run("--convo-dry")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*You read, and change nothing*", "*Write hello into out.txt*", '*"name": "shell"*'])


def test_what_holds_for_a_task_is_explained_with_its_place(convos, task):
    task(task_dot_toml="[agent]\ntimeout_sec = 33\n[convo]\nruns = 3\n")
    result = convos.run("--convo-explain", "tasks/one")
    result.stdout.re_match_lines_random(
        [
            r"runs +3 +tasks/one/task.toml:4",
            r'timeout +"?33.*task.toml agent.timeout_sec',
            r'kind +"writing" +built-in default',
        ]
    )


@pytest.mark.parametrize("protocol", ["tools", "json"])
def test_tools_of_a_conftest_run_on_this_machine(convos, task, protocol):
    directory = task(f'environment = "local"\nprotocol = "{protocol}"')
    call = {"task_done": False, "thoughts": "", "command": "", "tool": "steep", "arguments": {"minutes": 3}}
    native = "calls = [{ name = 'steep', arguments = { minutes = 3 } }]"
    reply = native if protocol == "tools" else f"text = {json.dumps(json.dumps(call))}"
    done = json.dumps(json.dumps({"task_done": True, "thoughts": "Done.", "command": ""}))
    convos.write(
        {
            "conftest.py": "from pathlib import Path\n"
            "def pytest_convo_tools():\n"
            "    def steep(minutes: int) -> str:\n"
            "        'Steep tea.'\n"
            "        Path('steeped').write_text(str(minutes))\n"
            "        return 'steeped'\n"
            "    return [steep]\n",
            "tasks/one/script.toml": f"[[reply]]\nwhen = 'Write'\n{reply}\n[[reply]]\ntext = {done}\n",
            "tasks/one/tests/test.sh": "#!/bin/sh\nexit 0\n",
        }
    )
    assert convos.run().ret == 0, directory
    assert (convos.path / "steeped").read_text() == "3"


READER = "def test_it(convo):\n    assert convo.last.text == 'Done.'\n"


def test_a_test_that_reads_a_task_is_skipped_without_an_engine_like_the_task(convos, task, nowhere):
    task("runs = 2", test_it_dot_py=READER)
    convos.say("conversation")
    result = convos.run("-rs")
    assert (result.ret, result.parseoutcomes()) == (0, {"passed": 1, "skipped": 4})
    result.stdout.fnmatch_lines([f"SKIPPED [[]2[]] tasks/one/test_it.py:1: no container engine*{NOWHERE}: absent*"])
    assert convos.run("--convo-sandbox=require").ret == 1


@pytest.mark.parametrize("args", [[], ["-p", "xdist.plugin", "-n2"]], ids=["noxdist", "load"])
def test_the_oracle_asks_no_model_for_whatever_else_is_there(convos, task, nowhere, args):
    solution = "#!/bin/sh\necho hello > out.txt\n"
    task('environment = "local"\nruns = 2', test_it_dot_py=READER, solution__solve_dot_sh=solution)
    convos.say("conversation", {"test_bot.py": "def test_bot(bot):\n    bot.ask('Hello?')\n"})
    convos.write({"test_agent.py": "def test_agent(agent):\n    agent.run('Write')\n"})
    result = convos.run("--convo-oracle", "-rs", *args)
    assert (result.ret, result.parseoutcomes()) == (0, {"passed": 1, "skipped": 4})
    result.stdout.fnmatch_lines(
        ["*0 calls*", "SKIPPED *: --convo-oracle runs the solutions of tasks, and asks no model"]
    )


def test_the_oracle_leaves_recordings_as_they_are(convos, task, nowhere):
    directory = task('environment = "local"', solution__solve_dot_sh="#!/bin/sh\necho hello > out.txt\n")
    assert convos.run("--convo-record=new").ret == 0
    recorded = {path: path.read_bytes() for path in directory.glob("__recordings__/**/*") if path.is_file()}
    assert recorded
    for mode in ("new", "all"):
        assert convos.run("--convo-oracle", f"--convo-record={mode}").ret == 0
        assert recorded == {path: path.read_bytes() for path in recorded if path.exists()}, mode


def test_of_a_solution_that_does_not_do_it_one_sees_how_it_ended(convos, task, nowhere):
    task('environment = "local"', solution__solve_dot_sh="#!/bin/sh\necho no such cup >&2\nexit 3\n")
    result = convos.run("--convo-oracle")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*broken task: of the task's own solution*", "*solve.sh ended with 3: no such cup"])


def test_pruning_goes_with_nothing_else(convos, nowhere):
    result = convos.run("--convo-prune", "--convo-dry")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--convo-prune removes and ends: it does not go with --convo-dry"])
    assert convos.run("--convo-prune").ret == pytest.ExitCode.USAGE_ERROR  # there is no engine
