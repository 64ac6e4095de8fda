"""A gate between tools and the bot: what a tool answers is sent when somebody has let it pass."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import HarnessError
from .schema import as_text
from .tools import Tool

Ask = Callable[[str, str, str], Awaitable[bool]]
"""Asks whether a result may be sent: of the tool's name, the call's arguments as JSON, and the result."""


@dataclass(frozen=True, slots=True)
class GatedTool(Tool):
    """A tool whose results pass a gate; one that is held back is a `HarnessError`, for nothing was measured then."""

    ask: Ask | None = None

    async def call(self, arguments: str) -> Any:
        # Not super(): a dataclass with slots is another class than the one that the method was written in.
        result = as_text(await Tool.call(self, arguments))
        if self.ask is not None and not await self.ask(self.name, arguments, result):
            msg = f"the result of {self.name} was not sent to the bot"
            raise HarnessError(msg)
        return result


def gated(tools: Sequence[Tool], ask: Ask) -> Sequence[Tool]:
    """These tools, with a gate behind each."""
    return [
        GatedTool(tool.name, tool.description, tool.parameters, tool.function, tool._arguments, ask)  # noqa: SLF001
        for tool in tools
    ]
