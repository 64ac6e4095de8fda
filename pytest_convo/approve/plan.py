"""What becomes of the approved reply of a turn: the answers of its runs held against what stands there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..agreement.classes import by_size, classes, labelled
from ..check.approved import MODES, alike

Deed = Literal["added", "updated", "unchanged", "left"]


@dataclass(frozen=True, slots=True)
class Candidates:
    """What one group has to offer for a turn: the answers of its runs that passed, in run order.

    `refusal` says why none of them may be approved; empty where one may. `mode` is that of the turn's check
    `approved`, None where it has none.
    """

    group: str
    answers: tuple[str, ...]
    mode: str | None = None
    refusal: str = ""
    cases: int = 1
    """How many groups share the file, whether they were run or not."""
    alike: tuple[str, ...] = ()
    """The class of each answer, where the session compared them; else those are alike that are so in words."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What stands at a turn: the approved text, None where there is none, and why it must be left alone, if so."""

    text: str | None = None
    obstacle: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """What is to be done, with the text to write, or why the turn is left alone; `tie` names answers as frequent."""

    deed: Deed
    text: str = ""
    why: str = ""
    tie: str = ""


def decide(groups: Sequence[Candidates], standing: Standing) -> Decision:
    """What becomes of the one file of a turn, which all cases of a directory share; at least one group.

    It is written only where every group would write the same.
    """
    refused = next((group for group in groups if group.refusal), None)
    if refused is not None:
        return Decision("left", why=refused.refusal)
    if (cases := max(group.cases for group in groups)) > len(groups):
        return Decision("left", why=f"its {cases} cases share the file, and only {len(groups)} of them ran")
    chosen = [choose(group, standing.text) for group in groups]
    tie = next((tie for _, tie in chosen if tie), "")
    texts = dict.fromkeys(text for text, _ in chosen)
    if list(texts) == [standing.text]:
        return Decision("unchanged")
    if standing.obstacle:
        return Decision("left", why=standing.obstacle)
    if len(texts) > 1:
        return Decision("left", why=f"its {len(groups)} cases answer differently, and they share the file")
    return Decision("added" if standing.text is None else "updated", text=chosen[0][0], tie=tie)


def choose(group: Candidates, approved: str | None) -> tuple[str, str]:
    """The answer to approve, and where several are as frequent, a word about that.

    It is the first of the largest class of answers that say the same. The approved text itself stays where such an
    answer is like it.
    """
    found = by_size(labelled(group.alike) if group.alike else classes(group.answers))
    largest = [group.answers[members[0]] for members in found if len(members) == len(found[0])]
    if approved is not None and any(_alike(group.mode, approved, text) for text in largest):
        return approved, ""
    if len(largest) == 1:
        return largest[0], ""
    times = f"{len(found[0])} × each"
    return largest[0], f"{len(largest)} answers are as frequent ({times}), and the first of them is approved"


def _alike(mode: str | None, approved: str, text: str) -> bool:
    """As the turn's check has it; what only a judge could tell must be the same in words."""
    known = next((known for known in MODES if known == mode), "normalized" if mode == "judge" else "exact")
    return alike(known, approved, text)
