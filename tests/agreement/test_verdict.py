from __future__ import annotations

import math
import random
from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_convo.agreement.outcome import Outcome
from pytest_convo.agreement.verdict import Agreement, Rule, SequentialTest, Tally, Verdict, label, rule

PASS, FAIL, ERROR = Outcome.PASS, Outcome.FAIL, Outcome.ERROR


@st.composite
def agreements(draw: st.DrawFn, largest: int = 12) -> Agreement:
    n = draw(st.integers(1, largest))
    return Agreement(n, draw(st.integers(1, n)))


@st.composite
def ended_groups(draw: st.DrawFn) -> tuple[Agreement, list[Outcome]]:
    asked = draw(agreements())
    return asked, draw(st.lists(st.sampled_from(Outcome), min_size=asked.n, max_size=asked.n))


def judged_in_turn(asked: Rule, outcomes: list[Outcome]) -> Iterator[Verdict | None]:
    tally = Tally()
    for outcome in outcomes:
        tally = tally.add(outcome)
        yield asked.decide(tally)


def first_verdict(asked: Rule, outcomes: list[Outcome]) -> Verdict | None:
    return next((verdict for verdict in judged_in_turn(asked, outcomes) if verdict is not None), None)


# --- Tally


@given(st.lists(st.sampled_from(Outcome)))
def test_a_tally_counts_each_outcome(outcomes):
    tally = Tally()
    for outcome in outcomes:
        tally = tally.add(outcome)
    assert tally == Tally.of(outcomes) == Tally.of(reversed(outcomes))
    assert (tally.passes, tally.fails, tally.errors) == tuple(map(outcomes.count, (PASS, FAIL, ERROR)))
    assert (tally.measured, tally.total) == (len(outcomes) - outcomes.count(ERROR), len(outcomes))


# --- Agreement


@pytest.mark.parametrize(
    "n, k, tally, verdict",
    [
        (5, 4, Tally(4, 0), Verdict.PASS),
        (5, 4, Tally(4, 1), Verdict.PASS),
        (5, 4, Tally(3, 1), None),
        (5, 4, Tally(3, 2), Verdict.FAIL),
        (5, 4, Tally(0, 2), Verdict.FAIL),
        (5, 4, Tally(3, 1, 1), Verdict.INCONCLUSIVE),
        (5, 4, Tally(3, 0, 2), Verdict.INCONCLUSIVE),
        (5, 4, Tally(4, 0, 1), Verdict.PASS),
        (5, 4, Tally(0, 0, 2), None),
        (1, 1, Tally(), None),
        (1, 1, Tally(1, 0), Verdict.PASS),
        (1, 1, Tally(0, 1), Verdict.FAIL),
        (1, 1, Tally(0, 0, 1), Verdict.INCONCLUSIVE),
        (3, 1, Tally(0, 2), None),
        (3, 1, Tally(0, 3), Verdict.FAIL),
        (3, 3, Tally(0, 1), Verdict.FAIL),
    ],
)
def test_a_group_is_decided_by_counting(n, k, tally, verdict):
    assert Agreement(n, k).decide(tally) == verdict


@given(ended_groups())
def test_exactly_one_verdict_holds_when_nothing_is_left(group):
    asked, outcomes = group
    tally = Tally.of(outcomes)
    passes, fails = tally.passes >= asked.k, tally.fails >= asked.n - asked.k + 1
    assert not (passes and fails)
    expected = Verdict.PASS if passes else Verdict.FAIL if fails else Verdict.INCONCLUSIVE
    assert asked.decide(tally) == expected


@pytest.mark.parametrize("n", range(1, 8))
def test_stopping_early_decides_as_all_runs_would_in_every_order(n):
    for k, outcomes in product(range(1, n + 1), product(Outcome, repeat=n)):
        asked = Agreement(n, k)
        assert first_verdict(asked, list(outcomes)) == asked.decide(Tally.of(outcomes))


@given(ended_groups(), st.randoms(use_true_random=False))
def test_the_order_in_which_runs_end_does_not_matter(group, chance: random.Random):
    asked, outcomes = group
    shuffled = list(outcomes)
    chance.shuffle(shuffled)
    assert first_verdict(asked, shuffled) == first_verdict(asked, outcomes)


@given(ended_groups())
def test_a_verdict_once_reached_is_never_taken_back(group):
    asked, outcomes = group
    verdicts = list(judged_in_turn(asked, outcomes))
    reached = [verdict for verdict in verdicts if verdict is not None]
    assert verdicts == [None] * (len(verdicts) - len(reached)) + reached
    assert len(set(reached)) == 1


