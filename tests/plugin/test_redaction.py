"""Secrets are planted wherever a session can come upon one: none is in anything that it writes or prints."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from pytest_convo.testing import ScriptedReply, ScriptedServer

PIECE = 12
PARALLEL = ["-p", "xdist.plugin", "-n2"]
PLACES = [
    *("prompt", "user", "arguments", "result", "reply", "expected", "tool", "body", "long", "exhausted", "said"),
    *(
        "check",
        "hook",
        "out",
        "err",
        "log",
        "local",
        "raised",
        "property",
        "skip",
        "xfail",
        "setup",
        "teardown",
        "toml",
    ),
    *("record", "warned", "late", "header"),
]
HOOK = """
import re
def pytest_convo_redact(text):
    return re.sub("vip[0-9a-f]{24}", "somebody", text)
"""


def digest(place: str) -> str:
    return hashlib.sha256(place.encode()).hexdigest()


def value(place: str) -> str:
    """What the environment has: with characters that JSON and Python escape."""
    found = digest(place)
    return f'{found[:13]}"{found[13:26]}/{found[26:39]}'


def secrets(place: str) -> list[str]:
    """One secret of each kind: of the environment, for a pattern, for a function, by its look."""
    found = digest(place + " too")
    return [value(place), f"ref-{found[:24]}", f"vip{found[:24][::-1]}", f"sk-{found[24:56]}"]


def planted(place: str) -> str:
    return f"the {place}: {' and '.join(secrets(place))}."


def in_toml(place: str) -> str:
    """Without what looks like a key: settings refuse that."""
    return json.dumps(f"the {place}: {' and '.join(secrets(place)[:3])}.")


ALL = [secret for place in PLACES for secret in secrets(place)]
PIECES = {secret[at : at + PIECE] for secret in ALL for at in range(len(secret) - PIECE + 1)}


def leaks(text: str) -> list[str]:
    """What of a text is a piece of a secret, with what stands around it."""
    found = [at for at in range(len(text) - PIECE + 1) if text[at : at + PIECE] in PIECES]
    return [text[max(0, at - 60) : at + 60] for at in found if at - 1 not in found]


@pytest.fixture
def shop(convos, monkeypatch) -> Iterator[ScriptedServer]:
    """A project in which every place holds secrets, and the server that it asks."""
    for place in PLACES:
        if place != "late":
            monkeypatch.setenv(f"{place.upper()}_TOKEN", value(place))
    monkeypatch.setenv("SHOP", value("header"))  # a name that says nothing: the settings do
    monkeypatch.delenv("HEADER_TOKEN")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")  # what is in the sources would be in their bytecode
    with ScriptedServer(REPLIES) as server:
        convos.write({"convo.toml": TOML.format(url=server.url), "conftest.py": HOOK + CONFTEST, **CONVERSATIONS})
        yield server


REPLIES = [
    ScriptedReply(when="Look it up", calls=[{"name": "lookup", "arguments": {"key": planted("arguments")}}]),
    ScriptedReply(when="Break it", calls=[{"name": "broken"}]),
    ScriptedReply(when="Refuse", error=401, text=f"Incorrect API key provided: {value('header')} " + "x" * 300),
    ScriptedReply(when="Fail at once", error=400, text=planted("body")),
    *(
        ScriptedReply(when=f"Fail after {pad} ", error=400, text="x" * pad + planted("long"))
        for pad in range(150, 290, 20)
    ),
    ScriptedReply(when="Fail for the moment", error=500, text=planted("body"), retry_after=0.01),
    ScriptedReply(text=planted("reply")),
]
TOML = """
[bot]
model = "test"
base_url = "{url}"
api_key_env = "SHOP"
retries = 1
[record]
secrets = "ref-[0-9a-f]{{24}}"
"""
CONFTEST = f"""
import os

def pytest_convo_tools(path, run):
    def lookup(key: str) -> str:
        "Looks it up."
        assert {value("arguments")!r} in key
        return {planted("result")!r}

    def broken() -> str:
        "Breaks."
        raise ValueError({planted("tool")!r})

    return [lookup, broken]

