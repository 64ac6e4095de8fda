from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.check.values import contained, differences, locate, same, shortfalls

SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False, width=16) | st.text(max_size=3)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4)
)


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        (True, True, True),
        (None, False, False),
        (None, None, True),
        ("1", 1, False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ([1, 2], [2, 1], False),
        ([], {}, False),
        ({"a": None}, {}, False),
        ({"a": [True]}, {"a": [1]}, False),
        (10**30, 1e30, False),
    ],
)
def test_equality_is_that_of_json(one: Any, other: Any, equal: bool) -> None:
    assert same(one, other) is equal
    assert same(other, one) is equal


@given(VALUES, VALUES)
def test_equality_is_that_of_canonical_text(one: Any, other: Any) -> None:
    def canonical(value: Any) -> str:
        return json.dumps(whole_numbers(value), sort_keys=True)

    assert same(one, other) is (canonical(one) == canonical(other))


def whole_numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: whole_numbers(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [whole_numbers(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


@given(VALUES)
def test_every_value_contains_and_equals_itself(value: Any) -> None:
    assert contained(value, copy.deepcopy(value))
    assert same(value, copy.deepcopy(value))


def enlarged(value: Any, chance: random.Random) -> Any:
    """The value with more in it: further keys and items, arrays in another order."""
    if isinstance(value, dict):
        return {key: enlarged(inner, chance) for key, inner in value.items()} | {"something else": chance.random()}
    if isinstance(value, list):
        items = [*(enlarged(inner, chance) for inner in value), "another item"]
        chance.shuffle(items)
        return items
    return value


@given(VALUES, st.randoms(use_true_random=False))
def test_a_value_with_more_in_it_contains_the_one_with_less(value: Any, chance: random.Random) -> None:
    larger = enlarged(value, chance)
    assert contained(value, larger)
    assert contained(value, enlarged(larger, chance))


@given(VALUES, VALUES)
def test_equal_values_contain_one_another(one: Any, other: Any) -> None:
    if same(one, other):
        assert contained(one, other)
    if contained(one, other) and contained(other, one) and not any_array(one):
        assert same(one, other)


def any_array(value: Any) -> bool:
    return isinstance(value, list) or (isinstance(value, dict) and any(map(any_array, value.values())))


@pytest.mark.parametrize(
    ("wanted", "found", "holds"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, True),
        ({"a": {"b": 1}}, {"a": {"b": 1, "c": 2}}, True),
        ({}, {"a": 1}, True),
        ([], [1], True),
        ([3, 1], [1, 2, 3], True),
        ([1, 1], [1], False),
        ([{"id": 1}], [{"id": 2}, {"id": 1, "name": "x"}], True),
        # The first item fits both, the second one only: a greedy choice would say no.
        ([{"a": 1}, {"a": 1, "b": 1}], [{"a": 1, "b": 1}, {"a": 1}], True),
        ("tea", "green tea", False),
        (1, [1], False),
        ({"a": None}, {}, False),
    ],
)
def test_containment_may_leave_out_keys_and_items(wanted: Any, found: Any, holds: bool) -> None:
    assert contained(wanted, found) is holds


@pytest.mark.parametrize(
    ("wanted", "found", "places"),
    [
        (1, "1", ['$: expected 1, got "1"']),
        ({"a": 1}, {"a": 2}, ["$.a: expected 1, got 2"]),
        ({"a": 1, "b": 2}, {"b": 3}, ["$.a: missing, expected 1", "$.b: expected 2, got 3"]),
        ({}, {"a b": True}, ['$["a b"]: not expected, got true']),
        ([1, 2, 3], [1, 5], ["$: expected 3 items, got 2", "$[1]: expected 2, got 5"]),
        ({"items": [{"price": 5}]}, {"items": [{"price": 7}]}, ["$.items[0].price: expected 5, got 7"]),
        ([], {}, ["$: expected [], got {}"]),
    ],
)
def test_differences_name_their_places(wanted: Any, found: Any, places: list[str]) -> None:
    assert list(differences(wanted, found)) == places


@pytest.mark.parametrize(
    ("wanted", "found", "places"),
    [
        ([1, 2], [1], ["$: no item contains 2"]),
        (
            {"items": [{"id": 2, "price": 8}]},
            {"items": [{"id": 1, "price": 5}, {"id": 2, "price": 7}]},
            ['$.items: no item contains {"id": 2, "price": 8} (nearest: $.items[1].price: expected 8, got 7)'],
        ),
        ({"a": {"b": 1, "c": 2}}, {"a": {"c": 3}}, ["$.a.b: missing, expected 1", "$.a.c: expected 2, got 3"]),
    ],
)
def test_shortfalls_name_their_places(wanted: Any, found: Any, places: list[str]) -> None:
    assert list(shortfalls(wanted, found)) == places


def test_a_path_quotes_keys_that_are_no_names() -> None:
    assert locate(["items", 2, "unit price", "größe", "a"]) == '$.items[2]["unit price"]["größe"].a'


def test_nothing_in_a_place_is_invisible() -> None:
    [place] = differences({}, {"a\u200b\ud800": "\u202f"})
    assert place == r'$["a\u200b\ud800"]: not expected, got "\u202f"'


def test_a_long_value_is_shortened() -> None:
    [place] = differences("x" * 1000, 1)
    assert len(place) < 150
