"""What is not shown is not shown by accident either: texts of unseen items are taken out of what runs tell.

Questions are made of training items alone. But what a bot answers, or a tool gives, may hold anything: the whole list
of which each case is one entry, say.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from .items import Item, Score, Scores, Shown

WITHHELD = "[withheld]"

_TELLING = 8
"""Characters from which on a text gives its item away; a shorter one, as "yes", is said everywhere."""


def hidden(unseen: Iterable[Item], shown: Iterable[Item], own: Iterable[str]) -> list[str]:
    """The texts of unseen items, the longest first, but for what is `own` or what a shown item says as well."""
    allowed = "\0".join([*own, *(text for item in shown for text in _texts(item))])
    found = {
        form
        for item in unseen
        for text in (*_texts(item), item.id)
        if len(text) >= _TELLING
        for form in (text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1], repr(text)[1:-1])
    }
    return sorted((text for text in found if text not in allowed), key=lambda text: (-len(text), text))


def withhold(scores: Scores, texts: Sequence[str]) -> Scores:
    """The scores without these texts in what was said and in why a run failed."""
    return {id_: _of_score(score, texts) for id_, score in scores.items()} if texts else scores


def _texts(item: Item) -> Iterator[str]:
    yield from (text.strip() for text in (*item.inputs, *item.expected, *item.literals))


def _of_score(score: Score, texts: Sequence[str]) -> Score:
    return replace(score, runs=tuple(_of_run(run, texts) for run in score.runs))


def _of_run(run: Shown, texts: Sequence[str]) -> Shown:
    said = tuple((role, _without(text, texts)) for role, text in run.messages)
    return replace(run, messages=said, reason=_without(run.reason, texts))


def _without(text: str, texts: Sequence[str]) -> str:
    for one in texts:
        text = text.replace(one, WITHHELD)
    return text
