from __future__ import annotations

import random
import time

import pytest
from scipy.stats import binom

from pytest_convo.agreement.power import Stratum, power, smallest_drop
from pytest_convo.agreement.regression import Arm, fisher_p, stratified_p

ALPHA = 0.025
MIXED = [0.99, 0.98, 0.95, 0.9, 0.8, 0.6]


def strata(rates: list[float], before: int, now: int) -> list[Stratum]:
    return [Stratum(rate, before, now) for rate in rates]


def simulated(suite: list[Stratum], drop: float, sessions: int) -> float:
    rng = random.Random(7)

    def arm(runs: int, rate: float) -> Arm:
        return Arm(sum(rng.random() < rate for _ in range(runs)), runs)

    def is_seen() -> bool:
        pairs = [(arm(each.before, each.rate), arm(each.now, max(0, each.rate - drop))) for each in suite]
        return stratified_p(pairs) <= ALPHA

    return sum(is_seen() for _ in range(sessions)) / sessions


@pytest.mark.parametrize(
    "suite",
    [strata([0.97] * 30, 20, 5), strata([0.9] * 30, 20, 5), strata(MIXED * 5, 20, 5), strata([0.8, 0.5] * 20, 5, 5)],
)
@pytest.mark.parametrize("chance, precision", [(0.5, 0.08), (0.8, 0.05), (0.95, 0.03)])
def test_a_large_suite_sees_a_drop_as_often_as_promised(suite, chance, precision):
    drop = smallest_drop(suite, ALPHA, chance)
    assert simulated(suite, drop, 600) == pytest.approx(chance, abs=precision)


@pytest.mark.parametrize(
    "suite",
    [strata([0.97] * 10, 3, 3), strata([0.95] * 3, 10, 10), strata([0.95] * 30, 1, 1), strata([0.97, 0.96], 20, 5)],
)
def test_a_small_suite_sees_it_more_often_rather_than_less(suite):
    assert 0.76 < simulated(suite, smallest_drop(suite, ALPHA), 600) < 0.93


def test_one_case_is_near_the_exact_power_of_fisher_s_test():
    stratum, drop = Stratum(0.9, 20, 10), 0.55
    exact = sum(
        binom.pmf(a, 20, 0.9) * binom.pmf(b, 10, 0.9 - drop)
        for a in range(21)
        for b in range(11)
        if fisher_p(Arm(a, 20), Arm(b, 10)) <= ALPHA
    )
    assert power([stratum], drop, ALPHA) == pytest.approx(exact, abs=0.05)


def test_a_larger_drop_is_seen_more_often():
    chances = [power(strata(MIXED * 5, 20, 5), drop / 100, ALPHA) for drop in range(30)]
    assert chances == sorted(chances)
    assert chances[0] < ALPHA
    assert chances[-1] > 0.99


def test_the_smallest_drop_has_the_power_that_was_asked_for():
    suite = strata(MIXED, 20, 5)
    assert power(suite, smallest_drop(suite, ALPHA, 0.8), ALPHA) == pytest.approx(0.8, abs=1e-4)
    assert smallest_drop(suite, ALPHA, 0.5) < smallest_drop(suite, ALPHA, 0.8) < smallest_drop(suite, ALPHA, 0.95)


@pytest.mark.parametrize("suite", [[], strata([0.9], 3, 3), strata([0.02] * 5, 20, 5), strata([0.0] * 30, 20, 5)])
def test_what_cannot_fall_visibly_has_no_smallest_drop(suite):
    assert smallest_drop(suite, ALPHA) is None


def test_more_cases_and_more_runs_see_more():
    few, cases, runs = strata([0.9] * 10, 20, 5), strata([0.9] * 40, 20, 5), strata([0.9] * 10, 20, 20)
    assert smallest_drop(few, ALPHA) > smallest_drop(runs, ALPHA) > 0
    assert smallest_drop(few, ALPHA) > smallest_drop(cases, ALPHA) > 0


def test_a_thousand_different_cases_take_no_time():
    rng = random.Random(1)
    suite = [Stratum(rng.random(), rng.randrange(1, 30), rng.randrange(1, 30)) for _ in range(1000)]
    began = time.process_time()
    assert 0 < smallest_drop(suite, ALPHA) < 0.1
    assert time.process_time() - began < 0.5
