"""Plain values as YAML that people read and git compares: texts as blocks, one value a line, keys in their order.

What is written is read back as exactly the same value by every reader of YAML 1.1 or 1.2.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

MAX_DEPTH = 40
"""Lists and mappings within one another; readers have limits."""

MAX_KEY = 500
"""Characters of a key; YAML wants its colon within 1024."""

_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_NO_BLOCK = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_WORD = re.compile(r"[A-Za-z_][\w./-]*", re.ASCII)
_DIGEST = re.compile(r"(?=.*[acdf])[0-9a-f]{32}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_RESERVED = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}


class Unwritable(Exception):
    """The value cannot stand in YAML: half a surrogate pair, a number that is none, too long a key, too deep."""


def dump(value: Any, pad: str = "") -> str:
    """The YAML text of a mapping or a list that is not empty; raises `Unwritable`."""
    return "".join(f"{line}\n" for line in _lines(value, pad))


def _lines(value: Any, pad: str) -> Iterator[str]:
    if len(pad) > 2 * MAX_DEPTH:
        raise Unwritable
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _labelled(f"{pad}{_key(key)}:", inner, pad)
        return
    for inner in value:
        if inner and isinstance(inner, Mapping):
            first, *rest = _lines(inner, pad + "  ")
            yield f"{pad}- {first.lstrip(' ')}"
            yield from rest
        else:
            yield from _labelled(f"{pad}-", inner, pad)


def _labelled(label: str, value: Any, pad: str) -> Iterator[str]:
    """The lines of a value behind its key or its dash."""
    if value and isinstance(value, Mapping | list):
        yield label
        yield from _lines(value, pad + "  ")
    elif isinstance(value, str) and _fits_block(value):
        yield f"{label} |{_indicators(value)}"
        for line in value.removesuffix("\n").split("\n"):
            yield f"{pad}  {line}" if line else ""
    else:
        yield f"{label} {_inline(value)}"


def _fits_block(text: str) -> bool:
    """Whether a text is more than one word, and can stand as a block."""
    wanted = any(mark in text for mark in ' \n"\\') and text.strip(" \t\n")
    return bool(wanted) and not _NO_BLOCK.search(text) and not _SURROGATE.search(text)


def _indicators(text: str) -> str:
    """How deep a block is indented, where its first line does not show it, and what becomes of its final newlines."""
    depth = "2" if text[0] in " \t\n" else ""
    return depth + ("-" if not text.endswith("\n") else "+" if text.endswith("\n\n") else "")


def _inline(value: Any) -> str:
    if isinstance(value, str):
        return value if _is_bare(value) else _quoted(value)
    if isinstance(value, float):
        return _number(value)
    return json.dumps(value)  # null, true, false, an integer, [] or {}


def _is_bare(text: str) -> bool:
    if _WORD.fullmatch(text):
        return text.lower() not in _RESERVED
    return bool(_DIGEST.fullmatch(text) or _TIME.fullmatch(text))


def _number(value: float) -> str:
    if not math.isfinite(value):
        raise Unwritable
    text = repr(value)
    return text if "." in text else text.replace("e", ".0e")  # YAML 1.1 takes 1e+16 for text


def _key(key: str) -> str:
    if len(key) > MAX_KEY:
        raise Unwritable
    return key if _is_bare(key) else _quoted(key)


def _quoted(text: str) -> str:
    """The text in JSON's quotes, with escapes for what YAML takes for a line break or for nothing."""
    if _SURROGATE.search(text):
        raise Unwritable
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))
