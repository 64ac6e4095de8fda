"""One verdict a group, whatever spreads the runs."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

RESTARTS = ("load", "worksteal")
"""The ways of spreading under which xdist 3.8 can start a lost item again."""

CORNERS = pytest.mark.parametrize("mode", ["noxdist", "n0", "load", "loadgroup"])
"""For what does not hang on which worker has which item; under loadgroup items have other ids."""


def test_dissent_does_not_fail_the_session(convos, run, mode):
    convos.vote("good", "yyyyy", 4)
    convos.vote("split", "yynyy", 4)
    result = run()
    assert result.ret == 0
    outcomes = result.parseoutcomes()
    assert (outcomes["passed"], outcomes["dissent"]) == (2, 1)
    # Another worker may come to the spare run before this one has begun with those that make it needless.
    assert outcomes.get("spared", 0) in ((0, 1) if mode in ("load", "worksteal") else (1,))


def test_a_failing_group_is_one_failure_under_its_own_id(convos, run):
    convos.vote("good", "yyyyy", 4)
    convos.vote("split", "yynyy", 4)
    convos.vote("bad", "ynnyn", 4)
    result = run("--junitxml=junit.xml", "--convo-eager")
    assert result.ret == 1
    outcomes = result.parseoutcomes()
    assert (outcomes["passed"], outcomes["failed"]) == (2, 1)
    result.stdout.fnmatch_lines(["*_ bad _*", "*flaky fail*", "FAILED bad/convo.toml - flaky fail: *"])
    assert "[100%]" in result.stdout.str()
    suite = next(ET.parse(convos.path / "junit.xml").iter("testsuite"))
    failing = [case.get("name") for case in suite.iter("testcase") if case.find("failure") is not None]
    assert len(failing) == 1
    assert (suite.get("failures"), suite.get("errors"), suite.get("tests")) == ("1", "0", "18")


def test_exitfirst_stops(convos, run_apart, mode):
    convos.vote("a", "nnn", 2)
    for number in range(20):
        convos.vote(f"t{number:02}", "yyy", 2, sleep=0.3)
    result = run_apart("-x")
    assert result.ret == (2 if mode not in ("noxdist", "n0") else 1)
    outcomes = result.parseoutcomes()
    assert outcomes["failed"] == 1
    assert outcomes.get("passed", 0) < 20
    result.stdout.fnmatch_lines(["*stopping after 1 failures*"])


def test_maxfail_counts_verdicts(convos, run_apart, mode):
    for number in range(20):
        convos.vote(f"t{number:02}", "nnn", 2, sleep=0 if number < 2 else 0.3)
    result = run_apart("--maxfail=2")
    parallel = mode not in ("noxdist", "n0")
    assert result.ret == (2 if parallel else 1)
    failed = result.parseoutcomes()["failed"]
    assert 2 <= failed < 20 if parallel else failed == 2


def test_last_failed_runs_exactly_the_failing_groups(convos, run):
    convos.vote("good", "yyyyy", 4)
    convos.vote("bad", "ynnyn", 4)
    convos.vote("worse", "nn", 2)
    assert run("--convo-eager").ret == 1
    assert convos.lastfailed() == {"bad/convo.toml": True, "worse/convo.toml": True}
    convos.vote("bad", "yyyyy", 4)
    result = run("--lf", "--convo-eager")
    assert result.ret == 1
    outcomes = result.parseoutcomes()
    assert (outcomes["passed"], outcomes["failed"]) == (1, 1)
    convos.vote("worse", "yy", 2)
    assert run("--lf").ret == 0
    assert convos.lastfailed() == {}


@CORNERS
def test_failed_first_runs_everything(convos, run):
    convos.vote("good", "yyyyy", 4)
    convos.vote("zbad", "nn", 2)
    run()
    result = run("--ff")
    assert result.ret == 1
    assert (result.parseoutcomes()["passed"], result.parseoutcomes()["failed"]) == (1, 1)


@CORNERS
def test_a_selection_is_judged_on_what_it_has(convos, run):
    convos.vote("split", "yynyy", 4)
    result = run("-k", "run-1 or run-2", "-rA")
    assert result.ret == 0
    assert result.parseoutcomes()["passed"] == 1
    failing = run("-k", "run-2 or run-3")
    assert failing.ret == 1
    failing.stdout.fnmatch_lines(["*2 of 5 runs selected*"])
    assert run("split/convo.toml::run-1").ret == 0
    assert run("split/convo.toml::run-3").ret == 1
    assert run("split/convo.toml").ret == 0


@pytest.mark.parametrize("mode", RESTARTS)
def test_a_lost_run_is_made_again(convos, run):
    convos.vote("x", "yy1", 3)
    convos.vote("y", "yyy", 3)
    result = run()
    assert result.ret == 0, result.stdout.str()
    assert result.parseoutcomes()["passed"] == 2
    assert result.parseoutcomes()["lost"] == 1


@pytest.mark.parametrize("mode", RESTARTS)
def test_a_run_that_kills_every_worker_measures_nothing(convos, run):
    convos.vote("x", "yy!", 3, sleep=0.05)
    convos.vote("y", "yyy", 3)
    result = run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["ERROR x/convo.toml - inconclusive: *"])
    assert result.parseoutcomes()["passed"] == 1


def test_early_stop_spares_what_is_not_needed(convos, run):
    convos.vote("x", "y" * 12, 2, sleep=0.1)
    result = run()
    outcomes = result.parseoutcomes()
    assert result.ret == 0
    assert outcomes["passed"] == 1
    assert outcomes["spared"] >= 8, outcomes


def test_errors_count_for_neither_side(convos, run):
    convos.vote("open", "eye", 2)
    convos.vote("enough", "eyy", 2)
    convos.vote("lost", "enn", 2)
    result = run("--convo-eager")
    assert result.ret == 1
    outcomes = result.parseoutcomes()
    assert (outcomes["passed"], outcomes["failed"], outcomes["errors"]) == (1, 1, 1)
    result.stdout.fnmatch_lines(["ERROR open/convo.toml - inconclusive: *"])


@pytest.mark.parametrize(
    ("how", "code", "word"), [("error", 1, "errors"), ("fail", 1, "failed"), ("skip", 0, "skipped")]
)
def test_how_an_inconclusive_verdict_counts(convos, how, code, word):
    convos.vote("open", "eye", 2)
    convos.vote("good", "yyy", 2)
    result = convos.run(f"--convo-inconclusive={how}")
    assert result.ret == code
    assert result.parseoutcomes()[word] == 1


@CORNERS
def test_a_single_run_is_an_ordinary_test(convos, run):
    convos.vote("good", "y", 1)
    convos.vote("bad", "n", 1)
    convos.vote("broken", "e", 1)
    result = run("-v")
    assert result.ret == 1
    assert {key: value for key, value in result.parseoutcomes().items() if key in ("passed", "failed", "errors")} == {
        "passed": 1,
        "failed": 1,
        "errors": 1,
    }
    assert set(convos.lastfailed()) == {"bad/convo.toml::run-1", "broken/convo.toml::run-1"}


def test_dist_each_is_refused(convos):
    convos.vote("good", "y", 1)
    result = convos.run("-p", "xdist.plugin", "-n2", "--dist=each")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--dist each*", "*use --dist load*"])


@CORNERS
def test_the_json_report(convos, run):
    convos.vote("split", "yynyy", 4)
    assert run("--convo-json=out/report.json").ret == 0
    report = json.loads(Path(convos.path / "out/report.json").read_text())
    (group,) = report["groups"]
    assert (group["id"], group["verdict"], group["passes"]) == ("split/convo.toml", "pass", 4)
    outcomes = {each["id"].rpartition("::")[2]: each["outcome"] for each in group["runs"]}
    assert outcomes.pop("run-3") in ("fail", "spared")  # four others may pass before it has ended
    assert outcomes == {"run-1": "pass", "run-2": "pass", "run-4": "pass", "run-5": "pass"}
