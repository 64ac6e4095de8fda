"""The judge as a user meets it: its verdicts, its calls, its recordings, its self-test, and what goes wrong with it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from threading import Event

import pytest

from pytest_convo.conversation.reply import Usage
from pytest_convo.testing import ScriptedReply, ScriptedServer

WORKERS = ["-p", "xdist.plugin", "-n2"]
WAYS = pytest.mark.parametrize("args", [[], WORKERS], ids=["one process", "two workers"])
KIND = "The reply is kind."
USAGE = Usage(90, 10)


def verdict(verdict: str = "pass", reason: str = "So it is.", evidence: str = "") -> str:
    return json.dumps({"reason": reason, "evidence": evidence, "verdict": verdict})


def is_judged(request) -> bool:
    """Whether a request asks the judge: the bot's own have none of our instructions."""
    return request.messages[0].role == "system" and "You judge what" in request.messages[0].text


class Court:
    """A server that is the bot's and the judge's, and a project whose conversations ask it."""

    def __init__(self, convos) -> None:
        self.convos = convos
        self.bot: Callable = lambda request: "Gladly, within 30 days."
        self.judge: Callable = lambda request: verdict()
        self.judged: list[str] = []
        """What was sent to the judge, request by request."""
        self.run, self.report = convos.run, convos.report
        self.server = ScriptedServer(self._answer).start()
        self.settings()

    def _answer(self, request):
        if not is_judged(request):
            return self._reply(self.bot(request))
        self.judged.append(request.messages[1].text)
        return self._reply(self.judge(request))

    def _reply(self, answer) -> ScriptedReply:
        return answer if isinstance(answer, ScriptedReply) else ScriptedReply(text=answer, usage=USAGE)

    def settings(self, toml: str = "", bot: str = "") -> None:
        server = f'[bot]\nmodel = "test"\nbase_url = "{self.server.url}"\nretries = 0\n{bot}'
        self.convos.write({"convo.toml": f"{toml}\n{server}"})

    def case(self, name: str = "a", expect: str = f'judge = "{KIND}"', more: str = "", **files: str) -> None:
        toml = f"{more}\n[expect]\n{expect}\n"
        named = {f"{name}/{file.replace('__', '.')}": text for file, text in files.items()}
        self.convos.write({f"{name}/0000_user.md": "Hello?", f"{name}/convo.toml": toml, **named})

    def recordings(self) -> list[str]:
        return sorted(str(path.relative_to(self.convos.path)) for path in self.convos.path.rglob("__rec*/*.yaml"))


@pytest.fixture
def court(convos) -> Iterator[Court]:
    court = Court(convos)
    yield court
    court.server.stop()


# -- verdicts


def test_a_verdict_of_pass_passes(court):
    court.case()
    result = court.run()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["convo: 2 calls needed*", "2 calls · 200 tokens (180 in, 20 out)*"])
    assert "Gladly, within 30 days." in court.judged[0]
    assert "Hello?" in court.judged[0]


def test_a_verdict_of_fail_shows_criterion_reason_evidence_and_reply(court):
    court.judge = lambda request: verdict("fail", "It is curt.", "30 days")
    court.case()
    result = court.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            f"*turn 1, judge: *{KIND}* does not hold: It is curt.",
            '*evidence: "30 days"',
            "*Gladly, within 30 days.*",
        ]
    )


def test_each_of_several_criteria_is_judged_and_each_that_fails_is_told(court):
    court.judge = lambda request: verdict("fail" if "kind" in request.messages[0].text else "pass", "Hm.")
    court.case(expect=f'judge = ["It is short.", "{KIND}", {{ criterion = "It is kindly meant.", runs = 1 }}]')
    result = court.run()
    result.assert_outcomes(failed=1)
    assert len(court.judged) == 3
    told = [line for line in result.stdout.lines if "does not hold" in line]
    assert len(told) == 2
    result.stdout.fnmatch_lines(["convo: 4 calls needed*"])


