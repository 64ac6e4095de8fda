"""How many tokens a text has, where the model's own tokenizer is not at hand: an estimate that errs on the high side.

A text is cut into pieces of one kind of characters, and a piece costs what such pieces cost real tokenizers. The
figures were fitted to those of OpenAI (cl100k, o200k), Qwen and Mistral (Tekken) together: for each kind of text the
dearest of them counts, so that for the others the estimate is the higher, most of all outside of the Latin scripts.
`benchmarks/tokens.py` measures the error.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_ACCENTED = "\u00aa\u00b5\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff"
_LOWER = f"[a-z{_ACCENTED}]"
_SIGN = r"[!-/:-@\[-`{-~]"


class _Kind(NamedTuple):
    """A kind of pieces, and its cost in hundredths of a token: `first`, and `more` for each character beyond `free`."""

    pattern: str
    first: int
    more: int
    free: int = 1


_KINDS = {
    # English words are mostly one token, those of other languages one for each four letters; and what has more than
    # twelve letters is seldom a word of English.
    "long": _Kind(f"[A-Z]?{_LOWER}{{13,}}", 320, 45, 13),
    "capitalised": _Kind(f"[A-Z]{_LOWER}+", 148, 10, 6),
    "word": _Kind(f"{_LOWER}+", 116, 10, 6),
    # A single blank is part of the word behind it.
    "space": _Kind(r"[ \t\r\n]{2,}", 200, 3, 16),
    "break": _Kind(r"[\t\r\n]", 100, 0),
    # A sign often shares a token with its neighbour; of a line of the same ones a dozen do.
    "signs": _Kind(rf"(?P<same>{_SIGN})(?P=same)*", 62, 7, 8),
    "capitals": _Kind("[A-Z]+", 55, 50),
    # Qwen's and Mistral's have a token for each digit, and one for the blank before it.
    "digits": _Kind("[0-9]+", 205, 100),
    "cyrillic": _Kind("[\u0400-\u052f]+", 65, 65),
    # Greek, Armenian, Hebrew, Arabic, Korean, kana
    "letters": _Kind("[\u0370-\u03ff\u0530-\u06ff\u1100-\u11ff\u3040-\u30ff\uac00-\ud7af]+", 125, 125),
    "han": _Kind("[\u2e80-\u303f\u3100-\ua4cf\uff00-\uffef]+", 150, 150),
    # the scripts of India and South-East Asia
    "syllables": _Kind("[\u0700-\u10ff\u1200-\u1dff]+", 200, 200),
    "typographic": _Kind("[\u0080-\u00bf\u00d7\u00f7\u2000-\u206f\ufe00-\ufe0f]+", 120, 120),
    "symbols": _Kind("[\u2070-\u2dff]+", 250, 250),
    # emoji, rare scripts, halves of surrogate pairs: a byte is a token at worst, and some have four
    "others": _Kind("[^\x00-\x7f]+", 400, 400),
    "controls": _Kind("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]+", 100, 100),
}
_PIECES = re.compile("|".join(f"(?P<{name}>{kind.pattern})" for name, kind in _KINDS.items()))
_COSTS = {_PIECES.groupindex[name]: (kind.first, kind.more, kind.free) for name, kind in _KINDS.items()}

_ACCENT = re.compile(f"[{_ACCENTED}]")
_ACCENT_COST = 200


class Estimator:
    """Estimates the tokens of a text by its characters alone; the same text has the same count everywhere.

    Texts that are joined by a blank line have at most two tokens more than they have by themselves.
    """

    name = "estimate"
    exact = False

    def count(self, text: str) -> int:
        """The tokens of a text, rounded up."""
        cost = 0 if text.isascii() else _ACCENT_COST * len(_ACCENT.findall(text))
        for piece in _PIECES.finditer(text):
            start, end = piece.span()
            first, more, free = _COSTS[piece.lastindex or 0]
            cost += first
            if end - start > free:
                cost += more * (end - start - free)
        return -(-cost // 100)
