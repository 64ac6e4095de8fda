from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_convo.agreement.outcome import Outcome
from pytest_convo.agreement.verdict import Verdict
from pytest_convo.refine.attempts import Attempt
from pytest_convo.refine.choosing import best, contradiction, front, parent, rank, to_merge, unstable_judge
from pytest_convo.refine.items import Item, Score, Shown

PASS, FAIL, ERROR = Outcome
IDS = "abcd"


def score(passes: int, runs: int = 3, *, k: int = 3) -> Score:
    return Score(Verdict.PASS if passes >= k else Verdict.FAIL, passes, runs - passes)


def attempt(number: int, passes: str, text: str = "", *, ids: str = IDS) -> Attempt:
    """One that passes these items, and of the other ids none."""
    return Attempt(number, text or "same", {id_: score(3 * (id_ in passes)) for id_ in ids})


@st.composite
def attempts(draw: st.DrawFn) -> list[Attempt]:
    drawn = draw(st.lists(st.dictionaries(st.sampled_from(IDS), st.integers(0, 3)), min_size=1, max_size=7))
    texts = st.sampled_from(["one", "three", "seven"])
    return [
        Attempt(number, draw(texts), {id_: score(passes) for id_, passes in scores.items()})
        for number, scores in enumerate(drawn)
    ]


def passed(candidate: Attempt) -> set[str]:
    return {id_ for id_, its in candidate.scores.items() if its.passed}


# --- the best


def test_the_rank_is_the_verdicts_and_the_mean_of_the_rates_of_items_not_of_runs():
    scores = {"a": score(3), "b": score(1, 2), "c": Score(Verdict.INCONCLUSIVE, 0, 0, 3), "other": score(0)}
    assert rank(scores, ["a", "b", "c", "missing"]) == (1, pytest.approx(1.5 / 4))
    assert rank({"a": score(10, 10), "b": score(0, 1)}, "ab") == (1, 0.5)
    assert rank(scores, []) == (0, 0.0)


def test_equal_rates_are_equal_however_they_come_about():
    thirds = {id_: score(1, 3) for id_ in "abc"}
    whole = {"a": score(1, 1, k=9), "b": score(0), "c": score(0)}
    assert rank(thirds, "abc") == rank(whole, "abc")


def test_the_best_passes_most_then_most_often_then_is_the_shortest_then_the_earliest():
    often = Attempt(2, "long text", {"a": score(3), "b": score(2)})
    assert best([attempt(1, "a", ids="ab"), often], "ab") is often
    assert best([often, attempt(3, "ab", "longer text still")], "ab").number == 3
    assert best([attempt(1, "a", "long"), attempt(2, "a", "l")], "ab").number == 2
    assert best([attempt(2, "a", "l"), attempt(1, "a", "m")], "ab").number == 1


def test_one_that_was_refused_is_no_better_than_one_that_passes_nothing():
    refused = Attempt(0, "", {}, refused=("too short",))
    assert best([refused, attempt(1, "")], IDS).number == 1


def test_of_no_candidates_none_is_the_best():
    with pytest.raises(ValueError):
        best([], IDS)


@settings(derandomize=True)
@given(attempts(), st.randoms(use_true_random=False))
def test_the_best_is_on_the_front_and_none_dominates_it_in_whatever_order(candidates, random: Random):
    top = best(candidates, IDS)
    assert not any(passed(other) > passed(top) for other in candidates)
    assert top in front(candidates, IDS)
    mixed = random.sample(candidates, len(candidates))
    assert best(mixed, IDS) is top
    assert front(mixed, IDS) == front(candidates, IDS)


# --- the front


def test_the_front_has_each_that_passes_what_no_other_passes_with_more():
    candidates = [attempt(1, "a"), attempt(2, "ab"), attempt(3, "c"), attempt(4, ""), attempt(5, "ab", "s")]
    assert [each.number for each in front(candidates, IDS)] == [3, 5]


@settings(derandomize=True)
@given(attempts())
def test_no_member_of_the_front_is_dominated_and_all_others_are_matched_by_one(candidates):
    members = front(candidates, IDS)
    assert not any(passed(one) >= passed(other) for one in members for other in members if one is not other)
    assert all(any(passed(member) >= passed(each) for member in members) for each in candidates)


