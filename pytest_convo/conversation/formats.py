"""JSON and TOML, with the line of every key; a key that stands twice is an error in each."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from typing import Any

Place = tuple[str | int, ...]
"""The way to a value: keys of mappings and numbers, from 0, of elements of lists."""

Lines = dict[Place, int]

MAX_DEPTH = 50
"""Lists and mappings within one another; no message needs more, and Python's own limit is not far."""

_JSON_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\],]')
_TOML_HEADER = re.compile(r"\s*(\[\[?)\s*([\w-]+)\s*\]")
_TOML_KEY = re.compile(r"""\s*["']?([\w-]+)["']?\s*[=.]""")
_TOML_PLACE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")


class Unreadable(Exception):
    """Why a text is not of its format, and on which line."""

    def __init__(self, what: str, line: int | None = None, hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.line = line
        self.hint = hint

    @classmethod
    def too_deep(cls, line: int | None = None) -> Unreadable:
        return cls(f"is nested more than {MAX_DEPTH} deep", line, "a message needs no such depth")

    @classmethod
    def twice(cls, key: object, first: int, line: int) -> Unreadable:
        return cls(f"the key {str(key)[:60]!r} stands twice, first on line {first}", line, "keep one of them")


def read_json(text: str) -> tuple[Any, Lines]:
    """The value and the lines of a JSON text."""
    hint = 'a JSON file holds one object, as {"content": "..."}'
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        what = f"is not JSON: {error.msg}" if text.strip() else "is empty"
        raise Unreadable(what, error.lineno, hint) from None
    except RecursionError:
        raise Unreadable.too_deep() from None
    except ValueError as error:
        what = f"is not JSON: {error}"
        raise Unreadable(what, None, "put the number in quotes") from None
    lines: Lines = {}
    for place, line in _json_places(text):
        if place in lines:
            raise Unreadable.twice(place[-1], lines[place], line)
        lines[place] = line
    return value, lines


def read_toml(text: str) -> tuple[Any, Lines]:
    """The value of a TOML text, and the lines of the keys that begin one and of the headers of one name."""
    try:
        value = tomllib.loads(text)
    except RecursionError:
        raise Unreadable.too_deep() from None
    except ValueError as error:
        reason = str(error)
        found = _TOML_PLACE.search(reason)
        line = None if not found else int(found[1] or text.rstrip().count("\n") + 1)
        what = f"is not TOML: {_TOML_PLACE.sub('', reason)}"
        raise Unreadable(what, line, 'a line is key = value, and text stands in quotes: content = "..."') from None
    lines: Lines = {}
    for place, line in _toml_places(text):
        lines.setdefault(place, line)
    return value, lines


def _json_places(text: str) -> Iterator[tuple[Place, int]]:
    """The place and line of every key in a valid JSON text, and of the elements of lists that are no bare words."""
    frames: list[Any] = []  # of a list the number of its element, of a mapping its key, and None where a key comes next
    line, end = 1, 0
    for token in _JSON_TOKEN.finditer(text):
        mark, start = token[0], token.start()
        line, end = line + text.count("\n", end, start), start
        if frames and isinstance(frames[-1], int) and mark[0] in '"{[':
            yield tuple(frames), line
        if mark in "]}":
            frames.pop()
        elif mark in "[{":
            frames.append(0 if mark == "[" else None)
        elif mark == ",":
            frames[-1] = frames[-1] + 1 if isinstance(frames[-1], int) else None
        elif frames and frames[-1] is None:
            frames[-1] = json.loads(mark)
            yield tuple(frames), line


def _toml_places(text: str) -> Iterator[tuple[Place, int]]:
    table: Place = ()
    counts: dict[str, int] = {}
    quotes = ""
    for number, line in enumerate(text.split("\n"), 1):
        if not quotes and (header := _TOML_HEADER.match(line)):
            counts[header[2]] = counts.get(header[2], -1) + 1
            table = (header[2], counts[header[2]]) if header[1] == "[[" else (header[2],)
            yield table, number
        elif not quotes and (key := _TOML_KEY.match(line)):
            yield (*table, key[1]), number
        for mark in ('"""', "'''"):
            if quotes in ("", mark) and line.count(mark) % 2:
                quotes = "" if quotes else mark
