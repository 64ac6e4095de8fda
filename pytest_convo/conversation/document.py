"""A data file as plain values, with the line of every key.

Plain values are what JSON has: text, numbers, booleans, null, lists, and mappings with text for keys.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import FormatError
from .formats import MAX_DEPTH, Place, Unreadable, read_json, read_toml

MAX_SHOWN = 60
"""Characters of a value in an error."""


@dataclass(frozen=True, slots=True)
class Document:
    """The value of a data file, and where in the file its parts stand.

    `path` is None for values that come from Python. `rendered` says that the lines are those of a rendered template,
    not of the file.
    """

    path: str | None
    value: Any
    lines: Mapping[Place, int] = field(default_factory=dict)
    rendered: bool = False

    def error(self, what: str, place: Place = (), hint: str = "") -> FormatError:
        """An error in this file, at the line of `place` or of the innermost value around it that has one."""
        line = next((self.lines[place[:n]] for n in range(len(place), -1, -1) if place[:n] in self.lines), None)
        if self.rendered and line is not None:
            return FormatError(f"{what} (line {line} of the rendered text)", path=self.path, hint=hint)
        return FormatError(what, path=self.path, line=line, hint=hint)


def parse(text: str, ext: str, path: str, *, rendered: bool = False) -> Document:
    """The document that `text` is; `ext` is yaml, yml, json or toml.

    Raises `FormatError`, with the line where there is one, for what cannot be read, for a key that stands twice, and
    for values that JSON does not have.
    """
    try:
        value, lines = _reader(ext)(text)
    except Unreadable as error:
        at: dict[Place, int] = {(): error.line} if error.line else {}
        raise Document(path, None, at, rendered).error(error.what, hint=error.hint) from None
    return _checked(Document(path, value, lines, rendered))


def plain(value: Any) -> Document:
    """The document of a value that comes from Python; `FormatError` for what JSON does not have."""
    return _checked(Document(None, value))


def kind(value: Any) -> str:
    """What a plain value is, in JSON's words."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    names = ((str, "text"), (int | float, "a number"), (Mapping, "a mapping"))
    return next((name for of, name in names if isinstance(value, of)), "a list")


def shown(value: Any) -> str:
    """A value as an error shows it: on one line, and the start of it where it is long."""
    if not isinstance(value, str):
        return kind(value)
    return repr(value) if len(value) <= MAX_SHOWN else f"{value[:MAX_SHOWN]!r}…"


def _reader(ext: str) -> Any:
    if ext == "json":
        return read_json
    if ext == "toml":
        return read_toml
    from .yaml_core import read_yaml

    return read_yaml


def _checked(document: Document) -> Document:
    for what, place, hint in _unfit(document.value, ()):
        raise document.error(what, place, hint)
    return document


def _unfit(value: Any, place: Place) -> Iterator[tuple[str, Place, str]]:
    """What is none of JSON's values: what is wrong, where, what to do."""
    if len(place) > MAX_DEPTH:
        yield f"is nested more than {MAX_DEPTH} deep", place, "a message needs no such depth"
    elif isinstance(value, str):
        if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
            yield "holds half of a surrogate pair, which is no character", place, "write the character itself"
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if isinstance(key, str):
                yield from _unfit(inner, (*place, key))
            else:
                yield f"the key {key!r} is not text", place, "put it in quotes"
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            yield from _unfit(inner, (*place, number))
    elif not isinstance(value, bool | int | float | None) or (isinstance(value, float) and not math.isfinite(value)):
        yield f"{value} is not a value that JSON has", place, "put it in quotes"
