from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import beta, betabinom, binom

from pytest_convo.agreement.flip import flip_chance, verdict_chances
from pytest_convo.agreement.verdict import Agreement, SequentialTest, Tally, Verdict


@st.composite
def decided_groups(draw: st.DrawFn) -> tuple[Tally, Verdict, Agreement]:
    n = draw(st.integers(1, 25))
    asked = Agreement(n, draw(st.integers(1, n)))
    passes = draw(st.integers(0, n))
    tally = Tally(passes, n - passes)
    return tally, asked.decide(tally), asked


@given(decided_groups())
def test_it_is_the_beta_binomial_chance_of_the_other_side_in_full_reruns(group):
    tally, verdict, asked = group
    passes_again = betabinom.sf(asked.k - 1, asked.n, tally.passes + 0.5, tally.fails + 0.5)
    expected = 1 - passes_again if verdict is Verdict.PASS else passes_again
    assert flip_chance(tally, verdict, asked) == pytest.approx(expected, abs=1e-9)


def test_it_is_the_posterior_mean_of_the_binomial_chance():
    posterior = beta(4.5, 1.5)
    expected, _ = quad(lambda rate: posterior.pdf(rate) * binom.cdf(3, 5, rate), 0, 1)
    assert flip_chance(Tally(4, 1), Verdict.PASS, Agreement(5, 4)) == pytest.approx(expected, abs=1e-7)


def test_three_of_three_by_hand():
    """The chance that three more pass is (3.5/4) · (4.5/5) · (5.5/6)."""
    by_hand = 1 - 3.5 / 4 * 4.5 / 5 * 5.5 / 6
    assert flip_chance(Tally(3, 0), Verdict.PASS, Agreement(3, 3)) == pytest.approx(by_hand, abs=1e-12)


@given(decided_groups())
def test_the_verdicts_of_a_rerun_share_all_the_chance(group):
    tally, _, asked = group
    chances = verdict_chances(tally, asked)
    assert sum(chances.values()) == pytest.approx(1, abs=1e-12)
    assert chances[Verdict.INCONCLUSIVE] == 0


def test_a_rerun_of_a_group_near_its_threshold_is_a_toss_and_of_a_clear_one_is_not():
    asked = Agreement(20, 16)
    assert flip_chance(Tally(16, 4), Verdict.PASS, asked) > 0.4
    assert flip_chance(Tally(20, 0), Verdict.PASS, asked) < 0.01
    assert flip_chance(Tally(2, 18), Verdict.FAIL, asked) < 1e-5


def test_more_passes_make_a_fall_less_likely():
    chances = [verdict_chances(Tally(passes, 10 - passes), Agreement(10, 8))[Verdict.FAIL] for passes in range(11)]
    assert chances == sorted(chances, reverse=True)


def test_errors_say_nothing():
    asked = Agreement(5, 4)
    assert verdict_chances(Tally(4, 0, 1), asked) == verdict_chances(Tally(4, 0), asked)


def test_an_inconclusive_group_cannot_flip():
    assert flip_chance(Tally(3, 1, 1), Verdict.INCONCLUSIVE, Agreement(5, 4)) is None


def test_a_sequential_test_may_rerun_into_either_verdict_or_none():
    asked = SequentialTest(30)
    chances = verdict_chances(Tally(10, 0), asked)
    assert sum(chances.values()) == pytest.approx(1, abs=1e-12)
    assert min(chances.values()) > 0
    assert flip_chance(Tally(10, 0), Verdict.PASS, asked) == chances[Verdict.FAIL]
    assert flip_chance(Tally(10, 0), Verdict.FAIL, asked) == chances[Verdict.PASS]


def test_a_sequential_test_s_fastest_pass_by_hand():
    """Where ten runs are all there are, a rerun passes only with ten more passes."""
    by_hand = 1.0
    for run in range(10):
        by_hand *= (10.5 + run) / (11 + run)
    assert verdict_chances(Tally(10, 0), SequentialTest(10))[Verdict.PASS] == pytest.approx(by_hand, abs=1e-12)
