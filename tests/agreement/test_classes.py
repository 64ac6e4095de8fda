from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.agreement.classes import agreement_of, by_size, classes, join, normalise, place, plurality

words = st.text(alphabet="abC *_\n", max_size=6)
labels = st.lists(st.sampled_from("abcd"), max_size=12)


def near(one: str, two: str) -> bool:
    """Not transitive: 1 is near 2 and 2 is near 3, but 1 is not near 3."""
    return abs(int(one) - int(two)) <= 1


def one_by_one(answers: list[str], same) -> list[list[int]]:
    """The classes as `join` makes them, and `place`."""

    async def soon(one: str, two: str) -> bool:
        await asyncio.sleep(0)
        return same(one, two)

    async def put() -> list[list[int]]:
        found: list[list[int]] = []
        for position, new in enumerate(answers):
            texts = [[answers[member] for member in members] for members in found]
            index = place(texts, new, same)
            assert index == await join(texts, new, soon)
            [*found, opened := []][index].append(position)
            found += [opened] if opened else []
        return found

    return asyncio.run(put())


# --- normalise


@pytest.mark.parametrize(
    "text, same_as",
    [
        ("30 Days", "30 days"),
        ("  30\n\tdays ", "30 days"),
        ("30\u00a0days", "30 days"),
        ("３０ ｄａｙｓ", "30 days"),
        ("STRASSE", "straße"),
        ("ﬁne", "fine"),
        ("cafe\u0301", "café"),
        ("ΣΊΣΥΦΟΣ", "σίσυφος"),
        ("**30 days**", "30 days"),
        ("*30 days*", "30 days"),
        ("__30__ _days_", "30 days"),
        ("***30 days***", "30 days"),
        ("_**30 days**_", "30 days"),
        ("**within *30* days**", "within 30 days"),
        ("**Answer:** 30", "answer: 30"),
        ("(*30*), «_30_».", "(30), «30»."),
        ("**30\ndays**", "30 days"),
        ("", "   "),
    ],
)
def test_form_case_space_and_emphasis_make_no_difference(text, same_as):
    assert normalise(text) == normalise(same_as)


@pytest.mark.parametrize(
    "text",
    ["2 * 3 * 4", "2*3*4", "snake_case_name", "f(*args, **kw)", "* one\n* two", "***", "* *", "**", "****x****", "5 *",
     "*5", "price* and terms", "a_ b_", "_", "*.py or *.md"],
)  # fmt: skip
def test_what_is_no_emphasis_stays(text):
    assert normalise(text) == " ".join(text.split())


def test_different_texts_stay_different():
    assert len({normalise(text) for text in ("30 days", "30 days.", "30days", "45 days", "-30 days")}) == 5


def test_a_bot_that_stutters_does_not_take_for_ever():
    started = time.process_time()
    for text in ("*a " * 100_000, "_a* " * 100_000, "*a " * 50_000 + "b_ " * 50_000, "*" * 300_000, "**a" * 100_000):
        normalise(text)
    assert time.process_time() - started < 5


# --- classes


def test_equal_texts_are_put_together_in_the_order_of_their_first():
    answers = ["45 days", "**30 days**", "30  Days", "45 days", "none"]
    assert classes(answers) == [[0, 3], [1, 2], [4]]


@given(st.lists(words, max_size=12))
def test_each_answer_is_in_one_class_and_each_class_in_run_order(answers):
    found = classes(answers)
    assert sorted(position for members in found for position in members) == list(range(len(answers)))
    assert all(members == sorted(members) for members in found)
    assert [members[0] for members in found] == sorted(members[0] for members in found)


@given(st.lists(words, max_size=12), st.randoms(use_true_random=False))
def test_of_an_equivalence_the_order_only_renames_the_classes(answers, chance: random.Random):
    shuffled = list(answers)
    chance.shuffle(shuffled)
    sizes = [Counter({normalise(texts[members[0]]): len(members) for members in classes(texts)})
             for texts in (answers, shuffled)]  # fmt: skip
    assert sizes[0] == sizes[1]


def test_no_answers_make_no_classes():
    assert classes([]) == one_by_one([], near) == []


def test_a_thousand_different_answers_take_no_time():
    answers = [f"You have **{number}** days to send it back, says our policy. " * 5 for number in range(1000)]
    started = time.process_time()
    assert len(classes(answers)) == 1000
    assert time.process_time() - started < 0.2


# --- classes, answer by answer


