"""How many of n runs must pass."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction

# Spelled out, because Fraction("1e-999999999") would build an integer of a billion digits.
_NUMBER = re.compile(r"\d{1,50}/0*[1-9]\d{0,49}|(\d{1,50}(\.\d{0,50})?|\.\d{1,50})(e[+-]?\d{1,3})?", re.ASCII | re.I)
_PERCENT = re.compile(r"([1-9]\d|100)(?:\.0)?\s*%?", re.ASCII)
_ROUNDING = Fraction(1, 10**9)


@dataclass(frozen=True, slots=True)
class KOfN:
    """`k` of `n` are needed."""

    n: int
    k: int

    def __post_init__(self) -> None:
        if not 1 <= self.k <= self.n:
            msg = f"between 1 and all of the {self.n} runs can be needed, not {self.k}"
            raise ValueError(msg)

    @property
    def first(self) -> int:
        """The fewest that can be enough."""
        return self.k


def parse_threshold(value: str | float) -> Fraction:
    """The share of the runs that must pass, exactly as it is written: 0.8 is 4/5, "2/3" is 2/3.

    `ValueError` where it is not a number in (0, 1]; its text says what to write instead.
    """
    text = str(value).strip()
    number = Fraction(text) if _NUMBER.fullmatch(text) else None
    if number is None or not 0 < number <= 1:
        msg = f"{_shown(value)} is not a share of the runs, above 0 and at most 1; write {_instead(text)}"
        raise ValueError(msg)
    return number


def needed(n: int, threshold: Fraction) -> int:
    """How many of `n` runs must pass: k = ceil(threshold · n − 1e-9), and at least 1.

    The small term lets 0.666666666667 of 3 runs be 2, as whoever wrote it means.
    """
    if n < 1:
        msg = f"a group has at least one run, not {n}"
        raise ValueError(msg)
    return max(1, math.ceil(threshold * n - _ROUNDING))


def _shown(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 40 else f"{shown[:38]}…"


def _instead(text: str) -> str:
    percent = _PERCENT.fullmatch(text)
    if percent is None:
        return '0.8 or "4/5", for instance'
    return f"{int(percent[1]) / 100:g} for {percent[1]} %"