@given(ended_groups())
def test_a_pass_holds_had_each_error_been_a_fail_and_a_fail_had_each_been_a_pass(group):
    asked, outcomes = group
    tally = Tally.of(outcomes)
    verdict = asked.decide(tally)
    assume(verdict is not Verdict.INCONCLUSIVE)
    worst = Tally(tally.passes, tally.fails + tally.errors)
    best = Tally(tally.passes + tally.errors, tally.fails)
    assert asked.decide(worst if verdict is Verdict.PASS else best) is verdict


@given(ended_groups())
def test_an_inconclusive_group_could_have_ended_either_way(group):
    asked, outcomes = group
    tally = Tally.of(outcomes)
    assume(asked.decide(tally) is Verdict.INCONCLUSIVE)
    assert asked.decide(Tally(tally.passes + tally.errors, tally.fails)) is Verdict.PASS
    assert asked.decide(Tally(tally.passes, tally.fails + tally.errors)) is Verdict.FAIL


@given(ended_groups(), st.data())
def test_a_better_run_never_makes_a_worse_verdict(group, data):
    asked, outcomes = group
    order = {Verdict.FAIL: 0, Verdict.INCONCLUSIVE: 1, Verdict.PASS: 2}
    better = {FAIL: ERROR, ERROR: PASS, PASS: PASS}
    position = data.draw(st.integers(0, asked.n - 1))
    improved = [*outcomes[:position], better[outcomes[position]], *outcomes[position + 1 :]]
    assert order[asked.decide(Tally.of(improved))] >= order[asked.decide(Tally.of(outcomes))]


@given(ended_groups())
def test_asking_for_more_passes_never_makes_a_better_verdict(group):
    asked, outcomes = group
    assume(asked.k < asked.n)
    stricter = Agreement(asked.n, asked.k + 1).decide(Tally.of(outcomes))
    assert stricter is not Verdict.PASS or asked.decide(Tally.of(outcomes)) is Verdict.PASS


@given(agreements())
def test_the_first_runs_are_the_fewest_that_can_pass(asked):
    assert asked.decide(Tally(asked.first)) is Verdict.PASS
    assert asked.decide(Tally(asked.first - 1)) is None


def test_an_error_replaced_by_its_retry_decides():
    asked = Agreement(5, 4)
    assert asked.decide(Tally(3, 1, 1)) is Verdict.INCONCLUSIVE
    assert asked.decide(Tally(4, 1)) is Verdict.PASS
    assert asked.decide(Tally(3, 2)) is Verdict.FAIL


def test_agreement_says_what_it_needs():
    assert (Agreement(5, 4).text, Agreement(5, 4).demand) == ("needs 4 of 5", "4 needed")


@pytest.mark.parametrize("n, k", [(5, 0), (5, 6), (0, 0), (0, 1)])
def test_agreement_cannot_need_none_or_more_than_all(n, k):
    with pytest.raises(ValueError, match=f"not {k}$"):
        Agreement(n, k)


# --- SequentialTest


def test_wald_s_lines_for_the_default_rates():
    """Wald 1945: accept above a line in the (runs, passes) plane, reject below one with the same slope."""
    good, bad, alpha, beta = 0.95, 0.7, 0.05, 0.05
    asked = SequentialTest(60, good, bad, alpha, beta)
    slope = math.log((1 - bad) / (1 - good)) / math.log(good * (1 - bad) / (bad * (1 - good)))
    height = math.log((1 - alpha) / beta) / math.log(good * (1 - bad) / (bad * (1 - good)))
    for runs, passes in product(range(61), repeat=2):
        if passes <= runs:
            beyond = (passes - slope * runs) / height
            expected = Verdict.PASS if beyond >= 1 else Verdict.FAIL if beyond <= -1 else None
            if runs == 60 and expected is None:
                expected = Verdict.INCONCLUSIVE
            assert asked.decide(Tally(passes, runs - passes)) == expected


def test_ten_passes_accept_and_two_fails_at_once_reject_by_default():
    asked = SequentialTest(30)
    assert asked.first == asked.shortest == 10
    assert (asked.decide(Tally(9)), asked.decide(Tally(10))) == (None, Verdict.PASS)
    assert (asked.decide(Tally(0, 1)), asked.decide(Tally(0, 2))) == (None, Verdict.FAIL)


def test_a_sequential_test_of_too_few_runs_cannot_pass_and_says_how_many_it_takes():
    asked = SequentialTest(5)
    assert (asked.first, asked.shortest) == (5, 10)
    assert asked.decide(Tally(5)) is Verdict.INCONCLUSIVE


