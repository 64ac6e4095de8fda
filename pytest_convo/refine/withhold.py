"""What is not shown is not shown by accident either: texts of unseen items are taken out of what the rewriter is sent.

Questions are made of training items alone. But what a bot answers, or a tool gives, may hold anything: the whole list
of which each case is one entry, say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ..conversation.message import Message
from .items import Item

WITHHELD = "[withheld]"

_TELLING = 8
"""Characters from which on a text gives its item away; a shorter one, as "yes", is said everywhere."""


def withhold(
    messages: Sequence[Message], unseen: Iterable[Item], own: Iterable[str], shown: Iterable[Item]
) -> list[Message]:
    """The messages without the texts of unseen items, but for what the prompt itself or a shown item says as well."""
    allowed = "\0".join([*own, *(text for item in shown for text in _texts(item))])
    secret = {text for item in unseen for text in (*_texts(item), item.id) if len(text) >= _TELLING}
    hidden = sorted((text for text in secret if text not in allowed), key=len, reverse=True)
    return [_without(message, hidden) for message in messages]


def _texts(item: Item) -> Iterator[str]:
    yield from (text.strip() for text in (*item.inputs, *item.expected))


def _without(message: Message, hidden: Sequence[str]) -> Message:
    text = message.text
    for one in hidden:
        text = text.replace(one, WITHHELD)
    return message if text == message.text else replace(message, content=text)