@pytest.mark.parametrize(
    ("said", "outcome", "asked"),
    [("pp", "passed", 2), ("fpp", "passed", 3), ("ff", "failed", 2), ("pff", "failed", 3)],
)
def test_several_judgements_have_an_agreement_of_their_own(court, said, outcome, asked):
    words = iter(said)
    court.judge = lambda request: verdict({"p": "pass", "f": "fail"}[next(words)])
    court.case(expect=f'judge = {{ criterion = "{KIND}", runs = 3 }}')
    result = court.run()
    result.assert_outcomes(**{outcome: 1})
    assert len(court.judged) == asked
    result.stdout.fnmatch_lines(["convo: 3 to 4 calls needed*"])
    if outcome == "failed":
        result.stdout.fnmatch_lines([f"*{said.count('p')} of {asked} judgements passed*"])


NO_VERDICTS = {
    "prose": "Pass!",
    "nothing": "",
    "no keys": "{}",
    "deep": "[" * 5000,
    "perhaps": verdict("maybe"),
    "no quotation": verdict(evidence="45 days"),
    "no reason": verdict(reason=" "),
    "no more than a verdict": '{"verdict": "pass"}',
    "half a character": "\ud800",
    "long": "x" * 200_000,
    "cut off": ScriptedReply(text=verdict(), finish_reason="length"),
    "refused": ScriptedReply(text="", finish_reason="content_filter"),
}


@pytest.mark.parametrize("said", NO_VERDICTS.values(), ids=NO_VERDICTS)
def test_what_is_no_verdict_is_inconclusive_and_never_a_fail(court, said):
    court.judge = lambda request: said
    court.case()
    result = court.run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*turn 1, judge: *the judge did not decide*", "*the judge gave no usable verdict*"])
    assert max(map(len, result.stdout.lines)) < 1000


def test_one_usable_verdict_is_enough_where_the_first_was_none(court):
    said = iter(["I think so.", verdict()])
    court.judge = lambda request: next(said)
    court.case()
    court.run().assert_outcomes(passed=1)


def test_a_group_whose_judge_has_no_verdict_is_one_error_and_the_bot_gets_no_second_chance(court):
    court.judge = lambda request: "Hm."
    court.case(more="runs = 3")
    result = court.run()
    result.assert_outcomes(errors=1)
    assert (len(court.judged), court.server.count) == (6, 9)
    result.stdout.fnmatch_lines(["*inconclusive: no run measured anything*"])
    result.stdout.no_fnmatch_line("*retried after an error*")


def test_a_judge_that_fails_for_the_moment_is_asked_again(court):
    left = iter([ScriptedReply(error=503)])
    court.judge = lambda request: next(left, verdict())
    court.case()
    result, report = court.report()
    result.assert_outcomes(passed=1)
    assert report["calls"] == court.server.count


def test_a_check_that_fails_beside_a_judge_without_verdict_is_a_fail(court):
    court.judge = lambda request: "Hm."
    court.case(expect=f'judge = "{KIND}"\ncontains = "45 days"', more="runs = 3")
    result = court.run()
    assert result.parseoutcomes()["failed"] == 1
    result.stdout.fnmatch_lines(['*contains: not in the reply: "45 days"*'])


@pytest.mark.parametrize("reply", ["", "ä" * 100_000, "\N{SNOWMAN}\u202e\x1b[31m </reply>", "`" * 50 + "\r\n"])
def test_any_reply_can_be_judged(court, reply):
    court.bot = lambda request: reply
    court.judge = lambda request: verdict("fail", f"Not {reply[:50]}", reply[:50])
    court.case()
    result = court.run()
    result.assert_outcomes(failed=1)
    assert reply in court.judged[0]
    assert "\x1b[31m" not in result.stdout.str()


def test_two_hundred_runs_are_judged(court):
    words = iter(range(10_000))
    court.judge = lambda request: verdict("pass" if next(words) % 10 else "fail", "It is curt.")
    court.case(more="runs = 200")
    result, report = court.report("--convo-eager")
    assert result.ret == 0, result.stdout.str()
    assert report["groups"][0]["verdict"] == "pass"
    assert report["calls"] == court.server.count


# -- who judges


def test_without_a_model_it_is_one_error_with_file_and_line(convos):
    """An application of a conftest needs no model, and its judge does."""
    application = "def pytest_convo_model(settings):\n    return lambda messages: 'I am the application.'\n"
    convos.say("a", {"conftest.py": application}, toml=f'[bot]\n[expect]\njudge = "{KIND}"\n')
    result = convos.pytester.runpytest_inprocess()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["a/convo.toml:3: *no model is set for the judge", "*[[]judge]*"])
    assert "Traceback" not in result.stdout.str()


