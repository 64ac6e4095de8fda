"""Where a text stands in another, and what comes closest where it does not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_LIKE = 60.0
_SEARCHED = 100_000
_COMPARED = 1000


def spans(wanted: str, text: str, *, ignore_case: bool = False) -> Iterator[tuple[int, int]]:
    """Start and end of each place, without overlap, where `wanted` stands in `text`."""
    if ignore_case:
        folded, origin = _fold(text)
        for start, end in spans(wanted.casefold(), folded):
            yield origin[start], origin[end - 1] + 1
        return
    start = text.find(wanted)
    while start >= 0:
        yield start, start + len(wanted)
        start = text.find(wanted, start + len(wanted))


def closest(wanted: str, text: str) -> tuple[int, int] | None:
    """The passage of `text` that is most like `wanted`, in whole words; None where nothing is like it.

    The best partial ratio of rapidfuzz, whatever the case: of the first 1,000 characters of `wanted` in the first
    100,000 of `text`, for that takes a moment at most.
    """
    from rapidfuzz.fuzz import partial_ratio_alignment

    wanted, text = wanted[:_COMPARED], text[:_SEARCHED]
    found = partial_ratio_alignment(_lower(wanted), _lower(text), score_cutoff=_LIKE)
    if found is None or found.dest_start == found.dest_end:
        return None
    return _whole_words(text, found.dest_start, found.dest_end)


def most_like(text: str, others: Sequence[str]) -> str:
    """The one of the others that is most like the text, by their first 1,000 characters."""
    from rapidfuzz.fuzz import ratio

    return max(others, key=lambda other: ratio(other[:_COMPARED], text[:_COMPARED]))


def _fold(text: str) -> tuple[str, list[int]]:
    """The text with its case folded, and for each character of that the index of the one it came from (ß is ss)."""
    folded = [character.casefold() for character in text]
    return "".join(folded), [index for index, piece in enumerate(folded) for _ in piece]


def _lower(text: str) -> str:
    """In lower case, where that leaves every character in its place."""
    lower = text.lower()
    return lower if len(lower) == len(text) else text


def _whole_words(text: str, start: int, end: int) -> tuple[int, int]:
    while start > 0 and text[start - 1].isalnum() and text[start].isalnum():
        start -= 1
    rest = re.compile(r"\w*").match(text, end) if text[end - 1].isalnum() else None
    return start, rest.end() if rest else end
