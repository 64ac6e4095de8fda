from __future__ import annotations

import random
import time
from collections.abc import Sequence
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import binomtest, fisher_exact, hypergeom

from pytest_convo.agreement.regression import Arm, Pair, fisher_p, stratified_p

TEA = Arm(3, 4), Arm(1, 4)
TWINS = Arm(10, 13), Arm(2, 17)
RABBITS = [
    (Arm(0, 6), Arm(0, 5)),
    (Arm(3, 6), Arm(0, 6)),
    (Arm(6, 6), Arm(2, 6)),
    (Arm(5, 6), Arm(6, 6)),
    (Arm(2, 2), Arm(5, 5)),
]
DEGENERATE = [
    (Arm(0, 3), Arm(0, 5)),
    (Arm(3, 3), Arm(5, 5)),
    (Arm(0, 0), Arm(2, 5)),
    (Arm(2, 5), Arm(0, 0)),
    (Arm(), Arm()),
]


@st.composite
def arms(draw: st.DrawFn, most: int = 12) -> Arm:
    runs = draw(st.integers(0, most))
    return Arm(draw(st.integers(0, runs)), runs)


pairs = st.tuples(arms(), arms())
suites = st.lists(pairs, max_size=8)


def random_suite(seed: int, cases: int, before: int, now: int, drop: float = 0.0) -> list[Pair]:
    rng = random.Random(seed)
    rates = [rng.betavariate(4, 1) for _ in range(cases)]

    def arm(runs: int, rate: float) -> Arm:
        return Arm(sum(rng.random() < rate for _ in range(runs)), runs)

    return [(arm(before, rate), arm(now, rate - drop)) for rate in rates]


def by_the_definition(suite: Sequence[Pair]) -> Fraction:
    """The chance of every sum of passes now, one case after the other, in exact numbers."""
    chances = {0: Fraction(1)}
    for before, now in suite:
        passes = before.passes + now.passes
        ways = {
            value: comb(now.runs, value) * comb(before.runs, passes - value)
            for value in range(min(passes, now.runs) + 1)
        }
        together: dict[int, Fraction] = {}
        for value, count in ways.items():
            for total, chance in chances.items():
                share = chance * Fraction(count, comb(before.runs + now.runs, passes))
                together[total + value] = together.get(total + value, Fraction(0)) + share
        chances = together
    observed = sum(now.passes for _, now in suite)
    return sum((chance for total, chance in chances.items() if total <= observed), Fraction(0))


# --- Arm


@pytest.mark.parametrize("passes, runs", [(-1, 3), (4, 3), (1, 0)])
def test_more_passes_than_runs_are_refused(passes, runs):
    with pytest.raises(ValueError, match=f"{passes} of {runs} runs cannot have passed"):
        Arm(passes, runs)


@given(arms(), arms())
def test_arms_add_up(one, other):
    total = one + other
    assert (total.passes, total.fails, total.runs) == (
        one.passes + other.passes,
        one.fails + other.fails,
        one.runs + other.runs,
    )


# --- one case


def test_the_lady_tasting_tea():
    """Fisher 1935, The Design of Experiments, chapter II: 3 of 4 cups right or better, 17 of 70 ways."""
    assert fisher_p(*TEA) == 17 / 70 == pytest.approx(0.2429, abs=5e-5)


def test_convictions_of_twins():
    """Fisher 1970, Statistical Methods for Research Workers, section 21.02: 619 / 1330665, or 0.000465."""
    assert fisher_p(*TWINS) == 619 / 1330665 == pytest.approx(0.000465, abs=5e-7)


@given(arms(60), arms(60))
def test_the_test_of_one_case_is_fisher_s(before, now):
    passes = before.passes + now.passes
    table = [[now.passes, now.fails], [before.passes, before.fails]]
    assert fisher_p(before, now) == pytest.approx(fisher_exact(table, alternative="less").pvalue, rel=1e-9)
    if before.runs + now.runs:
        expected = hypergeom.cdf(now.passes, before.runs + now.runs, passes, now.runs)
        assert fisher_p(before, now) == pytest.approx(expected, rel=1e-9)


@given(pairs)
def test_a_suite_of_one_case_is_that_case(pair):
    assert stratified_p([pair]) == pytest.approx(fisher_p(*pair), rel=1e-12)


