"""What the rewriter is sent: instructions that are ours, and how a prompt does on the cases that may be shown.

It is told of the items that it is handed and of no other; whatever else scores hold is never read. As with a judge, the
texts of others stand between tags whose names end in a word that occurs in none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from ..agreement.classes import classes
from ..agreement.outcome import Outcome
from ..agreement.verdict import Verdict
from ..conversation.message import Message
from ..conversation.text import read_text
from ..judge.question import fence
from ..texts import clip, plain
from .attempts import Attempt, answer
from .items import Item, Score, Scores, Shown

INSTRUCTIONS = Path(__file__).with_name("rewriter.md.j2")
"""What tells the rewriter what to do."""

_MOST = 60_000
_LEAST = 24_000
"""Characters of the user's message, and those of them that cases and attempts get beside however long a prompt: what
is to be rewritten is never cut, for what is cut out of it would be missing from what is written."""

_SIZES = (4_000, 1_000, 300)
"""Characters of each message of a failing case, of each answer: the largest in which all cases fit."""
_SIZES_OF_ATTEMPTS = (3_000, 1_000, 300)
_SIZES_OF_INPUTS = (300, 100)

_MOST_OF_REASON = 2_000
_MOST_OF_OBJECTION = 500
_HEAD, _TAIL = 4, 8
"""Messages of a run that are shown, the first and the last ones."""
_ANSWERS = 4
_OBJECTIONS = 10
_NUMBERS = 20

_ABOUT = "rewrite"
_BETWEEN = "\n\n"
_LAST_LINE = 80
"""Room for how many more there are."""

T = TypeVar("T")
_ANSWER = "Answer with one or two sentences, then the whole new prompt between <prompt> and </prompt>."


@dataclass(frozen=True, slots=True)
class _Case:
    """An item by the number that it is told under; what it is called is no matter of the rewriter's."""

    number: int
    item: Item
    score: Score | None

    @property
    def passes(self) -> bool:
        return self.score is not None and self.score.passed


@dataclass(frozen=True, slots=True)
class _Asked:
    """All that `ask` is asked with."""

    prompt: str
    cases: Sequence[_Case]
    correction: str
    attempts: Sequence[Attempt]
    objections: Sequence[str]
    merge: str | None


def ask(
    prompt: str,
    items: Sequence[Item],
    scores: Scores,
    *,
    correction: str,
    attempts: Sequence[Attempt] = (),
    objections: Sequence[str] = (),
    merge: str | None = None,
    limit: int,
) -> list[Message]:
    """The two messages that ask for a better prompt, `limit` characters long at most.

    `items` are those that may be shown, `scores` how they do under `prompt`. `correction` is what a person wants,
    `objections` say why the last answer was refused, `merge` is another prompt that is to be made one with this.
    """
    cases = [_Case(number, item, scores.get(item.id)) for number, item in enumerate(items, 1)]
    asked = _Asked(prompt, cases, correction.strip(), attempts, objections, merge)
    # The word must occur in nothing that is shown: what is shown is written out once with a word of the same length.
    word = fence(_ABOUT, [_data(asked, "x" * len(fence(_ABOUT, [])))])
    instructions = read_text(INSTRUCTIONS, variables={"fence": word, "limit": limit}, template=True)
    return [Message("system", instructions), Message("user", _data(asked, word))]


