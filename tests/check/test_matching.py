from __future__ import annotations

from itertools import combinations, permutations

from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.check.matching import pairs, pairs_in_order

GRAPHS = st.integers(0, 5).flatmap(
    lambda columns: st.lists(st.lists(st.booleans(), min_size=columns, max_size=columns), max_size=5).map(
        lambda rows: (rows, columns)
    )
)


def size_by_trying(rows: list[list[bool]], columns: int) -> int:
    """The size of the largest pairing, by every order of the longer side."""
    if len(rows) > columns:
        rows, columns = [list(column) for column in zip(*rows, strict=True)] or [[]] * columns, len(rows)
    orders = permutations(range(columns), len(rows))
    return max(sum(rows[row][column] for row, column in enumerate(order)) for order in orders)


@given(GRAPHS)
def test_a_pairing_is_as_large_as_any(graph: tuple[list[list[bool]], int]) -> None:
    rows, columns = graph
    paired = pairs(range(len(rows)), range(columns), lambda row, column: rows[row][column])
    assert all(rows[row][column] for row, column in paired.items())
    assert len(set(paired.values())) == len(paired)
    assert len(paired) == size_by_trying(rows, columns)


def test_one_that_fits_many_does_not_take_the_only_one_that_fits_another() -> None:
    fitting = {("any", "a"), ("any", "b"), ("a only", "a")}
    assert pairs(["any", "a only"], ["a", "b"], lambda want, have: (want, have) in fitting) == {0: 1, 1: 0}


def test_a_long_chain_of_moves_needs_no_recursion() -> None:
    count = 2000
    # Each takes the first that fits; the last one fits only what the first has, and so all of them must move.
    fitting = {want: (want, want + 1) for want in range(count - 1)} | {count - 1: (0,)}
    paired = pairs(range(count), range(count), lambda want, have: have in fitting[want])
    assert len(paired) == count


@given(GRAPHS)
def test_a_pairing_in_order_is_as_large_as_any_that_keeps_it(graph: tuple[list[list[bool]], int]) -> None:
    rows, columns = graph
    paired = pairs_in_order(range(len(rows)), range(columns), lambda row, column: rows[row][column])
    assert all(rows[row][column] for row, column in paired.items())
    assert list(paired) == sorted(paired)
    assert list(paired.values()) == sorted(set(paired.values()))
    longest = max(
        size
        for size in range(min(len(rows), columns) + 1)
        for chosen in combinations(range(len(rows)), size)
        for others in combinations(range(columns), size)
        if all(rows[row][column] for row, column in zip(chosen, others, strict=True))
    )
    assert len(paired) == longest
