"""An earlier text of the prompt, and how it did."""

from __future__ import annotations

from dataclasses import dataclass

from .items import Scores, Shown


@dataclass(frozen=True, slots=True)
class Attempt:
    """A text of the prompt; `scores` are of whichever items were measured, `refused` says why none was, if so."""

    number: int
    text: str
    scores: Scores
    refused: tuple[str, ...] = ()


def answer(run: Shown) -> str:
    """The last that the bot said in a run; empty where it said nothing."""
    return next((text for role, text in reversed(run.messages) if role == "assistant"), "")
