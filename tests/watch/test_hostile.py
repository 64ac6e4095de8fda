"""What somebody might do to a watcher, or his code."""

from __future__ import annotations

from pytest_convo.testing import ScriptedReply

FORKS = """
import os, time

def test_leaves_a_process(convo):
    if os.fork() == 0:
        time.sleep(600)
        os._exit(0)
"""

STARTS = """
import subprocess, sys

subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
"""


def test_processes_that_are_left_behind_hold_nobody_up_and_end_with_their_session(convos, watch) -> None:
    convos.say("convos/tea", {"test_tea.py": FORKS, "conftest.py": STARTS})
    watching = watch("convos")
    assert watching.after(lambda: (convos.path / "convos/tea/0000_user.md").write_text("Well?\n")) == {
        "convos/tea": ["PASSED"]
    }
    watching.end()  # it sees to it that no process is left


def test_names_that_pytest_reads_as_more_than_a_path(convos, watch) -> None:
    for name in ("br[0]", "a::b"):
        convos.say(f"convos/{name}")
    watching = watch("convos")

    def edit() -> None:
        for name in ("br[0]", "a::b"):
            (convos.path / f"convos/{name}/0000_user.md").write_text("Well?\n")

    ended = watching.after(edit)
    assert ended == {"convos/br[0]": ["PASSED"], "convos/a::b": ["PASSED"]}


def test_a_cut_waits_until_nobody_writes_any_more(convos, serve, watch, until) -> None:
    server = serve(ScriptedReply(when="^one", text="To one.", latency=1.0), ScriptedReply(text="To two."))
    convos.write({"convos/tea/0000_user.md": "one?\n", "convos/tea/0002_user.md": "two?\n"})
    watching = watch("--convo-write", "--convo-trunc", "--convo-watch-queue", "convos")
    tea = convos.path / "convos/tea"
    before = server.count
    watching.press("\n")
    until(lambda: server.count > before)  # the first answer is on its way
    (tea / "0002_user.md").write_text("and two?\n")
    watching.wait_for(r"convos/tea PASSED")
    watching.wait_for(r"convos/tea: after 0002_user.md these go: 0003_assistant.md")
    watching.wait_for(r"convos/tea PASSED")
    watching.quiet()
    names = sorted(path.name for path in tea.iterdir())
    assert names == ["0000_user.md", "0001_assistant.md", "0002_user.md", "0003_assistant.md"]
    said = [request.body["messages"][-1]["content"] for request in server.requests]
    assert said == ["one?", "two?", "and two?"]


def test_a_file_that_a_broken_conversation_lacks_is_waited_for_and_no_report(convos, watch) -> None:
    convos.say("convos/tea", toml='[bot]\nprovider = "scripted"\n[expect]\njson_schema = "reply.json"\n')
    watching = watch("convos")
    assert "failed: convos/tea" in watching.said
    assert watching.after(lambda: (convos.path / "convos/report.xml").write_text("<tests/>")) == {}
    (convos.path / "convos/tea/reply.json").write_text("{}")
    watching.wait_for(r"convos/tea (FAILED|PASSED)")
