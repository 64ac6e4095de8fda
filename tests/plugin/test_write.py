"""`--convo-write` as its users meet it: answers in the directory, while they come and when they are whole."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pytest_convo.conversation.conversation import read
from pytest_convo.testing import ScriptedReply, ScriptedServer

PARALLEL = ["-p", "xdist.plugin", "-n2"]
WAYS = pytest.mark.parametrize("args", [[], PARALLEL], ids=["one process", "xdist"])


@pytest.fixture
def serve(convos):
    """A server with these replies, and a convo.toml that asks it; stopped at the end."""
    servers = []

    def serve(*replies: ScriptedReply, toml: str = "", bot: str = "") -> ScriptedServer:
        server = ScriptedServer(list(replies) or [ScriptedReply(text="Yes, gladly.\n\nWithin 30 days.")]).start()
        servers.append(server)
        asks = f'[bot]\nmodel = "test"\nbase_url = "{server.url}"\nretries = 1\n{bot}'
        convos.write({"convo.toml": f"{toml}\n{asks}"})
        return server

    yield serve
    for server in servers:
        server.stop()


def ask(convos, name: str = "a", *, turns: int = 1, **files: str) -> Path:
    """A conversation of so many questions."""
    convos.write({f"{name}/{2 * turn:04}_user.md": f"Question {turn} of {name}" for turn in range(turns)})
    convos.write({f"{name}/{file.replace('__', '.')}": text for file, text in files.items()})
    return convos.path / name


def files(directory: Path) -> dict[str, str]:
    """What is written there, but for the user's messages that were there before."""
    return {
        path.name: path.read_text()
        for path in sorted(directory.iterdir())
        if path.is_file() and (not path.name.endswith("_user.md") or not path.read_text())
    }


# -- the answers


@WAYS
def test_the_answers_are_written_into_the_holes(convos, serve, args):
    server = serve(
        ScriptedReply(when="Question 0", text="First."),
        ScriptedReply(when="Question 1", text="Second.\n\nAnd more.\n"),
        toml="runs = 5\nagreement = 1",
    )
    directories = [ask(convos, name, turns=2) for name in "abc"]
    result = convos.run("--convo-write", *args)
    assert result.parseoutcomes() == {"passed": 3}
    for directory in directories:
        assert files(directory) == {"0001_assistant.md": "First.\n", "0003_assistant.md": "Second.\n\nAnd more.\n\n"}
    assert server.count == 6  # one run of each, whatever the settings say
    assert all(request.body["stream"] for request in server.requests)
    assert [message["content"] for message in server.requests[-1].body["messages"]][1] == "First."
    assert list(convos.path.rglob("__recordings__")) == []


def test_deleting_an_answer_redoes_that_turn_alone(convos, serve):
    server = serve()
    directory = ask(convos, turns=2, **{"0001_assistant__md": "Old.\n", "0003_assistant__md": "Old.\n"})
    (directory / "0001_assistant.md").unlink()
    assert convos.run("--convo-write").ret == 0
    assert files(directory) == {"0001_assistant.md": "Yes, gladly.\n\nWithin 30 days.\n", "0003_assistant.md": "Old.\n"}
    assert server.count == 1


def test_what_was_written_is_there_for_the_next_run(convos, serve):
    server = serve()
    ask(convos)
    convos.run("--convo-write")
    result = convos.run("--convo-write")
    result.stdout.fnmatch_lines(["*no model was asked*"])
    assert (result.ret, server.count) == (1, 1)


@WAYS
def test_what_two_items_read_is_asked_for_once_and_written_once(convos, serve, args):
    server = serve()
    directory = ask(convos, test_a__py="def test_a(convo): assert convo.last.text.startswith('Yes')")
    result = convos.run("--convo-write", *args)
    assert result.parseoutcomes() == {"passed": 2}
    assert server.count == 1
    assert "0001_assistant.md" in files(directory)


