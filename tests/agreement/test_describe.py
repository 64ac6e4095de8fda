from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.agreement.describe import GroupReport, RunReport, describe, headline
from pytest_convo.agreement.outcome import Outcome
from pytest_convo.agreement.verdict import Tally, Verdict, rule
from pytest_convo.texts import printable

SHARE = Fraction(4, 5)
MISSING = 'contains: the reply does not hold "30 days"'
POLICY = (
    "Thank you for asking! Our policy is simple and generous: any tea can be sent back within {} days, free of charge."
)


def passed(number: int, answer: str = "30 days", **more) -> RunReport:
    return RunReport(f"run-{number}", Outcome.PASS, answer=answer, **more)


def failed(number: int, reason: str = MISSING, answer: str = "45 days", **more) -> RunReport:
    return RunReport(f"run-{number}", Outcome.FAIL, reason, answer, **more)


def broken(number: int, reason: str = "503 from the server, after 4 attempts", **more) -> RunReport:
    return RunReport(f"run-{number}", Outcome.ERROR, reason, **more)


def spared(number: int) -> RunReport:
    return RunReport(f"run-{number}", None)


def group(*runs: RunReport, declared: int | None = None, agreement=SHARE) -> GroupReport:
    asked = rule(len(runs), agreement)
    verdict = asked.decide(Tally.of(run.outcome for run in runs if run.outcome is not None))
    return GroupReport(verdict, asked, declared or len(runs), runs)


def test_a_stable_pass():
    report = group(*(passed(number, seconds=0.8) for number in range(1, 6)))
    assert describe(report) == (
        "stable pass: 5 of 5 runs passed, 4 needed\n"
        "  answers: 5 × «30 days»\n"
        "  pass rate: 62 to 100 % (95 % interval); even a bot at 55 % does as well 1 time in 20\n"
        "  seconds: 0.8 a run"
    )
    assert headline(report) == "stable pass: 5 of 5 runs passed, 4 needed"


def test_a_flaky_pass():
    report = group(passed(1), passed(2), failed(3), passed(4, "**30 Days**"), passed(5))
    assert describe(report) == (
        "flaky pass: 4 of 5 runs passed, 4 needed\n"
        "  answers (60 % of pairs agree): 4 × «30 days» · 1 × «45 days»\n"
        "  difference: [-30-]{+45+} days\n"
        "  run-3 failed:\n"
        '    contains: the reply does not hold "30 days"\n'
        "  pass rate: 37 to 98 % (95 % interval)\n"
        "  close call: would flip in about 36 % of reruns"
    )
    assert headline(report) == "flaky pass: 4 of 5 runs passed, 4 needed"


def test_a_flaky_fail():
    runs = passed(1, seconds=0.81), failed(2, seconds=1.3), passed(3, seconds=0.9), failed(4, seconds=2.25), passed(5)
    assert describe(group(*runs)) == (
        "flaky fail: 3 of 5 runs passed, 4 needed\n"
        "  answers (40 % of pairs agree): 3 × «30 days» · 2 × «45 days»\n"
        "  difference: [-30-]{+45+} days\n"
        "  run-2, run-4 failed:\n"
        '    contains: the reply does not hold "30 days"\n'
        "  pass rate: 21 to 91 % (95 % interval)\n"
        "  close call: would flip in about 37 % of reruns\n"
        "  seconds: 0.8 to 2.2 a run"
    )
    assert headline(group(*runs)) == f"flaky fail: 3 of 5 runs passed, 4 needed ({MISSING})"


def test_a_stable_fail():
    report = group(*(failed(number) for number in range(1, 6)))
    assert describe(report) == (
        "stable fail: 0 of 5 runs passed, 4 needed\n"
        "  answers: 5 × «45 days»\n"
        "  run-1 to run-5 failed:\n"
        '    contains: the reply does not hold "30 days"\n'
        "  pass rate: 0 to 38 % (95 % interval); even a bot at 45 % does as badly 1 time in 20"
    )
    assert headline(report) == f"stable fail: 0 of 5 runs passed, 4 needed ({MISSING})"


