"""Pieces of secrets in a text that somebody has cut: pytest and our own excerpts shorten what they show."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

SHORTEST = 8
"""Characters of the shortest piece that is looked for."""

LONGEST = 12
"""Characters that are always one, however long the whole is."""

_GRAM, _STRIDE = 4, 5
"""Every piece of SHORTEST characters holds a whole gram that begins at a multiple of the stride (4 + 5 - 1 = 8)."""


class Pieces:
    """Finds the pieces of texts, given with what is to stand in the place of each."""

    def __init__(self, placeholders: Mapping[str, str]) -> None:
        self._placeholders = placeholders
        self._places: dict[str, list[tuple[str, int]]] = defaultdict(list)
        for text in placeholders:
            for at in range(len(text) - _GRAM + 1):
                self._places[text[at : at + _GRAM]].append((text, at))

    def without(self, text: str) -> str:
        """The text with a placeholder for each piece."""
        kept: list[str] = []
        end = 0
        for start, stop, placeholder in self._found(text):
            kept += text[end:start], placeholder
            end = stop
        return "".join(kept) + text[end:]

    def _found(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Where the pieces are, from left to right, none within another."""
        end = 0
        for at in range(0, len(text) - _GRAM + 1, _STRIDE):
            if at < end or not (places := self._places.get(text[at : at + _GRAM])):
                continue
            grown = [(*_grown(text, at, end, *place), place[0]) for place in places]
            pieces = [(start, stop, whole) for start, stop, whole in grown if stop - start >= _least(whole)]
            if pieces:
                start, end, whole = max(pieces, key=lambda piece: piece[1] - piece[0])
                yield start, end, self._placeholders[whole]


def _least(whole: str) -> int:
    """How many characters are a piece of a text: half of it is one."""
    return min(LONGEST, max(SHORTEST, len(whole) // 2))


def _grown(text: str, at: int, least: int, whole: str, place: int) -> tuple[int, int]:
    """The span of the gram at `at`, which is that of `whole` at `place`, with what is alike around it, from `least`."""
    start, before = at, place
    while start > least and before > 0 and text[start - 1] == whole[before - 1]:
        start, before = start - 1, before - 1
    stop, behind = at, place
    while stop < len(text) and behind < len(whole) and text[stop] == whole[behind]:
        stop, behind = stop + 1, behind + 1
    return start, stop
