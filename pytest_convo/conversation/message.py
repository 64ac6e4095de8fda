"""One message, and the tool calls in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

Role = Literal["system", "user", "assistant", "tool"]
ROLES: tuple[Role, ...] = get_args(Role)

Content = str | list[dict[str, Any]] | None
"""Text, or a list of parts (text, image, file) as the chat-completions API has them."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the bot made; `arguments` is its JSON text exactly as the bot wrote it."""

    id: str
    name: str
    arguments: str = "{}"

    def parsed(self) -> Any:
        """The arguments as a value; `ValueError` where they are not JSON."""
        return json.loads(self.arguments) if self.arguments.strip() else {}

    def to_api(self) -> dict[str, Any]:
        """The call as the API has it."""
        return {"id": self.id, "type": "function", "function": {"name": self.name, "arguments": self.arguments}}


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation, with the fields that the chat-completions API gives it."""

    role: Role
    content: Content = None
    name: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    """What a provider added to a reply (reasoning, for instance); never sent."""

    @property
    def text(self) -> str:
        """The text of the content; of a list of parts, that of its text parts, one a line."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part["text"] for part in self.content or () if isinstance(part.get("text"), str))

    def to_api(self) -> dict[str, Any]:
        """The message as the API has it: what is not set is not sent."""
        message: dict[str, Any] = {"role": self.role, "content": self.content}
        if self.name is not None:
            message["name"] = self.name
        if self.tool_calls:
            message["tool_calls"] = [call.to_api() for call in self.tool_calls]
        if self.tool_call_id is not None:
            message["tool_call_id"] = self.tool_call_id
        return message
