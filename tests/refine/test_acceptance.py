from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_convo.agreement.interval import jeffreys
from pytest_convo.agreement.regression import Arm, fisher_p, stratified_p
from pytest_convo.agreement.verdict import Verdict
from pytest_convo.refine.acceptance import Proof, claim, mends, prove
from pytest_convo.refine.items import Score, Scores

TRAINING, VALIDATION, HOLDOUT = ["t1", "t2"], ["v1", "v2"], ["h1", "h2", "h3"]
PARTS = (TRAINING, VALIDATION, HOLDOUT)
EVERY = [*TRAINING, *VALIDATION, *HOLDOUT]


def score(passes: int, runs: int = 3) -> Score:
    return Score(Verdict.PASS if 2 * passes > runs else Verdict.FAIL, passes, runs - passes)


def scores(**given: Score) -> dict[str, Score]:
    """All pass, but for what is given."""
    return {**{id_: score(3) for id_ in EVERY}, **given}


WHOLE = scores()
BEFORE = scores(t1=score(0), t2=score(1), h1=score(1), h2=score(2), h3=score(1))

of_runs = st.integers(1, 4).flatmap(lambda runs: st.builds(score, st.integers(0, runs), st.just(runs)))
measured = st.fixed_dictionaries(dict.fromkeys(EVERY, of_runs))
partly = st.fixed_dictionaries({}, optional=dict.fromkeys(EVERY, of_runs))


# --- what is accepted


def test_what_mends_all_training_items_and_harms_none_is_accepted():
    proof = prove(BEFORE, WHOLE, *PARTS)
    assert proof.accepted
    assert (proof.fixed, proof.broken, proof.worse, proof.unmeasured) == (True, (), False, ())
    assert (proof.held_before, proof.held_now, proof.held_items) == (Arm(4, 9), Arm(9, 9), 3)
    assert (proof.held_passed_before, proof.held_passed_now, proof.made_with) == (1, 3, 4)


def test_the_proof_is_the_exact_stratified_test_with_the_arms_swapped():
    proof = prove(BEFORE, WHOLE, *PARTS)
    assert proof.p_better == stratified_p((Arm(3, 3), Arm(passes, 3)) for passes in (1, 2, 1))
    one = prove(scores(h1=score(0, 5)), scores(h1=score(5, 5)), TRAINING, [], ["h1"])
    assert one.p_better == fisher_p(Arm(5, 5), Arm(0, 5)) == pytest.approx(1 / 252)


def test_a_training_item_that_fails_or_was_not_measured_is_not_fixed():
    assert not prove(BEFORE, scores(t2=score(1)), *PARTS).fixed
    missing = {id_: its for id_, its in WHOLE.items() if id_ != "t2"}
    proof = prove(BEFORE, missing, *PARTS)
    assert (proof.fixed, proof.unmeasured, proof.accepted) == (False, ("t2",), False)


@pytest.mark.parametrize("id_", ["v2", "h1"])
def test_a_stable_pass_that_fails_is_broken_in_whatever_part(id_):
    proof = prove(WHOLE, scores(**{id_: score(1)}), *PARTS)
    assert (proof.broken, proof.worse, proof.accepted) == ((id_,), False, False)


def test_what_is_broken_is_sorted_and_a_flaky_pass_or_one_that_still_passes_is_not_broken():
    now = scores(v2=score(0), v1=score(0), h1=score(2), h2=score(1))
    assert prove(scores(h2=score(2)), now, *PARTS).broken == ("v1", "v2")


@pytest.mark.parametrize("id_", ["v2", "h2"])
def test_what_is_sound_is_broken_where_it_fails_now_though_a_run_of_it_failed_before(id_):
    before, now = scores(**{id_: score(2)}), scores(**{id_: score(1)})
    assert prove(before, now, *PARTS).accepted
    proof = prove(before, now, *PARTS, sound=[id_])
    assert (proof.broken, proof.worse, proof.accepted) == ((id_,), False, False)


def test_what_is_sound_and_still_passes_or_was_not_measured_is_not_broken():
    assert prove(WHOLE, scores(v1=score(2)), *PARTS, sound=EVERY).accepted
    now = {id_: its for id_, its in WHOLE.items() if id_ != "v1"}
    proof = prove(WHOLE, now, *PARTS, sound=EVERY)
    assert (proof.broken, proof.unmeasured) == ((), ("v1",))
    assert prove(WHOLE, WHOLE, *PARTS, sound=["of no part"]).broken == ()


def test_a_stable_pass_is_broken_without_being_called_sound():
    proof = prove(scores(v1=score(2)), scores(v1=score(1), h1=score(1)), *PARTS, sound=["v1"])
    assert proof.broken == ("h1", "v1")


