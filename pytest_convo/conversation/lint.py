"""Whether the calls and the results of a conversation belong together: what every provider refuses, found without one.

Each call is answered before anybody else speaks, each result has its call, no id is used twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from ..errors import FormatError
from .formats import Place
from .load import Placed
from .message import ToolCall
from .names import did_you_mean


def lint(messages: Iterable[Placed]) -> Iterator[FormatError]:
    """What is wrong with the calls and results in `messages`, which are a whole conversation in order."""
    pairs = _Pairs()
    for placed in messages:
        if placed.message.role == "tool":
            yield from pairs.answer(placed)
        else:
            yield from pairs.close()
            yield from pairs.ask(placed)
    yield from pairs.close()


class _Pairs:
    def __init__(self) -> None:
        self.calls: dict[str, tuple[ToolCall, Placed, Place]] = {}
        self.waiting: list[str] = []
        self.answered: set[str] = set()

    def ask(self, placed: Placed) -> Iterator[FormatError]:
        for number, call in enumerate(placed.message.tool_calls):
            place = (*placed.place, "tool_calls", number)
            if call.id in self.calls:
                msg = f"the call id {call.id!r} is used twice, first in {self.where(call.id)}"
                yield placed.origin.error(msg, place, "give each call an id of its own, and its result the same")
            else:
                self.calls[call.id] = call, placed, place
                self.waiting.append(call.id)

    def answer(self, placed: Placed) -> Iterator[FormatError]:
        id_ = placed.message.tool_call_id
        if id_ is None:
            msg = "this result has no tool_call_id"
            hint = f"say which call it answers, in {placed.index:04}_tool.yaml; {self.open_calls()}"
            yield placed.origin.error(msg, placed.place, hint)
        elif id_ in self.answered:
            msg = f"the call {id_!r} is answered twice"
            yield placed.origin.error(msg, (*placed.place, "tool_call_id"), f"keep one result; {self.open_calls()}")
        elif id_ not in self.calls:
            msg = f"no call before this result has the id {id_!r}"
            hint = did_you_mean(id_, self.waiting) if self.waiting else self.open_calls()
            yield placed.origin.error(msg, (*placed.place, "tool_call_id"), hint)
        else:
            yield from self.pair(placed, id_)

    def pair(self, placed: Placed, id_: str) -> Iterator[FormatError]:
        called, name = self.calls[id_][0].name, placed.message.name
        if name not in (None, called):
            msg = f"this result is named {name!r}, but the call {id_!r} is one of {called!r}"
            yield placed.origin.error(msg, (*placed.place, "name"), "leave the name out, or give it the call's")
        self.answered.add(id_)
        if id_ in self.waiting:
            self.waiting.remove(id_)

    def close(self) -> Iterator[FormatError]:
        """Somebody else speaks, or the conversation ends: what still waits is never answered."""
        for id_ in self.waiting:
            call, placed, place = self.calls[id_]
            msg = f"the call {id_!r} of {call.name!r} is not answered by the messages right after it"
            hint = f"add a tool message with `tool_call_id: {id_}` there, or take the call out"
            yield placed.origin.error(msg, place, hint)
        self.waiting.clear()

    def open_calls(self) -> str:
        return f"calls that wait for a result: {', '.join(self.waiting) or 'none'}"

    def where(self, id_: str) -> str:
        _, placed, place = self.calls[id_]
        first = placed.origin.error("", place)
        line = "" if first.line is None else f":{first.line}"
        return f"{Path(placed.origin.path or '').name}{line}"
