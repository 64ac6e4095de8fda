"""Long texts on one line each, cut so that their difference shows."""

from __future__ import annotations

from collections.abc import Sequence

from ..texts import one_line

_CONTEXT = 20


def excerpts(texts: Sequence[str], width: int) -> list[str]:
    """Each text on one line of at most `width` characters, from 12 on; "…" stands where something was left out.

    A long text shows its beginning, or where that is no different from the first text (the first's from the second),
    the place from which on it is.
    """
    lines = [one_line(text) for text in texts]
    others = [*(lines[1:2] or [""]), *lines[:1] * (len(lines) - 1)]
    return [_window(line, _difference(line, other), width) for line, other in zip(lines, others, strict=False)]


def _difference(line: str, other: str) -> int:
    """The position of the first character that `other` has not."""
    pairs = enumerate(zip(line, other, strict=False))
    return next((position for position, (one, two) in pairs if one != two), min(len(line), len(other)))


def _window(line: str, difference: int, width: int) -> str:
    """What is seen of `line`, the character at `difference` included."""
    if len(line) <= width:
        return line
    context = min(_CONTEXT, width // 3)
    start = 0 if difference <= width - 2 * context else _word_start(line, difference, context)
    seen = f"…{line[start:]}" if start else line
    return seen if len(seen) <= width else f"{_whole_words(seen[: width - 1], context)}…"


def _word_start(line: str, difference: int, context: int) -> int:
    """The first start of a word in the stretch of `context` before `difference`, or that of the stretch."""
    blank = line.find(" ", difference - context, difference)
    return blank + 1 if blank >= 0 else difference - context


def _whole_words(text: str, context: int) -> str:
    """`text` without the word at its end that was cut, where that leaves most of it."""
    blank = text.rfind(" ", len(text) - context)
    return text[:blank] if blank >= 0 else text
