"""Long texts on one line each, cut so that their difference shows."""

from __future__ import annotations

import re
from collections.abc import Sequence

# What would steer a terminal or cannot be encoded: control characters but line feed and tab, and lone surrogates.
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_CONTEXT = 20


def printable(text: str) -> str:
    """The text line by line, its control characters escaped, so that it may be sent to a terminal."""
    lines = text.expandtabs(4).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(_UNPRINTABLE.sub(lambda match: ascii(match[0])[1:-1], line).rstrip() for line in lines)


def one_line(text: str) -> str:
    """The text on one printable line, every white space a single blank."""
    return printable(" ".join(text.split()))


def excerpts(texts: Sequence[str], width: int) -> list[str]:
    """Each text on one line of at most `width` characters, from 60 on; "…" stands where something was left out.

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
    start = 0 if difference <= width - 2 * _CONTEXT else _word_start(line, difference)
    seen = f"…{line[start:]}" if start else line
    return seen if len(seen) <= width else f"{_whole_words(seen[: width - 1])}…"


def _word_start(line: str, difference: int) -> int:
    """The first start of a word in the stretch of `_CONTEXT` before `difference`, or that of the stretch."""
    blank = line.find(" ", difference - _CONTEXT, difference)
    return blank + 1 if blank >= 0 else difference - _CONTEXT


def _whole_words(text: str) -> str:
    """`text` without the word at its end that was cut, where that leaves most of it."""
    blank = text.rfind(" ", len(text) - _CONTEXT)
    return text[:blank] if blank >= 0 else text
