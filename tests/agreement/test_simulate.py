from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction
from math import prod

import numpy as np
import pytest
from scipy.stats import binom, binomtest, fisher_exact

from pytest_convo.agreement.simulate import Chance, Planned, Rates, Scenario, describe, simulate
from pytest_convo.agreement.verdict import Agreement, SequentialTest, rule

SESSIONS = 2000
FOUR_OF_FIVE = rule(5, Fraction(4, 5))


def suite(rates: list[float], baseline_runs: int = 20, asked=FOUR_OF_FIVE) -> list[Planned]:
    return [Planned(f"case-{number}", baseline_runs, rate, asked) for number, rate in enumerate(rates)]


def holds(chance: Chance, exact: float) -> bool:
    """Whether a simulation with a fixed seed is as near to the truth as 999 of 1000 are."""
    return binomtest(round(chance.value * SESSIONS), SESSIONS, exact).pvalue > 0.001


# --- against closed forms


@pytest.mark.parametrize("before, now", [(20, 5), (10, 10), (6, 3)])
@pytest.mark.parametrize("rate", [0.95, 0.6])
def test_one_case_offline_is_fisher_s_test(before, now, rate):
    asked = Agreement(now, 1)
    found = simulate(suite([rate], before, asked), seed=3, sessions=SESSIONS, confirmable=False, fall=0.3)

    def red(rate_now: float) -> float:
        return sum(
            binom.pmf(a, before, rate) * binom.pmf(b, now, rate_now)
            for a in range(before + 1)
            for b in range(now + 1)
            if fisher_exact([[b, now - b], [a, before - a]], alternative="less").pvalue <= 0.025
        )

    assert holds(found.unchanged.regressed, red(rate))
    assert holds(found.broken.regressed, red(0))
    assert holds(found.fallen.regressed, red(rate - 0.3))


@pytest.mark.parametrize("cases, rate, fall", [(12, 0.7, 0.5), (20, 0.9, 0.3)])
def test_single_runs_are_mcnemar_s_test(cases, rate, fall):
    """Of the cases that changed as many passes or fewer than k, for which the tail of a fair coin is 0.025 at most."""
    found = simulate(suite([rate] * cases, 1, Agreement(1, 1)), seed=3, sessions=SESSIONS, confirmable=False, fall=fall)

    def red(now: float) -> float:
        worse, better = rate * (1 - now), (1 - rate) * now
        changed = np.arange(cases + 1)
        most_up = binom.ppf(0.025, changed, 0.5)
        most_up -= binom.cdf(most_up, changed, 0.5) > 0.025
        red_if = np.where(most_up < 0, 0, binom.cdf(most_up, changed, better / (worse + better)))
        return float(sum(binom.pmf(changed, cases, worse + better) * red_if))

    assert holds(found.unchanged.regressed, red(rate))
    assert holds(found.fallen.regressed, red(rate - fall))


def test_one_case_with_fresh_runs_is_two_tests_of_fisher_s():
    """The suite test of all 8 and 4 runs; else the screen of 4 and 4, and then the other 4 against 10 fresh runs."""
    found = simulate(suite([0.9], 8, Agreement(4, 3)), seed=5, sessions=SESSIONS, fall=0.6)

    def p(before: int, of: int, now: int, of_now: int) -> float:
        return fisher_exact([[now, of_now - now], [before, of - before]], alternative="less").pvalue

    def red(now: float) -> float:
        confirmed = [
            sum(binom.pmf(fresh, 10, now) for fresh in range(11) if p(rest, 4, fresh, 10) <= 0.025) for rest in range(5)
        ]
        return sum(
            binom.pmf(screen, 4, 0.9)
            * binom.pmf(rest, 4, 0.9)
            * binom.pmf(b, 4, now)
            * (1 if p(screen + rest, 8, b, 4) <= 0.025 else confirmed[rest] if p(screen, 4, b, 4) < 0.1 else 0)
            for screen in range(5)
            for rest in range(5)
            for b in range(5)
        )

    for scenario, now in (found.unchanged, 0.9), (found.broken, 0), (found.fallen, 0.3):
        assert holds(scenario.regressed, red(now))


@pytest.mark.parametrize("n, k", [(1, 1), (3, 2), (5, 4), (10, 10)])
def test_the_plainer_gates_are_binomial_tails(n, k):
    rates = [0.97, 0.9, 0.6]
    found = simulate(suite(rates, 5, Agreement(n, k)), seed=1, sessions=1)

    def red(rates: list[float], k: int) -> float:
        return 1 - prod(binom.sf(k - 1, n, rate) for rate in rates)

    fallen = [rate - 0.1 for rate in rates]
    one_broken = [[0, 0.9, 0.6], [0.97, 0, 0.6], [0.97, 0.9, 0]]
    for needed, chance in (n, "any_run"), (k, "any_case"):
        assert getattr(found.unchanged, chance) == pytest.approx(red(rates, needed))
        assert getattr(found.fallen, chance) == pytest.approx(red(fallen, needed))
        broken = sum(red(each, needed) for each in one_broken) / 3
        assert getattr(found.broken, chance) == pytest.approx(broken)


def test_a_sequential_test_misses_its_pass_also_where_it_stays_open():
    """Ten passes accept; of ten runs, then, one that fails leaves it open or rejects."""
    asked = SequentialTest(10)
    assert asked.shortest == 10
    found = simulate(suite([0.95] * 3, 5, asked), seed=1, sessions=1)
    assert found.unchanged.any_case == pytest.approx(1 - 0.95**30)


