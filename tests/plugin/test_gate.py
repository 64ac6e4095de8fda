"""The regression gate as a user meets it: one more test, which says whether the suite got worse."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import pytest

from tests.conftest import VOTE

PARALLEL = ["-p", "xdist.plugin", "-n2"]
WAYS = pytest.mark.parametrize("args", [[], PARALLEL], ids=["one process", "xdist"])
GATE = "--convo-baseline=convo-baseline.json"
GOOD = "yyyyyyyyny"


@pytest.fixture
def suite(convos):
    """Cases whose runs vote, ten each, and further votes for fresh runs."""

    def write(**cases: str) -> None:
        for name, votes in cases.items():
            toml = 'runs = 10\n[bot]\nprovider = "scripted"\n[expect]\npython = "checks.py:vote"\n'
            spec = json.dumps({"votes": votes if len(votes) > 10 else votes + "y" * 10})
            convos.say(name, {"votes.json": spec, "checks.py": VOTE}, toml=toml)

    return write


def pytest_says(convos, *args: str) -> pytest.RunResult:
    return convos.run(*args)


def baseline(convos) -> dict:
    return json.loads((convos.path / "convo-baseline.json").read_text())


@WAYS
def test_an_unchanged_suite_is_green(convos, suite, args):
    suite(a=GOOD, b="yyyyyyyyyy", c="nnnnnyyyyy")
    assert pytest_says(convos, "--convo-update-baseline", *args).ret == 1  # c fails by its own verdict
    assert {id_: (entry["passes"], entry["runs"]) for id_, entry in baseline(convos)["cases"].items()} == {
        "a/convo.toml": ([5, 4], [5, 5]),
        "b/convo.toml": ([5, 5], [5, 5]),
        "c/convo.toml": ([3, 2], [5, 5]),
    }
    result = pytest_says(convos, GATE, "-v", *args)
    assert result.ret == 0, result.stdout.str()
    result.stdout.fnmatch_lines(["*BELOW*", "*convo-baseline.json::gate PASSED*", "gate: NOT SHOWN: *"])
    assert result.parseoutcomes()["below"] == 1


@WAYS
def test_a_broken_case_is_confirmed_by_fresh_runs_and_red(convos, suite, args):
    suite(a=GOOD, b="yyyyyyyyyy", c="yyyyyyyyyy", d="yyyyyyyyyy")
    pytest_says(convos, "--convo-update-baseline", *args)
    suite(b="y" + "n" * 19)
    result = pytest_says(convos, GATE, "--junitxml=junit.xml", "--convo-json=report.json", *args)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "convo: 1 case looks worse: 10 fresh runs of each",
            "REGRESSED: 39 of 40 runs passed before, 30 of 40 now*",
            "*b/convo.toml: * 0 of 10 run again*",
            "FAILED convo-baseline.json::gate - REGRESSED*",
        ]
    )
    report = json.loads((convos.path / "report.json").read_text())
    assert report["gate"]["result"] == "regressed"
    assert [case["id"] for case in report["gate"]["confirmed"]] == ["b/convo.toml"]
    assert len(report["groups"]) == 4
    junit = {case.get("name"): case for case in ET.parse(convos.path / "junit.xml").iter("testcase")}
    assert junit["gate"].find("failure") is not None
    properties = {each.get("name"): each.get("value") for each in junit["gate"].iter("property")}
    assert properties["convo.gate.result"] == "regressed"


@WAYS
def test_bad_luck_is_dispelled_by_fresh_runs(convos, suite, args):
    suite(**{f"c{number}": "yyyyyyyyyy" for number in range(8)})
    pytest_says(convos, "--convo-update-baseline", *args)
    suite(c3="yynnnnnnyy" + "y" * 10)
    result = pytest_says(convos, GATE, *args)
    result.stdout.fnmatch_lines(["convo: 1 case looks worse: *"])
    # The test of the whole suite sees six fails of eighty too; no single case is called broken.
    report = result.stdout.str()
    assert "confirmed by fresh runs" not in report
    assert "10 of 10 run again" in report


def test_offline_only_the_suite_is_judged(convos, suite):
    suite(**{f"c{number}": "yyyyyyyyyy" for number in range(8)})
    pytest_says(convos, "--convo-update-baseline")
    suite(c3="yynnnnnnyy")
    pytest_says(convos, "--convo-record=new")
    result = pytest_says(convos, GATE, "--convo-record=none")
    assert "fresh runs of" not in result.stdout.str()
    result.stdout.fnmatch_lines(["*suspicious, not confirmed*", "*c3/convo.toml*"])


def test_the_recordings_of_the_baseline_are_no_evidence(convos, suite):
    suite(a=GOOD, b="yyyyyyyyyy")
    pytest_says(convos, "--convo-record=new", "--convo-update-baseline")
    result = pytest_says(convos, GATE, "--convo-record=none")
    assert result.ret == 0  # the very answers that the baseline was made of have not become worse
    result.stdout.fnmatch_lines(
        ["gate: nothing new to compare: *", "*own recordings, and so no evidence:", "*a/convo.toml: 10 runs"]
    )


@pytest.mark.parametrize(("how", "code"), [("error", 1), ("fail", 1), ("skip", 0)])
def test_without_a_baseline_nothing_is_green(convos, suite, how, code):
    suite(a="yyyyyyyyyy")
    result = pytest_says(convos, GATE, f"--convo-inconclusive={how}", "-rA")
    assert result.ret == code
    result.stdout.fnmatch_lines(["*no baseline: *convo-baseline.json does not exist*"])


@WAYS
def test_a_case_that_has_gone_is_a_failure_until_the_baseline_is_updated(convos, suite, args):
    suite(a="yyyyyyyyyy", b="yyyyyyyyyy")
    pytest_says(convos, "--convo-update-baseline", *args)
    for path in (convos.path / "b").iterdir():
        path.unlink()
    result = pytest_says(convos, GATE, *args)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*gone from this suite*", "*b/convo.toml"])
    assert pytest_says(convos, GATE, "a", *args).ret == 0
    assert pytest_says(convos, GATE, "-k", "a", *args).ret == 0
    pytest_says(convos, "--convo-update-baseline", *args)
    assert list(baseline(convos)["cases"]) == ["a/convo.toml"]
    assert pytest_says(convos, GATE, *args).ret == 0


def test_updating_a_part_leaves_the_rest(convos, suite):
    suite(a="yyyyyyyyyy", b="yyyyyyyyyy")
    pytest_says(convos, "--convo-update-baseline")
    suite(a=GOOD, b=GOOD)
    result = pytest_says(convos, "--convo-update-baseline", "a")
    result.stdout.fnmatch_lines(["baseline written to convo-baseline.json: 1 of 2 cases measured now"])
    assert [sum(entry["passes"]) for entry in baseline(convos)["cases"].values()] == [9, 10]


def test_a_check_that_has_gone_is_a_failure(convos, suite):
    suite(a="yyyyyyyyyy", b="yyyyyyyyyy")
    pytest_says(convos, "--convo-update-baseline")
    convos.write({"a/convo.toml": 'runs = 10\n[bot]\nprovider = "scripted"\n'})
    result = pytest_says(convos, GATE)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*checks gone from a case*", "*a/convo.toml: python", "*not comparable*"])


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"a/0000_user.md": "Another question\n"}, "the user's messages are others"),
        ({"a/checks.py": VOTE + "# changed\n"}, "the checks are others: python"),
    ],
)
def test_what_is_not_the_same_case_is_judged_by_itself(convos, suite, files, why):
    suite(a="yyyyyyyyyy", b="yyyyyyyyyy", c="yyyyyyyyyy")
    pytest_says(convos, "--convo-update-baseline")
    suite(a="nnnnnnnnnn")
    convos.write(files)
    result = pytest_says(convos, GATE)
    assert result.ret == 1
    result.stdout.fnmatch_lines([f"  a/convo.toml: {why}", "FAILED a/convo.toml - stable fail*"])
    assert result.parseoutcomes()["failed"] == 1  # the gate itself is green


def test_the_prompt_may_change(convos, suite):
    suite(a="yyyyyyyyyy", b="yyyyyyyyyy")
    pytest_says(convos, "--convo-update-baseline")
    convos.write({"a/prompt.md": "Be kind.", "b/prompt.md": "Be kind."})
    result = pytest_says(convos, GATE)
    assert result.ret == 0
    assert "not comparable" not in result.stdout.str()


def test_errors_are_in_neither_arm(convos, suite):
    suite(a="yyyyyyyyyy", b="yyyyyyyyyy")
    pytest_says(convos, "--convo-update-baseline")
    suite(a="yyyyyyyyee")
    result = pytest_says(convos, GATE)
    result.stdout.fnmatch_lines(["gate: *20 of 20 runs passed before, 18 of 18 now*", "  a/convo.toml: 2 runs"])


def test_single_runs_are_left_to_the_gate_too(convos):
    for number in range(6):
        convos.say(f"c{number}", toml='[bot]\nprovider = "scripted"\n[expect]\ncontains = "Yes"\n')
    pytest_says(convos, "--convo-update-baseline")
    convos.write({"c0/script.toml": '[[reply]]\ntext = "No."\n'})
    result = pytest_says(convos, GATE)
    assert result.parseoutcomes().get("below") == 1
    assert result.parseoutcomes().get("failed", 0) == 0
    result.stdout.fnmatch_lines(["gate: *6 of 6 runs passed before, 5 of 6 now*"])


def test_a_redundant_test_has_a_baseline_too(convos):
    convos.write(
        {
            "convo.toml": '[bot]\nprovider = "scripted"\n',
            "script.toml": '[[reply]]\ntext = "Yes."\n',
            "test_ask.py": "import pytest\n@pytest.mark.convo(runs=10)\ndef test_ask(bot):\n"
            "    assert bot.ask('Well?').text == 'Yes.'\n",
        }
    )
    pytest_says(convos, "--convo-update-baseline")
    assert list(baseline(convos)["cases"]) == ["test_ask.py::test_ask"]
    assert pytest_says(convos, GATE).ret == 0
    convos.write({"script.toml": '[[reply]]\ntext = "No."\n'})
    result = pytest_says(convos, GATE)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*test_ask.py::test_ask: * 0 of 10 run again*"])


def test_a_fall_must_be_ruled_out_where_that_is_asked_for(convos, suite):
    suite(a="yyyyyyyyyy", b="yyyyyyyyyy")
    pytest_says(convos, "--convo-update-baseline")
    assert pytest_says(convos, GATE, "--convo-non-inferior=0.5").ret == 0
    result = pytest_says(convos, GATE, "--convo-non-inferior=0.01")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*INCONCLUSIVE*"])


def test_early_stop_does_not_cut_a_gated_session(convos, suite):
    suite(a="yyyyyyyyyy")
    convos.write({"a/convo.toml": (convos.path / "a/convo.toml").read_text() + "\n"})
    result = pytest_says(convos, "--convo-update-baseline")
    assert "spared" not in result.parseoutcomes()
    assert sum(baseline(convos)["cases"]["a/convo.toml"]["runs"]) == 10


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["--convo-non-inferior=0.1"], "--convo-non-inferior is a part of the gate"),
        ([GATE, "--convo-non-inferior=5"], "--convo-non-inferior: a share between 0 and 1"),
        (["--convo-baseline=."], "is a directory"),
        (["--convo-max-usd=-1"], "--convo-max-usd: an amount above 0 is needed"),
        (["--convo-max-calls=many"], "--convo-max-calls: a whole number"),
    ],
)
def test_a_bad_option_is_a_usage_error(convos, suite, args, told):
    suite(a="yyyyyyyyyy")
    result = pytest_says(convos, *args)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{told}*"])


def test_a_broken_baseline_is_told_before_anything_is_run(convos, suite):
    suite(a="yyyyyyyyyy")
    convos.write({"convo-baseline.json": "{"})
    result = pytest_says(convos, GATE)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*convo-baseline.json: is no baseline*"])


def test_the_rates_of_the_suite(convos, suite):
    suite(**{f"c{number}": "yyyyyyyyyy" for number in range(5)})
    result = pytest_says(convos, "--convo-simulate")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["assumed of 5 cases: *", "*nothing has changed *%*", "*one case breaks*%*", "*all fall*%*"]
    )
    assert not (convos.path / ".convo").exists()
    pytest_says(convos, "--convo-update-baseline")
    again = pytest_says(convos, "--convo-simulate")
    again.stdout.fnmatch_lines(["pass rates and runs of 5 cases from the baseline"])
    assert pytest_says(convos, "--convo-simulate").stdout.lines[:-1] == again.stdout.lines[:-1]
    convos.write({"convo-baseline.json": "garbage"})
    broken = pytest_says(convos, "--convo-simulate")
    assert broken.ret == pytest.ExitCode.USAGE_ERROR
    broken.stderr.fnmatch_lines(["*convo-baseline.json: is no baseline*"])


def test_the_summary_for_github(convos, suite, monkeypatch):
    suite(a=GOOD, b="nnnnnnnnnn")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(convos.path / "summary.md"))
    convos.write({"summary.md": "# Of another step\n"})
    pytest_says(convos, "--convo-update-baseline")
    text = (convos.path / "summary.md").read_text()
    assert text.startswith("# Of another step\n## Conversations\n")
    assert "✅ 1 pass · ❌ 1 fail" in text
    assert "| ❌ | <code>b/convo.toml</code> | stable fail: 0 of 10 runs passed, 8 needed" in text
    assert "- 20 calls" in text


def test_junit_has_the_figures_of_groups_and_of_single_runs(convos):
    toml = '[bot]\nprovider = "scripted"\nprice = { input = 1000, output = 2000 }\n'
    convos.say("group", toml=f"runs = 3\nagreement = 1\n{toml}")
    convos.say("single", toml=toml)
    assert pytest_says(convos, "--junitxml=junit.xml").ret == 0
    found = {}
    for case in ET.parse(convos.path / "junit.xml").iter("testcase"):
        properties = {each.get("name"): each.get("value") for each in case.iter("property")}
        found[f"{case.get('classname')}.{case.get('name')}"] = properties
    group = next(properties for properties in found.values() if "convo.verdict" in properties)
    assert group == {
        "convo.verdict": "pass",
        "convo.runs": "3",
        "convo.passes": "3",
        "convo.fails": "0",
        "convo.errors": "0",
        "convo.interval": "0.464 to 1.000",
        "convo.calls": "3",
        "convo.replayed": "0",
        "convo.tokens": "6",
        "convo.usd": "0.009",
    }
    (single,) = [properties for name, properties in found.items() if name.startswith("single")]
    assert (single["convo.outcome"], single["convo.calls"], single["convo.usd"]) == ("pass", "1", "0.003")


@pytest.mark.parametrize("text", ["garbage", "", '{"version": 2}', "<<<<<<< HEAD\n"])
def test_what_is_no_baseline_is_written_anew(convos, suite, text):
    suite(a="yyyyyyyyyy")
    convos.write({"convo-baseline.json": text})
    result = pytest_says(convos, "--convo-update-baseline")
    assert result.ret == 0, result.stdout.str()
    result.stdout.fnmatch_lines(["convo-baseline.json is no baseline: *: written anew*"])
    assert list(baseline(convos)["cases"]) == ["a/convo.toml"]


def test_a_baseline_that_cannot_be_written_is_an_error(convos, suite):
    suite(a="yyyyyyyyyy")
    result = pytest_says(convos, "--convo-update-baseline", "--convo-baseline=a/convo.toml/baseline.json")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*the baseline could not be written: *"])
    (convos.path / "convo-baseline.json").mkdir()
    assert pytest_says(convos, "--convo-update-baseline").ret == pytest.ExitCode.USAGE_ERROR


def test_runs_that_prove_nothing_do_not_replace_what_is_known(convos, suite):
    suite(a="yyyyyyyyyy", b="yyyyyyyyyy")
    pytest_says(convos, "--convo-update-baseline")
    result = pytest_says(convos, "--convo-update-baseline", "--convo-max-calls=13")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["baseline written to *: 1 of 2 cases measured now, 1 inconclusive *"])
    assert [sum(entry["runs"]) for entry in baseline(convos)["cases"].values()] == [10, 10]


@pytest.mark.parametrize("quiet", [[], ["-q"]])
def test_a_report_that_cannot_be_written_changes_no_verdict(convos, suite, monkeypatch, quiet):
    suite(a="yyyyyyyyyy")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(convos.path / "a/convo.toml/summary.md"))
    result = pytest_says(convos, "--convo-json=a/convo.toml/report.json", *quiet)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["convo: *summary.md could not be written: *", "convo: *report.json could not be *"])
    assert "Traceback" not in result.stdout.str() + result.stderr.str()


def test_a_report_goes_into_a_link_and_leaves_it_one(convos, suite):
    suite(a="yyyyyyyyyy")
    convos.write({"real.json": "{}"})
    (convos.path / "report.json").symlink_to("real.json")
    assert pytest_says(convos, "--convo-json=report.json").ret == 0
    assert (convos.path / "report.json").is_symlink()
    assert json.loads((convos.path / "real.json").read_text())["groups"]


def test_a_secret_in_a_name_is_refused(convos, monkeypatch):
    monkeypatch.setenv("MY_TOKEN", "very-secret-value-of-mine")
    convos.write(
        {
            "convo.toml": '[bot]\nprovider = "scripted"\n',
            "script.toml": '[[reply]]\ntext = "Yes."\n',
            "test_ask.py": "import pytest\n@pytest.mark.convo(runs=2)\n"
            "@pytest.mark.parametrize('key', ['very-secret-value-of-mine'])\n"
            "def test_ask(bot, key): bot.ask('Well?')\n",
        }
    )
    result = pytest_says(convos)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*test_ask.py: a name here holds a secret*", "*pytest.param*"])
    assert "very-secret" not in result.stdout.str()


def test_fresh_runs_are_neither_recorded_nor_replayed(convos, suite):
    suite(a="yyyyyyyyyy", b="yyyyyyyyyy")
    pytest_says(convos, "--convo-update-baseline")
    suite(b="n" * 20)
    for mode in ("new", "auto"):
        result = pytest_says(convos, GATE, f"--convo-record={mode}")
        result.stdout.fnmatch_lines(["*0 of 10 run again*"])
        assert len(list(convos.path.rglob("run-*.yaml"))) == 20
    result.stdout.fnmatch_lines(["10 calls · *"])


@WAYS
def test_a_suite_without_any_case_is_not_green(convos, suite, args):
    suite(a="yyyyyyyyyy")
    pytest_says(convos, "--convo-update-baseline")
    for path in (convos.path / "a").iterdir():
        path.unlink()
    convos.write({"test_plain.py": "def test_plain(): pass\n"})
    result = pytest_says(convos, GATE, *args)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*gone from this suite*"])
    assert pytest_says(convos, GATE, "--collect-only").ret == 0


def test_a_failed_case_is_no_pass_because_the_gate_cannot_tell(convos):
    toml = 'runs = 2\n[bot]\nprovider = "scripted"\n[expect]\ncontains = "Yes"\n'
    convos.say("a", toml=toml)
    pytest_says(convos, "--convo-update-baseline")
    convos.write({"a/script.toml": '[[reply]]\ntext = "No."\n'})
    result = pytest_says(convos, GATE, "--convo-inconclusive=skip")
    assert result.ret == 1


@WAYS
def test_what_a_conftest_deselects_or_a_mark_skips_is_not_gone(convos, suite, args):
    test = "import pytest\n{}@pytest.mark.convo(runs=2)\ndef test_ask(bot): bot.ask('Well?')\n"
    suite(a="yyyyyyyyyy", b="yyyyyyyyyy")
    convos.write({"a/test_ask.py": test.format("")})
    pytest_says(convos, "--convo-update-baseline")
    convos.write({"a/test_ask.py": test.format("@pytest.mark.skip\n")})
    assert "gone from this suite" not in pytest_says(convos, GATE, *args).stdout.str()
    convos.write(
        {
            "conftest.py": "def pytest_collection_modifyitems(items):\n"
            "    items[:] = [item for item in items if 'b/' not in item.nodeid]\n"
        }
    )
    result = pytest_says(convos, GATE, *args)
    assert "gone from this suite" not in result.stdout.str()
    pytest_says(convos, "--convo-update-baseline", *args)
    assert len(baseline(convos)["cases"]) == 3


def test_the_directory_may_be_named_in_any_way(convos, suite, monkeypatch):
    suite(a="yyyyyyyyyy", b="yyyyyyyyyy")
    pytest_says(convos, "--convo-update-baseline")
    for path in (convos.path / "b").iterdir():
        path.unlink()
    (convos.path / "below").mkdir()
    monkeypatch.chdir(convos.path / "below")
    result = pytest_says(convos, "..", "--rootdir=..", "--convo-baseline=../convo-baseline.json")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*b/convo.toml"])


def test_some_runs_of_a_case_are_no_baseline(convos, suite):
    suite(a="yyyyyyyyyy")
    pytest_says(convos, "--convo-update-baseline")
    result = pytest_says(convos, "--convo-update-baseline", "-k", "run-1")
    assert sum(baseline(convos)["cases"]["a/convo.toml"]["runs"]) == 10
    result.stdout.fnmatch_lines(["*not run in full, and left as they were*"])
