from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.agreement.gate import Case, GateResult, describe, headline, judge, suspicious
from pytest_convo.agreement.power import Stratum, smallest_drop
from pytest_convo.agreement.regression import Arm, fisher_p, stratified_p

REGRESSED, NOT_SHOWN, INCONCLUSIVE = GateResult

STEADY = [Case(f"convos/{number}", Arm(9, 10), Arm(10, 10), Arm(5, 5)) for number in range(10)]
BROKEN = Case("convos/refund", Arm(10, 10), Arm(10, 10), Arm(0, 5), Arm(0, 10))
ALARM = Case("convos/vague", Arm(10, 10), Arm(9, 10), Arm(3, 5), Arm(9, 10))


def fallen(case: Case, passes: int) -> Case:
    return replace(case, now=Arm(passes, case.now.runs))


@st.composite
def arms(draw: st.DrawFn, most: int = 6) -> Arm:
    runs = draw(st.integers(0, most))
    return Arm(draw(st.integers(0, runs)), runs)


suites = st.lists(st.tuples(arms(), arms(), arms(), st.none() | arms(10)), max_size=5).map(
    lambda drawn: [Case(f"case-{number}", *parts) for number, parts in enumerate(drawn)]
)


# --- the suite


def test_a_suite_that_does_as_before_has_not_regressed():
    gate = judge(STEADY, confirmable=True)
    assert gate.result is NOT_SHOWN
    assert (gate.cases, gate.before, gate.now, gate.p) == (10, Arm(190, 200), Arm(50, 50), 1)
    assert gate.reason == ""


def test_a_suite_regresses_by_the_exact_stratified_test_of_all_its_runs():
    cases = [fallen(case, 4) if number % 2 else fallen(case, 3) for number, case in enumerate(STEADY)]
    gate = judge(cases, confirmable=False)
    assert gate.result is REGRESSED
    assert gate.p == stratified_p([(Arm(19, 20), case.now) for case in cases]) < 0.025
    assert gate.drop == pytest.approx(0.95 - 0.7)


@pytest.mark.parametrize("passes, p, result", [(3, 1 / 30, NOT_SHOWN), (2, 1 / 230, REGRESSED)])
def test_the_suite_has_half_of_the_chance_of_a_false_alarm(passes, p, result):
    """After 20 of 20, C(5, 2) / C(25, 2) and C(5, 3) / C(25, 3)."""
    gate = judge([Case("case", Arm(10, 10), Arm(10, 10), Arm(passes, 5))], confirmable=False)
    assert gate.p == pytest.approx(p)
    assert gate.result is result


# --- single cases


def test_one_broken_case_among_many_is_confirmed():
    gate = judge([*STEADY, BROKEN, ALARM], confirmable=True)
    assert gate.p > 0.025
    assert gate.result is REGRESSED
    assert [suspect.case.id for suspect in gate.confirmed] == ["convos/refund"]
    assert [suspect.case.id for suspect in gate.unconfirmed] == ["convos/vague"]
    assert gate.confirmed[0].p == 2 * fisher_p(Arm(10, 10), Arm(0, 10))


def test_a_case_that_does_well_when_run_again_is_no_regression():
    gate = judge([*STEADY, ALARM], confirmable=True)
    assert gate.result is NOT_SHOWN
    assert gate.confirmed == ()


def test_offline_only_the_suite_is_judged():
    gate = judge([*STEADY, BROKEN], confirmable=False)
    assert gate.result is NOT_SHOWN
    assert [(suspect.case.id, suspect.p) for suspect in gate.unconfirmed] == [("convos/refund", None)]


def test_suspicion_and_judgement_agree_on_whom_to_run_again():
    cases = [*STEADY, BROKEN, ALARM]
    gate = judge(cases, confirmable=True)
    assert set(suspicious(cases)) == {suspect.case.id for suspect in (*gate.confirmed, *gate.unconfirmed)}


@pytest.mark.parametrize("confirmation", [None, Arm(), Arm(0, 1)])
def test_a_suspicion_that_could_not_be_looked_into_leaves_it_open(confirmation):
    gate = judge([*STEADY, replace(BROKEN, confirmation=confirmation)], confirmable=True)
    assert gate.result is INCONCLUSIVE
    assert gate.reason == "1 suspicious case could not be run again often enough"


def test_some_fresh_runs_are_enough_where_they_could_have_confirmed_it():
    assert judge([*STEADY, replace(BROKEN, confirmation=Arm(4, 4))], confirmable=True).result is NOT_SHOWN
    assert judge([*STEADY, replace(BROKEN, confirmation=Arm(0, 4))], confirmable=True).result is REGRESSED


