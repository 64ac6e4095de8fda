"""YAML, read by its events: no tags, no code, no copies without end, and every key with its line.

What is not in quotes is text, but for null, true, false and decimal numbers without leading zeros. So `yes`, `12:30`,
`2026-01-01` and `0042` are text, and nothing that PyYAML writes as text is read as anything else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .formats import MAX_DEPTH, Lines, Place, Unreadable

MAX_BORROWED = 1_000_000
"""Characters and values that aliases may repeat in one file."""

_QUOTE = "text with ': ' or ' #' in it stands in quotes, or below `content: |`, indented"
_FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NULL = re.compile(r"null|Null|NULL|~|")
_BOOL = re.compile(r"true|True|TRUE|false|False|FALSE")
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)\.[0-9]*(?:[eE][-+][0-9]+)?|\.[0-9]+(?:[eE][-+][0-9]+)?")
_STR = "tag:yaml.org,2002:str"


def read_yaml(text: str) -> tuple[Any, Lines]:
    """The value and the lines of a YAML text of one document; `Unreadable` where it is none, or a bomb."""
    import yaml

    forbidden = _FORBIDDEN.search(text)
    if forbidden:
        line: int | None = text.count("\n", 0, forbidden.start()) + 1
        what = f"holds the control character {forbidden[0]!r}"
        raise Unreadable(what, line, 'write it as an escape, in "quotes"')
    builder = _Builder(yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    try:
        return builder.document(), builder.lines
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else None
        what = f"is not YAML: {error.problem or error.context}"
        raise Unreadable(what, line, _QUOTE) from None
    except yaml.YAMLError as error:
        what = f"is not YAML: {error}"
        raise Unreadable(what, None, _QUOTE) from None


class _Builder:
    """Makes the value of a stream of events.

    PyYAML's own composer, in C, overflows the stack on deep nesting, and keeps the last of two equal keys.
    """

    def __init__(self, events: Iterator[Any]) -> None:
        self.events = events
        self.lines: Lines = {}
        self.anchors: dict[str, tuple[Any, int]] = {}
        self.weight = 0
        self.borrowed = 0

    def document(self) -> Any:
        self.next()
        if _kind(self.next()) == "StreamEnd":
            what = "is empty"
            raise Unreadable(what, 1, "write at least `content: ...`")
        value = self.value(self.next(), ())
        self.next()
        after = self.next()
        if _kind(after) != "StreamEnd":
            what = "holds a second document"
            raise Unreadable(what, _line(after), "take out the line `---`, or quote the text")
        return value

    def next(self) -> Any:
        return next(self.events)

    def value(self, event: Any, place: Place) -> Any:
        self.lines.setdefault(place, _line(event))
        if _kind(event) == "Alias":
            return self.alias(event)
        if len(place) > MAX_DEPTH:
            raise Unreadable.too_deep(_line(event))
        if event.tag not in (None, "!", _STR):
            what = f"the tag {event.tag} is not read here"
            raise Unreadable(what, _line(event), "write the plain value")
        before = self.weight
        value = self.make(event, place)
        if event.anchor:
            self.anchors[event.anchor] = value, self.weight - before
        return value

    def make(self, event: Any, place: Place) -> Any:
        self.weight += 1
        if _kind(event) == "Scalar":
            self.weight += len(event.value)
            return _scalar(event)
        return self.mapping(place) if _kind(event) == "MappingStart" else self.sequence(place)

    def mapping(self, place: Place) -> dict[str, Any]:
        result: dict[str, Any] = {}
        while _kind(event := self.next()) != "MappingEnd":
            key, line = _key(event), _line(event)
            if key in result:
                raise Unreadable.twice(key, self.lines[*place, key], line)
            self.lines[*place, key] = line
            result[key] = self.value(self.next(), (*place, key))
        return result

    def sequence(self, place: Place) -> list[Any]:
        result: list[Any] = []
        while _kind(event := self.next()) != "SequenceEnd":
            result.append(self.value(event, (*place, len(result))))
        return result

    def alias(self, event: Any) -> Any:
        if event.anchor not in self.anchors:
            what = f"the alias *{event.anchor} has no anchor that ends above it"
            raise Unreadable(what, _line(event), "put text that begins with * in quotes")
        value, weight = self.anchors[event.anchor]
        self.weight += weight
        self.borrowed += weight
        if self.borrowed > MAX_BORROWED:
            what = f"its aliases repeat more than {MAX_BORROWED} characters"
            raise Unreadable(what, _line(event), "write the values out")
        return value


def _kind(event: Any) -> str:
    return type(event).__name__.removesuffix("Event")


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


def _key(event: Any) -> str:
    key = _scalar(event) if _kind(event) == "Scalar" else None
    if not isinstance(key, str):
        what = "a key is not text"
        raise Unreadable(what, _line(event), "put it in quotes")
    if key == "<<" and event.implicit[0]:
        what = "merge keys are not read here"
        raise Unreadable(what, _line(event), "write the fields out")
    return key


def _scalar(event: Any) -> Any:
    text: str = event.value
    if not event.implicit[0] or event.tag in ("!", _STR):
        return text
    if _NULL.fullmatch(text):
        return None
    if _BOOL.fullmatch(text):
        return text.lower() == "true"
    if _INT.fullmatch(text) and len(text) < 4000:  # the length at which Python refuses to read a number
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text
