"""Checks of the way that the bot took through its tools in a turn: called_before, not_called, max_calls.

They go by the names of the calls that were made, in their order, whatever the arguments and whatever came of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from ..conversation.message import ToolCall
from ..conversation.reply import Reply
from ..errors import CheckError
from ..texts import clip, flat
from .base import CheckResult, ReplyCheck
from .call import described
from .show import listed

_MOST_CHARS = 300


@dataclass(frozen=True, slots=True)
class CalledBefore(ReplyCheck):
    """Every one of the tools is called, and the first call of each comes before the first call of the next.

    Other calls may stand between them, and any tool may be called again later. Raises `CheckError` for a tool that is
    named twice: its first call cannot come before itself.
    """

    names: tuple[str, ...]
    name = "called_before"

    def __post_init__(self) -> None:
        twice = sorted({name for name in self.names if self.names.count(name) > 1})
        if twice:
            msg = f"names a tool twice: {', '.join(twice)}"
            raise CheckError(msg, hint="it goes by the first call of each tool; calls lists every call of a turn")

    def judge(self, reply: Reply) -> CheckResult:
        first = _first_calls(reply.calls)
        missing = [flat(name) for name in self.names if name not in first]
        faults = [f"not called: {', '.join(missing)}"] if missing else []
        faults += _out_of_order([name for name in self.names if name in first], first)
        if not faults:
            return CheckResult.passed()
        wanted = f"  expected: {clip(' → '.join(map(flat, self.names)), _MOST_CHARS)}"
        return CheckResult.failed("; ".join(faults), wanted, _line(reply.calls))


@dataclass(frozen=True, slots=True)
class NotCalled(ReplyCheck):
    """None of the tools is called."""

    names: tuple[str, ...]
    name = "not_called"

    def judge(self, reply: Reply) -> CheckResult:
        calls = [(number, call) for number, call in enumerate(reply.calls, 1) if call.name in self.names]
        if not calls:
            return CheckResult.passed()
        called = ", ".join(flat(name) for name in dict.fromkeys(call.name for _, call in calls))
        places = [f"call {number}: {described(call)}" for number, call in calls]
        return CheckResult.failed(f"called, and must not be: {called}", listed(places), _line(reply.calls))


@dataclass(frozen=True, slots=True)
class MaxCalls(ReplyCheck):
    """At most so many calls are made in the turn, of all tools together; the limit itself is allowed."""

    most: int
    name = "max_calls"

    def judge(self, reply: Reply) -> CheckResult:
        made = len(reply.calls)
        if made <= self.most:
            return CheckResult.passed()
        over = f"{made:,} call{'s' if made > 1 else ''}, at most {self.most:,} are allowed"
        return CheckResult.failed(over, _line(reply.calls))


def _first_calls(calls: Sequence[ToolCall]) -> dict[str, int]:
    """By the name of each tool that was called, the number of its first call, from 1."""
    first: dict[str, int] = {}
    for number, call in enumerate(calls, 1):
        first.setdefault(call.name, number)
    return first


def _out_of_order(names: Sequence[str], first: Mapping[str, int]) -> Iterator[str]:
    for one, other in pairwise(names):
        if first[one] > first[other]:
            yield f"{flat(other)} (call {first[other]}) came before {flat(one)} (call {first[one]})"


def _line(calls: Sequence[ToolCall]) -> str:
    """The names of the calls in one line; equal ones that follow each other are counted."""
    if not calls:
        return "  no tool was called"
    runs = [(flat(name), len(list(same))) for name, same in groupby(call.name for call in calls)]
    names = [name if times == 1 else f"{name} × {times}" for name, times in runs]
    return f"  the calls: {clip(' → '.join(names), _MOST_CHARS)}"
