from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_convo.refine.items import Item
from pytest_convo.refine.split import Split, levelled, split

ALIKE = settings(derandomize=True, deadline=None)


def item(id_: str, *inputs: str, unit: str = "") -> Item:
    return Item(id_, unit or id_, inputs)


def cases(number: int) -> list[Item]:
    return [item(f"case-{index}", f"the question of case {index}") for index in range(number)]


def where(found: Split, failing: list[str]) -> tuple[int, int, int]:
    """How many failing items are in training, validation and holdout."""
    return tuple(len(set(failing) & set(part)) for part in (found.training, found.validation, found.holdout))


def sizes(found: Split) -> tuple[int, int, int]:
    return len(found.training), len(found.validation), len(found.holdout)


# --- sizes


@pytest.mark.parametrize(
    ("units", "share", "wanted"),
    [
        (0, 0.25, (0, 0, 0)),
        (1, 0.25, (1, 0, 0)),
        (3, 0.25, (3, 0, 0)),
        (4, 0.25, (2, 1, 1)),
        (6, 0.25, (4, 1, 1)),
        (7, 0.25, (3, 2, 2)),
        (10, 0.25, (6, 2, 2)),
        (12, 0.25, (6, 3, 3)),
        (14, 0.25, (8, 3, 3)),
        (20, 0.1, (16, 2, 2)),
        (20, 0.0, (18, 1, 1)),
        (20, 0.9, (2, 9, 9)),
        (5, 0.5, (1, 2, 2)),
    ],
)
def test_holdout_and_validation_are_a_share_each(units, share, wanted):
    assert sizes(split(cases(units), [], share)) == wanted


# --- failing units


@pytest.mark.parametrize(
    ("units", "failing", "wanted"),
    [
        (4, 4, (2, 1, 1)),
        (4, 2, (1, 0, 1)),
        (10, 1, (1, 0, 0)),
        (10, 2, (1, 0, 1)),
        (12, 3, (1, 1, 1)),
        (12, 4, (2, 1, 1)),
        (12, 9, (5, 2, 2)),
        (20, 20, (10, 5, 5)),
    ],
)
def test_failing_units_are_spread(units, failing, wanted):
    ids = [f"case-{index}" for index in range(failing)]
    assert where(split(cases(units), ids), ids) == wanted


def test_a_unit_fails_with_any_of_its_items():
    items = [*cases(9), item("a", "why does it fail", unit="u"), item("b", "why does it fail", unit="u")]
    assert {"a", "b"} <= set(split(items, ["b"]).training)


def test_ids_that_are_no_items_do_not_fail():
    assert split(cases(8), ["elsewhere"]) == split(cases(8), [])


def test_the_order_is_that_of_digests():
    """Pinned: a split that is made anew with another version must not show what was held out."""
    assert split(cases(8), ["case-3", "case-5"]) == Split(
        training=("case-0", "case-2", "case-3", "case-6"), validation=("case-1", "case-7"), holdout=("case-4", "case-5")
    )


# --- what is never parted


def apart(first: Item, second: Item) -> bool:
    """Whether two items count as two units: with two others they are then enough for a holdout."""
    return bool(split([first, second, *cases(2)], []).holdout)


def test_items_with_a_text_in_common_are_one_unit():
    assert not apart(item("a", "Where is my order?"), item("b", "hello", "  where is\nMY order? "))


def test_items_are_joined_by_way_of_others():
    items = [
        item("a", "the first long text"),
        item("b", "the first long text", "the second long text"),
        item("c", "the second long text"),
    ]
    assert split([*items, *cases(1)], []).holdout == ()
    assert len(split([*items, *cases(3)], []).holdout) in {1, 3}


def test_a_short_text_in_common_does_not_join():
    assert apart(item("a", "yes, please", "Where is my order?"), item("b", "yes, please", "Where is my money?"))


def test_a_short_text_joins_where_nothing_else_is_said():
    assert not apart(item("a", "Hi!"), item("b", "hi!"))
    assert apart(item("a", "Hi!"), item("b", "hi!", "Where is my order?"))


def test_no_text_does_not_join():
    assert apart(item("a", " "), item("b", ""))
    assert apart(item("a"), item("b"))


