"""One tool call: what is expected of it, and what was made of that.

Expected are a name and, if given, arguments: each of those must be there with an equal value (`values.same`), further
ones are allowed. An empty table of arguments wants none at all. Beside them, or in their place, patterns may be found
in the arguments, and all arguments together may fit a schema.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from ..conversation.message import ToolCall
from ..texts import clip, flat
from .schema import misfits
from .values import same, shown, step

_WIDTH = 60

Pattern = str | re.Pattern[str]


@dataclass(frozen=True, slots=True)
class ExpectedCall:
    """A call that the bot should make.

    `arguments` are those that matter, or None where any will do. `patterns` are regular expressions by argument, each
    searched for in that one's value: a text as it is, anything else as compact JSON. `schema` is a JSON schema of the
    object of all arguments, or None.
    """

    name: str
    arguments: Mapping[str, Any] | None = None
    patterns: Mapping[str, Pattern] = field(default_factory=dict)
    schema: Any = None

    def fits(self, call: ToolCall) -> bool:
        return self.name == call.name and not self.faults(call)

    def faults(self, call: ToolCall) -> list[str]:
        """What is wrong with the arguments of `call`, one line each; `CheckError` where the schema says nothing."""
        if self.arguments is None and not self.patterns and self.schema is None:
            return []
        found = _parsed(call)
        if not isinstance(found, dict):
            return ["the arguments are no JSON object"]
        return [*self._unequal(found), *self._unmatched(found), *self._misfits(found)]

    def _unequal(self, found: Mapping[str, Any]) -> Iterator[str]:
        if self.arguments is not None and not self.arguments and found:
            yield "expected no arguments"
        for key, value in (self.arguments or {}).items():
            if key not in found or not same(value, found[key]):
                yield _fault(key, shown(value), found)

    def _unmatched(self, found: Mapping[str, Any]) -> Iterator[str]:
        for key, pattern in self.patterns.items():
            if key not in found or not _compiled(pattern).search(_text(found[key])):
                yield _fault(key, f"a match of {_slashed(pattern)}", found)

    def _misfits(self, found: Mapping[str, Any]) -> Iterator[str]:
        for fault in misfits(self.schema, found) if self.schema is not None else ():
            place = fault.removeprefix("$").removeprefix(".")
            yield f"the arguments{place}" if place.startswith(":") else place

    def __str__(self) -> str:
        matches = [f"{flat(key)}~{_slashed(pattern)}" for key, pattern in self.patterns.items()]
        fitting = ["fitting the schema"] if self.schema is not None else []
        given = [*_keywords(self.arguments or {}), *matches, *fitting]
        unsaid = ["…"] if self.arguments is None and not given else []
        return clip(f"{self.name}({', '.join(given or unsaid)})", _WIDTH)


def described(call: ToolCall) -> str:
    """The call as it would be written in Python; arguments that are no JSON object as they stand."""
    arguments = _parsed(call)
    inside = ", ".join(_keywords(arguments)) if isinstance(arguments, dict) else flat(call.arguments)
    return clip(f"{flat(call.name)}({inside})", 2 * _WIDTH)


def _parsed(call: ToolCall) -> Any:
    try:
        return call.parsed()
    except (ValueError, RecursionError):
        return None


@lru_cache(maxsize=256)
def _compiled(pattern: Pattern) -> re.Pattern[str]:
    with warnings.catch_warnings(action="ignore"):  # of what a later Python may read otherwise
        return re.compile(pattern)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _fault(key: str, wanted: str, found: Mapping[str, Any]) -> str:
    got = f"got {shown(found[key])}" if key in found else "it is missing"
    return f"{step(key).removeprefix('.')}: expected {wanted}, {got}"


def _slashed(pattern: Pattern) -> str:
    return f"/{flat(clip(pattern if isinstance(pattern, str) else pattern.pattern, 80))}/"


def _keywords(arguments: Mapping[str, Any]) -> Iterator[str]:
    return (f"{flat(key)}={shown(value)}" for key, value in arguments.items())