def pytest_convo_checks():
    return {{"pleases": lambda reply, value: {planted("hook")!r} * 9 + reply.text}}
"""
CHECKS = f"""
def fails(reply, transcript):
    assert reply.text == {planted("check")!r}, {planted("check")!r}

def breaks(reply, transcript):
    raise RuntimeError({planted("check")!r})
"""
CASES = f"""
runs = 2
agreement = 1
[vars]
value = {in_toml("toml")}
[[case]]
id = "equals"
expect.equals = {in_toml("expected")}
[[case]]
id = "contains"
expect.contains = ["30 days", {in_toml("expected")}]
[[case]]
id = "excludes"
expect.excludes = "and"
[[case]]
id = "matches"
expect.matches = "^nothing$"
[[case]]
id = "similar"
expect.similar = {{ to = {in_toml("expected")}, at_least = 1 }}
[[case]]
id = "calls"
expect.calls = [{{ name = "lookup", arguments = {{ key = {in_toml("expected")} }} }}]
[[case]]
id = "json"
expect.json_equals = {{ key = {in_toml("expected")} }}
[[case]]
id = "fails"
expect.python = "checks.py:fails"
[[case]]
id = "breaks"
expect.python = "checks.py:breaks"
[[case]]
id = "hook"
expect.pleases = {in_toml("expected")}
[[case]]
id = "passes"
"""
TESTS = f"""
import logging, os, sys, warnings
import pytest

@pytest.fixture
def noisy():
    print({planted("out")!r})
    print({planted("err")!r}, file=sys.stderr)
    logging.getLogger().warning({planted("log")!r})
    yield
    print({planted("teardown")!r})

@pytest.fixture
def fails_at_setup():
    raise ValueError({planted("setup")!r})

@pytest.fixture
def fails_at_teardown():
    yield
    raise ValueError({planted("teardown")!r})

def test_equal(convo, noisy):
    local = {planted("local")!r}
    assert convo.last.text == "x" * 300

def test_alike(convo):
    assert convo.last.text == convo.last.text[:-20] + "x" * 20

def test_contains(convo):
    assert "30 days" in convo.messages[0].content + convo.last.text

def test_lists(convo):
    assert [call.arguments for call in convo.calls] == [{planted("expected")!r}]

def test_passes(convo, noisy, record_property):
    record_property("said", {planted("property")!r})

@pytest.mark.convo(runs=2, agreement=1)
def test_asks(bot, noisy):
    reply = bot.ask({planted("said")!r})
    assert reply.text.split() == []

def test_asks_alone(bot, noisy):
    assert bot.ask({planted("said")!r}).text == {planted("expected")!r}

def test_asks_all(bot):
    assert bot.conversation(".").last.text == ""

def test_raises(bot):
    try:
        raise ValueError({planted("raised")!r})
    except ValueError:
        raise RuntimeError({planted("raised")!r})

def test_is_refused(bot):
    bot.ask("Refuse")

def test_is_skipped(convo):
    pytest.skip({planted("skip")!r})

@pytest.mark.xfail(reason={planted("xfail")!r})
def test_is_expected(convo):
    assert not convo.last.text

def test_breaks_before(convo, fails_at_setup):
    pass

def test_breaks_after(bot, fails_at_teardown):
    pass

def test_warns(bot):
    warnings.warn({value("warned")!r})

def test_reads_its_environment_late(bot):
    os.environ["LATE_TOKEN"] = {value("late")!r}
    assert bot.ask("Anything").text == {value("late")!r}