def test_an_inconclusive_group():
    report = group(passed(1), passed(2), passed(3), broken(4, retried=True), broken(5, retried=True))
    assert describe(report) == (
        "inconclusive: 3 of 3 runs passed, 4 needed, 2 errors\n"
        "  answers: 3 × «30 days»\n"
        "  run-4, run-5 measured nothing (error):\n"
        "    503 from the server, after 4 attempts\n"
        "  run-4, run-5 were retried after an error\n"
        "  pass rate: 46 to 100 % (95 % interval)"
    )
    expected = "inconclusive: 3 of 3 runs passed, 4 needed, 2 errors (503 from the server, after 4 attempts)"
    assert headline(report) == expected


def test_a_group_that_measured_nothing():
    assert describe(group(*(broken(number, "no key: set OPENAI_API_KEY") for number in (1, 2)))) == (
        "inconclusive: no run measured anything, 2 needed, 2 errors\n"
        "  run-1, run-2 measured nothing (error):\n"
        "    no key: set OPENAI_API_KEY"
    )


def test_a_subset_of_the_runs():
    report = group(passed(2), passed(4), declared=5)
    assert describe(report) == (
        "stable pass: 2 of 2 runs passed, 2 needed (2 of 5 runs selected)\n"
        "  answers: 2 × «30 days»\n"
        "  pass rate: 33 to 100 % (95 % interval); even a bot at 22 % does as well 1 time in 20\n"
        "  close call: would flip in about 27 % of reruns"
    )
    assert headline(report) == "stable pass: 2 of 2 runs passed, 2 needed (2 of 5 runs selected)"


def test_an_early_stop():
    report = group(failed(1), passed(2), failed(3, "timeout: 120 s were not enough", ""), spared(4), spared(5))
    assert describe(report) == (
        "flaky fail: 1 of 3 runs passed, 4 needed; decided early, 2 runs spared\n"
        "  answers (no two agree): 1 × «45 days» · 1 × «30 days»\n"
        "  difference: [-45-]{+30+} days\n"
        "  run-1 failed:\n"
        '    contains: the reply does not hold "30 days"\n'
        "  run-3 failed:\n"
        "    timeout: 120 s were not enough\n"
        "  pass rate: 4 to 82 % (95 % interval)\n"
        "  close call: would flip in about 16 % of reruns"
    )


def test_a_pass_in_spite_of_an_error():
    report = group(passed(1), broken(2), passed(3), passed(4, retried=True), passed(5))
    assert describe(report).splitlines()[0] == "stable pass: 4 of 4 runs passed, 4 needed, 1 error"
    assert "  run-2 measured nothing (error):" in describe(report).splitlines()
    assert "  run-4 was retried after an error" in describe(report).splitlines()


def test_a_sequential_test():
    runs = [*(passed(number) for number in range(1, 11)), *(spared(number) for number in range(11, 21))]
    assert describe(group(*runs, agreement="sprt")) == (
        "stable pass: 10 of 10 runs passed, sequential test of 0.95 against 0.7; decided early, 10 runs spared\n"
        "  answers: 10 × «30 days»\n"
        "  pass rate: 78 to 100 % (95 % interval); even a bot at 74 % does as well 1 time in 20"
    )


def test_a_sequential_test_that_ran_out_of_runs_has_no_reason_to_name():
    report = group(passed(1), failed(2), passed(3), agreement="sprt")
    assert headline(report) == "inconclusive: 2 of 3 runs passed, sequential test of 0.95 against 0.7"


def test_long_answers_stand_one_a_line_and_show_where_they_differ():
    report = group(passed(1, POLICY.format(30)), passed(2, POLICY.format("30\n")), failed(3, answer=POLICY.format(45)))
    assert describe(report).splitlines()[1:4] == [
        "  answers (33 % of pairs agree):",
        "    2 × «…sent back within 30 days, free of charge.»",
        "    1 × «…sent back within 45 days, free of charge.»",
    ]


def test_many_kinds_of_answers_are_counted_but_not_all_shown():
    report = group(*(failed(number, answer=str(number % 8)) for number in range(1, 21)))
    expected = "  answers (8 % of pairs agree): 3 × «1» · 3 × «2» · 3 × «3» · 3 × «4» · 2 × «5» · 6 × other answers"
    assert describe(report).splitlines()[1] == expected


def test_each_reason_stands_once_and_the_most_frequent_first():
    runs = [
        failed(1, "A"),
        failed(2, "B"),
        failed(3, "B\n"),
        failed(5, "B"),
        failed(6, "B"),
        failed(7, "B"),
        failed(9, "A"),
    ]
    lines = describe(group(*runs)).splitlines()
    assert lines[2:6] == ["  run-2, run-3, run-5 to run-7 failed:", "    B", "  run-1, run-9 failed:", "    A"]
    assert headline(group(*runs)).endswith("(B)")


