"""Texts as a person reads them in a failure: bounded, the place marked, nothing in them invisible."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import takewhile

_CHARS = 600
_LINES = 16
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp", "Zs"})
_PLAIN = frozenset(" \n\u200c\u200d")  # the joiners are part of Persian words and of emoji
_PIECE = re.compile(r"(?=\S*\d)[\w.~+/=-]{16,}|\w+|\s+|[^\w\s]")  # a long number, key or address is one word
_LEAD = 12
_WINDOW = 400


def visible(text: str) -> str:
    r"""The text with each character that cannot be seen written as an escape: a no-break space as `\xa0`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(character if _seen(character) else _escape(character) for character in text)


def flat(text: str) -> str:
    """The visible text on one line."""
    return visible(text).replace("\n", "\\n")


def clip(text: str, limit: int = _CHARS) -> str:
    """The text, or its head and tail with the number of characters between them."""
    if len(text) <= limit:
        return text
    head, tail = limit * 2 // 3, limit - limit * 2 // 3
    return f"{text[:head]} …{len(text) - limit:,} more characters… {text[-tail:]}"


def clip_lines(lines: Sequence[str], limit: int = _LINES) -> list[str]:
    """The lines, or the first and the last of them with the number of lines between them."""
    if len(lines) <= limit:
        return list(lines)
    head, tail = limit * 2 // 3, limit - limit * 2 // 3
    return [*lines[:head], f"…{len(lines) - limit:,} more lines…", *lines[-tail:]]


def quoted(text: str, limit: int = 80) -> str:
    """The text in quotation marks, on one line."""
    return f'"{flat(clip(text, limit))}"'


def around(text: str, start: int, end: int, *, margin: int = 60) -> str:
    """The passage from `start` to `end` in « », on one line, with `margin` characters of what surrounds it."""
    first, last = max(0, start - margin), min(len(text), end + margin)
    before = ("…" if first > 0 else "") + flat(text[first:start])
    after = flat(text[end:last]) + ("…" if last < len(text) else "")
    return f"{before}«{flat(clip(text[start:end], 4 * margin))}»{after}"


def said(text: str, limit: int = _CHARS) -> str:
    """The reply as an indented block, at most `limit` characters of it, head and tail."""
    if not text.strip():
        return f"  the reply: {quoted(text)}"
    lines = clip_lines(visible(clip(text.removesuffix("\n"), limit)).split("\n"))
    return "\n".join(["  the reply:", *(f"    | {line}".rstrip() for line in lines)])


def indented(text: str) -> str:
    """Each line of the text, indented as the lines of a reason are."""
    return "\n".join(f"    {line}".rstrip() for line in text.split("\n"))


def listed(lines: Sequence[str], limit: int = 5) -> str:
    """The lines, indented; of more than `limit` the first ones and how many more there are. Nothing of nothing."""
    more = [f"and {len(lines) - limit:,} more"] if len(lines) > limit else []
    return "\n".join(f"    {line}" for line in [*lines[:limit], *more])


def word_diff(wanted: str, text: str) -> str:
    """Where `text` first leaves `wanted`, word by word: `[-wanted-]` and `{+said+}` amid what both have."""
    from difflib import SequenceMatcher

    before, after = _PIECE.findall(wanted), _PIECE.findall(text)
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False)))
    start = max(0, common - _LEAD)
    left, right = before[start : start + _WINDOW], after[start : start + _WINDOW]
    pieces = ["…"] if start else []
    for kind, a, b, c, d in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        pieces.append(_edit(kind, "".join(left[a:b]), "".join(right[c:d])))
    if max(len(before), len(after)) > start + _WINDOW:
        pieces.append("…")
    return "".join(pieces)


def _edit(kind: str, old: str, new: str) -> str:
    if kind == "equal":
        return visible(old if len(old) <= 160 else f"{old[:80]}…{old[-80:]}")
    gone = f"[-{flat(clip(old, 300))}-]" if old else ""
    return gone + (f"{{+{flat(clip(new, 300))}+}}" if new else "")


def _seen(character: str) -> bool:
    return character in _PLAIN or unicodedata.category(character) not in _UNSEEN


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
