"""Reading one TOML file: its values, the line of each key, and what is wrong with it as a text."""

from __future__ import annotations

import codecs
import re
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ..errors import FormatError
from .locate import Keys, key_lines

MAX_BYTES = 1 << 20
"""A larger file holds something else than settings, and would take seconds to read."""

_BLOCK = 1 << 14  # most files are smaller, and a larger buffer costs more than reading them

MAX_DEPTH = 50
"""Tables and arrays within one another; no setting needs more, and Python's own limit is not far."""

_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")

_OF_PROMPT = re.compile(r"\s*(\[\s*(\w+\s*\.\s*)?)?prompt\b")
"""A line that sets `prompt`, or begins its table: the one key that is a value as well as a table."""

_HINTS = {
    "Invalid value": 'text stands in quotes, as in model = "gpt-4o-mini"; true and false are written in lower case',
    "Cannot overwrite a value": "this key is already set above",
    "Cannot declare": "this table is already there; put its keys together, or write [[case]] for a list of cases",
    "Unescaped '\\' in a string": "a pattern stands best in single quotes, which keep every backslash: '\\d+'",
    "Illegal character '\\n'": "the text is not closed on this line; text of several lines stands in triple quotes",
    "Expected '=' after a key": "a line is key = value",
}


@dataclass(frozen=True, eq=False)
class Toml:
    """One file as it was read; `values` are tomllib's."""

    path: Path
    text: str
    values: dict[str, Any]

    def line(self, keys: Keys) -> int | None:
        """The line (from 1) of the value at `keys`, or of the innermost table around it that has one."""
        for length in range(len(keys), 0, -1):
            line = self._lines.get(keys[:length])
            if line is not None:
                return line
        return None

    @cached_property
    def _lines(self) -> dict[Keys, int]:
        return key_lines(self.text)


def read(path: Path) -> Toml | None:
    """The file at `path`, or None where there is none; `FormatError` where it cannot be read as TOML.

    A byte-order mark and Windows' line ends are taken as they come.
    """
    data = _data(path)
    if data is None:
        return None
    text = _text(path, data)
    return Toml(path, text, _values(path, text))


def _data(path: Path) -> bytes | None:
    try:
        with path.open("rb") as file:
            data = file.read(_BLOCK)
            if len(data) == _BLOCK:
                data += file.read(MAX_BYTES)
    except OSError as error:
        if isinstance(error, FileNotFoundError) and not path.is_symlink():
            return None
        msg = f"cannot be read: {error.strerror or type(error).__name__}"
        raise FormatError(msg, path=path) from None
    if len(data) > MAX_BYTES:
        msg = f"is larger than {MAX_BYTES // 1024} KiB"
        raise FormatError(msg, path=path, hint="long texts and JSON belong in files of their own")
    return data


def _text(path: Path, data: bytes) -> str:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        msg, place = "is UTF-16, not UTF-8", 0
    elif (place := data.find(b"\0")) >= 0:
        msg = "holds a NUL byte"
    else:
        try:
            return data.decode("utf-8-sig").replace("\r\n", "\n")
        except UnicodeDecodeError as error:
            msg, place = "is not UTF-8", error.start
    raise FormatError(msg, path=path, line=data.count(b"\n", 0, place) + 1, hint="save it as UTF-8")


def _values(path: Path, text: str) -> dict[str, Any]:
    try:
        values = tomllib.loads(text)
        depth = _depth(values)
    except RecursionError:
        depth = MAX_DEPTH + 1
    except ValueError as error:
        reason = str(error)
        raise _syntax_error(path, text, reason) from None
    if depth > MAX_DEPTH:
        msg = f"is nested more than {MAX_DEPTH} deep"
        raise FormatError(msg, path=path)
    return values


def _depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(_depth, inner), default=0)


def _syntax_error(path: Path, text: str, reason: str) -> FormatError:
    place = _PLACE.search(reason)
    what = reason[: place.start()] if place else "holds a number with too many digits"
    end = text.count("\n", 0, len(text.rstrip())) + 1
    line = None if place is None else int(place[1] or end)
    hint = next((hint for start, hint in _HINTS.items() if what.startswith(start)), "")
    if what.startswith("Cannot overwrite") and line is not None and _OF_PROMPT.match(text.splitlines()[line - 1]):
        hint = "prompt is either its files or a table: in the table they stand as files = ..."
    column = f", column {place[2]}" if place and place[2] else ""
    msg = f"is not TOML: {what}{column}"
    return FormatError(msg, path=path, line=line, hint=hint)
