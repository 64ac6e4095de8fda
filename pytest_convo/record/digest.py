"""A request as a recording knows it: the digest of all of it, and each of its texts by a digest of its own."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..prompt.request import Request

DIGITS = 32
"""Hexadecimal digits of a digest, of SHA-256's 64."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One message of a request: `part` is the digest of its text."""

    role: str
    part: str
    name: str | None = None
    tool_call_id: str | None = None


@dataclass(frozen=True, slots=True)
class Outline:
    """What a request consists of, with digests in the place of texts; `tools` are the digests of schemas by name."""

    model: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    messages: tuple[Entry, ...] = ()
    tools: Mapping[str, str] = field(default_factory=dict)


def body_of(request: Request) -> dict[str, Any]:
    """The whole request in builtins; what JSON does not have is there as its `str`."""
    body = {
        "model": request.model,
        "parameters": request.parameters,
        "messages": [message.to_api() for message in request.messages],
        "tools": [tool.to_api() for tool in request.tools],
    }
    return {key: plain(value) for key, value in body.items()}


def plain(value: Any) -> Any:
    """`value` in what JSON has."""
    if value is None or type(value) in (str, int, float, bool):
        return value
    if isinstance(value, str | int | float):
        return json.loads(json.dumps(value))  # of an enum its value
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, set | frozenset):
        return sorted(map(str, value))
    return str(value)


def canonical(value: Any) -> str:
    """The JSON text of a plain value, the same whatever the order of its keys; ASCII only."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def pretty(value: Any) -> str:
    """The JSON text of a plain value, for people."""
    return json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False)


def digest(body: Mapping[str, Any]) -> str:
    """The digest of a whole request."""
    return _shortened(canonical(body).encode())


def digest_of(text: str) -> str:
    """The digest of one text."""
    return _shortened(text.encode(errors="surrogatepass"))


def outline(body: Mapping[str, Any]) -> tuple[Outline, dict[str, str]]:
    """The outline of a request's body, and its texts by their digests."""
    texts: dict[str, str] = {}

    def part(text: str) -> str:
        key = digest_of(text)
        texts[key] = text
        return key

    entries = tuple(
        Entry(message["role"], part(message_text(message)), message.get("name"), message.get("tool_call_id"))
        for message in body["messages"]
    )
    tools = {tool["function"]["name"]: part(pretty(tool["function"])) for tool in body["tools"]}
    return Outline(body["model"], body["parameters"], entries, tools), texts


def message_text(message: Mapping[str, Any]) -> str:
    """What a message says: its content; as JSON where that is no text, or where it calls tools."""
    content, calls = message.get("content"), message.get("tool_calls")
    if isinstance(content, str) and not calls:
        return content
    return pretty({"content": content, "tool_calls": calls} if calls else content)


def _shortened(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:DIGITS]
