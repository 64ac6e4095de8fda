from __future__ import annotations

from itertools import product
from math import asin, pi, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, binomtest

from pytest_convo.agreement.interval import beta_cdf, beta_quantile, jeffreys, lower_bound, upper_bound

COUNTS = [*range(8), 12, 20, 57, 400]
SHAPES = [0.5, 1, 1.5, 2, 5.5, 17, 100.5, 2000]
counts = st.integers(0, 60)


@pytest.mark.parametrize("a, b", list(product(SHAPES, repeat=2)))
def test_the_beta_distribution_is_scipy_s(a, b):
    for step in range(41):
        assert beta_cdf(step / 40, a, b) == pytest.approx(beta.cdf(step / 40, a, b), rel=1e-9, abs=1e-11)


@pytest.mark.parametrize("a, b", list(product(SHAPES, repeat=2)))
def test_its_inverse_is_scipy_s(a, b):
    for probability in (1e-6, 0.025, 0.05, 0.3, 0.5, 0.975, 0.999):
        assert beta_quantile(probability, a, b) == pytest.approx(beta.ppf(probability, a, b), abs=1e-9)


@pytest.mark.parametrize("x, value", [(0, 0), (1, 1), (-0.1, 0), (1.1, 1)])
def test_the_beta_distribution_is_whole_beyond_its_ends(x, value):
    assert beta_cdf(x, 0.5, 3) == value


@given(st.floats(1e-6, 1 - 1e-6))
def test_the_arcsine_law_is_a_case_with_a_closed_form(x):
    assert beta_cdf(x, 0.5, 0.5) == pytest.approx(2 / pi * asin(sqrt(x)), rel=1e-9)


@pytest.mark.parametrize("passes, fails", list(product(COUNTS, repeat=2)))
def test_the_jeffreys_interval_is_that_of_the_posterior(passes, fails):
    posterior = beta(passes + 0.5, fails + 0.5)
    low, high = jeffreys(passes, fails)
    assert low == (pytest.approx(posterior.ppf(0.025), abs=1e-9) if passes else 0)
    assert high == (pytest.approx(posterior.ppf(0.975), abs=1e-9) if fails else 1)


@pytest.mark.parametrize(
    "passes, low, high",
    [(10, 0.02599340, 0.08687509), (20, 0.06416642, 0.14729862), (25, 0.08462743, 0.176126),
     (50, 0.19387268, 0.31330266), (90, 0.38218245, 0.51925306)],
)  # fmt: skip
def test_the_jeffreys_interval_of_published_examples(passes, low, high):
    """The documented output of `binom.jeffreys(x, 200)` of the R package RSurveillance."""
    assert jeffreys(passes, 200 - passes) == pytest.approx((low, high), abs=5e-8)


@given(counts, counts)
def test_passes_and_fails_are_treated_alike(passes, fails):
    low, high = jeffreys(passes, fails)
    assert jeffreys(fails, passes) == pytest.approx((1 - high, 1 - low), abs=1e-12)


@given(counts, counts)
def test_the_interval_holds_the_observed_share_and_narrows_with_the_level(passes, fails):
    low, high = jeffreys(passes, fails)
    inner_low, inner_high = jeffreys(passes, fails, level=0.5)
    assert 0 <= low <= inner_low < inner_high <= high <= 1
    if passes + fails:
        assert low <= passes / (passes + fails) <= high


@given(counts, counts)
def test_a_pass_more_raises_the_interval(passes, fails):
    before, after = jeffreys(passes, fails), jeffreys(passes + 1, fails)
    assert before[0] < after[0]
    assert before[1] <= after[1]


@pytest.mark.parametrize("runs, bound", [(3, 0.37), (5, 0.55), (10, 0.74), (20, 0.86)])
def test_what_few_runs_prove(runs, bound):
    assert round(lower_bound(runs, 0), 2) == bound
    assert lower_bound(runs, 0) == pytest.approx(0.05 ** (1 / runs), abs=1e-12)
    assert upper_bound(0, runs) == pytest.approx(1 - 0.05 ** (1 / runs), abs=1e-12)


@pytest.mark.parametrize("passes, fails", list(product([0, 1, 2, 5, 19], repeat=2)))
def test_the_one_sided_bounds_are_clopper_and_pearson_s(passes, fails):
    if passes + fails == 0:
        assert (lower_bound(0, 0), upper_bound(0, 0)) == (0, 1)
        return
    lower = binomtest(passes, passes + fails, alternative="greater").proportion_ci(0.95, method="exact").low
    upper = binomtest(passes, passes + fails, alternative="less").proportion_ci(0.95, method="exact").high
    assert (lower_bound(passes, fails), upper_bound(passes, fails)) == pytest.approx((lower, upper), abs=1e-9)
