from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.bot.script_deck import dealt, drawn, whole_weights

decks = st.lists(st.integers(1, 6), min_size=1, max_size=4).map(tuple)


@pytest.mark.parametrize(
    "weights, whole",
    [((4, 1), (4, 1)), ((8, 2), (4, 1)), ((0.8, 0.2), (4, 1)), ((1,), (1,)), ((0.5, 0.25, 0.25), (2, 1, 1))],
)
def test_the_deck_is_the_smallest_that_has_the_proportions(weights, whole):
    assert whole_weights(weights) == whole


@given(decks, st.text(), st.integers(0, 3))
def test_each_whole_deck_holds_each_card_as_often_as_its_weight_says(weights, seed, number):
    size = sum(weights)
    cards = Counter(dealt(weights, seed, number * size + place) for place in range(size))
    assert cards == dict(enumerate(weights))


@given(decks, st.text(), st.integers(0, 50))
def test_a_draw_depends_on_its_seed_and_its_position_alone(weights, seed, position):
    assert dealt(weights, seed, position) == dealt(weights, seed, position)
    assert drawn(weights, seed, position) == drawn(weights, seed, position)


def test_draws_are_the_same_on_every_machine():
    assert [dealt((4, 1), "seed", position) for position in range(10)] == [0, 1, 0, 0, 0, 0, 0, 0, 0, 1]
    assert [drawn((4, 1), "seed", position) for position in range(10)] == [0, 1, 0, 0, 0, 0, 1, 0, 0, 0]


def test_the_rare_card_lies_anywhere_in_the_deck():
    places = Counter(next(p for p in range(5) if dealt((4, 1), f"seed {n}", p) == 1) for n in range(500))
    assert all(60 < places[place] < 140 for place in range(5))


def test_independent_draws_follow_the_weights_without_being_exact():
    fives = [sum(drawn((4, 1), f"seed {n}", position) for position in range(5)) for n in range(400)]
    assert 0.17 < sum(fives) / 2000 < 0.23
    assert len(set(fives)) > 2


def test_a_seed_may_hold_half_a_surrogate_pair():
    assert dealt((1, 1), "\ud800", 0) in (0, 1)