def test_the_expected_fresh_runs_are_those_of_the_screen():
    found = simulate(suite([0.8] * 4), seed=2, sessions=2000)
    doubtful = sum(
        binom.pmf(a, 10, 0.8) * binom.pmf(b, 5, 0.8)
        for a in range(11)
        for b in range(6)
        if fisher_exact([[b, 5 - b], [a, 10 - a]], alternative="less").pvalue < 0.1
    )
    assert found.fresh_runs == pytest.approx(10 * 4 * doubtful, rel=0.12)
    assert simulate(suite([0.8] * 4), seed=2, sessions=100, confirmable=False).fresh_runs == 0


# --- the rates that the design promises


@pytest.mark.parametrize("rate, fall_seen", [(0.97, 0.98), (0.94, 0.9)])
def test_thirty_cases_with_twenty_runs_before_and_five_now(rate, fall_seen):
    began = time.process_time()
    found = simulate(suite([rate] * 30), seed=1)
    assert time.process_time() - began < 5
    assert found.unchanged.regressed.value < 0.03
    assert found.broken.regressed.value > 0.99
    assert found.fallen.regressed.value > fall_seen
    assert found.unchanged.inconclusive.value == 0
    assert found.unchanged.any_run > 0.98
    assert found.unchanged.any_case > 0.2


@pytest.mark.parametrize("rates", [[0.99, 0.95, 0.9, 0.7, 0.5] * 2, [0.8] * 8, [0.5]])
def test_an_unchanged_suite_is_red_in_a_twentieth_at_most(rates):
    for confirmable in (True, False):
        found = simulate(suite(rates), seed=9, sessions=400, confirmable=confirmable)
        assert found.unchanged.regressed.low < 0.05


# --- as a function


def test_the_same_seed_gives_the_same_rates():
    cases = suite([0.9, 0.8, 0.7])
    assert simulate(cases, seed=1, sessions=200) == simulate(cases, seed=1, sessions=200)
    assert simulate(cases, seed=1, sessions=200) != simulate(cases, seed=2, sessions=200)


def test_more_sessions_make_the_intervals_narrower():
    few, many = (simulate(suite([0.9] * 3), seed=1, sessions=sessions).unchanged.regressed for sessions in (50, 1000))
    assert few.low <= few.value <= few.high
    assert many.low <= many.value <= many.high
    assert many.high - many.low < few.high - few.low


def test_certain_rates_leave_nothing_to_chance():
    found = simulate(suite([1.0] * 5), seed=1, sessions=50)
    assert (found.unchanged.regressed.value, found.unchanged.any_run, found.unchanged.any_case) == (0, 0, 0)
    assert (found.broken.regressed.value, found.broken.any_run, found.broken.any_case) == (1, 1, 1)
    assert simulate(suite([0.0] * 5), seed=1, sessions=50).fallen.regressed.value == 0


def test_too_few_runs_are_told():
    found = simulate(suite([1.0], 1, Agreement(3, 3)), seed=1, sessions=50)
    assert found.unchanged.inconclusive.value == found.broken.inconclusive.value == 1
    assert describe(found).endswith("\n  too few runs: the gate is inconclusive in up to 100.0 % of the sessions")


def test_hundreds_of_runs_are_possible():
    found = simulate(suite([0.5], 1500, Agreement(1000, 1)), seed=1, sessions=20, confirmable=False)
    assert found.fallen.regressed.value == 1


@pytest.mark.parametrize("cases, sessions", [([], 10), (suite([0.5]), 0)])
def test_nothing_to_simulate_is_refused(cases, sessions):
    with pytest.raises(ValueError, match="nothing to simulate"):
        simulate(cases, seed=1, sessions=sessions)


@pytest.mark.parametrize("rate", [-0.1, 1.1])
def test_a_rate_is_a_chance(rate):
    with pytest.raises(ValueError, match="a chance is between 0 and 1"):
        suite([rate])


def test_the_table():
    chance = Chance(0.017, 0.0101, 0.0269)
    rates = Rates(
        cases=30,
        sessions=1000,
        seed=1,
        unchanged=Scenario("nothing has changed", chance, Chance(0, 0, 0.002), 0.99, 0.225),
        broken=Scenario("one case breaks (0 %)", Chance(1, 0.9975, 1), Chance(0, 0, 0.002), 1, 1),
        fallen=Scenario("all fall by 10 points", Chance(0.95, 0.935, 0.962), Chance(0, 0, 0.002), 1, 0.984),
        fresh_runs=2.13,
    )
    assert describe(rates) == (
        "chance of a red build, by 1000 simulated sessions (cases: 30, seed: 1)\n"
        "                         this gate                any run fails  any case misses its agreement\n"
        "  nothing has changed    1.7 % (1.0 to 2.7)       99.0 %         22.5 %\n"
        "  one case breaks (0 %)  100.0 % (99.8 to 100.0)  100.0 %        100.0 %\n"
        "  all fall by 10 points  95.0 % (93.5 to 96.2)    100.0 %        98.4 %\n"
        "  confirming takes 2.1 fresh runs a session where nothing has changed"
    )
    assert describe(replace(rates, fresh_runs=0.0)).endswith("98.4 %")
