"""Conversations with language models as redundant pytest items.

The public names are handed on when they are first asked for (PEP 562), so that loading the plugin costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .agent.agent import Agent
    from .agent.result import AgentResult
    from .agreement.outcome import Outcome
    from .bot.callable import CallableModel
    from .bot.model import ChatModel
    from .bot.openai import OpenAIModel
    from .bot.scripted import ScriptedModel
    from .bot.tools import Tool
    from .check.base import Check, CheckResult
    from .conversation.message import Message, ToolCall
    from .conversation.reply import NotJSON, Reply, Usage
    from .conversation.transcript import Transcript
    from .errors import BotFailure, ConvoError, HarnessError
    from .prompt.part import Part
    from .prompt.request import Request, ToolSpec
    from .prompt.source import ContextSource
    from .prompt.stack import Budget, Stack
    from .sandbox.base import SandboxSpec
    from .sandbox.tool import AgentTool

__all__ = [
    "Agent",
    "AgentResult",
    "AgentTool",
    "BotFailure",
    "Budget",
    "CallableModel",
    "ChatModel",
    "Check",
    "CheckResult",
    "ContextSource",
    "ConvoError",
    "HarnessError",
    "Message",
    "NotJSON",
    "OpenAIModel",
    "Outcome",
    "Part",
    "Reply",
    "Request",
    "SandboxSpec",
    "ScriptedModel",
    "Stack",
    "Tool",
    "ToolCall",
    "ToolSpec",
    "Transcript",
    "Usage",
]

_HOMES = {
    "Agent": ".agent.agent",
    "AgentResult": ".agent.result",
    "AgentTool": ".sandbox.tool",
    "BotFailure": ".errors",
    "Budget": ".prompt.stack",
    "CallableModel": ".bot.callable",
    "ChatModel": ".bot.model",
    "Check": ".check.base",
    "CheckResult": ".check.base",
    "ContextSource": ".prompt.source",
    "ConvoError": ".errors",
    "HarnessError": ".errors",
    "Message": ".conversation.message",
    "NotJSON": ".conversation.reply",
    "OpenAIModel": ".bot.openai",
    "Outcome": ".agreement.outcome",
    "Part": ".prompt.part",
    "Reply": ".conversation.reply",
    "Request": ".prompt.request",
    "SandboxSpec": ".sandbox.base",
    "ScriptedModel": ".bot.scripted",
    "Stack": ".prompt.stack",
    "Tool": ".bot.tools",
    "ToolCall": ".conversation.message",
    "ToolSpec": ".prompt.request",
    "Transcript": ".conversation.transcript",
    "Usage": ".conversation.reply",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(import_module(_HOMES[name], __name__), name)


def __dir__() -> list[str]:
    return __all__