def test_an_answer_must_be_equivalent_to_every_member():
    assert one_by_one(["1", "2", "3", "2"], near) == [[0, 1, 3], [2]]
    assert one_by_one(["2", "1", "3"], near) == [[0, 1], [2]]
    assert one_by_one(["1", "3", "2"], near) == [[0, 2], [1]]


def test_an_answer_joins_the_first_class_it_fits():
    assert one_by_one(["1", "3", "5", "2", "4"], near) == [[0, 3], [1, 4], [2]]


def test_equal_texts_need_not_be_compared():
    asked: Counter[tuple[str, str]] = Counter()

    def same(one: str, two: str) -> bool:
        asked[one, two] += 1
        return False

    assert one_by_one(["a", "b", "A", "c", "*b*", "a"], same) == [[0, 2, 5], [1, 4], [3]]
    assert asked == {("a", "b"): 2, ("a", "c"): 2, ("b", "c"): 2}  # once by `place`, once by `join`


@given(st.lists(st.integers(0, 9).map(str), max_size=12))
def test_answers_that_come_one_by_one_are_in_the_classes_of_comparing_all(all_compared, answers):
    assert one_by_one(answers, near) == all_compared(answers, near)


@given(st.lists(words, max_size=8), st.sets(st.tuples(words, words)), st.data())
def test_so_they_are_whatever_is_the_same(all_compared, answers, pairs, data):
    """Transitive or not, symmetric or not."""
    pairs = pairs | set(data.draw(st.lists(st.sampled_from(list(product(answers, repeat=2)) or [("", "")]))))

    def same(one: str, two: str) -> bool:
        return (one, two) in pairs

    assert one_by_one(answers, same) == all_compared(answers, same)


def test_a_new_answer_is_compared_with_each_text_once_and_only_as_far_as_needed():
    asked: list[tuple[str, str]] = []

    def same(one: str, two: str) -> bool:
        asked.append((one, two))
        return one == "c"

    assert place([["a", "A", "*a*"], ["b"], ["c", "C"]], "d", same) == 2
    assert asked == [("a", "d"), ("b", "d"), ("c", "d")]
    assert place([["a"], ["b", "c"]], "**C**", same) == 1
    assert len(asked) == 3


def test_what_a_comparison_raises_goes_through():
    def broken(one: str, two: str) -> bool:
        raise StopIteration

    with pytest.raises(StopIteration):
        place([["a"]], "b", broken)
    with pytest.raises(RuntimeError):
        one_by_one(["a", "b"], lambda one, two: next(iter(())))


def test_a_thousand_different_answers_that_come_one_by_one_take_little_time():
    key = lru_cache(maxsize=None)(normalise)
    found: list[list[str]] = []
    started = time.process_time()
    for number in range(1000):
        new = f"You have **{number}** days to send it back, says our policy. "
        assert place(found, new, lambda one, two: len(one) == 0, key) == number
        found.append([new])
    assert time.process_time() - started < 2


# --- numbers


@given(labels.filter(lambda answers: len(answers) > 1))
def test_agreement_is_the_share_of_pairs_that_agree(answers):
    pairs = [one == two for one, two in combinations(answers, 2)]
    assert agreement_of(classes(answers)) == pytest.approx(sum(pairs) / len(pairs))


@pytest.mark.parametrize(
    "sizes, agreement", [((5,), 1), ((4, 1), 0.6), ((3, 2), 0.4), ((1, 1, 1), 0), ((1,), None), ((), None)]
)
def test_agreement_of_some_sizes(sizes, agreement):
    assert agreement_of([[0] * size for size in sizes]) == agreement


def test_agreement_is_unbiased_and_the_plurality_share_is_not():
    """Three equally likely answers in three runs: any two agree with chance 1/3, yet E[c₁/3] = 17/27."""
    samples = [classes(list(drawn)) for drawn in product("abc", repeat=3)]
    assert sum(agreement_of(found) for found in samples) / 27 == pytest.approx(1 / 3)
    assert sum(plurality(found) for found in samples) / 27 == pytest.approx(float(Fraction(17, 27)))


@pytest.mark.parametrize("found, share", [([[0, 2], [1]], 2 / 3), ([[0]], 1), ([], None)])
def test_plurality_is_the_share_of_the_largest(found, share):
    assert plurality(found) == share


def test_the_largest_class_is_shown_first_and_of_equals_the_earlier():
    assert by_size([[0], [1, 4], [2], [3, 5]]) == [[1, 4], [3, 5], [0], [2]]
