"""Which answers say the same, and how much the answers agree with each other."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Awaitable, Callable, Generator, Iterable, Sequence

Class = list[int]
"""The positions of the answers that say the same, in run order."""

_DELIMITERS = re.compile(r"\*+|_+")
_SPACE = re.compile(r"\s+")


def normalise(text: str) -> str:
    """The text without what does not change its meaning: Unicode form, case, white space, Markdown emphasis."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return _SPACE.sub(" ", _without_emphasis(folded)).strip()


def classes(answers: Sequence[str]) -> list[Class]:
    """The classes of answers that are equal after `normalise`, in the order in which they appear."""
    groups: dict[str, Class] = defaultdict(list)
    for position, answer in enumerate(answers):
        groups[normalise(answer)].append(position)
    return list(groups.values())


def place(
    found: Sequence[Sequence[str]],
    new: str,
    same: Callable[[str, str], bool],
    key: Callable[[str], str] = normalise,
) -> int:
    """The index of the class that `new` joins, `len(found)` where it opens one.

    Texts that are equal by `key` say the same; of others `same` decides, asked once for each pair of distinct texts at
    most. An answer joins the first class with whose every member it is equivalent, so that answer by answer the classes
    depend on the run order alone, also where `same` is not transitive.

    `found` are the classes so far, in the order in which they appeared, each with its answers in run order. Whoever
    calls often hands in a `key` that remembers what `normalise` made of a text.
    """
    asking = _pairs_to_compare(found, new, key)
    answer: bool | None = None
    while True:
        try:
            pair = asking.send(answer)
        except StopIteration as ended:
            return int(ended.value)
        answer = same(*pair)


async def join(
    found: Sequence[Sequence[str]],
    new: str,
    same: Callable[[str, str], Awaitable[bool]],
    key: Callable[[str], str] = normalise,
) -> int:
    """`place`, where it takes waiting to tell whether two answers say the same."""
    asking = _pairs_to_compare(found, new, key)
    answer: bool | None = None
    while True:
        try:
            pair = asking.send(answer)
        except StopIteration as ended:
            return int(ended.value)
        answer = await same(*pair)


def _pairs_to_compare(
    found: Sequence[Sequence[str]], new: str, key: Callable[[str], str]
) -> Generator[tuple[str, str], bool | None, int]:
    """Yields two answers, takes whether they say the same, until it can return the index of the class."""
    wanted = key(new)
    kinds = [_first_of_each_text(members, key) for members in found]
    for index, kind in enumerate(kinds):
        if wanted in kind:
            return index
    for index, kind in enumerate(kinds):
        for other in kind.values():
            if not (yield other, new):
                break
        else:
            return index
    return len(found)


def _first_of_each_text(answers: Sequence[str], key: Callable[[str], str]) -> dict[str, str]:
    kind: dict[str, str] = {}
    for answer in answers:
        kind.setdefault(key(answer), answer)
    return kind


def labelled(labels: Iterable[str]) -> list[Class]:
    """The classes of answers that were put into them before, by the labels of these."""
    found: dict[str, Class] = {}
    for position, label in enumerate(labels):
        found.setdefault(label, []).append(position)
    return list(found.values())


def by_size(classes: Sequence[Class]) -> list[Class]:
    """The classes as they are shown: the largest first, and of equal ones the one that appeared first."""
    return sorted(classes, key=lambda members: (-len(members), members[0]))


def agreement_of(classes: Sequence[Class]) -> float | None:
    """A = Σ cᵢ(cᵢ − 1) / (n(n − 1)): the unbiased estimate that two independent answers agree.

    It is the share of the pairs of answers that do; None where there is no pair.
    """
    n = sum(map(len, classes))
    if n < 2:
        return None
    return sum(len(members) * (len(members) - 1) for members in classes) / (n * (n - 1))


def plurality(classes: Sequence[Class]) -> float | None:
    """c₁ / n, the share of the largest class: to be shown, never an estimate, as it is far too high for few answers.

    None where there is no answer.
    """
    n = sum(map(len, classes))
    return max(map(len, classes)) / n if n else None


def _without_emphasis(text: str) -> str:
    """The text without the delimiters of *emphasis*, __strong__ and the like, where they stand around words.

    Those within a word or beside white space stay (`snake_case`, `2 * 3`), as do those without a partner. Linear in
    the text's length, whatever it holds.
    """
    openers: dict[str, list[re.Match[str]]] = defaultdict(list)
    pairs: list[re.Match[str]] = []
    for delimiter in _DELIMITERS.finditer(text):
        start, end = delimiter.span()
        before, after = text[max(0, start - 1) : start], text[end : end + 1]
        waiting = openers[delimiter[0]]
        if waiting and not before.isspace() and not after.isalnum():
            pairs += [waiting.pop(), delimiter]
        elif len(delimiter[0]) <= 3 and after.strip() and not before.isalnum():
            waiting.append(delimiter)
    return _cut(text, pairs)


def _cut(text: str, matches: list[re.Match[str]]) -> str:
    position = 0
    kept: list[str] = []
    for start, end in sorted(match.span() for match in matches):
        kept.append(text[position:start])
        position = end
    return "".join([*kept, text[position:]])