"""
CONVERSATIONS = {
    "prompt.md": planted("prompt"),
    "told/convo.toml": CASES,
    "told/0000_user.md": f"Look it up, {planted('user')}",
    "told/checks.py": CHECKS,
    "one/convo.toml": f"expect.equals = {in_toml('expected')}",
    "one/0000_user.md": f"Look it up, {planted('user')}",
    "one/test_one.py": TESTS,
    "tool/0000_user.md": "Break it",
    "refused/0000_user.md": "Refuse",
    "failed/0000_user.md": "Fail at once",
    "retried/0000_user.md": "Fail for the moment",
    **{f"failed{pad}/0000_user.md": f"Fail after {pad} characters" for pad in range(150, 290, 20)},
    "exhausted/convo.toml": '[bot]\nprovider = "scripted"\n',
    "exhausted/0000_user.md": planted("exhausted"),
    "exhausted/script.toml": '[[reply]]\nwhen = "never"\ntext = "Yes."\n',
    "broken/convo.toml": f"runs = {in_toml('toml')}\n",
    "broken/0000_user.md": "Hello",
    "mistaken/0000_user.yaml": f"content: Hello\nrole: {json.dumps(planted('record'))}\n",
}
EVERYTHING = [
    *("--continue-on-collection-errors", "-v", "-rA", "--showlocals", "-Wdefault", "--convo-json=report.json"),
    *("--junitxml=junit.xml", "-ojunit_logging=all", "-ojunit_family=xunit1", "-ofilterwarnings="),
]


def written(convos, before: dict[str, float]) -> dict[str, str]:
    """What stands in every file that is new or changed, and in its name."""
    files = [path for path in convos.path.rglob("*") if path.is_file() and ".git" not in path.parts]
    new = [path for path in files if before.get(str(path)) != path.stat().st_mtime_ns]
    return {str(path.relative_to(convos.path)): path.read_bytes().decode(errors="replace") for path in new}


def run(convos, *args: str) -> tuple[pytest.RunResult, dict[str, str]]:
    """Run pytest; its output is one of the texts, under the names "stdout" and "stderr"."""
    before = {str(path): path.stat().st_mtime_ns for path in convos.path.rglob("*")}
    result = convos.pytester.runpytest_subprocess(*args, timeout=100)
    texts = written(convos, before)
    texts = {name: text for name, text in texts.items() if name not in ("stdout", "stderr")}
    return result, {**texts, "stdout": result.stdout.str(), "stderr": result.stderr.str()}


@pytest.mark.parametrize(
    "args",
    [[], PARALLEL, ["--tb=native", "--convo-record=new"], ["--tb=short", "-vv", "--convo-runs=1"]],
    ids=["one process", "xdist", "recorded", "verbose"],
)
def test_no_piece_of_a_secret_is_written_or_printed(convos, shop, args):
    result, texts = run(convos, *EVERYTHING, *args)

    found = {f"{name}: {leak}" for name, text in texts.items() for leak in leaks(text)}
    assert not found
    outcomes = result.parseoutcomes()
    assert outcomes["failed"] >= 14, result.stdout.str()
    assert outcomes["errors"] >= 16
    assert {"report.json", "junit.xml", "stdout"} <= texts.keys()
    marks = {mark for text in texts.values() for mark in re.findall(r"\[secret (\w+)\]", text)}
    unseen = {"header", "local"} if "--tb=native" in args else {"header"}  # which shows no variables
    assert marks >= {f"{place.upper()}_TOKEN" for place in PLACES if place not in unseen} | {"SHOP"}
    assert any("__recordings__" in name for name in texts) is ("--convo-record=new" in args)
    assert any("somebody" in text for text in texts.values())
    assert shop.count > 20
    assert any(secret in str(shop.requests[0].body) for secret in secrets("prompt")), "the model sees what there is"


@pytest.mark.parametrize("option", ["--convo-dry", "--convo-explain"])
def test_what_is_printed_before_anything_runs_holds_none_either(convos, shop, option):
    places = ["told", "one", "broken"] if option == "--convo-explain" else ["--continue-on-collection-errors"]
    result, texts = run(convos, option, *places)

    assert not [leak for text in texts.values() for leak in leaks(text)]
    output = result.stdout.str() + result.stderr.str()
    assert "[secret TOML_TOKEN]" in output
    assert ("[secret PROMPT_TOKEN]" in output) is (option == "--convo-dry")
    assert shop.count == 0


def test_the_nearest_conftest_comes_last(convos):
    convos.say(
        "near", {"conftest.py": "def pytest_convo_redact(text): return text.replace('one', 'two')"}, answer="zero"
    )
    convos.say("far", answer="zero")
    convos.write({"conftest.py": "def pytest_convo_redact(text): return text.replace('zero', 'one')"})
    result = convos.pytester.runpytest_inprocess("--convo-json=report.json", "-rA")
    assert result.ret == 0
    report = json.loads((convos.path / "report.json").read_text())
    assert [run["answer"] for group in report["groups"] for run in group["runs"]] == ["one", "two"]


RAISES = """
def pytest_convo_redact(text):
    if "Hush" in text:
        raise ValueError(text)
