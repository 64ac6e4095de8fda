"""What a test may ask: a text, a message, or several of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..conversation.message import Message

Asked = str | Message | Mapping[str, Any] | Sequence[str | Message | Mapping[str, Any]]
"""What one asks: a text, a message, or several of them; a mapping is a message as the API has it."""


def messages_of(asked: Asked) -> list[Message]:
    """The messages that one asks; a text is the user's. `FormatErrors` for a mapping that is no message."""
    if isinstance(asked, str | Message | Mapping):
        asked = [asked]
    return [_message(one) for one in asked]


def _message(one: str | Message | Mapping[str, Any]) -> Message:
    if isinstance(one, Message):
        return one
    if isinstance(one, str):
        return Message("user", one)
    from ..conversation.records import message_of

    return message_of(one)