def test_a_judge_that_cannot_be_made_is_one_error_with_file_line_and_hint(convos):
    convos.say("a", toml=f'[bot]\nprovider = "scripted"\n[expect]\njudge = "{KIND}"\n')
    result = convos.pytester.runpytest_inprocess()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*a/convo.toml:4: *judge_script.toml*"])
    assert "Traceback" not in result.stdout.str()


def test_a_scripted_judge_answers_from_a_script_of_its_own(convos):
    convos.write({"judge_script.toml": f"[[reply]]\nwhen = 'Yes'\ntext = '{verdict(evidence='Yes')}'\n"})
    convos.say("a", toml=f'[bot]\nprovider = "scripted"\n[expect]\njudge = "{KIND}"\n')
    convos.say("b", answer="No.", toml=f'[bot]\nprovider = "scripted"\n[expect]\njudge = "{KIND}"\n')
    convos.write({"b/judge_script.toml": f"[[reply]]\ntext = '{verdict('fail', 'It says no.', 'No')}'\n"})
    result = convos.pytester.runpytest_inprocess()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*does not hold: It says no.*"])


def test_a_judge_has_a_server_a_model_a_key_and_a_prompt_of_its_own(court, monkeypatch):
    monkeypatch.setenv("COURT_KEY", "sk-court-0123456789")
    with ScriptedServer([ScriptedReply(text=verdict())], api_key="sk-court-0123456789") as other:
        judge = f'model = "wise"\nbase_url = "{other.url}"\napi_key_env = "COURT_KEY"\ntemperature = 0\n'
        court.case(more=f"[judge]\n{judge}[judge.request]\nseed = 7\n")
        court.convos.write({"judge.md.j2": "You are strict.\n{{ criterion }}\n{{ fence }} {{ vars }}\n"})
        court.convos.write({"b/0000_user.md": "Hi?", "b/convo.toml": f'[expect]\njudge = "{KIND}"\n'})
        court.convos.write({"b/judge.md.j2": "You judge what is near.\n{{ criterion }}\n{{ fence }}\n"})
        result = court.run()
        result.assert_outcomes(passed=2)
        (asked,) = [request.body for request in other.requests]
    assert (asked["model"], asked["temperature"], asked["seed"]) == ("wise", 0, 7)
    assert asked["messages"][0]["content"].startswith(f"You are strict.\n{KIND}\n")
    assert court.server.count == 3


@pytest.mark.parametrize(
    ("template", "told"),
    [
        ("You judge. {{ fence }}", "*judge.md.j2*{{ criterion }}*"),
        ("{{ criterion }} {{ fence }} {{ nope }}", "*judge.md.j2*nope*"),
        ("{{ criterion }} {{ fence }} {% if %}", "*judge.md.j2*"),
        ("{{ criterion }} {{ fence }} {{ 1 / 0 }}", "*judge.md.j2*"),
        (b"\xff", "*judge.md.j2*"),
    ],
)
def test_a_prompt_of_the_judge_that_is_wrong_is_told_while_collecting(court, template, told):
    court.case()
    (court.convos.path / "a/judge.md.j2").write_bytes(template if isinstance(template, bytes) else template.encode())
    result = court.run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([told])
    assert court.server.count == 0


def test_a_server_that_refuses_forms_is_asked_in_words_and_that_is_replayed(court, monkeypatch):
    def judge(request):
        if "response_format" in request.parameters or request.tools:
            return ScriptedReply(error=400, text="unknown field")
        return verdict()

    court.judge = judge
    court.case(more="runs = 2")
    result = court.run("--convo-record=all")
    assert result.ret == 0, result.stdout.str()
    monkeypatch.setenv("CI", "true")
    before = court.server.count
    result = court.run()
    assert result.ret == 0, result.stdout.str()
    assert court.server.count == before


def test_a_server_that_takes_no_form_at_all_is_an_error(court):
    court.judge = lambda request: ScriptedReply(error=400, text="no such model")
    court.case()
    result = court.run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*turn 1, judge: *no such model*"])