def test_a_baseline_too_small_to_confirm_by_is_no_reason_to_be_inconclusive():
    case = Case("small", Arm(2, 2), Arm(1, 1), Arm(0, 5), Arm(0, 10))
    gate = judge([*STEADY, case], confirmable=True)
    assert gate.result is NOT_SHOWN
    assert gate.unconfirmed[0].p == pytest.approx(1 / 11)


# --- nothing to say


@pytest.mark.parametrize(
    "cases",
    [
        [],
        [Case("new", Arm(), Arm(), Arm(5, 5))],
        [Case("no run now", Arm(10, 10), Arm(10, 10), Arm())],
        [Case("no run now", Arm(10, 10), Arm(10, 10), Arm(), Arm(0, 10))],
    ],
)
def test_nothing_to_compare_is_inconclusive(cases):
    gate = judge(cases, confirmable=True)
    assert (gate.result, gate.cases, gate.p) == (INCONCLUSIVE, 0, 1)
    assert (gate.drop, gate.largest_drop, gate.smallest_drop) == (None, None, None)
    assert describe(gate) == headline(gate) == "INCONCLUSIVE: no case can be compared"


@pytest.mark.parametrize(
    "case",
    [
        Case("3 and 3 runs", Arm(1, 1), Arm(2, 2), Arm(3, 3)),
        Case("single runs", Arm(), Arm(1, 1), Arm(1, 1)),
        Case("never passed", Arm(0, 10), Arm(0, 10), Arm(0, 5)),
    ],
)
def test_a_comparison_that_could_not_have_shown_anything_is_inconclusive(case):
    """For 3 and 3 runs, had all failed now: 1 / C(6, 3) = 0.05."""
    gate = judge([case], confirmable=True)
    assert gate.result is INCONCLUSIVE
    assert gate.reason == "too few runs to show anything, even if all had failed now"
    assert gate.smallest_drop is None


def test_a_suite_of_such_cases_can_show_something():
    case = Case("3 and 3 runs", Arm(1, 1), Arm(2, 2), Arm(3, 3))
    assert judge([case, case], confirmable=False).result is NOT_SHOWN


def test_single_cases_alone_may_be_what_can_be_shown():
    """One run now: 1 / 21 for the suite; but 1 / 11 is suspicious, and ten fresh runs can confirm it."""
    case = Case("case", Arm(10, 10), Arm(10, 10), Arm(1, 1))
    assert judge([case], confirmable=True).result is NOT_SHOWN
    assert judge([case], confirmable=False).result is INCONCLUSIVE


# --- how large a drop


def test_the_smallest_visible_drop_is_that_of_shrunken_rates():
    gate = judge(STEADY, confirmable=True)
    assert gate.smallest_drop == smallest_drop([Stratum(19.5 / 21, 20, 5)] * 10, 0.025, 0.8)
    assert 0.1 < gate.smallest_drop < 0.25


def test_not_inferior_is_what_excludes_the_drop():
    gate = judge(STEADY, confirmable=True, non_inferior=0.05)
    assert gate.result is NOT_SHOWN
    assert gate.largest_drop < 0.05


def test_not_shown_is_not_enough_to_be_not_inferior():
    cases = [fallen(case, 5 - number % 2) for number, case in enumerate(STEADY)]
    assert judge(cases, confirmable=True).result is NOT_SHOWN
    gate = judge(cases, confirmable=True, non_inferior=0.05)
    assert gate.result is INCONCLUSIVE
    assert gate.drop < 0.06 < gate.largest_drop
    assert judge(cases, confirmable=True, non_inferior=0.2).result is NOT_SHOWN


def test_a_regression_within_what_is_allowed_is_one():
    cases = [fallen(case, 4) for case in STEADY] * 10
    gate = judge(cases, confirmable=True, non_inferior=0.5)
    assert gate.largest_drop < 0.5
    assert gate.result is REGRESSED


@pytest.mark.parametrize("allowed", [0, 1, -0.1, 5])
def test_what_is_no_drop_is_refused(allowed):
    with pytest.raises(ValueError, match="above 0 and below 1"):
        judge(STEADY, confirmable=True, non_inferior=allowed)


# --- invariants


@given(
    suites.flatmap(lambda suite: st.tuples(st.just(suite), st.permutations(suite))),
    st.booleans(),
    st.sampled_from([None, 0.1]),
)
def test_the_order_of_the_cases_does_not_matter(orders, confirmable, non_inferior):
    suite, shuffled = orders
    one = judge(suite, confirmable=confirmable, non_inferior=non_inferior)
    assert one == judge(shuffled, confirmable=confirmable, non_inferior=non_inferior)


@given(suites, st.booleans())
def test_cases_without_runs_in_an_arm_change_nothing(suite, confirmable):
    empty = [Case("new", Arm(), Arm(), Arm(1, 3)), Case("gone", Arm(3, 3), Arm(2, 3), Arm(), Arm(0, 10))]
    assert judge([*empty, *suite], confirmable=confirmable) == judge(suite, confirmable=confirmable)


