from __future__ import annotations

import json
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.agreement.describe import describe, headline
from pytest_convo.agreement.outcome import Outcome
from pytest_convo.agreement.report import GroupReport, RunReport
from pytest_convo.agreement.said import answers_figures, answers_line
from pytest_convo.agreement.verdict import Verdict, rule

SHARE = Fraction(4, 5)
POLICY = "Thank you for asking! Our policy is simple: any tea can be sent back within {} days, free of charge."


def group(*answers: str, labels: str = "", at_least: Fraction | None = None, fails: str = "") -> GroupReport:
    """A group with these answers, in classes by one letter each; a "-" stands for an error, as is an answer "-"."""
    runs = tuple(
        RunReport(
            f"run-{number}",
            Outcome.ERROR if answer == "-" else Outcome.FAIL if answer and answer in fails else Outcome.PASS,
            answer="" if answer == "-" else answer,
            alike=labels[number - 1 : number].strip("-"),
        )
        for number, answer in enumerate(answers, 1)
    )
    asked = rule(len(runs), SHARE, at_least=at_least)
    open_report = GroupReport(Verdict.INCONCLUSIVE, asked, len(runs), runs)
    verdict = asked.decide(open_report.tally)
    assert verdict is not None
    return GroupReport(verdict, asked, len(runs), runs)


# --- the classes of a group


def test_answers_are_classed_by_their_words_where_nobody_told_their_classes():
    report = group("45 days", "30 days", "", "**30** Days", "-")
    assert report.classes == [[1, 3], [0]]
    assert report.tally.alike == (2, 1)


def test_answers_are_classed_as_the_session_told():
    report = group("30 days", "thirty days", "a month", "", "-", labels="aabc-")
    assert report.classes == [[0, 1], [2], [3]]
    assert report.tally.alike == (2, 1, 1)


# --- one line


def test_the_line_counts_the_answers_of_each_class():
    assert answers_line(group("30 days", "45 days", "30 days", "30 Days", "30 days"), 80) == (
        "4 × «30 days» · 1 × «45 days» (60 % of pairs agree)"
    )


def test_where_all_say_the_same_no_agreement_needs_words():
    assert answers_line(group(*["30 days"] * 5), 80) == "5 × «30 days»"


def test_nobody_answered():
    assert answers_line(group("", "-"), 80) == ""
    assert answers_figures(group("", "-")) == {"agreement": None, "plurality": None, "classes": [], "others": 0}


def test_an_answer_without_a_text_has_a_class_all_the_same():
    assert answers_line(group("", "", "30 days", labels="aab"), 80) == (
        "2 × no text · 1 × «30 days» (33 % of pairs agree)"
    )


def test_long_answers_are_cut_to_their_difference():
    line = answers_line(group(*[POLICY.format(30)] * 4, POLICY.format(45)), 100)
    assert line == "4 × «…within 30 days, free…» · 1 × «…within 45 days, free…» (60 % of pairs agree)"


def test_where_there_is_little_room_fewer_classes_are_shown():
    report = group(*"abcdefgh")
    assert answers_line(report, 61) == "1 × «a» · 1 × «b» · 6 × other answers (no two agree)"
    assert answers_line(report, 20) == "1 × «a» · 7 × other…"


texts = st.one_of(
    st.sampled_from(["30", "*30*", POLICY.format(30), POLICY.format(45), "x" * 200]), st.text(max_size=40)
)


@given(st.lists(texts, min_size=2, max_size=12), st.integers(20, 120))
def test_the_line_is_one_line_and_never_wider_than_asked(answers, width):
    line = answers_line(group(*answers), width)
    assert len(line) <= width
    assert not any(character in line for character in "\n\r\x1b")


# --- for programs


def test_figures_hold_agreement_plurality_and_the_classes():
    assert answers_figures(group("30 days", "45 days", "30 days", "30 days", "30 days")) == {
        "agreement": 0.6,
        "plurality": 0.8,
        "classes": [{"count": 4, "answer": "30 days"}, {"count": 1, "answer": "45 days"}],
        "others": 0,
    }


def test_figures_say_how_many_were_needed():
    assert answers_figures(group(*["a"] * 5, at_least=SHARE))["needed"] == 4


def test_figures_are_bounded():
    figures = answers_figures(group(*(f"{number} " * 1000 for number in range(50))))
    assert (len(figures["classes"]), figures["others"]) == (20, 30)
    assert len(json.dumps(figures)) < 20_000


# --- in the paragraph


def test_answers_that_differ_in_a_few_words_are_shown_with_their_difference():
    lines = describe(group(*[POLICY.format(30)] * 4, POLICY.format(45))).splitlines()
    assert lines[4] == "  difference: …tea can be sent back within [-30-]{+45+} days, free of charge."


def test_answers_that_have_little_in_common_are_not_shown_as_a_difference():
    assert "difference" not in describe(group("Within 30 days, if it is unopened.", "Of course!"))


def test_answers_that_differ_in_case_only_show_that_where_the_session_told_two_classes():
    assert "difference: id [-a17-]{+A17+}" in describe(group("id a17", "id A17", labels="ab"))


@given(st.lists(texts, min_size=2, max_size=5))
def test_the_difference_is_bounded_and_narrow(answers):
    lines = describe(group(*answers)).split("\n")
    assert all(len(line) <= 100 for line in lines[1:])
    assert len(lines) < 25


def test_a_group_whose_answers_are_too_different_says_what_was_needed():
    report = group("30 days", "30 days", "45 days", "30 days", "45 days", at_least=SHARE)
    assert describe(report) == (
        "flaky fail: 5 of 5 runs passed, 4 needed; 3 of 5 answers alike, 4 needed\n"
        "  answers (40 % of pairs agree): 3 × «30 days» · 2 × «45 days»\n"
        "  difference: [-30-]{+45+} days\n"
        "  pass rate: 62 to 100 % (95 % interval); even a bot at 55 % does as well 1 time in 20"
    )
    assert headline(report) == "flaky fail: 5 of 5 runs passed, 4 needed; 3 of 5 answers alike, 4 needed"


def test_a_single_reason_does_not_explain_that_the_answers_differ():
    report = group("30 days", "30 days", "45 days", "30 days", "a month", at_least=SHARE, fails="a month")
    assert report.verdict is Verdict.FAIL
    assert headline(report) == "flaky fail: 4 of 5 runs passed, 4 needed; 3 of 5 answers alike, 4 needed"


def test_a_pass_says_so_too_and_that_a_flip_is_meant_of_the_passes():
    report = group("30 days", "30 days", "45 days", "30 days", "30 days", at_least=SHARE, fails="45 days")
    assert headline(report) == "flaky pass: 4 of 5 runs passed, 4 needed; 4 of 5 answers alike, 4 needed"
    assert "  close call: by passes alone it would flip in about 36 % of reruns" in describe(report).splitlines()


def test_a_tie_is_named():
    report = group("30", "45", "30", "45", at_least=Fraction(1, 2))
    assert headline(report) == (
        "inconclusive: 4 of 4 runs passed, 4 needed; 2 of 4 answers alike, 2 needed, and 2 others alike: a tie"
    )
