"""What a run offers for approval: its answers at the turns that have an approved reply, or are to get one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .measure import Spec


def approvable(spec: Spec, answers: Mapping[int, str]) -> dict[str, Any]:
    """Of the answers, by turn, those that may be approved, each with the mode of comparison; builtins only."""
    asked = modes(spec)
    turns = {
        str(turn): {"text": text, "mode": asked.get(turn)}
        for turn, text in answers.items()
        if turn in asked or turn in spec.conversation.approved
    }
    place = {"directory": str(spec.directory), "case": spec.case, "cases": spec.cases}
    return {**place, "last": spec.conversation.turns[-1], "turns": turns}


def modes(spec: Spec) -> Mapping[int, str]:
    """How the reply of each turn is compared with the approved one, where it is."""
    expect, turns = spec.settings.expect, spec.conversation.turns
    tables = {turns[-1]: expect.last} | expect.turns if turns else {}
    given = {turn: table.approved for turn, table in tables.items() if table.approved is not None}
    if turns and expect.last.approved is not None:
        given.setdefault(turns[-1], expect.last.approved)
    return given