def test_an_answer_that_does_not_pass_is_written_all_the_same(convos, serve):
    serve(toml='[expect]\nexcludes = "gladly"')
    directory = ask(convos)
    assert convos.run("--convo-write").ret == 1
    assert list(files(directory)) == ["0001_assistant.md"]


def test_an_approved_reply_stays_as_it_is(convos, serve):
    server = serve(toml='regenerate = "all"')
    directory = ask(convos, turns=2, **{"0001_assistant__md": "Approved.\n"})
    result = convos.run("--convo-write")
    result.stdout.fnmatch_lines(["a/0001_assistant.md (stays as it is)", "Yes, gladly.", "a/0003_assistant.md"])
    assert files(directory)["0001_assistant.md"] == "Approved.\n"
    assert (server.count, len(files(directory))) == (2, 2)


def test_no_secret_is_written(convos, serve, monkeypatch):
    monkeypatch.setenv("SHOP_TOKEN", "hunter2hunter2")
    serve(ScriptedReply(text="It is hunter2hunter2.", pieces=5))
    directory = ask(convos)
    result = convos.run("--convo-write")
    assert files(directory) == {"0001_assistant.md": "It is [secret SHOP_TOKEN].\n"}
    assert "hunter2" not in result.stdout.str()


TOOLS = '''
def pytest_convo_tools(path, run):
    def lookup(order: str) -> str:
        """Look up an order."""
        return f"{order} is late.\\nBy two days.\\n"

    return [lookup]
'''
CALL = {"name": "lookup", "arguments": {"order": "A17"}}


def test_the_steps_of_a_turn_are_written_too(convos, serve):
    serve(
        ScriptedReply(when="Question", text="One moment.", calls=[CALL]), ScriptedReply(when="late", text="It is late.")
    )
    directory = ask(convos, conftest__py=TOOLS)
    assert convos.run("--convo-write").ret == 0
    assert files(directory)["0001_assistant.md"] == "It is late.\n"
    messages = read(directory, variables={}).messages[1]
    assert [message.role for message in messages] == ["assistant", "tool", "assistant"]
    assert messages[0].tool_calls[0].parsed() == {"order": "A17"}
    assert (messages[0].text, messages[1].text) == ("One moment.", "A17 is late.\nBy two days.\n")


def test_calls_that_end_the_turn_are_written_as_a_record(convos, serve):
    tool = '[{ type = "function", function = { name = "lookup" } }]'
    serve(ScriptedReply(calls=[CALL]), bot=f"[bot.request]\ntools = {tool}\n")
    directory = ask(convos)
    assert convos.run("--convo-write", "--convo-next").ret == 0
    assert list(files(directory)) == ["0001_assistant.yaml"]
    convos.write({"a/0002_tool.yaml": f"content: late\ntool_call_id: {call_id(directory)}"})
    assert read(directory, variables={}).turns == (3,)


def call_id(directory: Path) -> str:
    return next(
        line.split()[-1] for line in (directory / "0001_assistant.yaml").read_text().splitlines() if "id:" in line
    )


def test_a_test_that_plays_a_conversation_writes_nothing(convos, serve):
    serve()
    directory = ask(convos)
    convos.write({"test_it.py": "def test_it(bot): assert bot.conversation('a').last.text"})
    assert convos.run("--convo-write", "test_it.py").ret == 0
    assert files(directory) == {}


# -- what goes wrong


@WAYS
def test_what_was_cut_off_is_no_answer_and_nothing_comes_after_it(convos, serve, args):
    server = serve(ScriptedReply(text="Yes, gladly, with", finish_reason="length"))
    directory = ask(convos, turns=2)
    result = convos.run("--convo-write", *args)
    assert result.parseoutcomes() == {"failed": 1}
    result.stdout.fnmatch_lines(["*turn 1: the reply was cut off (finish_reason length)*0001_assistant.md.partial*"])
    marked = "Yes, gladly,\n\n<!-- pytest-convo: cut off: finish_reason length -->\n"
    assert files(directory) == {"0001_assistant.md.partial": marked}
    assert server.count == 1


