from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import prod

import pytest

from pytest_convo.agreement.passk import pass_at_k, pass_hat_k

CASES = [(n, passes, k) for n in range(1, 8) for passes in range(n + 1) for k in range(1, n + 1)]


@pytest.mark.parametrize("n, passes, k", CASES)
def test_both_count_the_draws_of_k_runs_out_of_n(n, passes, k):
    draws = list(combinations([True] * passes + [False] * (n - passes), k))
    assert pass_at_k(n, passes, k) == float(Fraction(sum(map(any, draws)), len(draws)))
    assert pass_hat_k(n, passes, k) == float(Fraction(sum(map(all, draws)), len(draws)))


@pytest.mark.parametrize("n, passes, k", [(200, 3, 100), (200, 60, 10), (1000, 1, 1), (50, 0, 7), (50, 50, 7)])
def test_pass_at_k_is_the_product_of_the_paper(n, passes, k):
    """Chen et al. 2021, figure 3: 1 − ∏ (1 − k / i) for i from n − c + 1 to n."""
    paper = 1.0 if n - passes < k else 1 - prod(1 - k / i for i in range(n - passes + 1, n + 1))
    assert pass_at_k(n, passes, k) == pytest.approx(paper, abs=1e-12)


def test_one_draw_is_the_share_of_passes_for_both():
    assert pass_at_k(8, 5, 1) == pass_hat_k(8, 5, 1) == 5 / 8


@pytest.mark.parametrize("n, passes, k", [(5, 6, 1), (5, -1, 1), (5, 3, 0), (5, 3, 6), (0, 0, 1)])
@pytest.mark.parametrize("estimate", [pass_at_k, pass_hat_k])
def test_impossible_counts_are_refused(estimate, n, passes, k):
    with pytest.raises(ValueError, match=r"cannot have passed|not for"):
        estimate(n, passes, k)
