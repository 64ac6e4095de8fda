"""What so many passes and fails say about the chance of a pass."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from itertools import count

_NEGLIGIBLE = 1e-14
_TINY = 1e-300


@lru_cache(maxsize=4096)  # many groups end with the same tally
def jeffreys(passes: int, fails: int, level: float = 0.95) -> tuple[float, float]:
    """The equal-tailed interval of Beta(passes + ½, fails + ½) that holds `level` of the probability.

    Without passes it starts at 0, without fails it ends at 1 (Brown, Cai and DasGupta 2001). It rests
    on the likelihood alone, and so holds for a group that stopped early as well.
    """
    tail = (1 - level) / 2
    a, b = passes + 0.5, fails + 0.5
    low = beta_quantile(tail, a, b) if passes else 0.0
    high = beta_quantile(1 - tail, a, b) if fails else 1.0
    return low, high


@lru_cache(maxsize=4096)
def lower_bound(passes: int, fails: int, level: float = 0.95) -> float:
    """The exact one-sided lower bound of the chance of a pass (Clopper and Pearson 1934), for a fixed number of runs.

    A bot that passes this often does as well as this, or better, in 1 − `level` of all groups. Without a fail it is
    (1 − level)^(1/passes), also where the group stopped early: 0.37 for 3 of 3, 0.55 for 5 of 5, 0.74 for 10 of 10,
    0.86 for 20 of 20.
    """
    return beta_quantile(1 - level, passes, fails + 1) if passes else 0.0


def upper_bound(passes: int, fails: int, level: float = 0.95) -> float:
    """The exact one-sided upper bound: `lower_bound` with passes and fails changed about."""
    return 1 - lower_bound(fails, passes, level)


def beta_quantile(probability: float, a: float, b: float) -> float:
    """The x at which `beta_cdf` is `probability`, by bisection down to neighbouring floats."""
    low, high = 0.0, 1.0
    while low < (middle := (low + high) / 2) < high:
        if beta_cdf(middle, a, b) < probability:
            low = middle
        else:
            high = middle
    return high


def beta_cdf(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function I_x(a, b), for a, b > 0 and x in [0, 1].

    By its continued fraction (DLMF 8.17.22), on the side of the mean where that converges fast: else
    I_x(a, b) = 1 − I_{1−x}(b, a) (DLMF 8.17.4).
    """
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - _near_zero(1 - x, b, a)
    return _near_zero(x, a, b)


def _near_zero(x: float, a: float, b: float) -> float:
    log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    front = math.exp(a * math.log(x) + b * math.log1p(-x) - log_beta) / a
    return front / _continued_fraction(_coefficients(x, a, b))


def _coefficients(x: float, a: float, b: float) -> Iterator[float]:
    """The numerators d₁, d₂ … of the fraction 1 + d₁/(1 + d₂/(1 + …)) (DLMF 8.17.23)."""
    for m in count():
        if m:
            yield m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        yield -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))


def _continued_fraction(numerators: Iterator[float]) -> float:
    """1 + d₁/(1 + d₂/(1 + …)), by Lentz's algorithm as Thompson and Barnett (1986) changed it."""
    value = ratio_up = 1.0
    ratio_down = 0.0
    for numerator in numerators:
        ratio_up = 1 + numerator / ratio_up or _TINY
        ratio_down = 1 / (1 + numerator * ratio_down or _TINY)
        step = ratio_up * ratio_down
        value *= step
        if abs(step - 1) < _NEGLIGIBLE:
            break
    return value
