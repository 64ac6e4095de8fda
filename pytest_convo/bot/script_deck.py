"""Seeded draws by weight: the same seed and position give the same card, on any machine, in any order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from hashlib import sha256

LARGEST_DECK = 1000


def whole_weights(weights: Sequence[float]) -> tuple[int, ...]:
    """The smallest whole numbers in the proportions of `weights`: 0.8 and 0.2 are 4 and 1."""
    exact = [Fraction(str(weight)) for weight in weights]
    scale = math.lcm(*(weight.denominator for weight in exact))
    whole = [int(weight * scale) for weight in exact]
    divisor = math.gcd(*whole)
    return tuple(weight // divisor for weight in whole)


def dealt(weights: tuple[int, ...], seed: str, position: int) -> int:
    """The index that is drawn at `position` (from 0) without replacement.

    A deck holds each index as often as its weight says and is shuffled by `seed`; when it is used up the next one
    is shuffled. Any n draws in a row from the start of a deck of n thus have exactly the proportions of the weights.
    """
    number, place = divmod(position, sum(weights))
    return _shuffled(weights, f"{seed}|{number}")[place]


def drawn(weights: Sequence[float], seed: str, position: int) -> int:
    """The index that is drawn at `position` (from 0) independently of every other position."""
    mark = _fraction(f"{seed}|{position}") * sum(weights)
    for index, weight in enumerate(weights):
        mark -= weight
        if mark < 0:
            return index
    return len(weights) - 1


@lru_cache(maxsize=4096)
def _shuffled(weights: tuple[int, ...], seed: str) -> tuple[int, ...]:
    cards = [index for index, weight in enumerate(weights) for _ in range(weight)]
    order = sorted(range(len(cards)), key=lambda place: _digest(f"{seed}|{place}"))
    return tuple(cards[place] for place in order)


def _fraction(seed: str) -> float:
    """A number from 0 up to 1, uniform over seeds."""
    return int.from_bytes(_digest(seed)[:6], "big") / 2**48


def _digest(seed: str) -> bytes:
    return sha256(seed.encode("utf-8", "backslashreplace")).digest()
