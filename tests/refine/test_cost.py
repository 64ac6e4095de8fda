from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_convo.refine.cost import ASKS, Cost, cost
from pytest_convo.refine.items import Item
from pytest_convo.refine.split import Split


def item(id_: str, n: int = 5, k: int = 4, calls: int = 1) -> Item:
    return Item(id_, id_, (f"the question of {id_}",), n=n, k=k, calls=calls)


TRAINED, CHOSEN, HELD = item("t"), item("v", n=3, k=2), item("h", n=10, k=8, calls=2)
SPLIT = Split(("t",), ("v",), ("h",))


def test_one_round_and_all_attempts():
    first, full, failing, proof = 4 + 2, 5 + 3, 5, 3 + 2 * 20
    assert cost([TRAINED, CHOSEN, HELD], SPLIT, {"t"}, 2) == Cost(
        failing + 1 + first + full + proof,
        failing + 2 * (ASKS + 2 * full + failing) + failing + proof,
    )


def test_runs_of_several_calls_count_as_often():
    assert cost([item("t", calls=3)], Split(("t",), (), ()), {"t"}, 1) == Cost(
        1 + 3 * 4 + 3 * 5 + 3 * 5, ASKS + 2 * 3 * 5 + 3 * (3 * 5)
    )


def test_only_what_fails_of_what_is_shown_is_run_again_under_the_old_prompt():
    items = [TRAINED, item("other"), CHOSEN, HELD]
    split = Split(("t", "other"), ("v",), ("h",))
    one, both = cost(items, split, {"t"}, 2), cost(items, split, {"t", "other"}, 2)
    assert (both.least - one.least, both.most - one.most) == (5, 5 + 2 * 5 + 5)
    assert cost(items, split, {"t", "v", "h"}, 2) == one


def test_items_that_are_in_no_part_cost_nothing():
    split = Split(("t",), (), ())
    assert cost([TRAINED, item("other")], split, {"t", "other"}, 1) == cost([TRAINED], split, {"t"}, 1)


amounts = st.tuples(st.integers(1, 10), st.integers(1, 10), st.integers(1, 5)).filter(lambda each: each[1] <= each[0])


@settings(derandomize=True, deadline=None)
@given(st.lists(amounts, min_size=1, max_size=8), st.data(), st.integers(1, 9))
def test_the_least_is_never_more_than_the_most_and_attempts_only_add(drawn, data, attempts):
    items = [item(str(place), *each) for place, each in enumerate(drawn)]
    ids = [each.id for each in items]
    one = data.draw(st.integers(1, len(ids)))
    other = data.draw(st.integers(one, len(ids)))
    parts = Split(tuple(ids[:one]), tuple(ids[one:other]), tuple(ids[other:]))
    failing = data.draw(st.sets(st.sampled_from(ids)))
    takes = cost(items, parts, failing, attempts)
    assert 0 < takes.least <= takes.most < cost(items, parts, failing, attempts + 1).most
    assert takes.least == cost(items, parts, failing, attempts + 1).least
    fewer = cost(items, parts, set(), attempts)
    assert (fewer.least <= takes.least, fewer.most <= takes.most) == (True, True)