@pytest.mark.parametrize("ids", [VALIDATION, HOLDOUT])
def test_a_candidate_that_is_worse_by_the_test_is_not_accepted_though_it_breaks_no_stable_pass(ids):
    before = scores(**{id_: score(9, 10) for id_ in ids})
    now = scores(**{id_: score(6, 10) for id_ in ids})
    p = stratified_p([(Arm(9, 10), Arm(6, 10))] * len(ids))
    proof = prove(before, now, *PARTS)
    assert (proof.broken, proof.worse) == ((), p <= 0.025)
    assert prove(before, scores(**{id_: score(1, 10) for id_ in ids}), *PARTS).worse


@pytest.mark.parametrize(
    "unknown", [None, Score(None, 1, 0), Score(Verdict.INCONCLUSIVE, 0, 0, 3)], ids=["missing", "unfinished", "errors"]
)
@pytest.mark.parametrize("id_", ["v1", "h2"])
def test_what_was_not_measured_is_listed_is_not_broken_and_is_not_accepted(id_, unknown):
    now = {each: its for each, its in {**WHOLE, id_: unknown}.items() if its is not None}
    proof = prove(WHOLE, now, *PARTS)
    assert (proof.fixed, proof.broken, proof.worse) == (True, (), False)
    assert (proof.unmeasured, proof.accepted) == ((id_,), False)
    assert proof.held_items == 3 - (id_ == "h2")


def test_what_was_not_measured_before_cannot_be_compared_and_harms_nothing():
    before = {id_: its for id_, its in BEFORE.items() if id_ not in ("h1", "v1")}
    proof = prove(before, WHOLE, *PARTS)
    assert proof.accepted
    assert (proof.held_items, proof.held_before, proof.held_now) == (2, Arm(3, 6), Arm(6, 6))


def test_items_that_read_the_same_answers_are_evidence_once():
    units = {"h1": "u", "h2": "u"}
    now = scores(h2=score(2))
    proof = prove(BEFORE, now, *PARTS, units=units)
    assert (proof.held_items, proof.held_before, proof.held_now) == (2, Arm(3, 6), Arm(5, 6))
    assert proof.p_better == stratified_p([(Arm(2, 3), Arm(2, 3)), (Arm(3, 3), Arm(1, 3))])
    before = scores(v1=score(8, 10), v2=score(8, 10))
    worse = scores(v1=score(4, 10), v2=score(4, 10))
    assert prove(before, worse, *PARTS).worse
    assert not prove(before, worse, *PARTS, units=dict.fromkeys(VALIDATION, "u")).worse


# --- what is mended


def rounds(*passes: int, runs: int) -> list[Score]:
    return [score(each, runs) for each in passes]


def test_with_one_run_a_round_only_three_rounds_that_say_the_same_are_enough():
    fails, passes = rounds(0, 0, runs=1), rounds(1, 1, runs=1)
    assert not mends(fails, passes)
    assert not mends(fails, passes[:1], last=False)
    fails, passes = rounds(0, 0, 0, runs=1), rounds(1, 1, 1, runs=1)
    assert fisher_p(Arm(3, 3), Arm(0, 3)) == pytest.approx(1 / 20)
    assert not mends(fails, passes)
    assert mends(fails, passes, last=True)


@pytest.mark.parametrize("place", range(3))
def test_with_one_run_a_round_one_that_says_otherwise_is_enough_for_doubt(place):
    passes = [int(each != place) for each in range(3)]
    fails = [int(each == place) for each in range(3)]
    assert not mends(rounds(0, 0, 0, runs=1), rounds(*passes, runs=1), last=True)
    assert not mends(rounds(*fails, runs=1), rounds(1, 1, 1, runs=1), last=True)


def test_with_two_runs_a_round_two_full_rounds_are_clear_and_three_of_which_one_ended_early():
    assert fisher_p(Arm(4, 4), Arm(0, 4)) == pytest.approx(1 / 70)
    assert mends(rounds(0, 0, runs=2), rounds(2, 2, runs=2))
    early = [score(0, 1), score(0, 2)]
    assert fisher_p(Arm(4, 4), Arm(0, 3)) == pytest.approx(1 / 35)
    assert not mends(early, rounds(2, 2, runs=2))
    assert mends([*early, score(0, 2)], rounds(2, 2, 2, runs=2))


def test_with_two_runs_a_round_verdicts_alone_are_not_enough():
    one_of_two = [Score(Verdict.PASS, 1, 1)] * 3
    assert not mends(rounds(0, 0, 0, runs=2), one_of_two, last=True)