def test_an_application_under_test_does_not_judge_itself(court):
    court.convos.write(
        {"conftest.py": "def pytest_convo_model(settings):\n    return lambda messages: 'I am the application.'\n"}
    )
    court.case()
    court.run().assert_outcomes(passed=1)
    assert court.server.count == len(court.judged) == 1
    assert "I am the application." in court.judged[0]


def test_a_conftest_s_judge_is_asked_where_one_is_named(court):
    court.convos.write(
        {
            "conftest.py": "def pytest_convo_model(settings):\n"
            "    if settings.bot.provider == 'wise':\n"
            f"        return lambda messages: {verdict('fail', 'The wise one says so.')!r}\n"
        }
    )
    court.case(more='[judge]\nprovider = "wise"')
    result = court.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*The wise one says so.*"])
    assert court.judged == []


def test_a_provider_of_the_judge_that_nobody_gives_is_told(court):
    court.case(more='[judge]\nprovider = "wise"')
    result = court.run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*a/convo.toml*wise*"])
    assert court.server.count == 0


# -- recordings, caps, secrets


@WAYS
def test_what_a_judge_said_is_in_the_run_s_own_recording_and_replayed_in_ci(court, args, monkeypatch):
    court.case(more="runs = 3")
    court.case("b", expect=f'judge = ["{KIND}", {{ criterion = "It is short.", runs = 3 }}]')
    result = court.run("--convo-record=all", *args)
    assert result.ret == 0, result.stdout.str()
    assert court.recordings() == [f"a/__recordings__/run-{run}.yaml" for run in (1, 2, 3)] + [
        "b/__recordings__/run-1.yaml"
    ]
    monkeypatch.setenv("CI", "true")
    court.server.stop()
    result, report = court.report(*args)
    assert result.ret == 0, result.stdout.str()
    assert report["calls"] == 0
    result.stdout.fnmatch_lines(["convo: 0 calls needed*"])


def test_a_criterion_that_was_not_recorded_is_an_error_that_shows_what_changed(court, monkeypatch):
    court.case()
    assert court.run("--convo-record=all").ret == 0
    court.case(expect='judge = "The reply is rude."')
    monkeypatch.setenv("CI", "true")
    result = court.run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*-*kind*", "*+*rude*"])


@WAYS
def test_calls_of_a_judge_count_under_the_cap(court, args):
    for name in "abcd":
        court.case(name)
    result, report = court.report("--convo-max-calls=5", *args)
    assert result.ret == 1
    assert court.server.count == report["calls"] == 5
    reasons = [run.get("reason", "") for group in report["groups"] for run in group["runs"]]
    assert any("the session may make 5 calls and has made 5" in reason for reason in reasons)
    assert {run["outcome"] for group in report["groups"] for run in group["runs"]} <= {"pass", "error"}


def test_calls_of_a_judge_are_booked_in_dollars_and_tokens(court):
    court.settings(bot="[bot.price]\ninput = 1000\noutput = 2000\n")
    court.case()
    court.case("b", more='[judge]\nmodel = "wise"\n[judge.price]\ninput = 100\noutput = 100\n')
    result, report = court.report()
    assert result.ret == 0, result.stdout.str()
    assert report["usd"] == pytest.approx(0.11 + 0.11 + 0.11 + 0.01)
    assert report["billed"] == {"prompt": 360, "completion": 40}


def test_a_secret_in_a_reply_is_judged_and_replayed_and_reaches_no_file(court, monkeypatch):
    secret = "sk-very-secret-0123456789"
    monkeypatch.setenv("SHOP_KEY", secret)
    court.bot = lambda request: f"The key is {secret}, keep it."
    court.judge = lambda request: verdict("fail", f"It tells {secret}.", f"The key is {secret}")
    court.case(more="runs = 2")
    result = court.run("--convo-record=all", "--convo-json=report.json", "--junitxml=junit.xml")
    result.assert_outcomes(failed=1)
    assert secret in court.judged[0]
    told = result.stdout.str()
    files = [path for path in court.convos.path.rglob("*") if path.is_file()]
    assert secret not in told
    assert [path for path in files if secret.encode() in path.read_bytes()] == []
    monkeypatch.setenv("CI", "true")
    court.server.stop()
    again = court.run()
    again.assert_outcomes(failed=1)
    again.stdout.fnmatch_lines(["*does not hold: It tells *"])


