"""One tool call: what is expected of it, and what was made of that.

Expected are a name and, if given, arguments: each of those must be there with an equal value (`values.same`), further
ones are allowed. An empty table of arguments wants none at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..conversation.message import ToolCall
from .show import clip, flat
from .values import same, shown, step

_WIDTH = 60


@dataclass(frozen=True, slots=True)
class ExpectedCall:
    """A call that the bot should make; of its arguments those that matter, or None where any will do."""

    name: str
    arguments: Mapping[str, Any] | None = None

    def fits(self, call: ToolCall) -> bool:
        return self.name == call.name and not self.faults(call)

    def faults(self, call: ToolCall) -> list[str]:
        """What is wrong with the arguments of `call`, one line each."""
        if self.arguments is None:
            return []
        found = _parsed(call)
        if not isinstance(found, dict):
            return ["the arguments are no JSON object"]
        if not self.arguments and found:
            return ["expected no arguments"]
        return [_fault(key, value, found) for key, value in self.arguments.items() if not _has(found, key, value)]

    def __str__(self) -> str:
        return clip(f"{self.name}({'…' if self.arguments is None else _keywords(self.arguments)})", _WIDTH)


def described(call: ToolCall) -> str:
    """The call as it would be written in Python; arguments that are no JSON object as they stand."""
    arguments = _parsed(call)
    inside = _keywords(arguments) if isinstance(arguments, dict) else flat(call.arguments)
    return clip(f"{flat(call.name)}({inside})", 2 * _WIDTH)


def _parsed(call: ToolCall) -> Any:
    try:
        return call.parsed()
    except (ValueError, RecursionError):
        return None


def _has(found: Mapping[str, Any], key: str, value: Any) -> bool:
    return key in found and same(value, found[key])


def _fault(key: str, value: Any, found: Mapping[str, Any]) -> str:
    got = f"got {shown(found[key])}" if key in found else "it is missing"
    return f"{step(key).removeprefix('.')}: expected {shown(value)}, {got}"


def _keywords(arguments: Mapping[str, Any]) -> str:
    return ", ".join(f"{flat(key)}={shown(value)}" for key, value in arguments.items())
