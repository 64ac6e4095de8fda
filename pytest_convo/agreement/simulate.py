"""How often a build would be red, by the regression gate and by plainer ones, for a suite as it stands."""

from __future__ import annotations

import random
from bisect import bisect
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate
from math import exp, lgamma, log, log1p, prod
from operator import mul
from typing import NamedTuple

from .answers import correctness
from .gate import SUITE_ALPHA, GateResult, is_blind
from .interval import jeffreys
from .regression import Arm, stratified_p
from .suspects import CONFIRMATION_RUNS, Case, halves, suspects_of
from .tally import Rule, Tally, Verdict


@dataclass(frozen=True, slots=True)
class Planned:
    """A case as it would be run: `rule.n` times, after a baseline of so many runs, each a pass with the chance `rate`.

    `rule` is also that of the case's own verdict.
    """

    id: str
    baseline_runs: int
    rate: float
    rule: Rule

    def __post_init__(self) -> None:
        if not 0 <= self.rate <= 1:
            msg = f"{self.id}: a chance is between 0 and 1, not {self.rate:g}"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True)
class Chance:
    """A chance as simulated, with its 95 % interval, which more sessions make narrower."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, times: int, sessions: int) -> Chance:
        return cls(times / sessions, *jeffreys(times, sessions - times))


@dataclass(frozen=True, slots=True)
class Scenario:
    """One state of things, the chances that the gate then says REGRESSED or INCONCLUSIVE, and what plain gates do.

    These are exact: the chance that any run fails (`any_run`), and that any case misses its own PASS (`any_case`).
    """

    name: str
    regressed: Chance
    inconclusive: Chance
    any_run: float
    any_case: float


@dataclass(frozen=True, slots=True)
class Rates:
    """What `simulate` found; `fresh_runs` are those of a session, on average, where nothing has changed."""

    cases: int
    sessions: int
    seed: int
    unchanged: Scenario
    broken: Scenario
    fallen: Scenario
    fresh_runs: float


def simulate(
    cases: Sequence[Planned],
    *,
    seed: int,
    sessions: int = 1000,
    confirmable: bool = True,
    broken_rate: float = 0.0,
    fall: float = 0.1,
) -> Rates:
    """The chance of a red build when nothing has changed, when one case breaks, and when all fall by `fall`.

    Every session has a baseline and runs of its own, and where it is `confirmable` fresh runs of what is suspicious.
    The case that breaks, down to `broken_rate`, is any of them. The same seed gives the same rates.
    """
    if not cases or sessions < 1:
        msg = f"there is nothing to simulate in {len(cases)} cases and {sessions} sessions"
        raise ValueError(msg)
    rng = random.Random(seed)  # noqa: S311
    same = [case.rate for case in cases]
    broken = [min(rate, broken_rate) for rate in same]
    fallen = [max(0.0, rate - fall) for rate in same]
    unchanged = [_session(cases, same, rng, confirmable) for _ in range(sessions)]
    one_broken = [_session(cases, _with_one(same, broken, rng), rng, confirmable) for _ in range(sessions)]
    all_fallen = [_session(cases, fallen, rng, confirmable) for _ in range(sessions)]
    return Rates(
        cases=len(cases),
        sessions=sessions,
        seed=seed,
        unchanged=_scenario("nothing has changed", unchanged, _plain(cases, same)),
        broken=_scenario(f"one case breaks ({100 * broken_rate:g} %)", one_broken, _plain_with_one(cases, broken)),
        fallen=_scenario(f"all fall by {100 * fall:g} points", all_fallen, _plain(cases, fallen)),
        fresh_runs=sum(session.fresh_runs for session in unchanged) / sessions,
    )


class _Session(NamedTuple):
    result: GateResult
    fresh_runs: int


def _scenario(name: str, sessions: Sequence[_Session], plain: tuple[float, float]) -> Scenario:
    found = Counter(session.result for session in sessions)
    regressed = Chance.of(found[GateResult.REGRESSED], len(sessions))
    inconclusive = Chance.of(found[GateResult.INCONCLUSIVE], len(sessions))
    return Scenario(name, regressed, inconclusive, *plain)


def _with_one(rates: Sequence[float], others: Sequence[float], rng: random.Random) -> list[float]:
    """`rates`, but one of them, whichever, as in `others`."""
    which = rng.randrange(len(rates))
    return [*rates[:which], others[which], *rates[which + 1 :]]


def _session(cases: Sequence[Planned], rates: Sequence[float], rng: random.Random, confirmable: bool) -> _Session:
    """One session in which the cases have these `rates` now, judged as `judge` does."""
    drawn = [_drawn(case, rate, rng) for case, rate in zip(cases, rates, strict=True)]
    doubtful = [
        replace(case, confirmation=_arm(CONFIRMATION_RUNS, rate, rng))
        for case, rate in zip(drawn, rates, strict=True)
        if confirmable and case.is_suspicious
    ]
    regressed = stratified_p((case.before, case.now) for case in drawn) <= SUITE_ALPHA
    if regressed or any(suspect.is_confirmed for suspect in suspects_of(doubtful)):
        result = GateResult.REGRESSED
    else:
        result = GateResult.INCONCLUSIVE if is_blind(drawn, confirmable) else GateResult.NOT_SHOWN
    return _Session(result, CONFIRMATION_RUNS * len(doubtful))


def _drawn(case: Planned, rate: float, rng: random.Random) -> Case:
    screen, rest = (_arm(len(part), case.rate, rng) for part in halves(range(case.baseline_runs)))
    return Case(case.id, screen, rest, _arm(case.rule.n, rate, rng))


def _arm(runs: int, rate: float, rng: random.Random) -> Arm:
    """So many runs that pass with the chance `rate`: a binomial number of passes, by inversion."""
    below, arms = _binomial(runs, rate)
    return arms[bisect(below, rng.random(), hi=runs)]


@lru_cache(maxsize=8192)
def _binomial(runs: int, rate: float) -> tuple[list[float], list[Arm]]:
    """The chances of at most 0, 1, … passes, and the arms with so many."""
    arms = [Arm(passes, runs) for passes in range(runs + 1)]
    if not 0 < rate < 1:
        return [float(rate == 0)] * runs + [1.0], arms
    all_ways = lgamma(runs + 1)
    ways = (all_ways - lgamma(arm.passes + 1) - lgamma(arm.fails + 1) for arm in arms)
    logs = (way + arm.passes * log(rate) + arm.fails * log1p(-rate) for way, arm in zip(ways, arms, strict=True))
    return list(accumulate(map(exp, logs))), arms


def _plain(cases: Sequence[Planned], rates: Sequence[float]) -> tuple[float, float]:
    """The chances that any run fails, and that any case misses its own PASS."""
    runs, own = _greens(cases, rates)
    return 1 - prod(runs), 1 - prod(own)


def _plain_with_one(cases: Sequence[Planned], others: Sequence[float]) -> tuple[float, float]:
    """The same where one case, whichever, has its rate of `others`."""
    usual = _greens(cases, [case.rate for case in cases])
    runs, own = map(_mean_product_with_one, usual, _greens(cases, others))
    return 1 - runs, 1 - own


def _greens(cases: Sequence[Planned], rates: Sequence[float]) -> tuple[list[float], list[float]]:
    """For each case the chances that all its runs pass, and that it gets its own PASS."""
    pairs = list(zip(cases, rates, strict=True))
    return [rate**case.rule.n for case, rate in pairs], [_own_pass(case.rule, rate) for case, rate in pairs]


def _mean_product_with_one(usual: Sequence[float], others: Sequence[float]) -> float:
    """The product of the `usual` ones, one of which is replaced by that of `others`, on average over which."""
    before = accumulate(usual[:-1], mul, initial=1.0)
    after = reversed(list(accumulate(usual[:0:-1], mul, initial=1.0)))
    return sum(map(prod, zip(before, others, after, strict=True))) / len(usual)


def _own_pass(rule: Rule, rate: float) -> float:
    """The chance that a case gets its PASS, walked run by run up to where its rule decides.

    Whether answers are alike is not simulated: such a rule is held to correctness alone.
    """
    rule = correctness(rule)
    passed = 0.0
    still_open = {0: 1.0}
    for run in range(1, rule.n + 1):
        after: dict[int, float] = defaultdict(float)
        for passes, chance in still_open.items():
            after[passes + 1] += chance * rate
            after[passes] += chance * (1 - rate)
        decided = {passes: rule.decide(Tally(passes, run - passes)) for passes in after}
        passed += sum(chance for passes, chance in after.items() if decided[passes] is Verdict.PASS)
        still_open = {passes: chance for passes, chance in after.items() if decided[passes] is None}
    return passed


def describe(rates: Rates) -> str:
    """A small table for a person: how often each gate is red, in the three states of things."""
    title = f"chance of a red build, by {rates.sessions} simulated sessions (cases: {rates.cases}, seed: {rates.seed})"
    scenarios = (rates.unchanged, rates.broken, rates.fallen)
    table = [("", "this gate", "any run fails", "any case misses its agreement"), *map(_row, scenarios)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]
    if rates.fresh_runs:
        lines.append(f"confirming takes {rates.fresh_runs:.1f} fresh runs a session where nothing has changed")
    if blind := max(each.inconclusive.value for each in scenarios):
        lines.append(f"too few runs: the gate is inconclusive in up to {_percent(blind)} of the sessions")
    return "\n".join([title, *(f"  {line}" for line in lines)])


def _row(scenario: Scenario) -> tuple[str, str, str, str]:
    plain = _percent(scenario.any_run), _percent(scenario.any_case)
    return scenario.name, _interval(scenario.regressed), *plain


def _interval(chance: Chance) -> str:
    return f"{_percent(chance.value)} ({100 * chance.low:.1f} to {100 * chance.high:.1f})"


def _percent(chance: float) -> str:
    return f"{100 * chance:.1f} %"
