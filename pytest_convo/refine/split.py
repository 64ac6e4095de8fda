"""Which items a rewriter is shown, which choose among its prompts, and which prove the one that was chosen.

Whoever has seen a case can write a prompt for that case alone. So the proof comes from items that the rewriter never
saw, and no text of theirs may reach it by way of another item: what shares answers or inputs is never parted.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from math import ceil
from typing import Any

from .items import Item

SHARE = 0.25
"""The part of the units that is held out to prove, and as many again to choose."""

_FEWEST_UNITS = 4
"""With fewer there would be nothing to learn from once two are set aside."""
_TELLING = 12
"""A shorter text, as "yes, please", is said in many conversations and gives none of them away."""


@dataclass(frozen=True, slots=True)
class Split:
    """The ids of items, each in one part: `training` is shown, `validation` chooses, `holdout` proves."""

    training: tuple[str, ...]
    validation: tuple[str, ...]
    holdout: tuple[str, ...]

    @property
    def shown(self) -> tuple[str, ...]:
        """What the rewriter may see of: nothing but these."""
        return self.training

    @property
    def unseen(self) -> tuple[str, ...]:
        """What it must not see of."""
        return self.validation + self.holdout

    @property
    def ids(self) -> tuple[str, ...]:
        return self.training + self.unseen

    def to_json(self) -> dict[str, list[str]]:
        return {
            "training": list(self.training),
            "validation": list(self.validation),
            "holdout": list(self.holdout),
        }

    @classmethod
    def of_json(cls, value: Any) -> Split:
        """The split that `to_json` gave this for; `ValueError` for anything else, and where an id is in two parts."""
        found = cls(_ids(value, "training"), _ids(value, "validation"), _ids(value, "holdout"))
        if len(set(found.ids)) < len(found.ids):
            msg = "an id of a split stands in it twice"
            raise ValueError(msg)
        return found


def split(items: Sequence[Item], failing: Collection[str], share: float = SHARE) -> Split:
    """Deal the items out, unit by unit; `failing` are the ids of those that fail under the prompt as it is.

    It depends on the ids alone, not on the order of the items: a loop that is begun again shows what it showed before.
    With fewer than four units all are shown, and nothing can be proved.
    """
    units = sorted(_units(items), key=_digest)
    if len(units) < _FEWEST_UNITS:
        return Split(_sorted(units), (), ())
    held = min(max(1, ceil(share * len(units) - 0.5)), (len(units) - 1) // 2)
    sizes = (len(units) - 2 * held, held, held)
    wanted = set(failing)
    bad = [unit for unit in units if unit & wanted]
    good = (unit for unit in units if not unit & wanted)
    rest = iter(bad)
    parts = [
        _sorted([*islice(rest, dealt), *islice(good, size - dealt)])
        for size, dealt in zip(sizes, _dealt(len(bad), sizes), strict=True)
    ]
    return Split(training=parts[0], holdout=parts[1], validation=parts[2])


def levelled(text: str) -> str:
    """The text as it is compared with others: every white space a single blank, and no capitals."""
    return " ".join(text.split()).casefold()


def _dealt(failing: int, sizes: Sequence[int]) -> list[int]:
    """How many failing units training, holdout and validation get.

    The first is shown, for else there would be nothing to mend; the second proves, since a mended case that the
    rewriter never saw is the best proof there is; the third chooses. Each one more goes to the part that has the
    fewest for its size.
    """
    dealt = [int(failing > part) for part in range(len(sizes))]
    for _ in range(failing - sum(dealt)):
        lacks = [failing * size - sum(sizes) * has for size, has in zip(sizes, dealt, strict=True)]
        dealt[lacks.index(max(lacks))] += 1
    return dealt


def _units(items: Sequence[Item]) -> list[frozenset[str]]:
    """The ids of the items that stay together: of one unit, or of units that were joined by a text."""
    parents: dict[tuple[str, str], tuple[str, str]] = {}
    for item in items:
        _join(parents, ("unit", item.unit), ("id", item.id))
    for unit, texts in _texts(items).items():
        for text in texts:
            if len(text) >= _TELLING or len(texts) == 1:
                _join(parents, ("unit", unit), ("text", text))
    found: dict[tuple[str, str], set[str]] = {}
    for item in items:
        found.setdefault(_root(parents, ("id", item.id)), set()).add(item.id)
    return [frozenset(ids) for ids in found.values()]


def _texts(items: Sequence[Item]) -> dict[str, set[str]]:
    """The inputs of each unit that say anything."""
    texts: dict[str, set[str]] = {}
    for item in items:
        texts.setdefault(item.unit, set()).update(filter(None, map(levelled, item.inputs)))
    return texts


def _join(parents: dict[tuple[str, str], tuple[str, str]], one: tuple[str, str], other: tuple[str, str]) -> None:
    parents[_root(parents, one)] = _root(parents, other)


def _root(parents: dict[tuple[str, str], tuple[str, str]], node: tuple[str, str]) -> tuple[str, str]:
    """The node that stands for all that were joined with this one; the way there is halved for the next time."""
    parents.setdefault(node, node)
    while parents[node] != node:
        parents[node] = parents[parents[node]]
        node = parents[node]
    return node


def _digest(unit: frozenset[str]) -> bytes:
    return sha256(min(unit).encode(errors="backslashreplace")).digest()


def _sorted(units: Sequence[frozenset[str]]) -> tuple[str, ...]:
    return tuple(sorted(id_ for unit in units for id_ in unit))


def _ids(value: Any, part: str) -> tuple[str, ...]:
    ids = value.get(part) if isinstance(value, Mapping) else None
    if not isinstance(ids, list) or not all(isinstance(id_, str) for id_ in ids):
        msg = f"a split lists the ids of its {part}"
        raise ValueError(msg)
    return tuple(ids)