def test_odd_turns_go_on_from_the_best_and_even_ones_from_the_front_in_rotation():
    candidates = [attempt(1, "a"), attempt(2, "bc"), attempt(3, "d"), attempt(4, "")]
    assert [parent(candidates, IDS, turn).number for turn in range(1, 9)] == [2, 1, 2, 3, 2, 2, 2, 1]
    assert {parent(candidates[:1], IDS, turn).number for turn in range(1, 5)} == {1}


# --- merging


def test_those_are_merged_that_together_pass_most_the_better_one_first():
    candidates = [attempt(1, "a"), attempt(2, "b"), attempt(3, "cd")]
    pair = to_merge(candidates, IDS, [])
    assert pair is not None
    assert [each.number for each in pair] == [3, 1]
    pairs = [frozenset({1, 3}), frozenset({3, 2})]
    assert [each.number for each in to_merge(candidates, IDS, pairs[:1]) or ()] == [3, 2]
    assert [each.number for each in to_merge(candidates, IDS, pairs) or ()] == [1, 2]
    assert to_merge(candidates, IDS, [*pairs, frozenset({1, 2})]) is None


def test_nothing_is_merged_where_one_passes_all_that_others_do():
    assert to_merge([attempt(1, "a"), attempt(2, "ab"), attempt(3, "")], IDS, []) is None
    assert to_merge([], IDS, []) is None


@settings(derandomize=True)
@given(attempts())
def test_what_is_merged_has_both_what_the_other_lacks(candidates):
    pair = to_merge(candidates, IDS, [])
    assert (pair is None) == (len(front(candidates, IDS)) < 2)
    if pair:
        assert passed(pair[0]) - passed(pair[1])
        assert passed(pair[1]) - passed(pair[0])
        assert to_merge(candidates[::-1], IDS, []) == pair


# --- what no prompt can do


OPPOSED = [attempt(1, "a"), attempt(2, "a"), attempt(3, "b"), attempt(4, "bc")]
MERGED = [*OPPOSED, attempt(5, "a"), attempt(6, "b")]
MERGES = [(1, 3, 5), (4, 2, 6)]
"""Of which two, and which one came of it."""
NEITHER = [attempt(5, "", ids="ab"), attempt(6, "", ids="ab")]


def test_items_contradict_each_other_that_pass_in_turn_and_never_together():
    assert contradiction(MERGED, IDS, MERGES) == ("a", "b")
    assert contradiction(MERGED[::-1], IDS, MERGES) == ("a", "b")
    assert contradiction(MERGED, IDS, MERGES[::-1]) == ("a", "b")
    assert contradiction(MERGED, "ba", MERGES) == ("b", "a")


@pytest.mark.parametrize(
    "merges",
    [[], MERGES[:1], [MERGES[0], (1, 2, 6)], [MERGES[0], (3, 4, 6)]],
    ids=["none", "one", "of one kind", "of the other kind"],
)
def test_they_do_not_where_fewer_than_two_merges_were_of_one_of_each_kind(merges):
    assert contradiction(MERGED, IDS, merges) is None


@pytest.mark.parametrize(
    "made",
    [
        [Attempt(5, "same", {}, ("too short",)), Attempt(6, "same", {}, ("too short",))],
        [attempt(5, "", ids="cd"), attempt(6, "", ids="cd")],
        [attempt(5, "a", ids="ac"), attempt(6, "b", ids="bc")],
    ],
    ids=["refused", "measured on others", "measured on one"],
)
def test_they_do_not_where_no_merge_was_tried_on_both(made):
    assert contradiction([*OPPOSED, *made], IDS, MERGES) is None


def test_a_merge_that_passes_neither_counts():
    assert contradiction([*OPPOSED, *NEITHER], IDS, MERGES) == ("a", "b")


def unclear(number: int, **passes: int) -> Attempt:
    """Of ten runs, of which eight must pass."""
    return Attempt(number, "same", {id_: score(each, 10, k=8) for id_, each in passes.items()})


