from __future__ import annotations

import random
from collections.abc import Sequence
from math import log, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.stats import norm

from pytest_convo.agreement.drop import common_drop, largest_drop, likeliest_rate
from pytest_convo.agreement.regression import Arm, Pair

STRATA = [(Arm(4, 10), Arm(2, 20)), (Arm(3, 10), Arm(0, 10))]


@st.composite
def measured_arms(draw: st.DrawFn) -> Arm:
    runs = draw(st.integers(1, 25))
    return Arm(draw(st.integers(0, runs)), runs)


pairs = st.tuples(measured_arms(), measured_arms())
suites = st.lists(pairs, min_size=1, max_size=6)


def smallest_drop(suite: Sequence[Pair], level: float) -> float:
    """The lower bound: the upper one with the arms changed about."""
    return -largest_drop([(now, before) for before, now in suite], level)


@pytest.mark.parametrize(
    "suite, low, high",
    [
        ([(Arm(56, 70), Arm(48, 80))], 0.0528, 0.3382),
        ([(Arm(9, 10), Arm(3, 10))], 0.1700, 0.8406),
    ],
)
def test_the_bounds_of_one_case_that_newcombe_published(suite, low, high):
    """Newcombe 1998, "Interval estimation for the difference between independent proportions", table II, method 6."""
    assert (smallest_drop(suite, 0.975), largest_drop(suite, 0.975)) == pytest.approx((low, high), abs=5e-5)


def test_the_bounds_over_strata_that_another_program_finds():
    """The R package lrstat, in the example of its `mnRiskDiffCI`."""
    assert common_drop(STRATA) == pytest.approx(0.3, abs=1e-9)
    bounds = smallest_drop(STRATA, 0.975), largest_drop(STRATA, 0.975)
    assert bounds == pytest.approx((0.082536, 0.53206), abs=5e-6)


def test_the_common_drop_by_hand():
    """Weights of 10 · 20 / 30 and 10 · 10 / 20, drops of 0.4 − 0.1 and 0.3 − 0."""
    pairs = [(Arm(4, 10), Arm(2, 20)), (Arm(5, 10), Arm(10, 10))]
    assert common_drop(pairs) == pytest.approx((20 / 3 * 0.3 - 5 * 0.5) / (20 / 3 + 5))


@given(pairs, st.floats(-0.99, 0.99))
def test_the_likeliest_rate_has_the_highest_likelihood(pair, drop):
    before, now = pair

    def surprise(rate: float) -> float:
        parts = (before.passes, rate + drop), (before.fails, 1 - rate - drop), (now.passes, rate), (now.fails, 1 - rate)
        return -sum(count * log(max(chance, 1e-300)) for count, chance in parts if count)

    low, high = max(0.0, -drop), min(1.0, 1 - drop)
    best = minimize_scalar(surprise, bounds=(low, high), method="bounded", options={"xatol": 1e-10})
    found = likeliest_rate(before, now, drop)
    assert low <= found <= high
    assert surprise(found) <= min(best.fun, surprise(low), surprise(high)) + 1e-6


@given(suites)
def test_a_drop_of_nothing_is_excluded_where_cochran_mantel_and_haenszel_reject_it(suite):
    expected = sum(now.runs * (before.passes + now.passes) / (before.runs + now.runs) for before, now in suite)
    variance = 0.0
    for before, now in suite:
        runs, passes = before.runs + now.runs, before.passes + now.passes
        variance += before.runs * now.runs * passes * (runs - passes) / (runs**2 * (runs - 1))
    if variance:
        better = (sum(now.passes for _, now in suite) - expected) / sqrt(variance)
        if abs(better - norm.ppf(0.95)) > 1e-6:
            assert (largest_drop(suite) < 0) == (better > norm.ppf(0.95))


@pytest.mark.parametrize("cases, before, now, bound", [(1, 20, 5, 0.36), (1, 100, 100, 0.027), (30, 20, 5, 0.0185)])
def test_passes_alone_do_not_prove_that_nothing_dropped(cases, before, now, bound):
    """Where every run passed the bound is z² / (runs now · (N − 1) / N + z²), as with m as large as one likes."""
    suite = [(Arm(before, before), Arm(now, now))] * cases
    unseen = norm.ppf(0.95) ** 2 * (before + now) / (before + now - 1)
    assert largest_drop(suite) == pytest.approx(unseen / (cases * now + unseen), abs=1e-8)
    assert largest_drop(suite) == pytest.approx(bound, abs=0.001)


@pytest.mark.parametrize(
    "rates, before, now, drop",
    [([0.97] * 20, 20, 5, 0.05), ([0.99, 0.9, 0.8, 0.6] * 5, 10, 5, 0.1), ([0.95, 0.8] * 15, 1, 1, 0.05)],
)
def test_the_bound_holds_in_19_of_20_comparisons(rates, before, now, drop):
    rng = random.Random(4)

    def arm(runs: int, rate: float) -> Arm:
        return Arm(sum(rng.random() < rate for _ in range(runs)), runs)

    bounds = [largest_drop([(arm(before, rate), arm(now, rate - drop)) for rate in rates]) for _ in range(200)]
    assert sum(bound >= drop for bound in bounds) / len(bounds) >= 0.92


@given(suites)
def test_the_bound_is_above_the_estimate(suite):
    assert -1 <= common_drop(suite) <= largest_drop(suite) + 1e-9 <= 1 + 2e-9


@given(suites.flatmap(lambda suite: st.tuples(st.just(suite), st.permutations(suite))))
def test_the_order_of_the_cases_does_not_matter(orders):
    suite, shuffled = orders
    assert common_drop(suite) == common_drop(shuffled)
    assert largest_drop(suite) == largest_drop(shuffled)


def test_without_runs_there_is_no_drop():
    empty = [(Arm(), Arm(3, 3)), (Arm(3, 3), Arm())]
    assert common_drop(empty) is common_drop([]) is largest_drop(empty) is largest_drop([]) is None
    assert largest_drop([*empty, *STRATA]) == largest_drop(STRATA)