def test_an_error_counts_as_a_run_but_as_no_evidence():
    asked = SequentialTest(12)
    assert asked.decide(Tally(9, 0, 2)) is None
    assert asked.decide(Tally(9, 0, 3)) is Verdict.INCONCLUSIVE
    assert asked.decide(Tally(10, 0, 2)) is Verdict.PASS


def chances(asked: SequentialTest, rate: float) -> dict[Verdict, float]:
    """Exactly, by carrying the distribution of the passes from run to run."""
    found = dict.fromkeys(Verdict, 0.0)
    still_open = {0: 1.0}
    for run in range(1, asked.n + 1):
        following: dict[int, float] = {}
        for passes, chance in still_open.items():
            for gained, part in (1, rate), (0, 1 - rate):
                verdict = asked.decide(Tally(passes + gained, run - passes - gained))
                if verdict is None:
                    following[passes + gained] = following.get(passes + gained, 0.0) + chance * part
                else:
                    found[verdict] += chance * part
        still_open = following
    return found


@pytest.mark.parametrize(
    "good, bad, alpha, beta", [(0.95, 0.7, 0.05, 0.05), (0.9, 0.5, 0.1, 0.02), (0.6, 0.4, 0.01, 0.1)]
)
def test_the_chances_of_error_keep_within_wald_s_bounds(good, bad, alpha, beta):
    """Wald 1945: alpha' ≤ alpha / (1 − beta), beta' ≤ beta / (1 − alpha), alpha' + beta' ≤ alpha + beta."""
    asked = SequentialTest(400, good, bad, alpha, beta)
    good_fails = chances(asked, good)[Verdict.FAIL]
    bad_passes = chances(asked, bad)[Verdict.PASS]
    assert good_fails <= alpha / (1 - beta)
    assert bad_passes <= beta / (1 - alpha)
    assert good_fails + bad_passes <= alpha + beta


@given(st.integers(1, 40), st.lists(st.sampled_from(Outcome), max_size=40))
def test_a_sequential_test_ends_with_its_runs_at_the_latest(n, outcomes):
    asked = SequentialTest(n)
    verdicts = list(judged_in_turn(asked, outcomes[:n]))
    assert Verdict.INCONCLUSIVE not in verdicts[: n - 1]
    assert len(verdicts) < n or verdicts[-1] is not None


def test_a_sequential_test_says_what_it_compares():
    asked = rule(20, "sprt", good=0.9, bad=0.5)
    assert asked.text == "sequential test of 0.9 against 0.5, at most 20 runs"
    assert asked.demand == "sequential test of 0.9 against 0.5"


@pytest.mark.parametrize(
    "settings, part",
    [
        ({"n": 0}, "at least one run, not 0"),
        ({"good": 0.7, "bad": 0.7}, "0 < bad < good < 1, not bad = 0.7 and good = 0.7"),
        ({"good": 1.0}, "0 < bad < good < 1, not bad = 0.7 and good = 1"),
        ({"bad": 0.0}, "0 < bad < good < 1"),
        ({"good": math.nan}, "0 < bad < good < 1"),
        ({"alpha": 0.0}, "above 0 and below 0.5, not 0 and 0.05"),
        ({"beta": 0.5}, "above 0 and below 0.5, not 0.05 and 0.5"),
    ],
)
def test_a_sequential_test_refuses_rates_that_cannot_be(settings, part):
    with pytest.raises(ValueError, match=part):
        SequentialTest(**{"n": 20, **settings})


# --- rule and label


def test_a_rule_is_agreement_unless_it_is_asked_to_be_sequential():
    assert rule(5, Fraction(4, 5)) == Agreement(5, 4)
    assert rule(2, Fraction(4, 5)) == Agreement(2, 2)
    assert rule(20, "sprt") == SequentialTest(20, 0.95, 0.7)


@pytest.mark.parametrize(
    "tally, verdict, expected",
    [
        (Tally(5, 0), Verdict.PASS, "stable pass"),
        (Tally(4, 0, 1), Verdict.PASS, "stable pass"),
        (Tally(4, 1), Verdict.PASS, "flaky pass"),
        (Tally(3, 2), Verdict.FAIL, "flaky fail"),
        (Tally(0, 2), Verdict.FAIL, "stable fail"),
        (Tally(0, 2, 1), Verdict.FAIL, "stable fail"),
        (Tally(3, 1, 1), Verdict.INCONCLUSIVE, "inconclusive"),
        (Tally(0, 0, 5), Verdict.INCONCLUSIVE, "inconclusive"),
    ],
)
def test_a_group_is_stable_whose_measured_runs_agree(tally, verdict, expected):
    assert label(tally, verdict) == expected
