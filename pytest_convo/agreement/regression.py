"""Whether a suite passes less often than before: the exact stratified conditional test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from math import comb
from operator import mul
from typing import NamedTuple

# Chances below this are left out. It is far below what any level of significance looks at, and keeps sums short.
_NEGLIGIBLE = 1e-60


@dataclass(frozen=True, slots=True)
class Arm:
    """How many of some runs passed; runs that ended in an error are not among them."""

    passes: int = 0
    runs: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.passes <= self.runs:
            msg = f"{self.passes} of {self.runs} runs cannot have passed"
            raise ValueError(msg)

    def __add__(self, other: Arm) -> Arm:
        return Arm(self.passes + other.passes, self.runs + other.runs)

    @property
    def fails(self) -> int:
        return self.runs - self.passes


Pair = tuple[Arm, Arm]
"""What one case did before, and what it does now."""


@lru_cache(maxsize=65536)
def fisher_p(before: Arm, now: Arm) -> float:
    """Fisher's exact test (1935), one-sided: the chance of as few passes `now`, if nothing has changed.

    Given the passes of both arms together, those of `now` are hypergeometric. It is 1 where an arm is empty and
    where all runs passed, or none; and exact to the last bit for any numbers.
    """
    stratum = _Stratum(before.runs, now.runs, before.passes + now.passes)
    return sum(_ways(stratum, now.passes)) / stratum.all_ways


def stratified_p(pairs: Iterable[Pair]) -> float:
    """The exact Cochran-Mantel-Haenszel test, one-sided: the chance of as few passes now, if no case has changed.

    Case by case the passes now are hypergeometric, given those of both arms together; the test is of their sum
    (Agresti 1992, "A survey of exact inference for contingency tables"). Cases that can come out in one way only, as
    all their runs passed, or none, or as an arm is empty, say nothing and drop out. With one run an arm it is the
    exact test of McNemar, with one case that of Fisher. Good to 1e-12; 1 where nothing is left to compare.
    """
    strata: Counter[_Stratum] = Counter()
    observed = 0
    for before, now in pairs:
        stratum = _Stratum(before.runs, now.runs, before.passes + now.passes)
        if stratum.least < stratum.most:
            strata[stratum] += 1
            observed += now.passes - stratum.least
    return _chance_of_at_most(observed, strata)


class _Stratum(NamedTuple):
    """The margins of one case: the runs of both arms, and the passes of both together."""

    before: int
    now: int
    passes: int

    @property
    def least(self) -> int:
        """The fewest passes that `now` can have."""
        return max(0, self.passes - self.before)

    @property
    def most(self) -> int:
        return min(self.now, self.passes)

    @property
    def all_ways(self) -> int:
        """How many ways there are to say which of all the runs passed."""
        return comb(self.before + self.now, self.passes)


class _Sum(NamedTuple):
    """The distribution of a number: `chances[i]` is that of `start + i`."""

    start: int
    chances: Sequence[float]


def _chance_of_at_most(observed: int, strata: Counter[_Stratum]) -> float:
    """The chance that the passes above the least possible ones are `observed` at most."""
    one, other = _two_sums([_excess(stratum, times) for stratum, times in sorted(strata.items())])
    below = list(accumulate(other.chances))
    chance = 0.0
    for position, chance_of_one in enumerate(one.chances, one.start + other.start):
        if position > observed:
            break
        chance += chance_of_one * below[min(observed - position, len(below) - 1)]
    return min(chance, 1.0)


def _two_sums(sums: Iterable[_Sum]) -> tuple[_Sum, _Sum]:
    """Independent numbers added up, two by two, to the last two, whose own sum nobody needs to write out."""
    left = sorted(sums, key=lambda each: len(each.chances))
    left += [_Sum(0, (1.0,))] * (2 - len(left))
    while len(left) > 2:
        paired = [_added(*left[index : index + 2]) for index in range(0, len(left) - 1, 2)]
        left = sorted(paired + left[2 * len(paired) :], key=lambda each: len(each.chances))
    return left[0], left[1]


@lru_cache(maxsize=8192)
def _excess(stratum: _Stratum, times: int) -> _Sum:
    """What `times` equal strata together have above their least possible passes, by repeated doubling."""
    if times > 1:
        half = _excess(stratum, times // 2)
        doubled = _added(half, half)
        return _added(doubled, _excess(stratum, 1)) if times % 2 else doubled
    all_ways = stratum.all_ways
    return _Sum(0, tuple(ways / all_ways for ways in _ways(stratum, stratum.most)))


def _ways(stratum: _Stratum, most: int) -> Iterator[int]:
    """In how many of all ways `now` has its least possible passes, one more, and so on, up to `most`."""
    before, now, passes = stratum
    ways = comb(now, stratum.least) * comb(before, passes - stratum.least)
    for of_now in range(stratum.least, most + 1):
        yield ways
        ways = ways * (now - of_now) * (passes - of_now) // ((of_now + 1) * (before - passes + of_now + 1))


def _added(one: _Sum, other: _Sum) -> _Sum:
    """The distribution of the sum of two independent numbers."""
    longer, shorter = sorted((one.chances, other.chances), key=len, reverse=True)
    around = (0.0,) * (len(shorter) - 1)
    padded = (*around, *longer, *around)
    weights = shorter[::-1]
    ends = range(len(shorter), len(padded) + 1)
    return _trimmed(one.start + other.start, [sum(map(mul, padded[end - len(shorter) : end], weights)) for end in ends])


def _trimmed(start: int, chances: list[float]) -> _Sum:
    """Without the ends that are negligible; the middle never is."""
    first = next(index for index, chance in enumerate(chances) if chance > _NEGLIGIBLE)
    last = next(index for index in range(len(chances), 0, -1) if chances[index - 1] > _NEGLIGIBLE)
    return _Sum(start + first, tuple(chances[first:last]))