def _data(asked: _Asked, word: str) -> str:
    start = _BETWEEN.join(_start(asked, word))
    end = _BETWEEN.join([*_refusal(asked.objections, word), _ANSWER])
    room = max(_MOST - len(start) - len(end) - len(_BETWEEN) * 4, _LEAST)
    tried = _tried(asked, word, room // 4)
    others = _others(asked.cases, word, room // 8)
    failing = _failing(asked.cases, word, room - len(tried) - len(others))
    return _BETWEEN.join(filter(None, (start, failing, others, tried, end)))


def _start(asked: _Asked, word: str) -> Iterator[str]:
    passed = sum(case.passes for case in asked.cases)
    yield f"The prompt as it is; {passed} of {len(asked.cases)} cases pass:\n{_block('prompt', asked.prompt, word)}"
    if asked.merge is not None:
        yield from _merge(asked, asked.merge, word)
    if asked.correction:
        yield f"What the prompt's owner wants of the new one: {plain(asked.correction)}"


def _merge(asked: _Asked, other: str, word: str) -> Iterator[str]:
    yield f"A second prompt, which does what the first does not:\n{_block('other', other, word)}"
    its = next((attempt.scores for attempt in asked.attempts if attempt.text == other and not attempt.refused), None)
    passed = [("first", [case.number for case in asked.cases if case.passes])]
    if its is not None:
        passed.append(("second", [case.number for case in asked.cases if _passes(its, case)]))
    told = "; ".join(f"the {which} passes {_numbers(numbers)}" for which, numbers in passed)
    yield f"Merge both into one prompt that does what either does: {told}."


def _failing(cases: Sequence[_Case], word: str, room: int) -> str:
    def told(failing: tuple[_Case, Score], size: int) -> str:
        return "\n".join(_failure(*failing, word, size))

    failing = [(case, case.score) for case in cases if case.score is not None and not case.passes]
    return _fit(told, failing, _SIZES, room, "more failing case")


def _failure(case: _Case, score: Score, word: str, size: int) -> Iterator[str]:
    """How a case fails: the answers that it got, and up to two of its runs, of different answers where there are."""
    how = "fails" if score.verdict is Verdict.FAIL else "does not pass yet"
    errors = f"; {score.errors} more measured nothing" if score.errors else ""
    yield f"Case {case.number} {how}: {score.passes} of {_count(score.arm.runs, 'run')} passed{errors}."
    shown = _to_show(score.runs)
    if not any(run.messages for run in shown):
        yield from _said([("user", text) for text in case.item.inputs], word, size)
    yield from _answers(score.runs, word, size)
    for run in shown:
        yield "A run that failed:"
        yield from _said(run.messages, word, size)
        yield _block("reason", _cut(run.reason, min(_MOST_OF_REASON, 2 * size)), word)


def _to_show(runs: Sequence[Shown]) -> list[Shown]:
    failed = [run for run in runs if run.outcome is Outcome.FAIL]
    others = [run for run in failed[1:] if answer(run) != answer(failed[0])]
    return [*failed[:1], *(others or failed[1:])[:1]]


def _said(messages: Sequence[tuple[str, str]], word: str, size: int) -> Iterator[str]:
    left_out = len(messages) - _HEAD - _TAIL
    for place, (role, text) in enumerate(messages):
        if not _HEAD <= place < len(messages) - _TAIL:
            yield _block(role, _cut(text, size), word)
        elif place == _HEAD:
            yield f"({_count(left_out, 'message')} left out)"


def _answers(runs: Sequence[Shown], word: str, size: int) -> Iterator[str]:
    """The classes of answers; a single answer is seen in its run."""
    answered = [run for run in runs if run.outcome is not Outcome.ERROR and answer(run)]
    if len(answered) < 2:
        return
    found = sorted(classes([answer(run) for run in answered]), key=len, reverse=True)
    for same in found[:_ANSWERS]:
        passed = sum(answered[position].outcome is Outcome.PASS for position in same)
        text = _block("answer", _cut(answer(answered[same[0]]), size), word)
        yield f"{_count(len(same), 'run')} answered so, of which {passed} passed:\n{text}"
    if len(found) > _ANSWERS:
        yield f"and {_count(len(found) - _ANSWERS, 'other answer')}"


def _others(cases: Sequence[_Case], word: str, room: int) -> str:
    """The cases that pass, so that they are not broken, and those that nothing is known of, in short."""

    def told(case: _Case, size: int) -> str:
        how = "passes" if case.passes else "was not measured"
        given = _cut("\n".join(case.item.inputs), size)
        return f"Case {case.number} {how}:\n{_block('input', given, word)}"

    others = [case for case in cases if case.passes or case.score is None]
    return _fit(told, others, _SIZES_OF_INPUTS, room, "more case")


def _tried(asked: _Asked, word: str, room: int) -> str:
    """The earlier attempts, the last one first: of many, these say most."""

    def told(attempt: Attempt, size: int) -> str:
        return "\n".join(_attempt(attempt, asked, word, size))

    return _fit(told, asked.attempts[::-1], _SIZES_OF_ATTEMPTS, room, "earlier attempt")


def _attempt(attempt: Attempt, asked: _Asked, word: str, size: int) -> Iterator[str]:
    if attempt.refused:
        yield f"Attempt {attempt.number} was refused:"
        yield _block("refused", _cut("\n".join(attempt.refused), _MOST_OF_OBJECTION), word)
    else:
        yield f"Attempt {attempt.number} {_effect(attempt.scores, asked.cases)}:"
    yield _block("attempt", _cut(attempt.text, size), word)


def _effect(scores: Scores, cases: Sequence[_Case]) -> str:
    """What an attempt mends and breaks of the cases that it was measured on, compared with the prompt as it is."""
    measured = [case for case in cases if case.item.id in scores]
    if not measured:
        return "was not measured on these cases"
    known = [case for case in measured if case.score is not None]
    changes = {
        "mends": [case.number for case in known if not case.passes and _passes(scores, case)],
        "breaks": [case.number for case in known if case.passes and not _passes(scores, case)],
    }
    told = [f"{verb} {_numbers(numbers)}" for verb, numbers in changes.items() if numbers]
    passed = sum(_passes(scores, case) for case in measured)
    return f"{', '.join(told) or 'mends and breaks no case'}; passes {passed} of {len(measured)}"


def _refusal(objections: Sequence[str], word: str) -> Iterator[str]:
    if objections:
        reasons = "\n".join(_cut(objection, _MOST_OF_OBJECTION) for objection in objections[:_OBJECTIONS])
        yield f"Your last answer was refused; answer anew, without that:\n{_block('refused', reasons, word)}"


def _fit(tell: Callable[[T, int], str], things: Sequence[T], sizes: Sequence[int], room: int, noun: str) -> str:
    """All things as they are told in the largest size in which they fit; else the first ones, and how many more."""
    told: list[str] = []
    for size in sizes:
        told = list(_until_full((tell(thing, size) for thing in things), room))
        if len(told) == len(things):
            return _BETWEEN.join(told)
    return _BETWEEN.join([*told, f"and {_count(len(things) - len(told), noun)}"])


def _until_full(texts: Iterable[str], room: int) -> Iterator[str]:
    """Nothing beyond the room is so much as written out: it may be very much."""
    left = room - _LAST_LINE
    for text in texts:
        left -= len(text) + len(_BETWEEN)
        if left < 0:
            return
        yield text


def _passes(scores: Scores, case: _Case) -> bool:
    return case.item.id in scores and scores[case.item.id].passed


def _numbers(numbers: Sequence[int]) -> str:
    if not numbers:
        return "no case"
    more = f" and {len(numbers) - _NUMBERS} more" if len(numbers) > _NUMBERS else ""
    return f"case{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers[:_NUMBERS]))}{more}"


def _cut(text: str, limit: int) -> str:
    return clip(plain(text), limit)


def _block(name: str, text: str, word: str) -> str:
    return f"<{name}-{word}>\n{text}\n</{name}-{word}>"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
