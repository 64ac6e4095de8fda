"""Tasks as their users meet them, on a real engine."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.engine

PARALLEL = ["-p", "xdist.plugin", "-n2"]
WAYS = pytest.mark.parametrize("args", [[], PARALLEL], ids=["one process", "xdist"])


def draw(*commands: tuple[int, str], answer: str = "It is done.") -> str:
    """A bot that runs one of several commands, so many times in so many runs."""
    cards = "".join(
        f"[[reply]]\nwhen = '^Begin'\nweight = {weight}\n"
        f"calls = [{{ name = 'shell', arguments = {{ command = {json.dumps(command)} }} }}]\n"
        for weight, command in commands
    )
    return f"{cards}[[reply]]\ntext = {json.dumps(answer)}\n"


# -- verdicts


@WAYS
def test_a_task_is_a_group_of_runs_under_the_node_id_of_its_file(tasks, args):
    tasks.write(ours='runs = 3\nagreement = "2/3"', script=draw((2, "echo hello > out.txt"), (1, "echo bye > out.txt")))
    result = tasks.run("-v", "--convo-record=new", *args)  # recording makes all runs
    outcomes = result.parseoutcomes()
    assert (result.ret, outcomes["passed"], outcomes["dissent"]) == (0, 1, 1)
    result.stdout.fnmatch_lines(["*tasks/one/task.toml::run-1*", "*1 run of agents that said they were done*"])


def test_the_verifier_decides_and_not_what_the_agent_says(tasks):
    tasks.write(commands=["true"], answer="All done, and verified!")
    result = tasks.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["*the verifier says no: test.sh ended with 2", "*", "the agent said that it is done: «All done*»"]
    )


def test_an_agent_that_does_not_say_so_may_have_done_it(tasks):
    tasks.write(commands=["echo hello > out.txt", "true"], ours="max_iterations = 1")
    result = tasks.run()
    assert result.ret == 0
    result.stdout.fnmatch_lines(["1 run of agents that were done, and did not say so"])
    assert [event["command"] for event in tasks.events("command")] == ["echo hello > out.txt"]


@pytest.mark.parametrize(
    "script, outcome, reason",
    [
        ("echo 1 > /logs/verifier/reward.txt; exit 1", "passed", ""),
        ("echo 0.5 > /logs/verifier/reward.txt", "failed", "*gives 0.5 of 1*"),
        ("""echo '{"a": 1, "b": 0}' > /logs/verifier/reward.json""", "failed", "*gives 0 of 1*"),
        ("""echo '{"reward": 1, "b": 0}' > /logs/verifier/reward.json""", "passed", ""),
        ("echo maybe > /logs/verifier/reward.txt", "errors", "*wrote no number to reward.txt: 'maybe'*"),
        ("exec no-such-program", "errors", "*could not run; its first line is '#!/bin/sh'*"),
        ("exit 3", "failed", "*test.sh ended with 3*"),
        ("sleep 60", "errors", "*did not end within 1 s*"),
    ],
)
def test_a_reward_or_else_the_return_code_says_it(tasks, script, outcome, reason):
    tasks.write(test=script, harbor="[verifier]\ntimeout_sec = 1.0")
    result = tasks.run()
    assert result.parseoutcomes() == {outcome: 1}
    result.stdout.fnmatch_lines([reason or "*"])


def test_what_the_agent_answers_can_be_verified(tasks):
    tasks.write(test="grep -q '^42$' /logs/agent/answer.txt", answer="42", ours='kind = "reading"')
    assert tasks.run().ret == 0


def test_checks_of_the_answer_come_on_top_of_the_verifier(tasks):
    directory = tasks.write(answer="No idea.")
    with (directory / "task.toml").open("a") as file:
        file.write('[convo.expect]\ncontains = "done"\n')
    result = tasks.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*turn 1, contains: not in the reply*"])


def test_a_python_test_beside_a_task_reads_its_transcript(tasks):
    directory = tasks.write(ours="runs = 2\nagreement = 1")
    (directory / "test_it.py").write_text(
        "def test_it(convo):\n"
        "    assert convo.last.text == 'It is done.'\n"
        "    assert [call.name for call in convo.calls] == ['shell']\n"
    )
    result = tasks.run()
    assert result.parseoutcomes() == {"passed": 2}
    result.stdout.fnmatch_lines(["4 calls*"])  # of two runs, which are each played once


# -- what is the agent's, and what is not


def test_the_workspace_stays_as_it_is_and_the_diff_is_kept(tasks):
    directory = tasks.write(commands=["echo hello > out.txt; echo milk >> in.txt"])
    assert tasks.run().ret == 0
    assert [path.name for path in (directory / "workspace").iterdir()] == ["in.txt"]
    assert "+milk" in tasks.kept("changes.diff")
    assert tasks.kept("command-001.txt").startswith("$ echo hello > out.txt; echo milk >> in.txt\n")
    assert tasks.kept("verifier.txt").startswith("pass\n")


def test_a_reading_agent_cannot_write(tasks):
    tasks.write(commands=["touch in.txt new.txt"], test="test ! -e new.txt", ours='kind = "reading"')
    assert tasks.run().ret == 0
    assert "Read-only file system" in tasks.events("command")[0]["error"]


def test_what_a_passing_run_changed_is_written_back_where_that_is_asked_for(tasks):
    commands = ["echo hello > out.txt; rm in.txt; mkdir d; echo deep > d/file"]
    directory = tasks.write(commands=commands, ours="write_back = true\nruns = 2\nagreement = 1")
    result = tasks.run()
    assert result.ret == 0
    written = {path.relative_to(directory).as_posix() for path in directory.glob("workspace/**/*") if path.is_file()}
    assert written == {"workspace/out.txt", "workspace/d/file"}
    result.stdout.fnmatch_lines(["*written back: A d/file, D in.txt, A out.txt"])


def test_nothing_is_written_back_of_a_run_that_failed(tasks):
    directory = tasks.write(commands=["rm in.txt"], ours="write_back = true")
    assert tasks.run().ret == 1
    assert [path.name for path in (directory / "workspace").iterdir()] == ["in.txt"]


def test_the_tests_and_the_solution_are_not_there_while_the_agent_works(tasks):
    tasks.write(commands=["ls -a /tests /logs/verifier /solution; find / -name solve.sh 2>/dev/null"])
    assert tasks.run().ret == 1
    seen = tasks.events("command")[0]
    assert (seen["output"], seen["error"].count("Permission denied")) == ("", 2)


def test_commands_see_no_variable_of_this_machine_but_those_that_are_named(tasks, monkeypatch):
    monkeypatch.setenv("TEA", "sencha")
    monkeypatch.setenv("COFFEE", "espresso")
    tasks.write(commands=["env"], ours='env = ["TEA"]', test='test "$TEA" = sencha')
    assert tasks.run().ret == 0
    seen = tasks.events("command")[0]["output"]
    assert "TEA=sencha" in seen
    assert "espresso" not in seen


# -- ends


def test_a_task_that_takes_too_long_is_verified_all_the_same(tasks):
    tasks.write(commands=["echo hello > out.txt; sleep 600"], ours='timeout = "2s"')
    assert tasks.run().ret == 0
    (end,) = tasks.events("end")
    assert (end["end"], end["iterations"]) == ("timeout", 1)


def test_a_command_that_takes_too_long_is_killed_and_the_next_one_runs(tasks):
    tasks.write(commands=["sleep 600 & sleep 600", "echo hello > out.txt"], ours='command_timeout = "1s"')
    assert tasks.run().ret == 0
    assert [event["killed"] for event in tasks.events("command")] == ["timeout", None]


def test_a_bot_that_cannot_be_read_fails(tasks):
    script = "[[reply]]\ncalls = [{ name = 'shel', arguments = {} }]\n"
    tasks.write(script=script, ours="corrections = 2")
    result = tasks.run()
    assert result.parseoutcomes() == {"failed": 1}
    result.stdout.fnmatch_lines(
        ["*the verifier says no*", "*it could not go on, for 3 replies in a row could not be carried out*"]
    )


# -- oracle


def test_a_sound_task_passes_its_oracle_and_no_model_is_asked(tasks):
    tasks.write(ours="runs = 5", script="")
    result = tasks.run("--convo-oracle")
    assert (result.ret, result.parseoutcomes()) == (0, {"passed": 1})
    result.stdout.fnmatch_lines(["0 calls*"])


@pytest.mark.parametrize(
    "files, reason",
    [
        ({"test": "true"}, "broken task: the verifier passes a workspace that nobody has touched"),
        ({"solution": "true"}, "broken task: of the task's own solution the verifier says no*"),
        ({"test": "exec nothing"}, "broken task: of the untouched workspace the verifier could not run*"),
    ],
)
def test_a_broken_task_is_told(tasks, files, reason):
    tasks.write(**files)
    result = tasks.run("--convo-oracle")
    assert result.parseoutcomes() == {"failed": 1}
    result.stdout.fnmatch_lines([reason])


def test_a_task_without_a_solution_is_skipped_by_the_oracle(tasks):
    tasks.write("one", solution=None)
    tasks.write("two")
    assert tasks.run("--convo-oracle").parseoutcomes() == {"passed": 1, "skipped": 1}


# -- recordings


def test_a_recorded_run_is_replayed_in_a_real_sandbox(tasks, monkeypatch):
    directory = tasks.write()
    assert tasks.run("--convo-record=all").ret == 0
    (directory / "script.toml").write_text("[[reply]]\nerror = 500\n")
    monkeypatch.setenv("CI", "true")
    result = tasks.run()
    assert (result.ret, result.parseoutcomes()) == (0, {"passed": 1})
    result.stdout.fnmatch_lines(["0 calls · 2 answers replayed*"])


@pytest.mark.parametrize("mode, outcome", [("check", "errors"), ("replay", "passed")])
def test_a_command_that_answers_otherwise_is_where_a_replay_leaves_the_recording(tasks, mode, outcome):
    directory = tasks.write(commands=["cat in.txt", "echo hello > out.txt"], ours=f'record = {{ tools = "{mode}" }}')
    assert tasks.run("--convo-record=all").ret == 0
    (directory / "workspace/in.txt").write_text("coffee\n")
    result = tasks.run("--convo-record=none")
    assert result.parseoutcomes() == {outcome: 1}
    if mode == "check":
        result.stdout.fnmatch_lines(["*shell*", "*coffee*"])


# -- images


def test_a_dockerfile_is_built_and_only_once(tasks):
    dockerfile = "FROM pytest-convo-test/hostbin:1\nCOPY tea.txt /opt/tea.txt\n"
    files = {"environment__Dockerfile": dockerfile, "environment__teaDOTtxt": "sencha"}
    tasks.write(commands=["cp /opt/tea.txt out.txt"], test="grep -q sencha out.txt", **files)
    assert tasks.run().ret == 0
    (built,) = tasks.events("sandbox")
    assert tasks.run().ret == 0
    assert tasks.events("sandbox")[0]["image"] == built["image"]


def test_an_image_that_cannot_be_had_is_an_error_that_names_it(tasks):
    tasks.write(ours='image = "no-such-host.invalid/tea:1"')
    result = tasks.run()
    assert result.parseoutcomes() == {"errors": 1}
    result.stdout.fnmatch_lines(["*no-such-host.invalid/tea:1*"])


def test_a_dockerfile_that_is_broken_is_an_error_that_says_where(tasks):
    tasks.write(environment__Dockerfile="FROM pytest-convo-test/hostbin:1\nRUN exit 7\n")
    result = tasks.run()
    assert result.parseoutcomes() == {"errors": 1}
    result.stdout.fnmatch_lines(["*RUN exit 7*"])


# -- Harbor's own


def test_a_task_of_harbors_is_roots_own_and_may_write_everywhere(tasks):
    tasks.write(
        commands=["id -u; pwd; echo hello > /etc/tea; cd /; touch new"],
        test="grep -q hello /etc/tea && echo 1 > /logs/verifier/reward.txt",
        solution="echo hello > /etc/tea",
        harbor="[environment]\nallow_internet = false\nmemory_mb = 128",
        ours=None,
    )
    assert tasks.run().ret == 0
    assert tasks.events("command")[0]["output"].splitlines()[0] == "0"
    assert tasks.events("sandbox")[0]["limits"]["memory"] == "128 MiB"
    assert tasks.run("--convo-oracle").ret == 0


FORGERS = {
    "once": "mkdir -p /logs/verifier; echo 1 > /logs/verifier/reward.txt; echo 1 > /logs/verifier/reward.json",
    "again and again": "(while :; do mkdir -p /logs/verifier; echo 1 >/logs/verifier/reward.txt; done)"
    " >/dev/null 2>&1 &",
    "once there is one": "(while :; do [ -s /logs/verifier/reward.txt ] && echo 1 >/logs/verifier/reward.txt; done)"
    " >/dev/null 2>&1 &",
    "another test": "(while :; do printf '#!/bin/sh\\nexit 0\\n' >/tests/test.sh; done) >/dev/null 2>&1 &",
    "other directories": "mv /logs /l; mkdir -p /logs/verifier; mv /tests /t; mkdir /tests;"
    " echo 1 >/logs/verifier/reward.txt",
    "links": "rm -rf /logs /tests; ln -s /tmp /logs; ln -s /tmp /tests; mkdir /tmp/verifier;"
    " echo 1 >/tmp/verifier/reward.txt",
    "other programs": "mkdir /tmp/bin; printf '#!/bin/sh\\nexit 0\\n' >/tmp/bin/grep; chmod +x /tmp/bin/grep;"
    " export PATH=/tmp/bin:$PATH ENV=/tmp/rc BASH_ENV=/tmp/rc; echo 'exit 0' >/tmp/rc",
    "what lasts": "echo 'exit 0' >/run/convo/env; echo 'exit 0' >$HOME/.profile; echo 'exit 0' >$HOME/.bashrc",
}


@pytest.mark.parametrize("ours", ["", None], ids=["ours", "harbors"])
def test_a_reward_that_the_agent_forged_counts_for_nothing(tasks, ours):
    test = "if grep -q hello out.txt; then echo 1; else echo 0; fi > /logs/verifier/reward.txt; sleep 0.1"
    for number, command in enumerate(FORGERS.values()):
        tasks.write(f"forger{number}", commands=[command], test=test, ours=ours)
    result = tasks.run()
    assert result.parseoutcomes() == {"failed": len(FORGERS)}
    result.stdout.no_fnmatch_line("*gives 1 of 1*")


KILLER = (
    "(while :; do for p in /proc/[0-9]*; do read -r n 2>/dev/null <$p/comm && [ $n = sleep ] && kill -9 ${p#/proc/};"
    " done; done) >/dev/null 2>&1 &"
)


@pytest.mark.parametrize("ours, outcome", [("", "failed"), ("background = true", "passed")])
def test_what_passes_for_what_was_left_running_alone_does_not_pass_unless_the_task_says_so(tasks, ours, outcome):
    tasks.write(commands=[KILLER], test="if sleep 1; then exit 1; fi", ours=ours)
    result = tasks.run()
    assert result.parseoutcomes() == {outcome: 1}
    result.stdout.fnmatch_lines(["*only while processes run that the agent left*" if not ours else "*"])


# -- what is left


def test_the_sandbox_of_a_run_that_failed_is_left_if_that_is_asked_for(tasks, client):
    tasks.write(commands=["echo bye > out.txt"], ours="runs = 2\nagreement = 1")
    tasks.write("two")
    result = tasks.run("--convo-keep-sandbox", "--convo-record=new")
    assert result.parseoutcomes()["failed"] == 1
    entering = [line.partition("enter it with: ")[2] for line in result.outlines if "the sandbox was left" in line]
    assert len(entering) == 2
    ids = [words.split()[-2] for words in entering]
    try:
        assert all(client.containers.get(one).status == "running" for one in ids)
        code, output = client.containers.get(ids[0]).exec_run(["cat", "/workspace/out.txt"])
        assert (code, output) == (0, b"bye\n")
    finally:
        for one in ids:
            client.containers.get(one).remove(force=True)


def test_runs_that_are_not_needed_any_more_end_with_their_sandboxes_at_once(tasks, client):
    directory = tasks.write(name="spared", test="test -e out.txt || exec sleep 600", ours="runs = 4\nagreement = '1/4'")
    first = "{ name = 'shell', arguments = { command = 'echo hello > out.txt' } }"
    (directory / "script.toml").write_text(
        f"[[reply]]\nwhen = 'Begin'\nweight = 1\ncalls = [{first}]\n\n"
        "[[reply]]\nwhen = 'Begin'\nweight = 1\ntext = 'It is done.'\n\n[[reply]]\ntext = 'Done.'\n"
    )
    result = tasks.run("--convo-eager")
    assert result.ret == 0
    assert "did not wait" not in result.stderr.str()
    left = client.containers.list(all=True, filters={"label": "pytest-convo"})
    assert [container for container in left if "spared" in str(container.labels)] == []