"""


@pytest.mark.parametrize("args", [[], PARALLEL], ids=["one process", "xdist"])
def test_where_a_redactor_fails_nothing_is_written_and_that_is_said(convos, monkeypatch, args):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    passes = 'runs = 2\nagreement = 1\n[expect]\ncontains = "Hush"\n[bot]\nprovider = "scripted"\n'
    test = {"test_it.py": "def test_it(convo):\n    print('Hush')\n\ndef test_asks(bot):\n    print('Hush')\n"}
    convos.say("several", answer="Hush, child.", toml=passes)
    convos.say("single", test, answer="Hush, child.")
    convos.say("asked", {"0000_user.md": "Hush?"}, answer="Never.")
    convos.say("sound", answer="Never.")
    convos.write({"conftest.py": RAISES})
    result, texts = run(convos, "-v", "-rA", "--junitxml=junit.xml", "--convo-json=report.json", *args)

    assert result.ret == 1
    assert result.parseoutcomes() == {"passed": 1, "unmeasured": 2, "failed": 1, "errors": 4}
    told = "withheld: */conftest.py:4: pytest_convo_redact raised ValueError"
    result.stdout.fnmatch_lines([f"*{told}", "*neither written nor shown*"])
    assert not [name for name, text in texts.items() if "Hush" in text]
    report = json.loads(texts["report.json"])
    outcomes = {group["id"]: [run["outcome"] for run in group["runs"]] for group in report["groups"]}
    assert outcomes["several/convo.toml"] == ["error", "error"]
    assert outcomes["sound/convo.toml"] == ["pass"]
    kept = {name.split("/")[3] for name in texts if name.startswith(".convo/runs/")}
    assert kept == {"sound"}
    assert "Traceback" not in result.stdout.str()


def test_a_redactor_that_returns_no_text_is_an_error_of_the_run(convos):
    convos.say("a")
    convos.write({"conftest.py": "def pytest_convo_redact(text): return len(text)"})
    result = convos.pytester.runpytest_inprocess()
    assert result.parseoutcomes() == {"errors": 1}
    result.stdout.fnmatch_lines(["*conftest.py:1: pytest_convo_redact returned int, no text*"])


@pytest.mark.parametrize("stop", [signal.SIGINT, None], ids=["interrupted", "ended"])
def test_what_the_workers_shared_is_gone_when_the_session_ends(convos, tmp_path, monkeypatch, stop):
    shared = tmp_path / "shared"
    shared.mkdir()
    monkeypatch.setenv("TMPDIR", str(shared))
    convos.say("a", {"script.toml": f'[[reply]]\ntext = "Yes."\nlatency = {60 if stop else 0.3}\n'}, toml="runs = 4\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *PARALLEL],
        cwd=convos.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    deadline = time.monotonic() + 30
    while not list(shared.glob("pytest-convo-*/ledger.sqlite")):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    (directory,) = shared.glob("pytest-convo-*")
    assert directory.stat().st_mode & 0o777 == 0o700
    if stop is not None:
        os.killpg(process.pid, stop)
    process.communicate(timeout=30)
    assert list(shared.glob("pytest-convo-*")) == []