# -- what takes long


def test_a_judge_that_hangs_is_an_error_when_the_run_s_time_is_over(court):
    court.judge = lambda request: ScriptedReply(text=verdict(), latency=60)
    court.case(more='timeout = "0.5s"')
    began = time.monotonic()
    result = court.run("--convo-inconclusive=error")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*the check judge did not end within 0.5 s*"])
    assert time.monotonic() - began < 10


def test_a_judge_that_hangs_while_it_is_checked_is_an_error_of_the_run(court):
    court.judge = lambda request: ScriptedReply(text=verdict(), latency=60)
    court.case(more='timeout = "0.5s"', judge_probes__toml=PROBES)
    result = court.run("--convo-judge-check")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*the run did not end within 0.5 s*"])


@pytest.mark.parametrize("args", [[], WORKERS, ["--convo-judge-check"]], ids=["one process", "two workers", "check"])
def test_ctrl_c_while_a_judge_is_asked_ends_the_session(court, args):
    asked = Event()

    def judge(request):
        asked.set()
        return ScriptedReply(text=verdict(), latency=60)

    court.judge = judge
    court.case(more="runs = 3", judge_probes__toml='[[probe]]\nreply = "Hi."\nverdict = "pass"\n')
    command = [sys.executable, "-m", "pytest", "--convo-record=new", *args]
    process = subprocess.Popen(command, cwd=court.convos.path, stdout=-1, stderr=-2, env=os.environ, text=True)
    try:
        assert asked.wait(20)
        process.send_signal(signal.SIGINT)
        told, _ = process.communicate(timeout=20)
    finally:
        process.kill()
    assert process.returncode == pytest.ExitCode.INTERRUPTED, told
    assert "Traceback" not in told
    assert "verdict" not in told
    assert court.recordings() == []


# -- the self-test

PROBES = f"""
[[probe]]
reply = "Gladly, dear friend."
verdict = "pass"

[[probe]]
reply = "Go away."
verdict = "fail"
criterion = "{KIND}"

[[probe]]
reply = "Of another criterion."
verdict = "fail"
criterion = "It is long."
"""


def by_manners(request) -> str:
    """A judge that knows what is kind."""
    return verdict("fail" if "Go away" in request.messages[1].text else "pass")


@WAYS
def test_a_judge_that_passes_its_probes_judges(court, args):
    court.judge = by_manners
    court.case(more="runs = 4", judge_probes__toml=PROBES)
    result, report = court.report("--convo-judge-check", "--convo-eager", *args)
    assert result.ret == 0, result.stdout.str()
    result.stdout.fnmatch_lines([f'judge test, "{KIND}": passed: 6 of 6 judgements right (100 %)*'])
    (check,) = report["judge_checks"]
    assert (check["right_passes"], check["right_fails"], check["orders"], check["obeyed"]) == (3, 3, 1, 0)
    probed = [text for text in court.judged if "Go away" in text or "dear friend" in text]
    assert len(probed) == 7  # once in the session, whoever of its workers needs it
    assert report["calls"] == court.server.count


def test_a_judge_that_fails_its_probes_makes_verdicts_inconclusive(court):
    court.case(more="runs = 4", judge_probes__toml=PROBES)
    court.case("b", expect='contains = "Gladly"')
    result, report = court.report("--convo-judge-check")
    assert result.ret == 1
    assert {group["id"]: group["verdict"] for group in report["groups"]} == {
        "a/convo.toml": "inconclusive",
        "b/convo.toml": "pass",
    }
    result.stdout.fnmatch_lines(
        [
            "*the judge fails its own probes*",
            f'judge test, "{KIND}": FAILED: 3 of 6 judgements right (50 %)*',
            "  wrong: judge_probes.toml, probe 2 is a fail: 3 pass",
        ]
    )
    assert [check["right_fails"] for check in report["judge_checks"]] == [0]
    assert len(court.judged) == 7


def test_a_judge_without_probes_is_said_to_be_unchecked(court):
    court.case()
    result = court.run("--convo-judge-check")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*not checked, there are no probes of it"])


