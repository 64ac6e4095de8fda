"""How a loop ends, in words of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from .items import Scores

if TYPE_CHECKING:
    from .acceptance import Proof
    from .attempts import Attempt


class End(StrEnum):
    """The ends, each with a word for programs."""

    FIXED = "fixed"
    BREAKS = "fixed, but breaks others"
    CONTRADICTORY = "contradictory expectations"
    NO_PROGRESS = "no progress"
    JUDGE_UNSTABLE = "judge unstable"
    LIMIT = "limit"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a loop ended: `why` in words, `best` the best text that it has, which is another than the prompt's or none.

    `proof` is there where a candidate was held against the held-out cases.
    """

    end: End
    why: str = ""
    best: Attempt | None = None
    reason: str = ""
    """What the rewriter said of the best text."""
    proof: Proof | None = None
    about: tuple[str, ...] = field(default=())
    """The items that it is about: those that are broken, or contradict each other."""
    before: Scores = field(default_factory=dict)
    """How the prompt as it is did, where it was held against the best text."""
    by_chance: tuple[str, ...] = ()
    """Items that failed in the session, and passed when the prompt as it is was run again."""

    @property
    def accepted(self) -> bool:
        """Whether the best text may take the place of the prompt."""
        return self.end is End.FIXED


class Ended(Exception):
    """The loop cannot go on."""

    def __init__(self, end: End, why: str, about: tuple[str, ...] = ()) -> None:
        super().__init__(why)
        self.end = end
        self.why = why
        self.about = about
