"""pass@k and pass^k: what k draws would bring, estimated from n runs that all ran."""

from __future__ import annotations

from math import comb


def pass_at_k(n: int, passes: int, k: int) -> float:
    """1 − C(n − c, k) / C(n, k): the unbiased estimate that at least one of `k` runs passes (Chen et al. 2021)."""
    _check(n, passes, k)
    return (comb(n, k) - comb(n - passes, k)) / comb(n, k)


def pass_hat_k(n: int, passes: int, k: int) -> float:
    """pass^k = C(c, k) / C(n, k): the unbiased estimate that all of `k` runs pass (tau-bench, Yao et al. 2024)."""
    _check(n, passes, k)
    return comb(passes, k) / comb(n, k)


def _check(n: int, passes: int, k: int) -> None:
    if not 0 <= passes <= n:
        msg = f"{passes} of {n} runs cannot have passed"
        raise ValueError(msg)
    if not 1 <= k <= n:
        msg = f"{n} runs allow an estimate for 1 to {n} draws, not for {k}"
        raise ValueError(msg)