def test_an_empty_answer_says_so(convos, serve):
    server = serve(ScriptedReply(text=""))
    directory = ask(convos, turns=2)
    result = convos.run("--convo-write")
    result.stdout.fnmatch_lines(
        ["*turn 1: the reply is empty (finish_reason stop), so 0001_assistant.md is not written"]
    )
    assert (files(directory), server.count, result.ret) == ({}, 1, 1)


def test_what_breaks_off_is_tried_again_and_starts_from_empty(convos, serve):
    serve(ScriptedReply(text="No, never ever.", cut=2, times=1), ScriptedReply(text="Yes, gladly."))
    directory = ask(convos)
    assert convos.run("--convo-write").ret == 0
    assert files(directory) == {"0001_assistant.md": "Yes, gladly.\n"}


@WAYS
def test_after_an_error_the_answers_before_it_stand_and_nothing_is_asked_twice(convos, serve, args):
    server = serve(ScriptedReply(when="Question 0", text="First."), ScriptedReply(error=500, text="Broken"))
    directory = ask(convos, turns=2)
    result = convos.run("--convo-write", *args)
    assert result.parseoutcomes() == {"errors": 1}
    result.stdout.fnmatch_lines(["*Broken*"])
    assert files(directory) == {"0001_assistant.md": "First.\n"}
    assert server.count == 3  # the second is tried again, the first is not
    server.stop()
    serve(ScriptedReply(text="Second."))
    assert convos.run("--convo-write").ret == 0
    assert files(directory) == {"0001_assistant.md": "First.\n", "0003_assistant.md": "Second.\n"}


def test_what_cannot_be_written_is_told_before_anything_is_asked(convos, serve):
    server = serve()
    directory = ask(convos)
    (directory / "0001_assistant.md.partial").mkdir()
    result = convos.run("--convo-write")
    result.stdout.fnmatch_lines(["a/0001_assistant.md.partial: cannot be written: Is a directory"])
    assert (result.ret, server.count) == (1, 0)


def test_a_run_that_took_too_long_leaves_nothing(convos, serve):
    serve(ScriptedReply(text="One two three", pause=30), toml='timeout = "0.5s"')
    directory = ask(convos)
    result = convos.run("--convo-write")
    result.stdout.fnmatch_lines(["*did not end within 0.5 s*"])
    assert files(directory) == {}


# -- which runs are made


CASES = '[[case]]\nid = "late"\n[[case]]\nid = "early"\n'


@WAYS
def test_several_cases_would_write_the_same_files(convos, serve, args):
    server = serve()
    directory, other = ask(convos, convo__toml=CASES), ask(convos, "other")
    result = convos.run("--convo-write", *args)
    assert result.parseoutcomes() == {"passed": 1, "errors": 2}
    result.stdout.fnmatch_lines(["a: 2 cases are selected, and they would write the same files: early, late"])
    assert (files(directory), server.count) == ({"convo.toml": CASES}, 1)
    assert "0001_assistant.md" in files(other)


@pytest.mark.parametrize("args", [["-k", "early"], ["a/convo.toml::early"]], ids=["by a word", "by its node id"])
def test_one_of_them_can_be_selected(convos, serve, args):
    serve()
    directory = ask(convos, convo__toml=CASES)
    assert convos.run("--convo-write", *args).parseoutcomes()["passed"] == 1
    assert "0001_assistant.md" in files(directory)


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (["--convo-runs=3"], "*--convo-write writes the answers of one run, not of 3*"),
        (["--convo-record=none"], "*--convo-write asks the model, and --convo-record=none*"),
        (["--convo-baseline=base.json"], "*no measure for --convo-baseline"),
        (["--convo-update-baseline"], "*no measure for --convo-update-baseline"),
    ],
)
def test_what_contradicts_it_is_a_usage_error(convos, serve, args, why):
    server = serve()
    ask(convos)
    result = convos.run("--convo-write", *args)
    result.stderr.fnmatch_lines([why])
    assert (result.ret, server.count) == (pytest.ExitCode.USAGE_ERROR, 0)


