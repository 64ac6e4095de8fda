"""Pairing what is wanted with what is there, as many as can be."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence, Set
from typing import TypeVar

W = TypeVar("W")
H = TypeVar("H")


def pairs(wanted: Sequence[W], there: Sequence[H], fits: Callable[[W, H], bool]) -> dict[int, int]:
    """A largest pairing: index in `wanted` → index in `there`, each used once, every pair one that `fits`.

    Maximum bipartite matching by augmenting paths (Kuhn 1955, Berge 1957). Taking the first that fits would not do:
    a want that many things fit may take the only one that fits another.
    """
    fitting = [[have for have, value in enumerate(there) if fits(want, value)] for want in wanted]
    owner: dict[int, int] = {}
    for want in range(len(wanted)):
        _augment(want, fitting, owner)
    return dict(sorted((want, have) for have, want in owner.items()))


def pairs_in_order(wanted: Sequence[W], there: Sequence[H], fits: Callable[[W, H], bool]) -> dict[int, int]:
    """A largest pairing that keeps the order of both: a longest common subsequence, by dynamic programming."""
    rows, columns = range(len(wanted)), range(len(there))
    fitting = {(row, column) for row in rows for column in columns if fits(wanted[row], there[column])}
    best = _longest(len(wanted), len(there), fitting)
    paired: dict[int, int] = {}
    row = column = 0
    while row < len(wanted) and column < len(there):
        if (row, column) in fitting and best[row][column] == best[row + 1][column + 1] + 1:
            paired[row] = column
            row, column = row + 1, column + 1
        elif best[row + 1][column] == best[row][column]:
            row += 1
        else:
            column += 1
    return paired


def _longest(rows: int, columns: int, fitting: Set[tuple[int, int]]) -> list[list[int]]:
    """For each place the size of a largest pairing, in order, of what stands there and after it."""
    best = [[0] * (columns + 1) for _ in range(rows + 1)]
    for row in reversed(range(rows)):
        for column in reversed(range(columns)):
            pair = best[row + 1][column + 1] + 1 if (row, column) in fitting else 0
            best[row][column] = max(pair, best[row + 1][column], best[row][column + 1])
    return best


def _augment(start: int, fitting: Sequence[Sequence[int]], owner: dict[int, int]) -> None:
    """Finds `start` a partner, breadth first, moving earlier pairs along where that frees one."""
    reached_by: dict[int, int] = {}
    waiting = deque([start])
    while waiting:
        want = waiting.popleft()
        for have in fitting[want]:
            if have in reached_by:
                continue
            reached_by[have] = want
            if have not in owner:
                _reassign(have, start, reached_by, owner)
                return
            waiting.append(owner[have])


def _reassign(free: int, start: int, reached_by: dict[int, int], owner: dict[int, int]) -> None:
    have: int | None = free
    held = {want: have for have, want in owner.items()}
    while have is not None:
        want = reached_by[have]
        owner[have] = want
        have = None if want == start else held[want]
