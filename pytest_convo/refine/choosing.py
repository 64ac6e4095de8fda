"""Which attempt is the best, and from which to go on.

Attempts are compared item by item (Agrawal et al. 2025, "GEPA: Reflective Prompt Evolution Can Outperform
Reinforcement Learning"): one that alone passes some item is worth going on from, though another passes more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction
from itertools import combinations

from ..agreement.outcome import Outcome
from ..agreement.verdict import Verdict
from .attempts import Attempt, answer
from .items import Item, Scores, Shown, verdicts_passed

_ENOUGH = 2
"""Attempts each way that make a contradiction, and times that a judge must contradict itself: once may be chance."""


def rank(scores: Scores, ids: Sequence[str]) -> tuple[int, float]:
    """The verdicts passed, and the mean of the items' pass rates, 0 where nothing was measured.

    The mean is over items, not over runs: a group that stopped early weighs as much as any other.
    """
    total = sum((_rate(scores, id_) for id_ in ids), Fraction())
    return verdicts_passed(scores, ids), float(total / len(ids)) if ids else 0.0


def best(candidates: Sequence[Attempt], ids: Sequence[str]) -> Attempt:
    """The one of the highest rank; of equal ones the shortest, then the earliest. One that was refused comes last."""
    return min(candidates, key=lambda candidate: _order(candidate, ids))


def front(candidates: Sequence[Attempt], ids: Sequence[str]) -> list[Attempt]:
    """The Pareto front, in the order of the attempts' numbers: those of which no other passes all items and one more.

    Of several that pass the same items it has the best one.
    """
    alike: dict[frozenset[str], list[Attempt]] = {}
    for candidate in candidates:
        alike.setdefault(_passed(candidate, ids), []).append(candidate)
    chosen = [best(group, ids) for passed, group in alike.items() if not any(passed < other for other in alike)]
    return sorted(chosen, key=lambda candidate: candidate.number)


def parent(candidates: Sequence[Attempt], ids: Sequence[str], turn: int) -> Attempt:
    """From which to go on in a turn, the first being 1: the best one, and every second turn one of the front.

    The others on the front come before the best one, which has had its turn.
    """
    top = best(candidates, ids)
    if turn % 2:
        return top
    rotation = sorted(front(candidates, ids), key=lambda candidate: (candidate is top, candidate.number))
    return rotation[(turn // 2 - 1) % len(rotation)]


def to_merge(
    candidates: Sequence[Attempt], ids: Sequence[str], tried: Collection[frozenset[int]]
) -> tuple[Attempt, Attempt] | None:
    """The two of the front that together pass most, the better one first; None where none are left to be tried.

    Of two on the front neither passes all that the other does. Of equal pairs it is the one of the better attempts.
    """
    ordered = sorted(front(candidates, ids), key=lambda candidate: _order(candidate, ids))
    pairs = [pair for pair in combinations(ordered, 2) if frozenset(each.number for each in pair) not in tried]
    return max(pairs, key=lambda pair: len(_passed(pair[0], ids) | _passed(pair[1], ids)), default=None)


def contradiction(
    candidates: Sequence[Attempt], ids: Sequence[str], merges: Sequence[tuple[int, int, int]]
) -> tuple[str, str] | None:
    """The first two items that attempts pass in turn and never together, though merges of such attempts were tried.

    Only clear results count: no run fails, or all but one do. At least two attempts pass the first and fail the second,
    two the other way round, and none passes both. `merges` are the numbers of two attempts and of the one that was made
    of them; two at least are of an attempt of each kind. With less, a rewriter that has tried one thing after the other
    looks the same.
    """
    return next((pair for pair in combinations(ids, 2) if _contradict(*pair, candidates, merges)), None)


def unstable_judge(items: Iterable[Item], candidates: Sequence[Attempt]) -> str | None:
    """The first judged item whose judge passed and failed the same reply twice or more, whatever the attempt.

    Replies are the same where all that was said is, but for white space: with other words before it, the same last
    reply may rightly be judged otherwise. A pass and a fail of the same reply are one time.
    """
    for item in items:
        runs = [run for each in candidates if item.id in each.scores for run in each.scores[item.id].runs]
        if item.asks_judge and _changes_of_mind(runs) >= _ENOUGH:
            return item.id
    return None


def _rate(scores: Scores, id_: str) -> Fraction:
    arm = scores[id_].arm if id_ in scores else None
    return Fraction(arm.passes, arm.runs) if arm and arm.runs else Fraction()


def _order(candidate: Attempt, ids: Sequence[str]) -> tuple[int, float, bool, int, int]:
    verdicts, rate = rank(candidate.scores, ids)
    return -verdicts, -rate, bool(candidate.refused), len(candidate.text), candidate.number


def _passed(candidate: Attempt, ids: Iterable[str]) -> frozenset[str]:
    return frozenset(id_ for id_ in ids if verdicts_passed(candidate.scores, [id_]))


def _contradict(one: str, other: str, candidates: Sequence[Attempt], merges: Sequence[tuple[int, int, int]]) -> bool:
    clear = {each.number: (_clearly(each, one), _clearly(each, other)) for each in candidates}
    seen = Counter(clear.values())
    in_turn = seen[True, False] >= _ENOUGH and seen[False, True] >= _ENOUGH
    together = any(verdicts_passed(each.scores, [one, other]) == 2 for each in candidates)
    measured = {each.number for each in candidates if _decided(each, one) and _decided(each, other)}
    sides = (
        merged in measured and {(True, False), (False, True)} == {clear[first], clear[second]}
        for first, second, merged in merges
    )
    return in_turn and not together and sum(sides) >= _ENOUGH


def _decided(candidate: Attempt, id_: str) -> bool:
    return id_ in candidate.scores and candidate.scores[id_].verdict in (Verdict.PASS, Verdict.FAIL)


def _clearly(candidate: Attempt, id_: str) -> bool | None:
    """Whether it passes an item or fails it, where that is clear."""
    if not _decided(candidate, id_):
        return None
    score = candidate.scores[id_]
    return True if score.stable else False if not score.passed and score.passes <= 1 else None


def _changes_of_mind(runs: Iterable[Shown]) -> int:
    passed: Counter[tuple[tuple[str, str], ...]] = Counter()
    failed: Counter[tuple[tuple[str, str], ...]] = Counter()
    for run in runs:
        if answer(run).strip():
            said = tuple((role, " ".join(text.split())) for role, text in run.messages)
            passed[said] += run.outcome is Outcome.PASS
            failed[said] += run.outcome is Outcome.FAIL
    return sum((passed & failed).values())