def test_a_reason_keeps_its_lines_and_cannot_steer_the_terminal():
    reason = "\nequals:\n  - 30 days\n\n  + \x1b[31m45 days\n"
    lines = describe(group(failed(1, reason), failed(2, reason))).splitlines()
    assert lines[2:7] == [
        "  run-1, run-2 failed:",
        "    equals:",
        "      - 30 days",
        "",
        "      + \\x1b[31m45 days",
    ]
    assert headline(group(failed(1, reason), failed(2, reason))).endswith("(equals:)")


def test_a_fail_without_a_reason_is_named_all_the_same():
    report = group(failed(1, "", ""), failed(2, " \n", ""))
    assert describe(report).splitlines()[1] == "  run-1, run-2 failed"
    assert headline(report) == "stable fail: 0 of 2 runs passed, 2 needed"


def test_runs_without_numbers_are_listed():
    runs = (RunReport(name, Outcome.FAIL, "no") for name in ("one", "two", "three"))
    assert "  one, two, three failed:" in describe(group(*runs)).splitlines()


def test_many_runs_need_no_word_on_what_few_prove():
    assert "1 time in 20" in describe(group(*(passed(number) for number in range(20))))
    assert "1 time in 20" not in describe(group(*(passed(number) for number in range(21))))


def test_one_run_is_spoken_of_in_the_singular():
    assert describe(group(passed(3), declared=5)).startswith("stable pass: 1 of 1 run passed, 1 needed (1 of 5 runs")
    runs = passed(1), passed(2), passed(3), passed(4), spared(5)
    assert describe(group(*runs)).splitlines()[0].endswith("; decided early, 1 run spared")


reports = st.builds(
    RunReport,
    run=st.integers(1, 30).map("run-{}".format),
    outcome=st.sampled_from(Outcome),
    reason=st.sampled_from(["", "A", " \nA", "A\n  B \n", "B\t\r\n\nC"]),
    answer=st.sampled_from(["", "30", "*30*", POLICY.format(30), POLICY.format(45), "30 " * 50, "x" * 120]),
    seconds=st.floats(0, 600),
    retried=st.booleans(),
)


@given(st.lists(reports, min_size=1, max_size=12))
def test_whatever_the_runs_did_the_paragraph_is_plain_and_narrow(runs):
    report = group(*runs)
    lines = describe(report).split("\n")
    assert lines[0] in headline(report)
    assert "\n" not in headline(report)
    assert all(len(line) <= 100 for line in lines)
    assert all(line == line.rstrip() and line[:2] in ("  ", "") for line in lines[1:])


@given(st.lists(reports, min_size=1, max_size=12))
def test_a_decided_group_names_each_reason_once(runs):
    lines = describe(group(*runs)).splitlines()
    titles = [line for line in lines if line.startswith("  run-") and " failed" in line]
    reasons = {printable(run.reason).strip("\n") for run in runs if run.outcome is Outcome.FAIL}
    assert len(titles) == len(reasons)


def test_a_verdict_may_come_as_plain_text_from_another_process():
    report = group(passed(1), failed(2))
    plain = GroupReport(
        str(report.verdict),
        report.rule,
        2,
        tuple(RunReport(run.run, str(run.outcome), run.reason) for run in report.runs),
    )
    assert report.verdict is Verdict.FAIL
    assert describe(plain).splitlines()[0] == describe(report).splitlines()[0]


def test_a_verdict_that_stands_before_all_runs_are_heard_of_says_so():
    early = GroupReport(Verdict.FAIL, rule(5, SHARE), 5, (failed(1), failed(2)))
    assert headline(early).startswith("stable fail: 0 of 2 runs passed, 4 needed; decided without the other 3 (")
    last = GroupReport(Verdict.PASS, rule(5, SHARE), 5, tuple(passed(number) for number in range(1, 5)))
    assert headline(last) == "stable pass: 4 of 4 runs passed, 4 needed; decided without the other run"


def test_runs_that_were_skipped_are_counted():
    some = GroupReport(Verdict.INCONCLUSIVE, rule(3, SHARE), 3, (passed(1),), skipped=2)
    assert headline(some).startswith("inconclusive: 1 of 1 run passed, 3 needed; 2 runs skipped")
