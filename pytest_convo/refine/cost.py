"""What a loop may take, before it begins."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from .items import Item
from .split import Split

ASKS = 3
"""Questions to the rewriter in one attempt: what it writes against the rules is asked for anew."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Model calls, when none fails and is sent again: of one honest round at least, and of all attempts at most."""

    least: int
    most: int


def cost(items: Sequence[Item], split: Split, failing: Collection[str], attempts: int) -> Cost:
    """What a loop takes whose first text is the one that is accepted, and one that goes through all its attempts.

    An honest round is the failing training items once more under the prompt as it is, one question, the training and
    validation items until their verdicts stand, both once more in full, and in full under both texts the held-out
    items. At most, what was failing is run a third time under both texts in each attempt.
    """
    known = {item.id: item for item in items}
    chosen, held = [*split.training, *split.validation], split.holdout
    mended = [id_ for id_ in split.training if id_ in failing]
    proof = _calls(known, mended) + _calls(known, split.validation) + 2 * _calls(known, held)
    least = 1 + _first_calls(known, chosen) + _calls(known, chosen) + proof
    most = attempts * (ASKS + 2 * _calls(known, chosen) + _calls(known, mended)) + _calls(known, mended) + proof
    return Cost(least, most)


def _calls(items: Mapping[str, Item], ids: Iterable[str]) -> int:
    return sum(items[id_].n * items[id_].calls for id_ in ids)


def _first_calls(items: Mapping[str, Item], ids: Iterable[str]) -> int:
    return sum(items[id_].k * items[id_].calls for id_ in ids)