@given(suites, st.booleans())
def test_it_regresses_only_by_one_of_its_two_tests(suite, confirmable):
    gate = judge(suite, confirmable=confirmable)
    assert (gate.result is REGRESSED) == (gate.p <= 0.025 or bool(gate.confirmed))
    assert (gate.result is INCONCLUSIVE) == bool(gate.reason)
    assert confirmable or not gate.confirmed


@given(suites)
def test_what_it_found_can_be_written_down(suite):
    gate = judge(suite, confirmable=True)
    report = json.loads(json.dumps(gate.to_report()))
    assert report["result"] == gate.result
    assert (report["passes_before"], report["runs_now"]) == (gate.before.passes, gate.now.runs)
    assert len(report["confirmed"]) + len(report["unconfirmed"]) == len(gate.confirmed) + len(gate.unconfirmed)
    assert describe(gate).startswith(headline(gate))


# --- words


def test_the_words_for_a_suite_that_regressed():
    gate = judge([fallen(case, 3) for case in STEADY], confirmable=False)
    assert headline(gate) == "REGRESSED: 190 of 200 runs passed before, 30 of 50 now (-35 points), p < 0.0001"
    assert describe(gate) == f"{headline(gate)}\n  a drop of 16 points in every case would be seen 4 times in 5"


def test_the_words_for_a_case_that_regressed():
    assert describe(judge([*STEADY, BROKEN, ALARM], confirmable=True)) == (
        "REGRESSED: 229 of 240 runs passed before, 53 of 60 now (-7 points), p = 0.0457 > 0.025; "
        "1 case confirmed by fresh runs\n"
        "  confirmed by fresh runs:\n"
        "    convos/refund: 20 of 20 runs passed before, 0 of 5 now, 0 of 10 run again, p < 0.0001\n"
        "  suspicious, not confirmed:\n"
        "    convos/vague: 19 of 20 runs passed before, 3 of 5 now, 9 of 10 run again, p = 0.7632 > 0.025\n"
        "  a drop of 14 points in every case would be seen 4 times in 5"
    )


def test_the_words_where_nothing_was_shown():
    assert describe(judge(STEADY, confirmable=True)) == (
        "NOT SHOWN: 190 of 200 runs passed before, 50 of 50 now (+5 points), p = 1 > 0.025\n"
        "  the mean drop is 0.4 points at most (one-sided 95 % bound)\n"
        "  a drop of 16 points in every case would be seen 4 times in 5"
    )


def test_the_words_where_a_drop_is_to_be_excluded():
    cases = [fallen(case, 5 - number % 2) for number, case in enumerate(STEADY)]
    assert describe(judge(cases, confirmable=True, non_inferior=0.05)) == (
        "INCONCLUSIVE: the drop may be larger than is allowed; "
        "190 of 200 runs passed before, 45 of 50 now (-5 points), p = 0.1611 > 0.025\n"
        "  the mean drop is 14.6 points at most (one-sided 95 % bound); below 5 is asked for\n"
        "  a drop of 16 points in every case would be seen 4 times in 5"
    )


def test_the_words_for_too_few_runs():
    case = Case("case", Arm(1, 1), Arm(), Arm(1, 1))
    assert describe(judge([case], confirmable=True)) == (
        "INCONCLUSIVE: too few runs to show anything, even if all had failed now; "
        "1 of 1 run passed before, 1 of 1 now (±0 points), p = 1 > 0.025\n"
        "  the mean drop is 84.4 points at most (one-sided 95 % bound)\n"
        "  no drop, however large, would be seen 4 times in 5: make more runs"
    )


def test_a_list_of_suspects_ends_somewhere():
    cases = [replace(fallen(case, 2), id=f"convos/{number}") for number, case in enumerate(STEADY * 3)]
    text = describe(judge(cases, confirmable=False))
    assert text.count("2 of 5 now") == 10
    assert "\n    and 20 more\n" in text


def test_an_id_cannot_steer_the_terminal():
    text = describe(judge([*STEADY, replace(BROKEN, id="a\x1b[2J\nb")], confirmable=True))
    assert "\x1b" not in text
    assert r"a\x1b[2J b: 20 of 20" in text


def test_the_same_answers_count_once_for_the_suite():
    tests = [Case(f"t{number}", Arm(5, 5), Arm(5, 5), Arm(3, 5), answers="conversation") for number in range(6)]
    alone, together = judge(tests[:1], confirmable=False), judge(tests, confirmable=False)
    assert together.p == alone.p
    assert (together.cases, together.same_answers) == (6, 5)
    assert "5 cases judge the same answers as another: these count once" in describe(together)