def test_an_id_is_in_one_part_even_if_it_comes_twice():
    found = split([item("a", unit="u"), item("a", unit="v"), *cases(6)], [])
    assert Counter(found.ids)["a"] == 1


def test_levelled():
    assert levelled("  Straße\t\n NORD ") == "strasse nord"


# --- to and from builtins


def test_a_split_is_read_back():
    found = split(cases(7), ["case-1"])
    assert Split.of_json(json.loads(json.dumps(found.to_json()))) == found


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        {"training": ["a"], "validation": []},
        {"training": "ab", "validation": [], "holdout": []},
        {"training": [1], "validation": [], "holdout": []},
        {"training": ["a"], "validation": [], "holdout": ["a"]},
    ],
)
def test_what_is_no_split_is_not_read(value):
    with pytest.raises(ValueError, match="split"):
        Split.of_json(value)


def test_what_is_shown():
    found = Split(("a",), ("b",), ("c",))
    assert (found.shown, found.unseen, found.ids) == (("a",), ("b", "c"), ("a", "b", "c"))


# --- whatever the items are

TEXTS = st.sampled_from(["", "hi", "Hi ", "where is my order", "Where is  my order", "what does it cost", "thank you"])


@st.composite
def suites(draw):
    number = draw(st.integers(0, 14))
    items = [
        Item(f"t{index}", f"u{draw(st.integers(0, 10))}", tuple(draw(st.lists(TEXTS, max_size=2))))
        for index in range(number)
    ]
    failing = draw(st.lists(st.sampled_from([item.id for item in items]), unique=True)) if items else []
    return items, failing, draw(st.floats(0, 1))


def groups(items: list[Item]) -> list[set[str]]:
    """The joined units, the slow way: any two that have something in common, until there are none."""
    found = [({item.unit}, {item.id}, {levelled(text) for text in item.inputs} - {""}) for item in items]
    found = merged(found, lambda one, other: one[0] & other[0])

    def keys(texts: set[str], alone: bool) -> set[str]:
        return {text for text in texts if alone or len(text) >= 12}

    keyed = [(units, ids, keys(texts, len(texts) == 1)) for units, ids, texts in found]
    return [ids for _, ids, _ in merged(keyed, lambda one, other: one[2] & other[2])]


def merged(groups, related):
    for index, one in enumerate(groups):
        for other in groups[:index]:
            if related(one, other):
                rest = [group for group in groups if group is not one and group is not other]
                return merged([*rest, tuple(a | b for a, b in zip(one, other, strict=True))], related)
    return groups


@ALIKE
@given(suites())
def test_every_item_is_in_one_part(suite):
    items, failing, share = suite
    assert sorted(split(items, failing, share).ids) == sorted(item.id for item in items)


@ALIKE
@given(suites())
def test_no_unit_is_parted(suite):
    items, failing, share = suite
    found = split(items, failing, share)
    for group in groups(items):
        assert sum(bool(group & set(part)) for part in (found.training, found.validation, found.holdout)) == 1


@ALIKE
@given(suites(), st.randoms(use_true_random=False))
def test_the_order_of_the_items_says_nothing(suite, random):
    items, failing, share = suite
    shuffled = random.sample(items, len(items))
    assert split(shuffled, failing[::-1], share) == split(items, failing, share)


@ALIKE
@given(suites())
def test_there_is_something_to_learn_from_to_choose_with_and_to_prove_by(suite):
    items, failing, share = suite
    found = split(items, failing, share)
    units = groups(items)
    assert bool(found.training) == bool(items)
    assert bool(found.validation) == bool(found.holdout) == (len(units) >= 4)
    if failing:
        assert set(failing) & set(found.training)
    bad = sum(bool(unit & set(failing)) for unit in units)
    if bad >= 2 and len(units) >= 4:
        assert set(failing) & set(found.holdout)
    if bad >= 3 and len(units) >= 4:
        assert set(failing) & set(found.validation)


@ALIKE
@given(st.integers(4, 60), st.integers(0, 60), st.floats(0, 0.5))
def test_failing_units_are_spread_by_size(units, failing, share):
    ids = [f"case-{index}" for index in range(min(units, failing))]
    found = split(cases(units), ids, share)
    for has, size in zip(where(found, ids), sizes(found), strict=True):
        assert abs(has - len(ids) * size / units) < 2
