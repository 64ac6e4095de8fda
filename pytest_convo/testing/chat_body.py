"""The body of a chat-completions request: what it must be, and what it is for us."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from ..conversation.message import Message, Role, ToolCall
from ..prompt.request import Request, ToolSpec

_ROLES = ("system", "developer", "user", "assistant", "tool")
_OF_MESSAGE = ("role", "content", "name", "tool_calls", "tool_call_id")
_OF_BODY = ("model", "messages", "tools")


class BadBody(Exception):
    """A body that the API refuses with 400; `param` is the parameter that is wrong."""

    def __init__(self, what: str, param: str | None) -> None:
        super().__init__(what)
        self.param = param


def check_body(body: Mapping[str, Any]) -> None:
    """Raise `BadBody` where the API would refuse, so that a client's mistake shows here and not in production."""
    need(isinstance(body.get("model"), str) and body["model"], "you must provide a model parameter", "model")
    messages = body.get("messages")
    need(isinstance(messages, list) and messages, "'messages' must be a list of at least one message", "messages")
    for number, message in enumerate(cast("list[Any]", messages)):
        _check_message(message, f"messages[{number}]")
    _check_linked(cast("list[Any]", messages))
    _check_tools(body.get("tools") or [])
    need(body.get("n") in (None, 1), "the scripted server gives one choice", "n")
    need(isinstance(body.get("stream"), bool | None), "'stream' must be a boolean", "stream")
    need(isinstance(body.get("stream_options"), dict | None), "'stream_options' must be an object", "stream_options")


def request_of(body: Mapping[str, Any]) -> Request:
    """The request whose body this is."""
    return Request(
        model=body["model"],
        messages=tuple(_message(message) for message in body["messages"]),
        tools=tuple(_tool(tool["function"]) for tool in body.get("tools") or ()),
        parameters={key: value for key, value in body.items() if key not in _OF_BODY},
    )


def need(holds: object, what: str, param: str) -> None:
    """Raise `BadBody` unless it holds."""
    if not holds:
        raise BadBody(what, param)


def _check_message(message: Any, where: str) -> None:
    need(isinstance(message, dict), f"'{where}' must be an object", where)
    need(message.get("role") in _ROLES, f"'{where}.role' must be one of {', '.join(_ROLES)}", f"{where}.role")
    content, calls = message.get("content"), message.get("tool_calls") or []
    parts = isinstance(content, list) and all(isinstance(part, dict) for part in content)
    silent = content is None and message["role"] == "assistant"
    need(isinstance(content, str) or parts or silent, f"'{where}.content' must be a text or parts", f"{where}.content")
    need(isinstance(calls, list) and all(map(_is_call, calls)), f"'{where}.tool_calls' is malformed", where)


def _is_call(call: Any) -> bool:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(call.get("id"), str):
        return False
    return isinstance(function.get("name"), str) and isinstance(function.get("arguments"), str)


def _check_linked(messages: list[dict[str, Any]]) -> None:
    """Every call is answered by the tool messages that follow it at once, and nothing else is."""
    waiting: list[Any] = []
    for number, message in enumerate(messages):
        if message["role"] == "tool":
            known = message.get("tool_call_id") in waiting
            need(known, "a 'tool' message must answer a preceding 'tool_calls'", f"messages[{number}]")
            waiting.remove(message["tool_call_id"])
        else:
            need(not waiting, _unanswered(waiting), f"messages[{number}]")
            waiting = [call["id"] for call in message.get("tool_calls") or ()]
    need(not waiting, _unanswered(waiting), "messages")


def _unanswered(waiting: list[str]) -> str:
    return f"'tool_calls' must be followed by tool messages that answer each of {', '.join(waiting)}"


def _check_tools(tools: Any) -> None:
    need(isinstance(tools, list), "'tools' must be a list", "tools")
    for number, tool in enumerate(tools):
        function = tool.get("function") if isinstance(tool, dict) and tool.get("type") == "function" else None
        named = isinstance(function, dict) and isinstance(function.get("name"), str)
        need(named, f"'tools[{number}]' must be a function with a name", f"tools[{number}]")


def _message(message: Mapping[str, Any]) -> Message:
    calls = (ToolCall(call["id"], **_named(call["function"])) for call in message.get("tool_calls") or ())
    return Message(
        role=cast("Role", message["role"]),
        content=message.get("content"),
        name=message.get("name"),
        tool_calls=tuple(calls),
        tool_call_id=message.get("tool_call_id"),
        extra={key: value for key, value in message.items() if key not in _OF_MESSAGE},
    )


def _named(function: Mapping[str, Any]) -> dict[str, str]:
    return {"name": function["name"], "arguments": function["arguments"]}


def _tool(function: Mapping[str, Any]) -> ToolSpec:
    given = {key: function[key] for key in ("description", "parameters") if function.get(key) is not None}
    return ToolSpec(function["name"], **given)