def test_so_is_a_machine_on_which_nobody_is_asked(convos, serve, monkeypatch):
    serve()
    ask(convos)
    monkeypatch.setenv("CI", "true")
    assert convos.run("--convo-write").ret == pytest.ExitCode.USAGE_ERROR
    assert convos.run("--convo-write", "--convo-record=auto").ret == 0


def test_no_recording_answers_and_none_is_made(convos, serve):
    server = serve(*(ScriptedReply(text=f"Answer {number}.", times=1) for number in range(9)), toml="runs = 2")
    directory = ask(convos)
    convos.run("--convo-record=new")
    before = {path: path.read_bytes() for path in directory.rglob("run-*")}
    result = convos.run("--convo-write")
    result.stdout.fnmatch_lines(["convo: 1 call needed", "1 call *"])
    assert "stale" not in result.stdout.str()
    assert files(directory) == {"0001_assistant.md": "Answer 2.\n"}
    assert {path: path.read_bytes() for path in directory.rglob("run-*")} == before
    assert server.count == 3


def test_what_is_written_can_be_recorded_when_asked_for(convos, serve):
    serve(*(ScriptedReply(text=f"Answer {number}.", times=1) for number in range(9)))
    directory = ask(convos)
    convos.run("--convo-record=new")
    convos.run("--convo-write", "--convo-record=new")
    assert files(directory) == {"0001_assistant.md": "Answer 1.\n"}
    (recording,) = directory.rglob("run-*")
    assert recording.read_text().count("Answer") == recording.read_text().count("Answer 1.") == 1


def test_a_dry_session_writes_nothing(convos, serve):
    server = serve()
    directory = ask(convos)
    convos.run("--convo-write", "--convo-next", "--convo-dry")
    assert (files(directory), server.count) == ({}, 0)


# -- what comes next


@WAYS
def test_an_empty_next_message_is_offered(convos, serve, args):
    serve()
    directory = ask(convos, turns=2)
    result = convos.run("--convo-write", "--convo-next", *args)
    assert list(files(directory)) == ["0001_assistant.md", "0003_assistant.md", "0004_user.md"]
    if not args:
        result.stdout.fnmatch_lines(["a/0004_user.md: empty, to be written next"])
    result = convos.run("-rs")
    result.stdout.fnmatch_lines(["SKIPPED*0004_user.md is not written yet"])


def test_but_not_where_one_waits(convos, serve):
    serve()
    directory = ask(convos)
    convos.write(
        {"a/0002_user.md": "\n", "b/0000_user.md": "Hello", "b/0003_assistant.md": "Given.", "b/0002_user.md": ""}
    )
    convos.write({"b/0002_user.md": "Go on."})
    convos.run("--convo-write", "--convo-next")
    assert list(files(directory)) == ["0001_assistant.md"]
    assert list(files(convos.path / "b")) == ["0001_assistant.md", "0003_assistant.md"]


# -- what is seen of it


def test_several_answers_are_shown_whole_each_below_its_name(convos, serve):
    serve(ScriptedReply(text="Yes, gladly.\nWithin 30 days.", pause=0.01))
    ask(convos, "a", turns=2)
    ask(convos, "b")
    lines = convos.run("--convo-write").stdout.lines
    for name in ("a/0001", "a/0003", "b/0001"):
        at = lines.index(f"{name}_assistant.md")
        assert lines[at + 1 : at + 3] == ["Yes, gladly.", "Within 30 days."]
    assert any(line.startswith("a/0000_user.md .") for line in lines)


@pytest.mark.parametrize("args", [["-q"], ["-qq"], PARALLEL], ids=["quiet", "very quiet", "xdist"])
def test_or_not_at_all(convos, serve, args):
    serve()
    directory = ask(convos)
    assert "gladly" not in convos.run("--convo-write", *args).stdout.str()
    assert "gladly" in files(directory)["0001_assistant.md"]