def test_with_one_run_a_round_it_is_enough_in_the_end_that_every_verdict_says_the_same():
    none, all_ = rounds(0, 0, 0, runs=1), rounds(1, 1, 1, runs=1)
    assert not mends(none, all_)
    assert mends(none, all_, last=True)
    assert not mends(none, [*all_[:2], none[0]], last=True)
    assert not mends([*none[:2], all_[0]], all_, last=True)


def test_with_more_runs_the_test_decides_and_nothing_else():
    fails, passes = rounds(1, 1, 1, runs=3), rounds(2, 2, 2, runs=3)
    assert fisher_p(Arm(6, 9), Arm(3, 9)) > 0.025
    assert not mends(fails, passes, last=True)
    assert mends(rounds(0, 0, runs=3), rounds(3, 3, runs=3))
    assert mends(rounds(0, 0, 0, runs=3), rounds(2, 2, 2, runs=3))


def test_a_round_of_many_runs_is_not_few_though_others_are():
    assert not mends([score(0, 1), score(1, 3)], [score(1, 1), score(2, 3)], last=True)


@settings(derandomize=True)
@given(st.lists(of_runs, min_size=1, max_size=3), st.lists(of_runs, min_size=1, max_size=3), st.booleans())
def test_nothing_is_mended_that_passes_no_more_often_than_before(old, new, last):
    before, now = (sum((each.arm for each in its), Arm()) for its in (old, new))
    if mends(old, new, last=last):
        assert now.passes * before.runs > before.passes * now.runs
        assert mends(old, new, last=True)
    if fisher_p(now, before) <= 0.025:
        assert mends(old, new)


# --- what is claimed


def test_a_claim_has_the_runs_the_interval_the_p_and_the_cases():
    proof = prove(BEFORE, WHOLE, *PARTS)
    low, high = jeffreys(9, 0)
    assert claim(proof) == [
        "held out, 3 cases never shown: 4 of 9 runs passed before, 9 of 9 now "
        f"(interval {low:.2f} to {high:.2f}, p = {proof.p_better:.2g} ≤ 0.05)",
        "by their verdicts, 1 of them passed before, 3 now",
        "shown to be better there",
    ]


@pytest.mark.parametrize(
    "p, told, better",
    [
        (0.05, "p = 0.05 ≤ 0.05", "shown to be better there"),
        (0.0504, "p = 0.05 > 0.05", "not shown to be better there: too few runs, or no difference"),
        (1.0, "p = 1 > 0.05", "not shown to be better there: too few runs, or no difference"),
        (1e-7, "p < 0.0001", "shown to be better there"),
    ],
)
def test_the_prompt_is_only_called_better_by_the_p(p, told, better):
    first, _, last = claim(replace(prove(BEFORE, WHOLE, *PARTS), p_better=p))
    assert told in first
    assert last == better


def test_of_a_holdout_that_does_worse_it_is_said():
    proof = prove(WHOLE, scores(h1=score(2)), *PARTS)
    assert claim(proof)[-1] == "not shown to be better there: fewer of the runs passed than before"


def test_without_a_holdout_nothing_is_claimed():
    proof = prove(BEFORE, WHOLE, TRAINING, VALIDATION, [])
    assert (proof.held_items, proof.p_better, proof.accepted) == (0, 1, True)
    assert claim(proof) == ["nothing is proved beyond the 4 cases that it was made with"]
    alone = prove(BEFORE, WHOLE, ["t1"], [], [])
    assert claim(alone) == ["nothing is proved beyond the 1 case that it was made with"]


# --- always


@settings(derandomize=True)
@given(partly, partly)
def test_nothing_is_accepted_where_a_training_item_fails_or_something_was_not_measured(before: Scores, now: Scores):
    proof = prove(before, now, *PARTS)
    training = all(id_ in now and now[id_].passed for id_ in TRAINING)
    assert proof.fixed == training
    assert not proof.accepted or (training and set(now) == set(EVERY))
    assert not set(proof.broken) & set(proof.unmeasured)
    assert 0 < proof.p_better <= 1


@settings(derandomize=True)
@given(measured)
def test_what_does_just_as_before_is_accepted_where_training_passes_and_is_never_called_better(drawn):
    same = {**drawn, "t1": score(3), "t2": score(3)}
    proof = prove(same, same, *PARTS)
    assert proof.accepted
    assert proof.p_better > 0.5
    assert not any(line.startswith("shown") for line in claim(proof))


@settings(derandomize=True)
@given(measured, measured)
def test_a_claim_never_says_better_without_the_p(before, now):
    proof: Proof = prove(before, now, *PARTS)
    lines = claim(proof)
    assert 1 <= len(lines) <= 3
    assert "p = " in lines[0] or "p < " in lines[0]
    assert ("shown to be better there" in lines) == (proof.p_better <= 0.05)
