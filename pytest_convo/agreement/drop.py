"""By how much the chance of a pass has fallen: the common difference over the cases, and a bound of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import acos, copysign, cos, fsum, inf, pi, sqrt
from statistics import NormalDist

from .regression import Arm, Pair

_CLOSE = 1e-9


def common_drop(pairs: Iterable[Pair]) -> float | None:
    """The Mantel-Haenszel risk difference: the mean of the cases' drops, of pass rate before less pass rate now.

    A case weighs m·n / (m + n), by its runs m before and n now. Between -1 and 1; None without a comparable case.
    """
    comparable = _comparable(pairs)
    if not comparable:
        return None
    weights = fsum(times * _weight(*pair) for pair, times in comparable)
    return fsum(times * _weight(*pair) * _drop(*pair) for pair, times in comparable) / weights


def largest_drop(pairs: Iterable[Pair], level: float = 0.95) -> float | None:
    """The one-sided upper bound of the common drop: the stratified score interval of Miettinen and Nurminen (1985).

    The largest drop that the score test with Mantel-Haenszel weights does not reject. Unlike what is built on an
    estimated variance (Sato 1989), it says how little a few runs prove also where all of them passed; and at a drop
    of 0 its test is that of Cochran, Mantel and Haenszel. None without a comparable case.
    """
    comparable = _comparable(pairs)
    if not comparable:
        return None
    z = NormalDist().inv_cdf(level)
    low, high = -1.0, 1.0
    while high - low > _CLOSE:
        middle = (low + high) / 2
        if _score(comparable, middle) > -z:
            low = middle
        else:
            high = middle
    return high


def _comparable(pairs: Iterable[Pair]) -> Sequence[tuple[Pair, int]]:
    """The different pairs of which neither arm is empty, and how often each is there."""
    found = Counter((before, now) for before, now in pairs if before.runs and now.runs)
    return list(found.items())


def _weight(before: Arm, now: Arm) -> float:
    return before.runs * now.runs / (before.runs + now.runs)


def _drop(before: Arm, now: Arm) -> float:
    return before.passes / before.runs - now.passes / now.runs


def _score(pairs: Sequence[tuple[Pair, int]], drop: float) -> float:
    """How many standard errors the common drop lies above `drop`, if that is the true one; exact sums, in any order."""
    above = fsum(times * _weight(*pair) * (_drop(*pair) - drop) for pair, times in pairs)
    variance = fsum(times * _weight(*pair) ** 2 * _variance(*pair, drop) for pair, times in pairs)
    return above / sqrt(variance) if variance > 0 else copysign(inf, above)


def _variance(before: Arm, now: Arm, drop: float) -> float:
    """The variance of a case's drop, at the likeliest rates that differ by `drop`; unbiased where that is 0."""
    rate = likeliest_rate(before, now, drop)
    rate_before = min(1.0, max(0.0, rate + drop))
    runs = before.runs + now.runs
    return (rate_before * (1 - rate_before) / before.runs + rate * (1 - rate) / now.runs) * runs / (runs - 1)


def likeliest_rate(before: Arm, now: Arm, drop: float) -> float:
    """The pass rate `now` that is the likeliest if the one before is higher by `drop`.

    The root of the likelihood equation, a cubic, in closed form (Miettinen and Nurminen 1985, appendix I).
    """
    m, n, a, b = before.runs, now.runs, before.passes, now.passes
    runs, passes = m + n, a + b
    third = ((m + 2 * n) * drop - runs - passes) / (3 * runs)
    linear = ((n * drop - runs - 2 * b) * drop + passes) / runs
    constant = b * drop * (1 - drop) / runs
    q = third**3 - third * linear / 2 + constant / 2
    p = copysign(sqrt(max(0.0, third**2 - linear / 3)), q)
    angle = acos(min(1.0, max(-1.0, q / p**3))) if p else 0.0
    root = 2 * p * cos((pi + angle) / 3) - third
    return min(1.0, max(0.0, root, -drop), 1 - drop)
