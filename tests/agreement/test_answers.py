from __future__ import annotations

import random
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.agreement.answers import Alike, Both, correctness, fails_by_answers
from pytest_convo.agreement.flip import flip_chance
from pytest_convo.agreement.simulate import Planned, simulate
from pytest_convo.agreement.verdict import Agreement, SequentialTest, Tally, Verdict, label, rule

Run = str | None
"""The class of a run's answer, or None for an error; capitals are answers that fail."""


def tally_of(runs: list[Run]) -> Tally:
    answers = [run for run in runs if run is not None]
    sizes = sorted((answers.count(answer) for answer in set(answers)), reverse=True)
    fails = sum(answer.isupper() for answer in answers)
    return Tally(len(answers) - fails, fails, len(runs) - len(answers), tuple(sizes))


def first_verdict(asked, runs: list[Run]) -> Verdict | None:
    verdicts = (asked.decide(tally_of(runs[: ended + 1])) for ended in range(len(runs)))
    return next((verdict for verdict in verdicts if verdict is not None), None)


def alike_by_definition(n: int, k: int, answers: list[str]) -> Verdict:
    """With all `n` answers there: a class reaches k, none does, or two are as large."""
    sizes = sorted((answers.count(answer) for answer in set(answers)), reverse=True)
    if sizes[0] < k:
        return Verdict.FAIL
    return Verdict.INCONCLUSIVE if len(sizes) > 1 and sizes[0] == sizes[1] else Verdict.PASS


@st.composite
def groups(draw: st.DrawFn) -> tuple[Both, list[Run]]:
    n = draw(st.integers(1, 9))
    needed = st.integers(1, n)
    asked = Both(Agreement(n, draw(needed)), Alike(n, draw(needed)))
    return asked, draw(st.lists(st.sampled_from(["a", "b", "c", "X", "Y", None]), min_size=n, max_size=n))


# --- Alike


@pytest.mark.parametrize(
    "n, k, tally, verdict",
    [
        (5, 4, Tally(4, alike=(4,)), Verdict.PASS),
        (5, 4, Tally(4, alike=(3, 1)), None),
        (5, 4, Tally(4, alike=(2, 2)), Verdict.FAIL),
        (5, 4, Tally(5, alike=(4, 1)), Verdict.PASS),
        (5, 4, Tally(5, alike=(3, 2)), Verdict.FAIL),
        (5, 4, Tally(3, errors=2, alike=(3,)), Verdict.INCONCLUSIVE),
        (5, 4, Tally(4, errors=1, alike=(4,)), Verdict.PASS),
        (4, 2, Tally(2, alike=(2,)), None),
        (4, 2, Tally(3, alike=(2, 1)), None),
        (4, 2, Tally(3, alike=(3,)), Verdict.PASS),
        (4, 2, Tally(4, alike=(2, 2)), Verdict.INCONCLUSIVE),
        (4, 2, Tally(4, alike=(2, 1, 1)), Verdict.PASS),
        (4, 2, Tally(4, alike=(1, 1, 1, 1)), Verdict.FAIL),
        (3, 1, Tally(3, alike=(1, 1, 1)), Verdict.INCONCLUSIVE),
        (3, 3, Tally(2, alike=(1, 1)), Verdict.FAIL),
        (3, 3, Tally(), None),
        (3, 3, Tally(errors=3), Verdict.INCONCLUSIVE),
    ],
)
def test_answers_are_judged_by_the_size_of_the_largest_class(n, k, tally, verdict):
    assert Alike(n, k).decide(tally) == verdict


@pytest.mark.parametrize("n", range(1, 7))
def test_stopping_early_decides_as_all_answers_would_in_every_order(n):
    for k, answers in product(range(1, n + 1), product("abc", repeat=n)):
        assert first_verdict(Alike(n, k), list(answers)) == alike_by_definition(n, k, list(answers))


@pytest.mark.parametrize("n", range(1, 6))
def test_a_verdict_holds_whatever_the_errors_had_been(n):
    for k, runs in product(range(1, n + 1), product(["a", "b", None], repeat=n)):
        verdict = first_verdict(Alike(n, k), list(runs))
        if verdict is not Verdict.INCONCLUSIVE:
            possible = product(*("abcd" if run is None else run for run in runs))
            assert {alike_by_definition(n, k, list(answers)) for answers in possible} == {verdict}


def test_as_many_answers_are_needed_as_there_are_at_most():
    for k in (0, 4):
        with pytest.raises(ValueError, match="between 1 and all of the 3 runs"):
            Alike(3, k)


# --- Both