@WAYS
def test_what_a_judge_said_of_its_probes_is_recorded_and_replayed(court, args, monkeypatch):
    court.judge = by_manners
    court.case(more="runs = 2", judge_probes__toml=PROBES)
    result = court.run("--convo-judge-check", "--convo-record=all", *args)
    assert result.ret == 0, result.stdout.str()
    (check, *runs) = court.recordings()
    assert check.startswith("a/__recordings__/judge-check-")
    assert len(runs) == 2
    court.server.stop()
    monkeypatch.setenv("CI", "true")
    result = court.run("--convo-judge-check", *args)
    assert result.ret == 0, result.stdout.str()
    result.stdout.fnmatch_lines(["*passed: 6 of 6 judgements right*"])


@pytest.mark.parametrize(
    ("probes", "told"),
    [
        ('[[probe]]\nreply = "x"\n', "*judge_probes.toml:1: verdict is needed*"),
        ('[[probe]]\nreply = "x"\nverdict = "maybe"\n', '*judge_probes.toml:3: verdict must be "pass" or "fail"*'),
        ('[[probe]]\nreply = "x"\nverdict = "pass"\nextra = 1\n', "*judge_probes.toml:4: extra is no key of a probe*"),
        ("", "*judge_probes.toml*probe*"),
        ("[[probe]", "*judge_probes.toml:1*"),
        ("probe = []", "*judge_probes.toml*"),
        ("probe = 3", "*judge_probes.toml*"),
    ],
)
def test_probes_that_are_wrong_are_told_while_collecting(court, probes, told):
    court.case(judge_probes__toml=probes)
    result = court.run("--convo-judge-check")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([told])
    assert court.server.count == 0


def test_a_server_that_fails_while_the_judge_is_checked_is_an_error_of_the_run(court):
    court.judge = lambda request: ScriptedReply(error=500, text="out of order")
    court.case(judge_probes__toml=PROBES)
    result = court.run("--convo-judge-check")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*out of order*"])


# -- beside what pytest does


@WAYS
def test_x_stops_at_a_judge_s_fail(court, args):
    def judge(request) -> ScriptedReply:
        if "It is long." in request.messages[0].text:
            return ScriptedReply(text=verdict("fail", "It is short."))
        return ScriptedReply(text=verdict(), latency=0.5)

    court.judge = judge
    court.case("a", expect='judge = "It is long."', more="runs = 2")
    for name in "bcdefgh":
        court.case(name, more="runs = 2")
    result = court.run("-x", "--convo-concurrency=2", *args)
    assert result.ret == (2 if args else 1)
    outcomes = result.parseoutcomes()
    assert outcomes["failed"] == 1
    assert outcomes.get("passed", 0) < 7


def test_lf_runs_the_group_that_a_judge_failed(court):
    court.judge = lambda request: verdict("fail" if "30 days" in request.messages[1].text else "pass", "Hm.")
    court.bot = lambda request: "30 days" if request.messages[-1].text == "Hello?" else "Soon"
    court.case(more="runs = 3")
    court.case("b", more="runs = 3")
    court.convos.write({"b/0000_user.md": "When?"})
    assert court.run().parseoutcomes()["failed"] == 1
    before = court.server.count
    assert court.run("--lf").parseoutcomes()["failed"] == 1
    assert court.server.count - before <= 6


def test_k_selects_one_run_of_a_judged_group(court):
    court.case(more="runs = 3")
    result = court.run("-k", "run-2")
    result.assert_outcomes(passed=1, deselected=2)
    assert court.server.count == 2


def test_another_judge_cannot_be_compared_with_a_baseline(court):
    court.case(more='runs = 6\n[judge]\nmodel = "wise"')
    court.case("b", expect='contains = "Gladly"', more="runs = 6")
    assert court.run("--convo-update-baseline").ret == 0
    assert court.run("--convo-baseline=convo-baseline.json").ret == 0
    court.case(more='runs = 6\n[judge]\nmodel = "wiser"')
    result = court.run("--convo-baseline=convo-baseline.json")
    result.stdout.fnmatch_lines(["not comparable with the baseline:", "  a/convo.toml: the checks are others: judge"])
    result.stdout.no_fnmatch_line("  b/convo.toml: *")
