"""What is sent to a model: one request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..conversation.message import Message


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model sees it; `parameters` is the JSON schema of its arguments."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})

    def to_api(self) -> dict[str, Any]:
        """The tool as the API has it."""
        function = {"name": self.name, "description": self.description, "parameters": dict(self.parameters)}
        return {"type": "function", "function": function}


@dataclass(frozen=True, slots=True)
class Request:
    """One request; `parameters` are sent exactly as given, zeros included, and what is not given is not sent."""

    model: str | None
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def body(self) -> dict[str, Any]:
        """The JSON body of the chat-completions call."""
        body: dict[str, Any] = {"model": self.model} if self.model is not None else {}
        body["messages"] = [message.to_api() for message in self.messages]
        if self.tools:
            body["tools"] = [tool.to_api() for tool in self.tools]
        body.update(self.parameters)
        return body