@pytest.mark.parametrize(
    "passed, failed, wanted",
    [(10, 0, ("a", "b")), (10, 1, ("a", "b")), (9, 0, None), (10, 2, None)],
    ids=["clear", "one passes", "one fails", "two pass"],
)
def test_only_what_passes_or_fails_clearly_counts(passed, failed, wanted):
    ways = [(passed, failed), (passed, failed), (failed, passed), (failed, passed), (failed, passed), (passed, failed)]
    candidates = [unclear(number, a=one, b=other) for number, (one, other) in enumerate(ways, 1)]
    assert contradiction(candidates, "ab", MERGES) == wanted


def test_what_passes_both_is_seen_however_unclear_it_is():
    assert contradiction([*MERGED, unclear(7, a=8, b=9)], "ab", MERGES) is None


@pytest.mark.parametrize(
    "candidates, merges",
    [
        ([*OPPOSED[1:], *NEITHER], [(2, 3, 5), (4, 2, 6)]),
        ([*OPPOSED[:3], *NEITHER], [(1, 3, 5), (3, 2, 6)]),
        ([*MERGED, attempt(7, "ab")], MERGES),
        ([*OPPOSED, attempt(5, "ab"), MERGED[-1]], MERGES),
    ],
    ids=["one way", "the other", "together", "merged"],
)
def test_they_do_not_where_it_was_seen_too_seldom_or_both_pass_once(candidates, merges):
    assert contradiction(candidates, IDS, merges) is None


def test_what_was_not_decided_is_no_failure():
    undecided = Score(Verdict.INCONCLUSIVE, 1, 0, 2)
    candidates = [
        Attempt(each.number, "", {**each.scores, "a": undecided} if "b" in passed(each) else each.scores)
        for each in MERGED
    ]
    assert contradiction(MERGED, IDS, MERGES) == ("a", "b")
    assert contradiction(candidates, IDS, MERGES) is None


# --- a judge that does not know


def run(outcome: Outcome, *said: str) -> Shown:
    messages = [message for text in said for message in (("user", "?"), ("assistant", text))]
    return Shown(outcome, tuple(messages))


def judged(*runs: Shown, number: int = 1) -> Attempt:
    return Attempt(number, "", {"a": Score(Verdict.FAIL, 0, len(runs), runs=runs)})


ITEM = Item("a", "u", (), asks_judge=True)


def test_a_judge_is_unstable_that_twice_passes_and_fails_the_same_reply():
    twice = [run(PASS, "Yes, sir."), run(FAIL, "Yes,  sir.\n")] * 2
    assert unstable_judge([ITEM], [judged(*twice)]) == "a"
    assert unstable_judge([ITEM], [judged(*twice[:2]), judged(*twice[2:], number=2)]) == "a"
    other = [run(PASS, "No."), run(FAIL, "No.")]
    assert unstable_judge([ITEM], [judged(*twice[:2], *other)]) == "a"


@pytest.mark.parametrize(
    "runs",
    [
        [run(PASS, "Yes."), run(FAIL, "Yes.")],
        [run(PASS, "Yes."), run(FAIL, "Yes."), run(FAIL, "Yes."), run(ERROR, "Yes.")],
        [run(PASS, "Yes."), run(FAIL, "No.")] * 2,
        [run(PASS, ""), run(FAIL, " ")] * 2,
        [run(PASS), run(FAIL)] * 2,
        [run(PASS, "30 days.", "Bye."), run(FAIL, "3 days.", "Bye.")] * 2,
    ],
    ids=["once", "one pass", "other replies", "empty", "silent", "said otherwise before"],
)
def test_a_judge_is_not_called_unstable(runs):
    assert unstable_judge([ITEM], [judged(*runs)]) is None


def test_an_item_that_asks_no_judge_has_none_that_is_unstable():
    runs = [run(PASS, "Yes."), run(FAIL, "Yes.")] * 2
    assert unstable_judge([Item("a", "u", ())], [judged(*runs)]) is None
    assert unstable_judge([Item("b", "u", (), asks_judge=True)], [judged(*runs)]) is None
