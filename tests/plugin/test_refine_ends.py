"""How `--convo-refine` ends: within its limits, in an error, without progress, at Ctrl-C, and when it is killed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pytest_convo.testing import ScriptedReply, ScriptedServer
from tests.plugin.test_refine import ANIMALS, NEW, OLD, WORKERS, Shop

BRIEF = f"{OLD}Be brief.\n"
SOON = 30
"""Seconds within which anything happens that does happen."""


@pytest.fixture
def shop(convos, tmp_path_factory, monkeypatch) -> Shop:
    home = tmp_path_factory.mktemp("shop")
    monkeypatch.setenv("SHOP", str(home))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    return Shop(convos, home)


def eventually(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + SOON
    while not condition():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.05)


# -- limits


@pytest.mark.parametrize(
    "args, settings", [([], {"max_calls": 4}), (["--convo-max-calls=6"], {})], ids=["own", "session"]
)
def test_a_limit_that_is_too_small_for_one_honest_round_is_refused(shop, args, settings):
    shop.untold(**settings)
    result = shop.run("--convo-refine=apply", *args)
    assert (result.ret, result.parseoutcomes()["failed"]) == (1, 1)
    assert "errors" not in result.parseoutcomes()
    result.stdout.re_match_lines([r".*: 4 calls are too few for one honest round, which takes \d+$"])
    assert (shop.asked(), shop.prompt()) == ([], OLD)


def test_with_attempts_used_up_the_best_text_is_shown_and_not_written(shop):
    shop.write({"convo.toml": "runs = 2\nagreement = 1\n[refine]\nattempts = 2\n"})
    shop.case("quokka")
    shop.case("numbat", "leaves")
    shop.texts(NEW, f"{NEW}Be brief.\n")
    result = shop.run("--convo-refine=apply")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "not mended within its limits: 2 attempts, and none passes every case",
            "*numbat/convo.toml *shown *fail *fail",
            "*quokka/convo.toml *shown *fail *2/2 pass",
            "the best text so far, attempt 1:",
            "+Name the number of days.",
            "2 attempts · *",
        ]
    )
    assert shop.prompt() == OLD


def test_with_more_attempts_the_next_session_goes_on(shop):
    shop.case("quokka")
    shop.write({"convo.toml": "runs = 2\nagreement = 1\n[refine]\nattempts = 1\n"})
    shop.texts(BRIEF, NEW)
    assert shop.run("--convo-refine").ret == 1
    shop.write({"convo.toml": "runs = 2\nagreement = 1\n[refine]\nattempts = 2\n"})
    result = shop.run("--convo-refine")
    result.stdout.fnmatch_lines(["fixed: attempt 2;*"])
    assert len(shop.asked()) == 2
    assert "Be brief." in shop.asked()[1][1]["content"], "it is told of what was tried"


@pytest.mark.parametrize("args", [[], WORKERS], ids=["one process", "two workers"])
def test_time_is_up_while_a_call_hangs(shop, args):
    shop.untold(minutes=0.07)
    shop.bot(number=60)
    begin = time.monotonic()
    result = shop.run(*args, "--convo-refine")
    assert time.monotonic() - begin < 4.2 + 15
    assert (result.ret, result.parseoutcomes()["failed"]) == (1, 1)
    result.stdout.fnmatch_lines(["not mended within its limits: 0.07 minutes*"])
    eventually(lambda: not processes(shop))  # killed with their session, they are gone a moment later


def test_time_is_up_while_the_rewriter_hangs(shop):
    shop.untold(minutes=0.05)
    shop.texts(60.0)
    begin = time.monotonic()
    result = shop.run("--convo-refine")
    assert time.monotonic() - begin < 3 + 15
    result.stdout.fnmatch_lines(["not mended within its limits: 0.05 minutes*"])


@pytest.mark.parametrize("args", [[], WORKERS], ids=["one process", "two workers"])
def test_a_cap_of_the_session_holds_for_the_loop_as_well(shop, args):
    shop.untold(attempts=20)
    shop.case("numbat")
    shop.texts(*(f"{OLD}{word}\n" for word in ("One.", "Two.", "Three.", "Four.", "Five.", "Six.", "Seven.", "Eight.")))
    result = shop.run(*args, "--convo-refine", "--convo-max-calls=20")
    assert result.ret == 1
    assert "errors" not in result.parseoutcomes()
    result.stdout.fnmatch_lines(["not mended within its limits: *calls*"])
    assert 15 <= len(shop.asked()) + len(shop.asked("bot")) <= 20


# -- errors, and no progress


def test_a_rewriter_that_raises_is_an_error_of_its_own(shop):
    shop.untold()
    shop.texts(None)
    result = shop.run("--convo-refine", "--convo-json=report.json")
    assert (result.ret, result.parseoutcomes()["failed"], result.parseoutcomes()["errors"]) == (1, 1, 1)
    result.stdout.fnmatch_lines(["ERROR prompt.md::refine*"])
    result.stdout.fnmatch_lines(["could not go on: *the rewriter is out of ideas*"])
    (told,) = json.loads((shop.path / "report.json").read_text())["refinements"]
    assert told["end"] == "error"

    shop.texts(None, NEW)  # a transient error burns no attempt
    shop.run("--convo-refine").stdout.fnmatch_lines(["fixed: attempt 1;*"])


def test_a_provider_that_refuses_is_an_error_as_well(shop):
    with ScriptedServer([ScriptedReply(error=401)]) as server:
        shop.untold(model="writer-1", base_url=server.url)
        (shop.home / "texts").unlink()
        result = shop.run("--convo-refine")
    assert (result.ret, result.parseoutcomes()["failed"], result.parseoutcomes()["errors"]) == (1, 1, 1)
    result.stdout.fnmatch_lines(["could not go on: *401*"])


def test_the_same_text_again_and_again_is_no_progress(shop):
    shop.untold()
    shop.texts(BRIEF)
    result = shop.run("--convo-refine", "--convo-json=report.json")
    assert (result.ret, result.parseoutcomes().get("errors")) == (1, None)
    result.stdout.fnmatch_lines(["no progress: the rewriter was asked 3 times, and gave texts that were tried before"])
    assert len(shop.asked()) == 1 + 3
    assert "That is the text of an earlier attempt" in shop.asked()[2][1]["content"]
    (told,) = json.loads((shop.path / "report.json").read_text())["refinements"]
    assert (told["end"], told["attempts"]) == ("no progress", 1)


def test_a_text_that_mends_one_case_and_breaks_another_is_not_accepted(shop):
    for name in ANIMALS[:4]:
        shop.case(name, "number" if name in ("quokka", "bilby") else "kind")
    shop.texts(*(OLD.replace("Be kind.", f"Name the number of {what}.") for what in ("days", "hours", "weeks")))
    shop.write({"convo.toml": "runs = 5\nagreement = 1\n[refine]\nattempts = 2\n"})
    result = shop.run("--convo-refine=apply")
    assert result.ret == 1
    assert "fixed:" not in result.stdout.str()
    assert shop.prompt() == OLD


# -- what a text does to the bot


def test_a_text_that_breaks_the_bot_is_a_fail_of_the_text(shop):
    shop.untold()
    shop.bot(breaks="bullets")
    shop.texts(f"{OLD}Use bullets.\n", NEW)
    result = shop.run("--convo-refine")
    result.stdout.fnmatch_lines(["fixed: attempt 2;*"])
    assert "the application does not know what to do" in shop.asked()[1][1]["content"]


def test_a_text_that_breaks_what_the_test_does_with_the_answer_is_a_fail_of_the_text(shop):
    shop.write(
        {
            "test_tea.py": "import json, pytest\n@pytest.mark.convo(runs=2)\ndef test_tea(bot, prompt):\n"
            "    assert json.loads(bot.ask('Hello?', system=prompt('prompt.md')).text) == [30]\n"
        }
    )
    shop.knows("Hello?", "[30]")
    result = shop.run("--convo-refine")
    result.stdout.fnmatch_lines(["fixed: attempt 1;*"])
    assert "JSONDecodeError" in shop.asked()[0][1]["content"]
    assert "That depends." in shop.asked()[0][1]["content"]


# -- interrupted, and killed


class Session:
    """A session of its own process, which has come to trying a text that its bot takes a minute for."""

    def __init__(self, shop: Shop, *args: str, ignored: bool = False) -> None:
        shop.untold()
        shop.case("numbat", "kind")
        shop.texts(BRIEF, NEW)
        shop.bot(number=60)
        self.output = (shop.home / "output").open("w+")
        before = (lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)) if ignored else None
        self.process = subprocess.Popen(
            [sys.executable, "-m", "pytest", "--convo-refine", *args],
            cwd=shop.path,
            stdout=self.output,
            stderr=subprocess.STDOUT,
            env=os.environ,
            preexec_fn=before,
        )
        eventually(lambda: any("number" in prompt for prompt, _ in shop.asked("bot")))

    def told(self) -> str:
        self.process.wait(SOON)
        self.output.seek(0)
        return self.output.read()


def processes(shop: Shop) -> list[int]:
    """What runs with the environment of this project."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            environ = (path / "environ").read_bytes()
            state = (path / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if f"SHOP={shop.home}\0".encode() in environ and state != "Z" and b"forked.py" not in command(path):
            found.append(int(path.name))
    return found


def command(path: Path) -> bytes:
    return (path / "cmdline").read_bytes()


@pytest.fixture
def working(shop) -> Iterator[Callable[..., Session]]:
    """Makes such a session; whatever happens, nothing of it is left after the test."""
    made: list[Session] = []

    def make(*args: str, ignored: bool = False) -> Session:
        made.append(Session(shop, *args, ignored=ignored))
        return made[-1]

    yield make
    for session in made:
        for pid in processes(shop):
            os.kill(pid, signal.SIGKILL)
        session.process.wait()
        session.output.close()


def goes_on(shop: Shop) -> None:
    """The next session ends the loop, and asks nobody what was asked before."""
    asked = len(shop.asked("bot"))
    shop.bot()
    result = shop.run("--convo-refine=apply")
    result.stdout.fnmatch_lines(["fixed: attempt 2; written*"])
    assert len(shop.asked()) == 2, "both texts were written before"
    assert not any("brief" in prompt for prompt, _ in shop.asked("bot")[asked:]), "and the first one measured"
    assert shop.prompt() == NEW
    assert shop.run().ret == 0


@pytest.mark.parametrize("args", [[], WORKERS], ids=["one process", "two workers"])
def test_ctrl_c_ends_soon_and_the_next_session_goes_on(shop, working, args):
    session = working(*args)
    begin = time.monotonic()
    session.process.send_signal(signal.SIGINT)
    told = session.told()
    assert time.monotonic() - begin < 15
    assert session.process.returncode == pytest.ExitCode.INTERRUPTED, told
    assert re.search(r"refine: prompt.md was broken off after 1 attempt; the next --convo-refine goes on", told), told
    assert "Traceback" not in told
    eventually(lambda: not processes(shop))
    goes_on(shop)


@pytest.mark.parametrize("args", [[], WORKERS], ids=["one process", "two workers"])
def test_a_session_that_is_killed_takes_its_children_with_it_and_loses_nothing(shop, working, args):
    session = working(*args)
    session.process.kill()
    session.process.wait()
    begin = time.monotonic()
    eventually(lambda: not processes(shop))
    assert time.monotonic() - begin < 10
    goes_on(shop)


def test_where_ctrl_c_is_ignored_children_end_with_a_session_that_is_killed(shop, working):
    """As of `nohup pytest --convo-refine &`."""
    session = working(ignored=True)
    session.process.kill()
    session.process.wait()
    eventually(lambda: not processes(shop))


def test_a_session_that_is_terminated_leaves_nothing(shop, working):
    session = working()
    session.process.terminate()
    session.process.wait(SOON)
    eventually(lambda: not processes(shop))
