"""Runs over real HTTP: how many at once, how often, in which order, and what happens when something goes wrong."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from pytest_convo.testing import ScriptedReply, ScriptedServer

PARALLEL = ["-p", "xdist.plugin", "-n2"]


@pytest.fixture
def serve(convos):
    """A server with these replies, and a convo.toml that asks it; stopped at the end."""
    servers = []

    def start(*replies: ScriptedReply, toml: str = "", **options) -> ScriptedServer:
        server = ScriptedServer(list(replies), **options)
        server.start()
        servers.append(server)
        convos.write({"convo.toml": f'{toml}\n[bot]\nmodel = "test"\nbase_url = "{server.url}"\n'})
        return server

    yield start
    for server in servers:
        server.stop()


def write(convos, number: int, *, users: int = 1) -> None:
    for name in range(number):
        convos.write({f"c{name:03}/{2 * turn:04}_user.md": f"Question {turn} of {name}" for turn in range(users)})


@pytest.mark.parametrize("args", [[], PARALLEL], ids=["one process", "xdist"])
def test_as_many_calls_as_allowed_and_none_twice(convos, serve, args):
    server = serve(ScriptedReply(text="Yes.", latency=0.1), toml="runs = 2\nagreement = 1")
    write(convos, 12)
    result = convos.run("--convo-concurrency=6", *args)
    assert result.ret == 0, result.stdout.str()
    assert server.count == 24
    assert 4 <= server.in_flight_max <= 6


def test_the_engine_imports_nothing_of_ours_in_its_thread(convos, serve):
    """pytest parses what it imports of a plugin, and Python 3.11 cannot parse in two threads at once (gh-106905)."""
    serve(ScriptedReply(text="Yes."))
    write(convos, 1)
    convos.write(
        {
            "conftest.py": "import sys, threading\n"
            "class Watch:\n"
            "    def find_spec(self, name, path=None, target=None):\n"
            "        if threading.current_thread() is not threading.main_thread():\n"
            "            sys.stderr.write(f'in a thread: {name}\\n')\n"
            "sys.meta_path.insert(0, Watch())\n"
            "def pytest_convo_tools(path, run): return [len]\n"
        }
    )
    result = convos.pytester.runpytest_subprocess("-s")
    imported = [line for line in result.stderr.lines if line.startswith("in a thread")]
    assert imported, "the SDK is imported in a thread"
    assert [line for line in imported if "pytest_convo" in line] == []


@pytest.mark.parametrize("args", [[], PARALLEL], ids=["one process", "xdist"])
def test_a_transcript_that_two_tests_read_is_made_once(convos, serve, args):
    server = serve(ScriptedReply(text="Yes.", latency=0.05), toml="runs = 3\nagreement = 1")
    write(convos, 4)
    for name in range(4):
        convos.write({f"c{name:03}/test_{name}.py": "def test_it(convo): assert convo.last.text == 'Yes.'"})
    result = convos.run(*args)
    assert result.ret == 0, result.stdout.str()
    assert server.count == 12
    assert result.parseoutcomes()["passed"] == 8


def test_spare_runs_are_not_asked(convos, serve):
    server = serve(ScriptedReply(text="Yes."), toml="runs = 10\nagreement = 0.5")
    write(convos, 3)
    result = convos.run()
    assert result.ret == 0
    assert server.count == 15
    assert result.parseoutcomes() == {"passed": 3, "spared": 15}
    convos.run("--convo-eager")
    assert server.count > 40


def test_a_spare_run_is_asked_when_the_first_do_not_suffice(convos, serve):
    replies = [ScriptedReply(text="Yes.", weight=4), ScriptedReply(text="No.", weight=1)]
    server = serve(*replies, toml='runs = 5\nagreement = 0.8\n[expect]\ncontains = "Yes"', seed=1)
    write(convos, 1)
    result = convos.run()
    assert result.ret == 0, result.stdout.str()
    assert server.count in (4, 5)


def test_turns_see_what_was_said_before_them(convos, serve):
    server = serve(ScriptedReply(text="Yes."))
    write(convos, 1, users=3)
    convos.write({"c000/prompt.md": "Be kind.\n"})
    assert convos.pytester.runpytest_inprocess().ret == 0
    said = [[message["content"] for message in request.body["messages"]] for request in server.requests]
    assert said == [
        ["Be kind.", "Question 0 of 0"],
        ["Be kind.", "Question 0 of 0", "Yes.", "Question 1 of 0"],
        ["Be kind.", "Question 0 of 0", "Yes.", "Question 1 of 0", "Yes.", "Question 2 of 0"],
    ]


def test_settings_are_sent_as_given_and_nothing_else(convos, serve):
    server = serve(ScriptedReply(text="Yes."))
    write(convos, 1)
    convos.write({"c000/convo.toml": "[bot]\ntemperature = 0\n[bot.request]\nseed = 7\n"})
    assert convos.pytester.runpytest_inprocess().ret == 0
    (request,) = server.requests
    assert {key: value for key, value in request.body.items() if key != "messages"} == {
        "model": "test",
        "temperature": 0,
        "seed": 7,
    }


TOOLS = '''
def pytest_convo_tools(path, run):
    orders = {"A17": "late"}

    def lookup(order: str) -> str:
        """The state of an order.

        Args:
            order: its number
        """
        return orders.pop(order)  # a second run would not find it, were the tools shared

    return [lookup]
'''


def test_tools_are_made_afresh_for_each_run(convos, serve):
    serve(
        ScriptedReply(when="Question", calls=[{"name": "lookup", "arguments": {"order": "A17"}}]),
        ScriptedReply(when="late", text="It is late."),
        toml='runs = 3\nagreement = 1\n[expect]\nequals = "It is late."\ncalls = [{ name = "lookup" }]',
    )
    write(convos, 1)
    convos.write({"conftest.py": TOOLS})
    result = convos.run()
    assert result.ret == 0, result.stdout.str()


def test_a_model_and_a_check_of_ones_own(convos):
    convos.write(
        {
            "a/0000_user.md": "Hello",
            "a/convo.toml": "runs = 2\n[expect]\nlouder_than = 3\n",
            "conftest.py": (
                "def pytest_convo_model(settings):\n    return lambda messages: messages[-1]['content'] + '!!!!'\n"
                "def pytest_convo_checks():\n"
                "    return {'louder_than': lambda reply, value: reply.text.count('!') > value}\n"
            ),
        }
    )
    assert convos.pytester.runpytest_inprocess().ret == 0
    convos.write({"a/convo.toml": "runs = 2\n[expect]\nlouder_than = 4\n"})
    result = convos.pytester.runpytest_inprocess()
    assert result.parseoutcomes()["failed"] == 1


def test_a_passing_error_of_the_server_is_tried_again(convos, serve):
    serve(ScriptedReply(error=500, times=1), ScriptedReply(text="Yes."), toml="runs = 2\nagreement = 1")
    write(convos, 1)
    result = convos.pytester.runpytest_inprocess()
    assert result.ret == 0, result.stdout.str()


@pytest.mark.parametrize("args", [[], PARALLEL], ids=["one process", "xdist"])
def test_errors_are_tried_once_more_before_a_group_is_inconclusive(convos, serve, args):
    server = serve(ScriptedReply(error=503, times=2), ScriptedReply(text="Yes."), toml="runs = 3\nagreement = 1")
    write(convos, 1)
    result = convos.run("--convo-set=bot.retries=0", *args)
    assert result.ret == 0, result.stdout.str()
    assert server.count == 5
    assert result.parseoutcomes()["passed"] == 1


def test_a_marked_test_that_ends_in_an_error_is_tried_once_more(convos, serve):
    server = serve(ScriptedReply(error=503, times=1), ScriptedReply(text="Yes."))
    convos.write(
        {
            "test_x.py": "import pytest\n@pytest.mark.convo(runs=2, agreement=1)\n"
            "def test_x(bot): assert bot.ask('Hello').text == 'Yes.'\n"
        }
    )
    result = convos.pytester.runpytest_inprocess("--convo-set=bot.retries=0")
    assert result.ret == 0, result.stdout.str()
    assert server.count == 3


def test_a_single_run_is_tried_once_more(convos, serve):
    server = serve(ScriptedReply(error=503, times=1), ScriptedReply(text="Yes."))
    write(convos, 1)
    assert convos.pytester.runpytest_inprocess("--convo-set=bot.retries=0").ret == 0
    assert server.count == 2


def test_an_error_that_stays_is_an_error_and_not_a_failure(convos, serve):
    serve(ScriptedReply(error=401))
    write(convos, 1)
    result = convos.pytester.runpytest_inprocess()
    assert result.ret == 1
    assert result.parseoutcomes() == {"errors": 1}
    result.stdout.fnmatch_lines(["*401*"])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_no_credentials_is_an_error_that_names_the_variable(convos):
    convos.write({"a/0000_user.md": "Hello", "a/convo.toml": '[bot]\nmodel = "gpt-4o-mini"\n'})
    result = convos.pytester.runpytest_inprocess()
    assert result.parseoutcomes() == {"errors": 1}
    result.stdout.fnmatch_lines(["*OPENAI_API_KEY*"])


def test_a_reply_that_was_cut_off_fails(convos, serve):
    serve(ScriptedReply(text="It is", finish_reason="length"))
    write(convos, 1)
    result = convos.pytester.runpytest_inprocess()
    assert result.parseoutcomes() == {"failed": 1}
    result.stdout.fnmatch_lines(["*length*"])


def test_a_run_that_takes_too_long_measures_nothing(convos, serve):
    serve(ScriptedReply(text="Yes.", latency=30), toml='timeout = "200ms"')
    write(convos, 1)
    result = convos.pytester.runpytest_inprocess()
    assert result.parseoutcomes() == {"errors": 1}
    result.stdout.fnmatch_lines(["*did not end within 0.2 s*"])


@pytest.mark.parametrize("args", [[], PARALLEL], ids=["one process", "xdist"])
def test_ctrl_c_ends_soon_with_a_summary(convos, serve, args, monkeypatch):
    server = serve(ScriptedReply(text="Yes.", latency=60), toml="runs = 2")
    write(convos, 4)
    env = {**os.environ, "PYTEST_PLUGINS": "pytest_convo.plugin"}
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *args],
        cwd=convos.path,
        env=env,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 30
    while server.in_flight < 4:
        assert time.monotonic() < deadline, "no call was made"
        time.sleep(0.02)
    begin = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=20)
    assert time.monotonic() - begin < 10  # aimed at 2 s; this only tells a wait for the calls from none
    assert process.returncode == pytest.ExitCode.INTERRUPTED, out
    assert "KeyboardInterrupt" in out


def test_a_tool_that_hangs_does_not_hold_up_the_end(convos, serve):
    serve(
        ScriptedReply(when="Question", calls=[{"name": "sleep", "arguments": {}}]),
        ScriptedReply(text="Yes."),
        toml='timeout = "300ms"',
    )
    write(convos, 1)
    convos.write(
        {
            "conftest.py": "import time\ndef pytest_convo_tools(path, run):\n    def sleep() -> str:\n"
            "        'Sleeps.'\n        time.sleep(60)\n        return ''\n    return [sleep]\n"
        }
    )
    begin = time.monotonic()
    result = convos.pytester.runpytest_subprocess("-W", "default", timeout=30)
    assert time.monotonic() - begin < 25
    assert result.ret == 1
    result.stderr.fnmatch_lines(["*tools that still run: sleep*"])


@pytest.mark.parametrize("args", [[], PARALLEL], ids=["one process", "xdist"])
def test_a_group_that_is_left_open_gets_no_verdict(convos, args):
    convos.vote("a", "n", 1)
    convos.vote("b", "yyyyy", 5, sleep=0.3)
    result = convos.pytester.runpytest_subprocess("-x", *args)
    assert result.ret in (1, 2)
    assert result.parseoutcomes()["failed"] == 1
    assert "FAILED b/convo.toml" not in result.stdout.str()
    assert "ERROR b/convo.toml" not in result.stdout.str()


def test_exitfirst_pays_little_ahead(convos, serve):
    server = serve(ScriptedReply(text="No."), toml='[expect]\ncontains = "Yes"')
    write(convos, 60)
    result = convos.pytester.runpytest_inprocess("-x", "--convo-concurrency=2")
    assert result.parseoutcomes() == {"failed": 1}
    assert server.count <= 20


def test_the_run_directory_keeps_what_was_said(convos, serve):
    serve(ScriptedReply(text="Yes."))
    write(convos, 1)
    for _ in range(12):
        assert convos.pytester.runpytest_inprocess().ret == 0
    sessions = sorted((convos.path / ".convo/runs").iterdir())
    assert len(sessions) == 10
    kept = sessions[-1] / "c000/0000_user.md/run-1"
    assert (kept / "0001_assistant.md").read_text() == "Yes.\n"
    events = [json.loads(line) for line in (kept / "events.jsonl").read_text().splitlines()]
    assert [event["kind"] for event in events] == ["turn", "request", "spent", "reply", "check", "outcome"]
    assert events[1]["body"]["messages"][0]["content"] == "Question 0 of 0"
    assert (convos.path / ".convo/.gitignore").read_text().endswith("*\n")


def test_the_source_tree_is_left_alone(convos, serve):
    serve(ScriptedReply(text="Yes."))
    write(convos, 1)
    before = {path: path.read_bytes() for path in convos.path.rglob("*") if path.is_file()}
    convos.run("-p", "no:cacheprovider")
    after = {
        path: path.read_bytes()
        for path in convos.path.rglob("*")
        if path.is_file() and ".convo" not in path.parts and path.name not in ("stdout", "stderr")
    }
    assert after == before


SLOW = "import time\ndef test_slow(): time.sleep({})\n"


def test_a_failing_conversation_is_told_though_another_worker_made_its_transcript(convos):
    convos.write({"a/test_slow_a.py": SLOW.format(1.5), "e/test_slow_e.py": SLOW.format(2)})
    convos.say("c", {"test_x.py": "def test_x(convo): assert convo.last.text"}, toml='[expect]\ncontains = "No"\n')
    result = convos.run(*PARALLEL)
    assert result.ret == 1
    assert result.parseoutcomes() == {"passed": 3, "failed": 1}


@pytest.mark.parametrize("limit", [1, 3])
def test_eager_runs_that_are_cancelled_give_their_slots_back(convos, limit):
    for number in range(12):
        convos.say(f"c{number:02}", toml="runs = 2\nagreement = 0.5\n")
    result = convos.run("--convo-eager", f"--convo-concurrency={limit}")
    assert result.ret == 0
    assert result.parseoutcomes()["passed"] == 12


@pytest.mark.parametrize("args", [[], PARALLEL], ids=["one process", "xdist"])
def test_the_error_of_a_spare_run_is_tried_again_and_stays_one(convos, serve, args):
    serve(ScriptedReply(error=503), toml="runs = 2\nagreement = 0.5")
    write(convos, 1)
    result = convos.run("--convo-set=bot.retries=0", *args)
    assert result.ret == 1
    assert result.parseoutcomes()["errors"] == 1


@pytest.mark.parametrize("args", [[], PARALLEL], ids=["one process", "xdist"])
def test_the_error_of_a_shared_transcript_is_tried_again_for_all_its_readers(convos, serve, args):
    server = serve(ScriptedReply(error=503, times=1), ScriptedReply(text="Yes."), toml="runs = 3\nagreement = 1")
    write(convos, 1)
    convos.write({"c000/test_x.py": "def test_x(convo): assert convo.last.text == 'Yes.'"})
    result = convos.run("--convo-set=bot.retries=0", *args)
    assert result.ret == 0, result.stdout.str()
    assert server.count == 4


def test_exitfirst_stops_at_a_group_that_measured_nothing(convos, serve):
    serve(ScriptedReply(error=401), toml="runs = 2")
    write(convos, 4)
    result = convos.pytester.runpytest_inprocess("-x")
    assert result.ret == 1
    assert result.parseoutcomes()["errors"] == 1


def test_without_a_key_nothing_was_asked_and_nothing_is_green(convos):
    convos.write({"a/0000_user.md": "Hello", "a/convo.toml": '[bot]\nmodel = "gpt-4o-mini"\n'})
    result = convos.pytester.runpytest_inprocess("--convo-inconclusive=skip")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*no model was asked*"])


@pytest.mark.parametrize("args", [[], PARALLEL], ids=["one process", "xdist"])
def test_half_a_character_in_a_reply_breaks_nothing(convos, args):
    convos.write(
        {
            "a/0000_user.md": "Hello",
            "a/convo.toml": "",
            "conftest.py": "def pytest_convo_model(settings):\n    return lambda messages: 'so \\ud800'\n",
        }
    )
    result = convos.run("--convo-json=report.json", *args)
    assert result.ret == 0, result.stdout.str()
    assert "so" in (convos.path / "report.json").read_text()


def test_where_nothing_can_be_kept_the_session_goes_on(convos):
    convos.say("a")
    convos.write({".convo": "a file"})
    result = convos.run("-W", "default")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*pytest-convo keeps no runs*"])


def test_a_question_of_a_test_has_the_time_limit_of_a_run(convos, serve):
    serve(ScriptedReply(text="Yes.", latency=20), toml='timeout = "200ms"')
    convos.write({"test_x.py": "import pytest\n@pytest.mark.convo\ndef test_x(bot): bot.ask('Hello')\n"})
    result = convos.pytester.runpytest_inprocess()
    assert result.parseoutcomes() == {"errors": 1}
    result.stdout.fnmatch_lines(["*did not end within 0.2 s*"])


def test_conversations_are_asked_while_ordinary_tests_run(convos):
    convos.write(
        {
            "a/test_first.py": "import os, time\ndef test_first():\n    end = time.monotonic() + 20\n"
            "    while not os.path.exists('asked'):\n        assert time.monotonic() < end\n        time.sleep(0.02)\n",
            "b/0000_user.md": "Hello",
            "b/convo.toml": "",
            "conftest.py": "import pathlib\ndef pytest_convo_model(settings):\n"
            "    return lambda messages: pathlib.Path('asked').write_text('x') and 'Yes.'\n",
        }
    )
    assert convos.run().parseoutcomes() == {"passed": 2}


def test_a_user_may_have_a_fixture_of_the_same_name(convos):
    convos.pytester.makepyfile(
        "import pytest\n@pytest.fixture\ndef convo(): return 1\ndef test_x(convo): assert convo == 1\n"
    )
    result = convos.pytester.runpytest_inprocess()
    assert result.parseoutcomes() == {"passed": 1}


def test_ctrl_c_starts_no_further_call(convos, serve):
    server = serve(ScriptedReply(text="Yes.", latency=60), toml="runs = 3\nagreement = 0.3")
    write(convos, 4)
    env = {**os.environ, "PYTEST_PLUGINS": "pytest_convo.plugin"}
    process = subprocess.Popen([sys.executable, "-m", "pytest"], cwd=convos.path, env=env, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 30
    while server.in_flight < 4:
        assert time.monotonic() < deadline, "no call was made"
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == pytest.ExitCode.INTERRUPTED
    assert server.count == 4


def test_a_proxy_is_not_asked_for_this_machine(convos, serve, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    serve(ScriptedReply(text="Yes."))
    write(convos, 1)
    assert convos.run("--convo-set=bot.retries=0").ret == 0


def test_an_unfinished_session_over_a_group_that_always_kills_its_worker(convos):
    convos.vote("x", "!!", 2)
    result = convos.run(*PARALLEL)
    assert result.ret == 1
    assert result.parseoutcomes()["errors"] == 1
    assert "failed" not in result.parseoutcomes()


def test_junit_has_the_verdict_as_a_property(convos):
    convos.vote("split", "yynyy", 4)
    convos.pytester.runpytest_inprocess("--junitxml=junit.xml")
    text = (convos.path / "junit.xml").read_text()
    assert '<property name="convo.verdict" value="pass"' in text
    assert '<property name="convo.outcome" value="fail"' in text


def test_log_handlers_are_left_alone(convos):
    convos.say("a")
    convos.write(
        {
            "conftest.py": "import logging\nbefore = list(logging.root.handlers)\n"
            "def pytest_unconfigure(): assert logging.root.handlers == before\n"
        }
    )
    assert convos.pytester.runpytest_subprocess("-p", "no:logging").ret == 0


def test_nothing_asks_a_person(convos):
    convos.say("a")
    result = subprocess.run([sys.executable, "-m", "pytest"], cwd=convos.path, stdin=subprocess.DEVNULL, check=False)
    assert result.returncode == 0


@pytest.mark.parametrize("what", ["KeyboardInterrupt", "SystemExit(3)", "asyncio.CancelledError", "GeneratorExit"])
@pytest.mark.parametrize("kind", ["def", "async def"])
def test_what_would_end_a_program_is_an_error_of_the_run(convos, what, kind):
    convos.write(
        {
            "a/0000_user.md": "Hello",
            "a/convo.toml": "runs = 2\n",
            "conftest.py": f"import asyncio\n{kind} model(messages):\n    raise {what}\n"
            "def pytest_convo_model(settings):\n    return model\n",
        }
    )
    result = convos.run()
    assert result.ret == 1
    assert result.parseoutcomes() == {"errors": 1, "unmeasured": 2}
    result.stdout.fnmatch_lines([f"*raised *{what.partition('(')[0].rpartition('.')[2]}*"])


@pytest.mark.parametrize("name", ["checks.py", "conftest.py"])
def test_sys_exit_at_collection_is_a_collection_error(convos, name):
    hook = "import sys\ndef pytest_convo_model(settings): sys.exit(3)\n"
    text = {"checks.py": "import sys\nsys.exit(3)\n", "conftest.py": hook}[name]
    toml = '[expect]\npython = "checks.py:f"\n' if name == "checks.py" else ""
    convos.say("a", {name: text}, toml=toml)
    result = convos.run()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert result.parseoutcomes() == {"errors": 1}


def test_a_key_that_no_header_can_carry_is_not_printed(convos, serve, monkeypatch):
    serve(ScriptedReply(text="Yes."))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-SECRET\u6f22SECRET")
    write(convos, 1)
    result = convos.run()
    assert result.ret == 1
    assert "SECRET" not in result.stdout.str()
    result.stdout.fnmatch_lines(["*OPENAI_API_KEY holds characters that no header can carry*"])


@pytest.mark.parametrize("style", ["auto", "long", "short"])
def test_an_error_in_a_test_is_told_in_a_line_or_two_without_the_key(convos, serve, monkeypatch, style):
    serve(ScriptedReply(error=401, text="Incorrect API key: sk-SECRETSECRET1234"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-SECRETSECRET1234")
    convos.write({"test_b.py": "def test_b(bot):\n    bot.ask('x')\n"})
    result = convos.run(f"--tb={style}", "-l", "--junitxml=j.xml")
    assert "SECRETSECRET" not in result.stdout.str() + (convos.path / "j.xml").read_text()
    result.stdout.fnmatch_lines(["test_b.py:2: *401*"])


def test_what_a_failing_run_printed_is_shown_with_the_verdict(convos):
    convos.say(
        "a", {"test_x.py": "def test_x(convo):\n    print('SAID', convo.run)\n    assert 0\n"}, toml="runs = 2\n"
    )
    result = convos.run()
    result.stdout.fnmatch_lines(["*Captured stdout call (run-1)*", "SAID 1"])


def test_a_report_cannot_be_a_directory(convos):
    convos.say("a")
    result = convos.run("--convo-json=.")
    assert result.ret == pytest.ExitCode.USAGE_ERROR


def test_a_plan_of_the_set_up_is_no_failure(convos):
    convos.say("a")
    assert convos.run("--setup-plan").ret == 0


@pytest.mark.parametrize(
    "hook",
    [
        "def pytest_convo_tools(path, run): return 5",
        "def pytest_convo_tools(path, run): return [5]",
        "def pytest_convo_checks(): return 5",
        "def pytest_convo_model(settings): return 5",
        "class M:\n    async def complete(self, request, stream=None): return None\n"
        "def pytest_convo_model(settings): return M()",
    ],
)
def test_a_hook_that_returns_nonsense_is_told_so(convos, hook):
    convos.say("a", {"conftest.py": hook})
    result = convos.run()
    assert result.ret in (1, 2)
    assert result.parseoutcomes() == {"errors": 1}
    assert "Traceback" not in result.stdout.str()
    result.stdout.fnmatch_lines_random(["*pytest_convo_*returned*" if "class" not in hook else "*which is no Reply*"])


def test_a_prompt_that_cannot_be_read_is_not_passed_over(convos):
    directory = convos.say("a")
    (directory / "prompt.md").symlink_to("nowhere")
    result = convos.run()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["a/prompt.md: is a link to nothing*"])
