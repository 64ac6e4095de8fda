"""Expected calls and the calls made, side by side, so that one sees which is missing, which is new, which is off."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..conversation.message import ToolCall
from .call import ExpectedCall, described
from .matching import pairs, pairs_in_order

Pairing = Mapping[int, int]
"""Index of an expected call → index of the call that was made for it."""


@dataclass(frozen=True, slots=True)
class Row:
    """An expected call beside the one made for it, or one of the two alone."""

    wanted: ExpectedCall | None
    made: ToolCall | None

    @property
    def sign(self) -> str:
        """`=` fits, `!` has other arguments, `-` is missing, `+` is not expected."""
        if self.wanted is None:
            return "+"
        if self.made is None:
            return "-"
        return "=" if self.wanted.fits(self.made) else "!"

    def lines(self, width: int) -> Iterator[str]:
        wanted = "" if self.wanted is None else str(self.wanted)
        made = "" if self.made is None else described(self.made)
        yield f"    {self.sign} {wanted:{width}}  {made}".rstrip()
        if self.wanted is not None and self.made is not None:
            yield from (f"        {fault}" for fault in self.wanted.faults(self.made))


def lineup(expected: Sequence[ExpectedCall], made: Sequence[ToolCall], paired: Pairing, *, in_order: bool) -> list[str]:
    """The rows as a table; calls left over that have one name stand side by side, for these are most likely meant."""
    beside = {**paired, **_likely(expected, made, paired, in_order=in_order)}
    rows = list(_rows(expected, made, beside))
    width = max(map(len, ["expected", *map(str, expected)]))
    return [f"      {'expected':{width}}  made", *(line for row in rows for line in row.lines(width))]


def _rows(expected: Sequence[ExpectedCall], made: Sequence[ToolCall], beside: Pairing) -> Iterator[Row]:
    """In the order of the expected calls; those made without being expected stand where they were made."""
    free = sorted(set(range(len(made))) - set(beside.values()))
    for want, wanted in enumerate(expected):
        have = beside.get(want)
        while have is not None and free and free[0] < have:
            yield Row(None, made[free.pop(0)])
        yield Row(wanted, None if have is None else made[have])
    yield from (Row(None, made[have]) for have in free)


def _likely(
    expected: Sequence[ExpectedCall], made: Sequence[ToolCall], paired: Pairing, *, in_order: bool
) -> dict[int, int]:
    """Pairs of one name among the calls left over; where order counts, they cross no other pair."""

    def alike(want: int, have: int) -> bool:
        crosses = in_order and any((want < one) != (have < other) for one, other in paired.items())
        return expected[want].name == made[have].name and not crosses

    wants = sorted(set(range(len(expected))) - set(paired))
    haves = sorted(set(range(len(made))) - set(paired.values()))
    likely = pairs_in_order(wants, haves, alike) if in_order else pairs(wants, haves, alike)
    return {wants[want]: haves[have] for want, have in likely.items()}
