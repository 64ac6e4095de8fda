"""All that an agent may call, by name: hands in its sandbox, and functions on this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..bot.schema import ArgumentsError
from ..bot.tools import Tool
from ..conversation.message import ToolCall
from ..errors import SettingsError
from .hands import Hand, Order


class Box:
    """The tools of one agent. Raises `SettingsError` where two have one name."""

    def __init__(self, hands: Sequence[Hand], functions: Sequence[Tool] = ()) -> None:
        names = [*(hand.spec.name for hand in hands), *(function.name for function in functions)]
        for name in names:
            if names.count(name) > 1:
                msg = f"the agent has two tools that are named {name!r}"
                raise SettingsError(msg, hint="give one of them another name")
        self.specs = [*(hand.spec for hand in hands), *(function.spec for function in functions)]
        self._hands: Mapping[str, Hand] = {hand.spec.name: hand for hand in hands}
        self._functions: Mapping[str, Tool] = {function.name: function for function in functions}

    def read(self, call: ToolCall) -> tuple[Hand, Order] | Tool:
        """Who carries out `call`; `ArgumentsError` for an unknown tool, and for arguments that do not fit."""
        if call.name in self._hands:
            hand = self._hands[call.name]
            return hand, hand.order(call.arguments)
        if call.name in self._functions:
            function = self._functions[call.name]
            function.read(call.arguments)
            return function
        msg = f"there is no tool {call.name!r}; the tools are: {', '.join(spec.name for spec in self.specs)}"
        raise ArgumentsError(msg)