def test_a_thousand_runs_need_no_approximation():
    assert fisher_p(Arm(900, 1000), Arm(870, 1000)) == pytest.approx(hypergeom.cdf(870, 2000, 1770, 1000), rel=1e-6)


# --- many cases


def test_penicillin_and_rabbits():
    """Agresti 1990, pages 231 to 237; R documents the exact test of it as p = 0.020, and two-sided as 0.0399449."""
    assert stratified_p(RABBITS) == pytest.approx(0.0399449 / 2, abs=5e-8)


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 5), st.integers(0, 5))
def test_with_one_run_an_arm_it_is_the_exact_test_of_mcnemar(worse, better, passed, failed):
    suite = [(Arm(1, 1), Arm(0, 1))] * worse + [(Arm(0, 1), Arm(1, 1))] * better
    suite += [(Arm(1, 1), Arm(1, 1))] * passed + [(Arm(0, 1), Arm(0, 1))] * failed
    changed = worse + better
    expected = binomtest(better, changed, 0.5, alternative="less").pvalue if changed else 1
    assert stratified_p(suite) == pytest.approx(expected, rel=1e-9)


@given(suites)
def test_it_is_the_convolution_of_the_cases(suite):
    assert stratified_p(suite) == pytest.approx(float(by_the_definition(suite)), rel=1e-12)


@pytest.mark.parametrize("cases, before, now", [(300, 20, 5), (60, 33, 47), (400, 1, 1), (200, 3, 4)])
@pytest.mark.parametrize("drop", [0, 0.03])
def test_large_suites_are_those_of_a_plain_convolution(cases, before, now, drop):
    suite = random_suite(cases, cases, before, now, drop)
    chances = np.ones(1)
    for one, other in suite:
        passes = one.passes + other.passes
        chances = np.convolve(chances, hypergeom.pmf(np.arange(now + 1), before + now, passes, now))
    expected = chances[: sum(other.passes for _, other in suite) + 1].sum()
    assert stratified_p(suite) == pytest.approx(expected, rel=1e-8, abs=1e-12)


def test_a_suite_that_fell_apart_is_no_error():
    assert 0 <= stratified_p([(Arm(20, 20), Arm(0, 5))] * 1000) < 1e-50
    assert stratified_p([(Arm(0, 20), Arm(5, 5))] * 1000) == pytest.approx(1, abs=1e-12)


def test_nothing_to_compare_is_no_evidence():
    assert stratified_p([]) == stratified_p(DEGENERATE) == 1


@given(suites)
def test_it_is_a_probability(suite):
    assert 0 <= stratified_p(suite) <= 1


@given(suites, st.data())
def test_a_pass_fewer_now_never_raises_it(suite, data):
    fallible = [index for index, (_, now) in enumerate(suite) if now.passes]
    if fallible:
        index = data.draw(st.sampled_from(fallible))
        before, now = suite[index]
        worse = [*suite[:index], (before, Arm(now.passes - 1, now.runs)), *suite[index + 1 :]]
        assert stratified_p(worse) <= stratified_p(suite) + 1e-12


@given(suites, st.data())
def test_a_pass_more_before_never_raises_it(suite, data):
    improvable = [index for index, (before, _) in enumerate(suite) if before.fails]
    if improvable:
        index = data.draw(st.sampled_from(improvable))
        before, now = suite[index]
        higher = [*suite[:index], (Arm(before.passes + 1, before.runs), now), *suite[index + 1 :]]
        assert stratified_p(higher) <= stratified_p(suite) + 1e-12


@given(suites.flatmap(lambda suite: st.tuples(st.just(suite), st.permutations(suite))))
def test_the_order_of_the_cases_does_not_matter(orders):
    suite, shuffled = orders
    assert stratified_p(suite) == stratified_p(shuffled)


@given(suites, st.lists(st.sampled_from(DEGENERATE)))
@example(RABBITS, DEGENERATE)
def test_cases_that_can_come_out_in_one_way_only_change_nothing(suite, degenerate):
    assert stratified_p([*degenerate, *suite]) == stratified_p(suite)


def test_a_thousand_cases_take_less_than_a_second():
    suites = [random_suite(1, 1000, 20, 5), random_suite(2, 1000, 20, 20)]
    began = time.process_time()
    assert all(0.01 < stratified_p(suite) < 0.99 for suite in suites)
    assert time.process_time() - began < 2
