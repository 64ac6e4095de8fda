"""At which indexes the bot answers."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Literal

from ..errors import FormatError, SettingsError
from .message import Role
from .names import MAX_INDEX, did_you_mean

Regenerate = Literal["holes", "last", "all"] | Sequence[int]
MODES = ("holes", "last", "all")


def turns(
    roles: Mapping[int, Role], regenerate: Regenerate = "holes", *, calling: Container[int] = ()
) -> tuple[int, ...]:
    """The indexes at which the bot answers, ascending.

    `roles` are those of the messages that stand, by index; `calling` the indexes of messages that call tools and are
    thus no final answers. Holes are answered whatever `regenerate` says; beyond them
    - "last" answers the last turn again, if an answer stands there,
    - "all" answers every turn again,
    - a list answers again at its indexes, each of which must be an answer that stands, or a hole.
    A message of the bot can be answered again where it follows somebody else's and calls no tool: calls that are
    spelled out as files are given context, with their results.

    Raises `SettingsError` for a `regenerate` that does not fit, `FormatError` where no index is left for the answer.
    """
    order = sorted(roles)
    gaps = list(_holes(order, roles))
    again = [
        index
        for before, index in pairwise(order)
        if roles[index] == "assistant" != roles[before] and index not in calling
    ]
    return tuple(sorted({*gaps, *_chosen(regenerate, gaps, again)}))


def _holes(order: Sequence[int], roles: Mapping[int, Role]) -> Iterator[int]:
    """A gap after a user's or a tool's message that no message of the bot ends, and the end if it is not the bot's."""
    for index, after in pairwise(order):
        if roles[index] in ("user", "tool") and after > index + 1 and roles[after] != "assistant":
            yield index + 1
    if order and roles[order[-1]] != "assistant":
        if order[-1] >= MAX_INDEX:
            msg = f"no index is left for the answer to {order[-1]:04}: names have four digits"
            raise FormatError(msg, hint="number the message files from 0000 on")
        yield order[-1] + 1


def _chosen(regenerate: Regenerate, gaps: Sequence[int], again: Sequence[int]) -> Sequence[int]:
    possible = sorted({*gaps, *again})
    if isinstance(regenerate, str):
        if regenerate not in MODES:
            msg = f"unknown regenerate {regenerate!r}"
            raise SettingsError(msg, hint=f"{did_you_mean(regenerate, MODES)}, or a list of indexes")
        return {"holes": (), "last": possible[-1:], "all": again}[regenerate]
    wrong = [index for index in regenerate if index not in possible]
    if wrong:
        msg = f"regenerate names {wrong[0]}, where the bot has no answer to give"
        raise SettingsError(msg, hint=f"it can answer at: {', '.join(map(str, possible)) or 'no index'}")
    return regenerate
