"""What the loop knows of the groups that a prompt takes part in, and of how they did under one text of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..agreement.outcome import Outcome
from ..agreement.regression import Arm
from ..agreement.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Item:
    """A group of runs that depends on a prompt. What it is called and what it holds is private to it: see `Split`."""

    id: str
    """The group's node id."""
    unit: str
    """What its answers are of. Items that read the same answers share it, and are never parted."""
    inputs: tuple[str, ...]
    """What the bot is given beside the prompt: the user's messages, an agent's instruction."""
    expected: tuple[str, ...] = ()
    """The texts of its checks, and of approved replies."""
    literals: tuple[str, ...] = ()
    """Further texts that stand in a test: what it asks, and what it wants to hear."""
    tools: tuple[str, ...] = ()
    """Names of the tools that the bot may call."""
    asks_judge: bool = False
    """Whether a model judges its replies."""
    n: int = 1
    """Runs of the group."""
    k: int = 1
    """Of them that must pass."""
    made_of: str = ""
    """A digest of its files and checks: what was measured of it holds as long as this is the same."""
    calls: int = 1
    """Model calls of one run, as far as is known."""


@dataclass(frozen=True, slots=True)
class Shown:
    """One run, as its failure is told to whoever rewrites the prompt."""

    outcome: Outcome
    messages: tuple[tuple[str, str], ...] = ()
    """What was said after the system prompt, in order: a role ("user", "assistant", "tool") and a text each; tool
    calls stand in the assistant's text."""
    reason: str = ""
    """Why it failed: the reasons of checks, an assertion's own text."""
    transient: bool = False
    """Whether what broke is likely to pass by."""


@dataclass(frozen=True, slots=True)
class Score:
    """How one item did under one prompt; `verdict` is None where its group was not finished."""

    verdict: Verdict | None
    passes: int
    fails: int
    errors: int = 0
    runs: tuple[Shown, ...] = ()

    @property
    def passed(self) -> bool:
        return self.verdict is Verdict.PASS

    @property
    def stable(self) -> bool:
        """Whether it passed and no run of it failed: VERDICTS 2's stable pass."""
        return self.passed and self.fails == 0

    @property
    def arm(self) -> Arm:
        """Its runs without those that measured nothing, for comparing."""
        return Arm(self.passes, self.passes + self.fails)


Scores = Mapping[str, Score]
"""The scores of a prompt by the id of the item; an item that was not measured is not among them."""


def verdicts_passed(scores: Scores, ids: Iterable[str]) -> int:
    """How many of these items passed."""
    return sum(id_ in scores and scores[id_].passed for id_ in ids)


def troubled(scores: Scores) -> list[str]:
    """The items that came to no verdict because something broke, which is no fault of a prompt."""
    return [id_ for id_, score in scores.items() if score.errors and score.verdict not in (Verdict.PASS, Verdict.FAIL)]


def together(scores: Scores, ids: Iterable[str]) -> Arm:
    """The runs of these items, added up."""
    return sum((scores[id_].arm for id_ in ids if id_ in scores), Arm())
