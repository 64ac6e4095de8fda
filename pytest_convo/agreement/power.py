"""Which drop a comparison can see: the power of the exact stratified test."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import NormalDist

_CLOSE = 1e-6
_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class Stratum:
    """One case of a comparison: its chance of a pass before, and the runs of both arms, at least one each."""

    rate: float
    before: int
    now: int


def power(strata: Iterable[Stratum], drop: float, alpha: float) -> float:
    """The chance that `stratified_p` is `alpha` at most, where every case falls by `drop`, but not below 0.

    Both arms are binomial, and the normal approximation is made, with the continuity correction and with the mean of
    the variance that the test has given the passes. Where this says 0.8, simulation finds 0.77 to 0.85 with a hundred
    runs or more, and up to 0.9 with fewer: it promises little too much.
    """
    return _power(Counter(strata), drop, alpha)


def smallest_drop(strata: Iterable[Stratum], alpha: float, power: float = 0.8) -> float | None:
    """The drop in every case that the test sees with the chance `power`; None where it sees none so often."""
    counted = Counter(strata)
    if _power(counted, 1.0, alpha) < power:
        return None
    low, high = 0.0, 1.0
    while high - low > _CLOSE:
        middle = (low + high) / 2
        if _power(counted, middle, alpha) < power:
            low = middle
        else:
            high = middle
    return high


def _power(strata: Mapping[Stratum, int], drop: float, alpha: float) -> float:
    moments = [[times * moment for moment in _moments(stratum, drop)] for stratum, times in strata.items()]
    if not moments:
        return 0.0
    missing, variance, variance_if_same = map(math.fsum, zip(*moments, strict=True))
    critical = 0.5 - _NORMAL.inv_cdf(alpha) * math.sqrt(variance_if_same)
    return _NORMAL.cdf((missing - critical) / math.sqrt(variance)) if variance else 0.0


def _moments(stratum: Stratum, drop: float) -> tuple[float, float, float]:
    """By how many passes now a case falls short of what the passes of both arms let expect: the mean, its variance,
    and the variance that the test believes in.
    """
    now = max(0.0, stratum.rate - drop)
    weight = stratum.before * stratum.now / (stratum.before + stratum.now)
    variance = _spread(stratum.rate) / stratum.before + _spread(now) / stratum.now
    return weight * (stratum.rate - now), weight**2 * variance, _conditional_variance(stratum, now)


def _spread(rate: float) -> float:
    return rate * (1 - rate)


def _conditional_variance(stratum: Stratum, now: float) -> float:
    """The hypergeometric variance m·n·t·(N − t) / (N²·(N − 1)), on average over the passes t of both arms."""
    m, n, runs = stratum.before, stratum.now, stratum.before + stratum.now
    mean = m * stratum.rate + n * now
    square = mean**2 + m * _spread(stratum.rate) + n * _spread(now)
    return m * n * (runs * mean - square) / (runs**2 * (runs - 1))
