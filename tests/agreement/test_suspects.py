from __future__ import annotations

from itertools import chain, combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import fisher_exact

from pytest_convo.agreement.regression import Arm, fisher_p
from pytest_convo.agreement.suspects import Case, could_be_confirmed, halves, holm, independent, suspects_of, suspicious

GOOD = Case("good", Arm(9, 10), Arm(10, 10), Arm(5, 5))
BAD = Case("bad", Arm(10, 10), Arm(9, 10), Arm(1, 5), Arm(0, 10))
FALSE_ALARM = Case("false alarm", Arm(10, 10), Arm(8, 10), Arm(3, 5), Arm(9, 10))

p_values = st.lists(st.floats(0, 1), max_size=6)


# --- halves


def test_every_second_run_screens_and_the_rest_is_kept():
    assert halves(["run-1", "run-2", "run-3", "run-4", "run-5"]) == (["run-2", "run-4"], ["run-1", "run-3", "run-5"])
    assert halves(range(20)) == (range(1, 20, 2), range(0, 20, 2))


@given(st.integers(0, 40))
def test_each_run_is_in_one_half_and_an_odd_one_confirms(runs):
    screen, rest = halves(range(runs))
    assert sorted([*screen, *rest]) == list(range(runs))
    assert 0 <= len(rest) - len(screen) <= 1


# --- holm


def test_holm_by_hand():
    """0.01 · 4, then 0.02 · 3, then 0.03 · 2 and 0.04 · 1, of which none may be below the one before."""
    assert holm([0.03, 0.01, 0.04, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([]) == []
    assert holm([0.9, 0.6]) == [1, 1]


@given(p_values)
def test_holm_closes_bonferroni(p_values):
    """A hypothesis goes where each set of hypotheses with it in goes by Bonferroni (Marcus, Peritz, Gabriel 1976)."""
    indices = range(len(p_values))
    sets = list(chain.from_iterable(combinations(indices, size) for size in range(1, len(p_values) + 1)))
    for index, adjusted in zip(indices, holm(p_values), strict=True):
        worst = max(min(1, len(each) * min(p_values[other] for other in each)) for each in sets if index in each)
        assert adjusted == pytest.approx(worst)


@given(p_values.flatmap(lambda values: st.tuples(st.just(values), st.permutations(range(len(values))))))
def test_holm_does_not_mind_the_order(values_and_order):
    values, order = values_and_order
    assert holm([values[index] for index in order]) == [holm(values)[index] for index in order]


# --- screening and confirming


@pytest.mark.parametrize(
    "screen, now, doubtful",
    [
        (Arm(10, 10), Arm(5, 5), False),
        (Arm(10, 10), Arm(4, 5), False),
        (Arm(10, 10), Arm(3, 5), True),
        (Arm(5, 10), Arm(0, 5), True),
        (Arm(4, 10), Arm(0, 5), False),
        (Arm(2, 2), Arm(0, 5), True),
        (Arm(1, 1), Arm(0, 5), False),
        (Arm(3, 3), Arm(0, 2), False),
        (Arm(0, 10), Arm(5, 5), False),
        (Arm(), Arm(0, 5), False),
        (Arm(10, 10), Arm(), False),
    ],
)
def test_a_case_is_suspicious_by_fisher_s_test_below_a_tenth(screen, now, doubtful):
    case = Case("case", screen, Arm(10, 10), now)
    assert case.is_suspicious is doubtful
    table = [[now.passes, now.fails], [screen.passes, screen.fails]]
    assert doubtful is bool(fisher_exact(table, alternative="less").pvalue < 0.1 - 1e-12)


def test_the_suspicious_ones_are_named_in_the_order_of_the_cases():
    assert suspicious([FALSE_ALARM, GOOD, BAD]) == ["false alarm", "bad"]


def test_the_runs_that_screened_do_not_confirm():
    lucky = Case("case", Arm(10, 10), Arm(2, 10), Arm(1, 5), Arm(1, 10))
    (suspect,) = suspects_of([lucky])
    assert suspect.p == fisher_p(Arm(2, 10), Arm(1, 10))
    assert not suspect.is_confirmed


def test_what_is_confirmed_comes_first_and_is_adjusted_for_all_suspects():
    confirmed, alarm = suspects_of([FALSE_ALARM, GOOD, BAD])
    assert (confirmed.case, confirmed.is_confirmed) == (BAD, True)
    assert confirmed.p == 2 * fisher_p(Arm(9, 10), Arm(0, 10))
    assert (alarm.case, alarm.is_confirmed) == (FALSE_ALARM, False)
    assert alarm.p == fisher_p(Arm(8, 10), Arm(9, 10))


@pytest.mark.parametrize("confirmation", [None, Arm()])
def test_without_fresh_runs_a_case_stays_a_suspect(confirmation):
    silent = Case("silent", Arm(10, 10), Arm(10, 10), Arm(0, 5), confirmation)
    suspects = suspects_of([silent, BAD])
    assert [(suspect.case.id, suspect.is_confirmed) for suspect in suspects] == [("bad", True), ("silent", False)]
    assert suspects[1].p is None
    assert suspects[0].p == 2 * fisher_p(Arm(9, 10), Arm(0, 10))


def test_many_suspects_ask_for_more_evidence_each():
    case = Case("case", Arm(10, 10), Arm(10, 10), Arm(0, 5), Arm(5, 10))
    assert suspects_of([case])[0].is_confirmed
    assert not any(suspect.is_confirmed for suspect in suspects_of([case] * 3))


@pytest.mark.parametrize(
    "rest, fresh, among, enough",
    [(3, 10, 1, True), (1, 10, 1, False), (2, 10, 2, False), (10, 0, 1, False), (10, 2, 1, True)],
)
def test_whether_a_case_could_be_confirmed_at_all(rest, fresh, among, enough):
    case = Case("case", Arm(3, 3), Arm(rest, rest), Arm(0, 5))
    assert could_be_confirmed(case, among, fresh) is enough


def test_cases_that_judge_the_same_answers_are_one():
    often, seldom, tie, other = (
        Case("a", Arm(5, 5), Arm(5, 5), Arm(5, 5), answers="x"),
        Case("c", Arm(5, 5), Arm(4, 5), Arm(0, 5), answers="x"),
        Case("b", Arm(4, 5), Arm(5, 5), Arm(5, 5), answers="x"),
        Case("y", Arm(5, 5), Arm(5, 5), Arm(5, 5)),
    )
    assert independent([seldom, often]) == [seldom]
    assert independent([often, seldom, tie]) == [tie]
    assert independent([often, other]) == [often, other]
    assert independent([]) == []