WAITING = """
import asyncio
from pathlib import Path
from pytest_convo.conversation.reply import Reply

HERE = Path(__file__).parent

class Model:
    async def complete(self, request, stream=None):
        stream("Yes, gladly, wi")
        while not (HERE / "go").exists():
            await asyncio.sleep(0.01)
        stream("thin 30 days.")
        return Reply("Yes, gladly, within 30 days.")

def pytest_convo_model(settings):
    return Model()
"""


@pytest.fixture
def waits(convos):
    """A conversation whose bot says half a sentence, and the rest when it is told to go on."""
    return ask(convos, conftest__py=WAITING)


@pytest.fixture
def start(convos):
    """Start pytest in a process of its own, killed at the end of the test; on a terminal, if wanted."""
    running = []

    def start(*args: str, terminal: int | None = None) -> subprocess.Popen:
        out = subprocess.PIPE if terminal is None else terminal
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", "--convo-write", *args],
            cwd=convos.path,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        running.append(process)
        return process

    yield start
    for process in running:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def until(condition, process: subprocess.Popen) -> None:
    """Wait for a condition that a living process brings about."""
    while not condition():
        assert process.poll() is None, process.stdout and process.stdout.read()
        time.sleep(0.01)


def partial(directory: Path) -> str | None:
    path = directory / "0001_assistant.md.partial"
    return path.read_text() if path.exists() else None


def test_an_editor_shows_it_grow(waits, start):
    process = start()
    until(lambda: partial(waits) == "Yes, gladly,", process)
    assert not (waits / "0001_assistant.md").exists()
    (waits / "go").touch()
    assert process.wait() == 0
    assert files(waits)["0001_assistant.md"] == "Yes, gladly, within 30 days.\n"
    assert partial(waits) is None


def test_a_terminal_shows_it_grow(waits, start):
    reading, terminal = pty.openpty()
    process = start(terminal=terminal)
    os.close(terminal)
    shown = b""
    try:
        while b"0001_assistant.md\r\nYes, gladly," not in shown:
            shown += os.read(reading, 4096)
        assert not (waits / "0001_assistant.md").exists()
        (waits / "go").touch()
        while b"1 passed" not in shown:
            shown += os.read(reading, 4096)
        assert process.wait() == 0
    finally:
        os.close(reading)
    assert b"0001_assistant.md\r\nYes, gladly, within 30 days.\r\n" in shown


def test_ctrl_c_leaves_nothing(waits, start):
    process = start()
    until(lambda: partial(waits), process)
    process.send_signal(signal.SIGINT)
    assert process.wait() == pytest.ExitCode.INTERRUPTED
    assert list(files(waits)) == ["conftest.py"]


def test_what_a_killed_session_left_is_taken_over(waits, start):
    process = start()
    until(lambda: partial(waits), process)
    process.kill()
    process.wait()
    assert partial(waits) == "Yes, gladly,"
    (waits / "go").touch()
    assert start().wait() == 0
    assert files(waits)["0001_assistant.md"] == "Yes, gladly, within 30 days.\n"
    assert partial(waits) is None


def test_of_two_sessions_one_writes_and_the_other_says_so(waits, start):
    first = start()
    until(lambda: partial(waits), first)
    second = start()
    output, _ = second.communicate()
    assert b"a/0001_assistant.md: is being written by another process" in output
    assert second.returncode == 1
    (waits / "go").touch()
    assert first.wait() == 0
    assert files(waits)["0001_assistant.md"] == "Yes, gladly, within 30 days.\n"


def test_an_edit_meanwhile_is_kept_and_told(waits, start):
    process = start()
    until(lambda: partial(waits), process)
    (waits / "0001_assistant.md").write_text("Mine.\n")
    (waits / "go").touch()
    output, _ = process.communicate()
    assert process.returncode == 1
    assert b"a: 0001_assistant.md was written meanwhile, so the answer is in 0001_assistant.md.new" in output
    assert files(waits)["0001_assistant.md"] == "Mine.\n"
    assert files(waits)["0001_assistant.md.new"] == "Yes, gladly, within 30 days.\n"
