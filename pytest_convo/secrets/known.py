"""Values that are known to be secret, and what stands in their place."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache

from .forms import written
from .pieces import Pieces

SHORTEST = 8
"""Characters of the shortest value that is a secret: a shorter one stands in too many a text by chance."""

PLACEHOLDER = "[secret]"
MARK = re.compile(r"(\[secret(?: \w+)?\])")
"""What stands in the place of a secret: with the name of its variable, where it has one."""

_IS_A_PLACE = re.compile(r"[/~.]|[A-Za-z]:[\\/]|\w+://")
"""How a path or an address begins: pieces of it stand in many a text that tells no secret."""


class Known:
    """Values with the names of their variables, which may be empty."""

    def __init__(self, values: Iterable[tuple[str, str]]) -> None:
        marks = {value: _mark(name) for value, name in values if len(value) >= SHORTEST}
        telling = {mark for mark in marks.values() if any(value in mark for value in marks)}
        self._marks = {value: PLACEHOLDER if mark in telling else mark for value, mark in marks.items()}

    def is_in(self, text: str) -> bool:
        """Whether any of the values is in the text: it takes no time to see that none is."""
        return any(map(text.__contains__, self._by_needle))

    def without(self, text: str) -> str:
        """The text with a placeholder for each value, for the longest where several begin in one place."""
        needles = filter(text.__contains__, self._by_needle)
        found = [form for needle in needles for form in self._by_needle[needle] if form in text]
        if not found:
            return text
        found.sort(key=len, reverse=True)
        return re.sub("|".join(map(re.escape, found)), lambda match: self._forms[match[0]], text)

    @cached_property
    def pieces(self) -> Pieces:
        """The pieces of the values, for texts that may hold no more of them."""
        return Pieces(_forms({value: mark for value, mark in self._marks.items() if not _IS_A_PLACE.match(value)}))

    @cached_property
    def _forms(self) -> Mapping[str, str]:
        return _forms(self._marks)

    @cached_property
    def _by_needle(self) -> Mapping[str, list[str]]:
        """The forms of the values by texts that are in them: as few as can be, so that few are to be looked for."""
        found: dict[str, list[str]] = defaultdict(list)
        for form in sorted(self._forms, key=len):
            needle = next(filter(form.__contains__, found), form)
            found[needle].append(form)
        return dict(found)


@lru_cache(maxsize=256)
def known(values: tuple[tuple[str, str], ...]) -> Known:
    """The same object for the same values: what it prepares takes longer than most of what it is asked."""
    return Known(values)


def _mark(name: str) -> str:
    return f"[secret {name}]" if re.fullmatch(r"\w+", name) else PLACEHOLDER


def _forms(marks: Mapping[str, str]) -> Mapping[str, str]:
    """Every way in which a value may be written, with its placeholder."""
    return {form: mark for value, mark in marks.items() for form in written(value) if form not in PLACEHOLDER}
