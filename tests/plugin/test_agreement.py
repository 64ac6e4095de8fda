"""Whether the answers of a group agree, as a user meets it: what is shown, what is judged, when it stops."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from itertools import product

import pytest

from pytest_convo.agreement.outcome import Outcome
from pytest_convo.agreement.verdict import Tally, rule
from pytest_convo.bot.threads import running
from pytest_convo.run.ledger import sizes
from pytest_convo.testing import ScriptedReply, ScriptedServer

WORKERS = ["-p", "xdist.plugin", "-n2"]
WAYS = pytest.mark.parametrize("args", [[], WORKERS], ids=["one process", "two workers"])
IN_ORDER = "--convo-concurrency=1"
"""One call at a time: run i gets the i-th answer."""


def verdict(same: bool) -> str:
    return json.dumps({"reason": "So it is.", "evidence": "", "verdict": "pass" if same else "fail"})


class Chorus:
    """A server whose i-th answer is the i-th text, and which judges whether two texts say the same."""

    def __init__(self, convos) -> None:
        self.convos = convos
        self.run = convos.run
        self.texts: list[str | ScriptedReply] = []
        self.same: Callable = lambda request: verdict(True)
        self.judged: list[str] = []
        self._lock = threading.Lock()
        self.server = ScriptedServer(self._answer).start()
        self.asked = 0

    def _answer(self, request):
        if request.messages[0].role == "system" and "two texts" in request.messages[0].text:
            self.judged.append(request.messages[1].text)
            return self.same(request)
        if request.messages[-1].role == "tool":
            return "Done."
        with self._lock:
            self.asked += 1
            return self.texts[(self.asked - 1) % len(self.texts)]

    def says(self, *texts: str | ScriptedReply, agree: str = "", more: str = "", name: str = "a") -> None:
        """A conversation with a run for each text."""
        self.texts, self.asked = list(texts), 0
        head = "" if "runs =" in more else f"runs = {len(texts)}\n"
        bot = f'[bot]\nmodel = "test"\nbase_url = "{self.server.url}"\nretries = 0\n'
        agree = f"[agree]\n{agree}\n" if agree else ""
        self.convos.write({f"{name}/0000_user.md": "Well?", f"{name}/convo.toml": f"{head}{more}\n{bot}{agree}"})

    def report(self, *args: str) -> tuple[pytest.RunResult, dict]:
        """The result, and what the report has of the one group there is."""
        result, report = self.convos.report(*args)
        (group,) = report["groups"]
        return result, group


@pytest.fixture
def chorus(convos) -> Iterator[Chorus]:
    chorus = Chorus(convos)
    yield chorus
    chorus.server.stop()


def counts(group: dict) -> list[int]:
    return [found["count"] for found in group["answers"]["classes"]]


# -- when two answers say the same

SAME = "def same(one, other):\n    return one[0].lower() == other[0].lower()\n"

BY = {
    "text": ('by = "text"', ["Yes.", "yes.", " **Yes.**\n", "No."], [3, 1]),
    "odd texts": ("pattern = '(?s).*'", ["", " ", "\N{SNOWMAN}\u202e\x1b[1m", "ﬁ", "fi", "x" * 100_000], [2, 2, 1, 1]),
    "pattern": (r"pattern = '(\d+) days'", ["30 days", "In 30 days!", "45 days", "Soon.", "Never."], [2, 2, 1]),
    "json": (
        'by = "json"',
        ['{"a": 1, "b": [2]}', '```json\n{"b": [2.0], "a": 1}\n```', '{"a": 2}', "a: 1", "A:  1", "[" * 9000],
        [2, 2, 1, 1],
    ),
    "number": ('by = "number"', ["It is 1,000.", "1000.0", "1e3", "None.", "nobody knows", "1001"], [3, 2, 1]),
    "within": ('by = "number"\nwithin = 0.1', ["1.0", "1.1", "1.2", "no", "nothing"], [2, 2, 1]),
    "python": ('by = "python:checks.py:same"', ["Yes.", "Yo!", "No.", "ya", "nope"], [3, 2]),
    "judge": ('by = "judge"', ["30 days", "a month", "45 days", "30 Days", "4 weeks"], [4, 1]),
}


@pytest.mark.parametrize(("agree", "texts", "expected"), BY.values(), ids=BY)
def test_the_classes_of_each_equivalence(chorus, agree, texts, expected):
    chorus.same = lambda request: verdict("45" not in request.messages[1].text)
    chorus.convos.write({"a/checks.py": SAME})
    chorus.says(*texts, agree=f"{agree}\nat_least = 0.01", more='agreement = 0.1\n[expect]\nfinish_reason = "stop"')
    result, group = chorus.report("--convo-record=new", IN_ORDER)
    assert counts(group) == expected, result.stdout.str()
    pairs = sum(count * (count - 1) for count in expected) / (len(texts) * (len(texts) - 1))
    assert group["answers"]["agreement"] == pytest.approx(pairs)
    assert group["answers"]["plurality"] == pytest.approx(expected[0] / len(texts))


def test_the_same_calls_are_alike_whatever_is_said(chorus):
    def call(arguments: str) -> ScriptedReply:
        return ScriptedReply(calls=[{"name": "refund", "arguments": arguments}])

    chorus.convos.write(
        {
            "conftest.py": "def pytest_convo_tools():\n"
            "    def refund(order: str, amount: float = 1) -> str:\n"
            "        'Give money back.'\n"
            "        return 'ok'\n"
            "    return [refund]\n"
        }
    )
    texts = [
        call('{"order": "A17", "amount": 1}'),
        call('{"amount": 1.0, "order": "A17"}'),
        call('{"order": "A18"}'),
        "No call.",
        "None either.",
    ]
    chorus.says(*texts, agree='by = "calls"\nat_least = 0.1', more="agreement = 0.2")
    _, group = chorus.report("--convo-record=new", IN_ORDER)
    assert counts(group) == [2, 2, 1]


def test_a_judge_is_asked_in_both_directions_and_equal_texts_never(chorus):
    chorus.same = lambda request: verdict(
        request.messages[1].text.index("month") < request.messages[1].text.index("30")
    )
    chorus.says("30 days", "a month", "30 DAYS", agree='by = "judge"\nat_least = 0.5')
    _, group = chorus.report(IN_ORDER, "--convo-record=new")
    assert counts(group) == [2, 1]
    assert 1 <= len(chorus.judged) <= 2


def test_embeddings_spare_the_judge_what_is_far_apart(chorus):
    embeddings = '[embeddings]\nmodel = "e"\ndiffer_below = 0.3\n'
    texts = ["thirty days it takes", "it takes thirty days", "elephants fly"]
    chorus.says(*texts, agree='by = "judge"', more=f"agreement = 0.5\n{embeddings}")
    _, group = chorus.report(IN_ORDER, "--convo-record=new")
    assert counts(group) == [2, 1]
    assert not any("elephants" in text for text in chorus.judged)


# -- the gate


@pytest.mark.parametrize(
    ("texts", "at_least", "verdict", "told"),
    [
        ("AAAAA", 0.8, "pass", "4 of 4 answers alike, 4 needed; decided early, 1 run spared"),
        ("AABBC", 0.8, "fail", "answers alike, 4 needed"),
        ("AABB", 0.5, "inconclusive", "2 of 4 answers alike, 2 needed, and 2 others alike: a tie"),
        ("AABBC", 0.4, "inconclusive", "a tie"),
        ("ABCDE", 0.2, "inconclusive", "a tie"),
        ("AB", 1, "fail", "1 of 2 answers alike, 2 needed"),
    ],
)
def test_the_gate(chorus, texts, at_least, verdict, told):
    chorus.says(*texts, agree=f"at_least = {at_least}")
    result, group = chorus.report(IN_ORDER)
    assert group["verdict"] == verdict
    assert told in group.get("headline", "")
    word = {"pass": "passed", "fail": "failed", "inconclusive": "errors"}[verdict]
    assert result.parseoutcomes()[word] == 1
    assert result.ret == (verdict != "pass")


def test_the_gate_holds_over_workers(chorus):
    chorus.says(*"AABBC", agree="at_least = 0.6")
    _, group = chorus.report(*WORKERS)
    assert (group["verdict"], chorus.asked) == ("fail", 5)


def prefix_verdict(texts: str, at_least: float) -> tuple[int, str]:
    """After how many runs, one by one, the verdict is there, and what it is."""
    both = rule(len(texts), 0.5, 0.95, 0.7, at_least)
    for number in range(1, len(texts) + 1):
        outcomes = Tally.of(Outcome.PASS for _ in range(number))
        tally = Tally(outcomes.passes, 0, 0, sizes(texts[:number]))
        if (found := both.decide(tally)) is not None:
            return number, str(found)
    raise AssertionError


@pytest.mark.parametrize("texts", [*map("".join, product("A", "AB", "AB", "AB")), "ABCAA", "AABAC"])
def test_it_stops_as_soon_as_nothing_can_change_and_says_what_all_runs_say(chorus, texts):
    chorus.says(*texts, agree="at_least = 0.6", more="agreement = 0.5")
    _, early = chorus.report(IN_ORDER)
    number, expected = prefix_verdict(texts, 0.6)
    assert (chorus.asked, early["verdict"]) == (number, expected)
    chorus.says(*texts, agree="at_least = 0.6", more="agreement = 0.5")
    _, full = chorus.report(IN_ORDER, "--convo-record=all")
    assert (chorus.asked, full["verdict"]) == (len(texts), expected)


@pytest.mark.parametrize("by", ['by = "text"', 'by = "judge"', 'by = "python:checks.py:same"'])
def test_early_stop_holds_by_any_equivalence(chorus, by):
    chorus.same = lambda request: verdict(False)
    chorus.convos.write({"a/checks.py": SAME})
    chorus.says(*"ABCDEFGH", agree=f"{by}\nat_least = 0.75")
    _, group = chorus.report(IN_ORDER)
    assert (chorus.asked, group["verdict"], group["spared"]) == (4, "fail", 4)


def test_two_hundred_runs(chorus):
    chorus.says(*(f"Answer {number % 3 and 1}" for number in range(200)), agree="at_least = 0.6")
    result, group = chorus.report("--convo-eager")
    assert group["verdict"] == "pass", result.stdout.str()


# -- what is shown


def test_what_was_said_is_shown_where_nobody_asked_for_it(chorus):
    chorus.says("30 days", "30 days", "45 days", more="agreement = 0.5")
    result, group = chorus.report("--convo-record=new")
    result.stdout.fnmatch_lines(["a/convo.toml: 2 × «30 days» · 1 × «45 days» (33 % of pairs agree)"])
    assert "needed" not in group["answers"]


def test_a_group_that_fails_shows_it_in_its_own_paragraph(chorus):
    chorus.says("Within 30 days.", "Within 45 days.", "Within 30 days.", agree="at_least = 1")
    result = chorus.run("--convo-record=new", IN_ORDER)
    result.stdout.fnmatch_lines(
        ["*2 of 3 answers alike, 3 needed*", "*2 × «Within 30 days.» · 1 × «Within 45 days.»*", "*[[]-30-]{+45+}*"]
    )


def test_a_group_of_one_run_has_nothing_to_agree_with(chorus):
    chorus.says("30 days", agree='by = "judge"\nat_least = 1')
    result = chorus.run()
    result.assert_outcomes(passed=1)
    assert chorus.judged == []


@pytest.mark.parametrize(("selected", "n", "asked"), [("run-4", 1, 1), ("run-1 or run-3", 2, 2)])
@pytest.mark.parametrize("by", ["text", "judge"])
def test_some_runs_of_a_group_are_judged_by_themselves(chorus, selected, n, asked, by):
    chorus.says(*"AABBC", agree=f'by = "{by}"\nat_least = 0.8')
    chorus.texts = ["A"]
    result, group = chorus.report("-k", selected)
    assert result.ret == 0, result.stdout.str()
    assert (group["runs_selected"], group["verdict"], chorus.asked) == (n, "pass", asked)


def test_the_report_has_the_figures(chorus):
    chorus.says(*"AAB", agree="at_least = 0.5", more="agreement = 0.5")
    _, group = chorus.report("--convo-record=new", IN_ORDER)
    classes = [{"count": 2, "answer": "A"}, {"count": 1, "answer": "B"}]
    assert group["answers"] == {
        "agreement": pytest.approx(1 / 3),
        "plurality": pytest.approx(2 / 3),
        "classes": classes,
        "others": 0,
        "needed": 2,
    }


# -- recordings


@WAYS
def test_what_a_judge_said_of_answers_is_recorded_and_replayed_in_ci(chorus, args, monkeypatch):
    chorus.same = lambda request: verdict("45" not in request.messages[1].text)
    chorus.says(
        "30 days", "a month", "45 days", "4 weeks", agree='by = "judge"\nat_least = 0.75', more="agreement = 0.5"
    )
    result, group = chorus.report("--convo-record=all", *args)
    assert (result.ret, counts(group)) == (0, [3, 1]), result.stdout.str()
    files = sorted(path.name for path in (chorus.convos.path / "a/__recordings__").glob("*.yaml"))
    assert files == ["agreement.yaml", "run-1.yaml", "run-2.yaml", "run-3.yaml", "run-4.yaml"]
    monkeypatch.setenv("CI", "true")
    chorus.server.stop()
    for way in (args, [], WORKERS) if not args else (args,):
        result, group = chorus.report(*way)
        assert (result.ret, counts(group)) == (0, [3, 1]), result.stdout.str()
        result.stdout.no_fnmatch_line("*recording that nothing uses*")


def test_what_was_never_compared_cannot_be_replayed_and_it_is_said(chorus, monkeypatch):
    chorus.says("30 days", "a month", agree="at_least = 0.1", more="agreement = 0.5")
    chorus.run("--convo-record=all", IN_ORDER)
    chorus.says("30 days", "a month", agree='by = "judge"\nat_least = 0.75', more="agreement = 0.5")
    monkeypatch.setenv("CI", "true")
    result, group = chorus.report()
    assert group["verdict"] == "inconclusive"
    result.stdout.fnmatch_lines(["*its answer could not be compared with the others: *"])
    chorus.says("30 days", "a month", agree='by = "judge"')
    result, group = chorus.report()
    assert group["verdict"] == "pass"
    result.stdout.fnmatch_lines(["*not compared as [[]agree] has it: *"])


# -- what goes wrong

BROKEN = {
    "raises": ("raise ValueError('broken')", "*same raised ValueError: broken*"),
    "exits": ("raise SystemExit(3)", "*same raised SystemExit: 3*"),
    "returns a text": ("return 'yes'", "*same returned 'yes'*"),
    "returns nothing": ("pass", "*same returned None*"),
    "is interrupted": ("raise KeyboardInterrupt", "*KeyboardInterrupt*"),
    "skips": ("import pytest; pytest.skip('no')", "*same raised Skipped*"),
}


@pytest.mark.parametrize(("body", "told"), BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("gated", [True, False], ids=["gated", "shown"])
def test_a_function_that_is_broken_is_told(chorus, body, told, gated):
    chorus.convos.write({"a/checks.py": f"def same(one, other):\n    {body}\n"})
    gate = "at_least = 0.5" if gated else ""
    chorus.says("A", "B", "C", agree=f'by = "python:checks.py:same"\n{gate}')
    result, group = chorus.report()
    assert group["verdict"] == ("inconclusive" if gated else "pass")
    result.stdout.fnmatch_lines([told])


WRONG = {
    "no file": ('by = "python:nope.py:same"', "*a/convo.toml:*nope.py*"),
    "no function": ('by = "python:checks.py:nope"', "*a/convo.toml:*nope*"),
    "one text": ('by = "python:checks.py:one"', "*a/convo.toml:*one*"),
    "a broken file": ('by = "python:broken.py:same"', "*a/convo.toml:*broken.py*"),
    "no equivalence": ('by = "meaning"', "*a/convo.toml:*meaning*"),
    "within of texts": ("within = 3", "*a/convo.toml:*within*number*"),
    "no pattern": ("pattern = '('", "*a/convo.toml:*pattern*"),
    "nothing at least": ("at_least = 0", "*a/convo.toml:*at_least*"),
    "a key that is none": ("atleast = 1", "*a/convo.toml:8: unknown key*atleast*"),
}


@pytest.mark.parametrize(("agree", "told"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_told_while_collecting_with_its_place(chorus, agree, told):
    chorus.convos.write({"a/checks.py": "def one(text): return True\n", "a/broken.py": "def same(:\n"})
    chorus.says("A", "B", agree=agree)
    result = chorus.run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([told])
    assert chorus.asked == 0


def test_a_judge_of_answers_that_cannot_be_made_is_told_while_collecting(convos):
    convos.say("a", toml='runs = 2\n[bot]\nprovider = "scripted"\n[agree]\nby = "judge"\n')
    result = convos.pytester.runpytest_inprocess()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*a/convo.toml:5: *judge_script.toml*"])
    assert "Traceback" not in result.stdout.str()


@pytest.mark.parametrize("gated", [True, False], ids=["gated", "shown"])
def test_a_judge_without_a_verdict_leaves_answers_uncompared(chorus, gated):
    chorus.same = lambda request: "I cannot tell."
    chorus.says("A", "B", "B", "B", agree='by = "judge"\n' + ("at_least = 0.5" if gated else ""), more="runs = 2")
    result, group = chorus.report()
    assert group["verdict"] == ("inconclusive" if gated else "pass")
    result.stdout.fnmatch_lines(["*the judge gave no usable verdict*"])


def test_answers_of_runs_that_failed_count_and_errors_do_not(chorus):
    broken = ScriptedReply(error=400, text="bad request")
    chorus.says("A", "A", "A", broken, "B", agree="at_least = 0.6", more='agreement = 0.2\n[expect]\ncontains = "B"')
    _, group = chorus.report(IN_ORDER, "--convo-record=new")
    assert counts(group) == [3, 1]
    assert (group["passes"], group["fails"], group["errors"], group["verdict"]) == (1, 3, 1, "pass")


def test_runs_without_an_answer_are_like_no_other(chorus):
    full = ScriptedReply(error=400, code="context_length_exceeded", text="too long")
    chorus.says(full, full, "A", "A", agree="at_least = 0.5", more="agreement = 0.5")
    _, group = chorus.report(IN_ORDER, "--convo-record=new")
    assert (group["verdict"], group["fails"]) == ("pass", 2)


@pytest.mark.parametrize("by", ["text", "judge"])
def test_a_run_that_is_tried_again_is_classed(chorus, by):
    chorus.same = lambda request: verdict(False)
    # The gate waits for a judge's order of runs, so that the first fails, is passed over, and comes back.
    chorus.says(ScriptedReply(error=503), "A", "B", "A", agree=f'by = "{by}"\nat_least = 0.6', more="runs = 3")
    _, group = chorus.report(IN_ORDER)
    assert (group["verdict"], chorus.asked) == ("pass", 4)
    assert counts(group) == [2, 1]


def test_a_comparison_that_fails_for_the_moment_is_made_again(chorus):
    said = iter([ScriptedReply(error=503)])
    chorus.same = lambda request: next(said, verdict(True))
    chorus.says("A", "B", agree='by = "judge"\nat_least = 1')
    result, group = chorus.report(IN_ORDER)
    assert group["verdict"] == "pass", result.stdout.str()
    assert counts(group) == [2]


LETTERS = [f"Answer {letter}" for letter in "ABCDEFGH"]


@pytest.mark.parametrize("args", [["--convo-record=new"], ["--convo-eager"], [*WORKERS, "--convo-eager"]], ids=" ".join)
def test_a_run_s_time_is_not_used_up_by_comparing_all_the_others(chorus, args):
    """A judge that needs less than the limit for each question may need more for all of them, each asked once."""
    chorus.same = lambda request: ScriptedReply(text=verdict(False), latency=0.1)
    chorus.says(*LETTERS, agree='by = "judge"\nat_least = 0.1', more='timeout = "2.5s"')
    _, group = chorus.report(*args)
    assert (group["errors"], counts(group)) == (0, [1] * 8)
    assert len(chorus.judged) == len(set(chorus.judged)) == 28


def test_a_judge_of_answers_that_hangs_is_an_error_when_a_run_s_time_is_over(chorus):
    chorus.same = lambda request: ScriptedReply(text=verdict(False), latency=60)
    chorus.says("A", "B", "B", agree='by = "judge"\nat_least = 0.5', more='runs = 2\ntimeout = "0.4s"')
    result, group = chorus.report(IN_ORDER)
    assert group["verdict"] == "inconclusive"
    result.stdout.fnmatch_lines(
        ["*could not be compared with the others: comparing two answers did not end within 0.4 s"]
    )


def test_a_function_that_hangs_is_named(chorus):
    released = chorus.convos.path / "released"
    wait = f"    while not Path({str(released)!r}).exists():\n        time.sleep(0.01)\n    return False\n"
    chorus.convos.write({"a/checks.py": f"import time\nfrom pathlib import Path\ndef same(one, other):\n{wait}"})
    agree = 'by = "python:checks.py:same"\nat_least = 0.5'
    chorus.says(*"ABCD", agree=agree, more='runs = 2\ntimeout = "0.4s"')
    with pytest.warns(UserWarning, match="did not wait for tools that still run: same"):
        _, group = chorus.report(IN_ORDER)
    assert group["verdict"] == "inconclusive"
    released.touch()
    while running():
        time.sleep(0.01)


# -- beside what else there is


def test_a_fail_for_the_answers_is_one_beside_a_baseline(chorus):
    chorus.says(*["A"] * 6, agree="at_least = 0.8")
    assert chorus.run("--convo-update-baseline").ret == 0
    chorus.says(*"ABCDEF", agree="at_least = 0.8")
    result = chorus.run("--convo-baseline=convo-baseline.json")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["flaky fail: * passed, 5 needed; * answers alike, 5 needed*", "FAILED a/convo.toml*"])


def test_cases_have_classes_of_their_own(chorus):
    cases = '[[case]]\nid = "one"\n[[case]]\nid = "two"\nagree = { by = "judge", at_least = 1 }\n'
    chorus.says("A", "B", more="agreement = 0.5")
    path = chorus.convos.path / "a/convo.toml"
    path.write_text(path.read_text() + cases)
    chorus.same = lambda request: verdict(True)
    result = chorus.run("--convo-record=new", IN_ORDER)
    assert result.parseoutcomes().get("passed") == 2, result.stdout.str()
    assert (chorus.convos.path / "a/__recordings__/two/agreement.yaml").exists()


def test_x_and_lf_know_a_group_whose_answers_disagree(chorus):
    chorus.says("A", "B", agree="at_least = 1")
    chorus.says("A", "B", agree="at_least = 1", name="b")
    assert chorus.run("-x", IN_ORDER).parseoutcomes()["failed"] == 1
    assert chorus.convos.lastfailed()
    chorus.texts = ["A"]
    result = chorus.run("--lf", IN_ORDER)
    assert result.parseoutcomes().get("passed") == 1, result.stdout.str()
