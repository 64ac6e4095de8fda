"""What the runs of a group said, and how much their answers agree: in words, on one line, and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from textwrap import wrap
from typing import Any

from ..texts import clip, one_line, word_diff
from .answers import Alike, Both
from .classes import Class, agreement_of, plurality
from .excerpt import excerpts
from .report import GroupReport
from .tally import Tally

_CLASSES = 5
_MANY = 20
_BOUND = 400
_DIFF = 280
_WIDTHS = (72, 48, 32, 24)


def said(group: GroupReport, width: int) -> Iterator[str]:
    """The classes of answers, on one line where they fit, else one a line; and how the first two differ."""
    found = group.classes
    if not found:
        return
    entries = _entries(group, found, _CLASSES, width - 10)
    title = f"answers{_agreement(found)}:"
    line = f"{title} {' · '.join(entries)}"
    yield line if len(line) <= width else "\n  ".join([title, *entries])
    yield from difference(group, width)


def answers_line(group: GroupReport, width: int) -> str:
    """The classes on one line of at most `width` characters; "" where nobody answered.

    `4 × «30 days» · 1 × «45 days» (60 % of pairs agree)`
    """
    found = group.classes
    if not found:
        return ""
    agreement = _agreement(found)
    for shown in range(min(len(found), _CLASSES), 0, -1):
        for room in _WIDTHS:
            line = " · ".join(_entries(group, found, shown, room)) + agreement
            if len(line) <= width:
                return line
    return f"{line[: max(0, width - 1)]}…"


def answers_figures(group: GroupReport) -> dict[str, Any]:
    """The same for programs: builtins, long answers cut, and the classes after the first few counted only.

    `agreement` is A, the share of the pairs that agree, None for less than two answers; `plurality` the share of the
    largest class. Where so many answers must be alike, `needed` says how many.
    """
    found = group.classes
    figures: dict[str, Any] = {
        "agreement": agreement_of(found),
        "plurality": plurality(found),
        "classes": [
            {"count": len(members), "answer": clip(_answer(group, members), _BOUND)} for members in found[:_MANY]
        ],
        "others": sum(map(len, found[_MANY:])),
    }
    return figures | ({"needed": group.rule.answers.k} if isinstance(group.rule, Both) else {})


def alike(rule: Alike, tally: Tally) -> str:
    """How many answers were alike, and how many had to be."""
    largest, second, *_ = (*tally.alike, 0, 0)
    text = f"{largest} of {sum(tally.alike)} answers alike, {rule.k} needed"
    return f"{text}, and {second} others alike: a tie" if largest == second >= rule.k else text


def _entries(group: GroupReport, found: Sequence[Class], shown: int, width: int) -> list[str]:
    texts = excerpts([_answer(group, members) for members in found[:shown]], width)
    entries = [
        f"{len(members)} × {f'«{text}»' if text else 'no text'}" for members, text in zip(found, texts, strict=False)
    ]
    others = sum(map(len, found[shown:]))
    return [*entries, f"{others} × other answers"] if others else entries


def _answer(group: GroupReport, members: Class) -> str:
    return group.runs[members[0]].answer


def _agreement(found: Sequence[Class]) -> str:
    """How much answers that differ agree with each other; where all are the same it needs no words."""
    share = agreement_of(found)
    if share is None or share == 1:
        return ""
    return f" ({100 * share:.0f} % of pairs agree)" if share else " (no two agree)"


def difference(group: GroupReport, width: int) -> Iterator[str]:
    """The word diff of the first two classes' answers, where they have enough in common to be read as one text."""
    found = group.classes
    if len(found) < 2:
        return
    one, other = (one_line(_answer(group, members)) for members in found[:2])
    if not _are_related(one, other):
        return
    diff = word_diff(one, other)
    yield "\n  ".join(wrap(f"difference: {diff if len(diff) <= _DIFF else f'{diff[:_DIFF]}…'}", width - 2))


def _are_related(one: str, other: str) -> bool:
    """Whether half of their words are the same, of the first few hundred and in order."""
    words = one.split()[:_BOUND], other.split()[:_BOUND]
    return SequenceMatcher(None, *words, autojunk=False).ratio() >= 0.5