@given(groups(), st.randoms(use_true_random=False))
def test_the_order_in_which_runs_end_does_not_matter(group, chance: random.Random):
    asked, runs = group
    shuffled = list(runs)
    chance.shuffle(shuffled)
    assert first_verdict(asked, shuffled) == asked.decide(tally_of(runs))


@given(groups())
def test_a_verdict_once_reached_is_never_taken_back(group):
    asked, runs = group
    verdicts = [asked.decide(tally_of(runs[: ended + 1])) for ended in range(len(runs))]
    reached = [verdict for verdict in verdicts if verdict is not None]
    assert verdicts == [None] * (len(verdicts) - len(reached)) + reached
    assert len(set(reached)) == 1
    assert Verdict.INCONCLUSIVE not in verdicts[:-1]


@given(groups())
def test_it_passes_where_both_pass_and_fails_where_either_fails(group):
    asked, runs = group
    tally = tally_of(runs)
    parts = {asked.correct.decide(tally), asked.answers.decide(tally)}
    expected = Verdict.FAIL if Verdict.FAIL in parts else parts.pop() if len(parts) == 1 else Verdict.INCONCLUSIVE
    assert asked.decide(tally) is expected


@given(groups())
def test_no_group_passes_with_fewer_runs_than_start_at_once(group):
    asked, runs = group
    assert asked.first == max(asked.correct.first, asked.answers.first)
    assert asked.decide(tally_of(runs[: asked.first - 1])) is not Verdict.PASS


def test_a_sequential_test_may_be_asked_for_as_well():
    asked = rule(20, "sprt", at_least=Fraction(4, 5))
    assert asked.decide(Tally(10, alike=(10,))) is None
    assert asked.decide(Tally(16, alike=(16,))) is Verdict.PASS
    assert asked.decide(Tally(6, alike=(1,) * 6)) is Verdict.FAIL
    assert asked.decide(Tally(0, 2, alike=(2,))) is Verdict.FAIL


def test_it_says_what_is_needed():
    asked = rule(5, Fraction(4, 5), at_least=Fraction(3, 5))
    assert asked == Both(Agreement(5, 4), Alike(5, 3))
    assert asked.text == "needs 4 of 5, and 3 of 5 answers alike"
    assert asked.demand == "4 needed, and 3 answers alike"
    assert asked.answers.text == "needs 3 of 5 answers alike"
    assert asked.answers.demand == "3 answers alike needed"


def test_a_single_answer_has_none_to_agree_with():
    assert rule(1, Fraction(4, 5), at_least=Fraction(1)) == Agreement(1, 1)


def test_both_are_of_the_same_runs():
    with pytest.raises(ValueError, match="of the same runs, not of 5 and of 3"):
        Both(Agreement(5, 4), Alike(3, 2))


# --- what else is made of a rule


def test_the_correct_part_of_a_rule_can_be_told():
    plain = Agreement(5, 4)
    assert correctness(plain) is plain
    assert correctness(Both(plain, Alike(5, 4))) is plain
    assert correctness(SequentialTest(9)) == SequentialTest(9)


@pytest.mark.parametrize(
    "tally, fails",
    [
        (Tally(5, alike=(3, 2)), True),
        (Tally(3, 2, alike=(3, 2)), True),
        (Tally(3, 2, alike=(5,)), False),
        (Tally(0, 3, alike=(1, 1, 1)), True),
        (Tally(0, 3, alike=(3,)), False),
        (Tally(5, alike=(4, 1)), False),
    ],
)
def test_a_fail_by_the_answers_is_known_as_such(tally, fails):
    assert fails_by_answers(Both(Agreement(5, 4), Alike(5, 4)), tally) is fails
    assert not fails_by_answers(Agreement(5, 4), tally)


def test_the_chance_of_a_flip_is_that_of_the_passes_alone():
    plain, tally = Agreement(5, 4), Tally(4, 1, alike=(4, 1))
    asked = Both(plain, Alike(5, 4))
    assert flip_chance(tally, Verdict.PASS, asked) == flip_chance(tally, Verdict.PASS, plain)
    assert flip_chance(Tally(5, alike=(3, 2)), Verdict.FAIL, asked) is None
    assert flip_chance(Tally(2, 3, alike=(5,)), Verdict.FAIL, asked) is not None


def test_a_fail_whose_runs_passed_is_flaky():
    assert label(Tally(5, alike=(3, 2)), Verdict.FAIL) == "flaky fail"


def test_a_simulation_holds_a_case_to_its_passes_alone():
    plain = Agreement(5, 4)
    rates = [
        simulate([Planned("tea", 20, 0.9, asked)], seed=1, sessions=20) for asked in (plain, Both(plain, Alike(5, 4)))
    ]
    assert rates[0] == rates[1]
    assert rates[0].unchanged.any_case < 0.2
