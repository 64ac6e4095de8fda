"""Texts of others as a person reads them: nothing in them invisible, cut to length, their differences marked."""

from __future__ import annotations

import re
import unicodedata
from itertools import takewhile

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp", "Zs"})
_PLAIN = frozenset(" \n\u200c\u200d")  # the joiners are part of Persian words and of emoji
# What would steer a terminal or cannot be encoded: control characters but line feed and tab, and lone surrogates.
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_PIECE = re.compile(r"(?=\S*\d)[\w.~+/=-]{16,}|\w+|\s+|[^\w\s]")  # a long number, key or address is one word
_LEAD = 12
_WINDOW = 400


def visible(text: str) -> str:
    r"""The text with each character that cannot be seen written as an escape: a no-break space as `\xa0`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(character if _seen(character) else _escape(character) for character in text)


def printable(text: str) -> str:
    """The text line by line, its control characters escaped, so that it may be sent to a terminal."""
    lines = text.expandtabs(4).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(tame(line).rstrip() for line in lines)


def tame(text: str) -> str:
    """A piece of a text without what would steer a terminal, but for line feeds and tabs."""
    return _UNPRINTABLE.sub(lambda match: _escape(match[0]), text)


def plain(text: str) -> str:
    """The text without what no file and no channel to a controller can carry: lone halves of surrogate pairs."""
    return text.encode(errors="backslashreplace").decode()


def flat(text: str) -> str:
    """The visible text on one line."""
    return visible(text).replace("\n", "\\n")


def one_line(text: str) -> str:
    """The text on one printable line, every white space a single blank."""
    return printable(" ".join(text.split()))


def clip(text: str, limit: int = 600) -> str:
    """The text, or its head and tail with the number of characters between them."""
    if len(text) <= limit:
        return text
    head, tail = limit * 2 // 3, limit - limit * 2 // 3
    return f"{text[:head]} …{len(text) - limit:,} more characters… {text[-tail:]}"


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
