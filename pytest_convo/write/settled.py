"""A text as it arrives, as far as nothing that is still to come can show that a secret stands in it."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

from ..redaction import Redactor
from ..secrets.forms import written
from ..secrets.known import SHORTEST

_SLOW, _REST = 0.002, 10
"""Seconds that a look may take; after a longer one comes a rest, so many times as long, that holds up no answer."""

_SPACE = re.compile(r"\s")


class Settled:
    """Takes the pieces of a text, and gives what of it is settled: whole words, redacted.

    Half of a secret is none that anybody would find; so what comes after the last white space waits. Where a user's own
    patterns or functions tell what is secret, which may be several words, whole lines are settled. What settles late
    may change what was settled before, as when the end of a private key shows where it ended.
    """

    def __init__(self, redactor: Redactor) -> None:
        self.text = ""
        """What is settled so far."""
        self._redactor = redactor
        self._ends = "\n" if redactor.patterns or redactor.functions else None
        self._wide = tuple(_of_several_words(redactor))
        self._said = ""
        self._head = ""
        self._next_look = 0.0

    def add(self, piece: str) -> tuple[bool, str]:
        """Take in a piece; whether what was settled before is void, and the text that is settled now.

        Raises `RedactionError`.
        """
        self._said += piece
        begin = time.perf_counter()
        if begin < self._next_look:
            return False, ""
        head = self._settled()
        if head == self._head:
            return False, ""
        before, self._head, self.text = self.text, head, self._redactor.text(head)
        end = time.perf_counter()
        self._next_look = end + _REST * (end - begin) if end - begin > _SLOW else 0.0
        kept = self.text.startswith(before)
        return not kept, self.text[len(before) :] if kept else self.text

    def _settled(self) -> str:
        """What was said, up to the last place at which nothing secret can be in the middle."""
        said = self._said
        end = said.rfind("\n") if self._ends else next((at for at in _backwards(said) if said[at].isspace()), -1)
        head = said[: max(end, 0)].rstrip()
        while begun := max((_begun(head, form) for form in self._wide), default=0):
            head = head[:-begun].rstrip()
        return head


def settled(text: str, redactor: Redactor) -> str:
    """What is settled of a text that broke off there."""
    one = Settled(redactor)
    one.add(text)
    return one.text


def _of_several_words(redactor: Redactor) -> Iterator[str]:
    """Every way in which a known secret may be written that has white space in it."""
    for value in redactor.values:
        if len(value) >= SHORTEST and _SPACE.search(value):
            yield from (form for form in written(value) if _SPACE.search(form))


def _begun(head: str, form: str) -> int:
    """How many characters at the end of `head` are the first words of `form`, whose next may be still to come."""
    return max((space.start() for space in _SPACE.finditer(form) if head.endswith(form[: space.start()])), default=0)


def _backwards(text: str) -> range:
    return range(len(text) - 1, -1, -1)
