"""A conversation as far as it has come, in the pieces that are kept or left out as a whole."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from ..conversation.message import Message

Messages = tuple[Message, ...]

IN_STEPS = ("tool", "user")
"""Who tells results in a step: an agent that calls no tools is told them as by its user."""

LENGTHS = (4000, 1000, 250)
"""Characters to which results of tools are shortened: the first of them that lets the rest fit."""


@dataclass(frozen=True, slots=True)
class Talk:
    """What was said: `turns` are over, `question` is being answered, in `steps` of a reply and what came of its calls.

    No piece parts a call from its result. System messages stand where they were said.
    """

    turns: tuple[Messages, ...]
    question: Messages
    steps: tuple[Messages, ...]


def split(history: Sequence[Message], loop: Sequence[Message] = ()) -> Talk:
    """The pieces of a history, and of what the turn that is being answered has come to.

    A turn begins with what a user says after somebody else has spoken. In `loop` that is an agent's result: there all
    belongs to the reply before it.
    """
    groups = list(_groups(history, _begins_turn))
    now = groups.pop() if groups else ()
    asked = next((at for at, message in enumerate(now) if message.role == "assistant"), len(now))
    steps = _groups((*now[asked:], *loop), lambda message, before: bool(before) and message.role == "assistant")
    return Talk(tuple(groups), now[:asked], tuple(steps))


def _begins_turn(message: Message, before: Sequence[Message]) -> bool:
    return message.role == "user" and any(one.role not in ("user", "system") for one in before)


def _groups(messages: Sequence[Message], begins: Callable[[Message, Sequence[Message]], bool]) -> Iterator[Messages]:
    group: list[Message] = []
    for message in messages:
        if begins(message, group):
            yield tuple(group)
            group = []
        group.append(message)
    if group:
        yield tuple(group)


def spoken(messages: Sequence[Message]) -> Messages:
    """Those that may be left out: no system message ever is."""
    return tuple(message for message in messages if message.role != "system")


def standing(messages: Sequence[Message]) -> Messages:
    """Those that stay where the rest of their turn is left out."""
    return tuple(message for message in messages if message.role == "system")


def shortened(messages: Messages, most: int, roles: Collection[str] = ("tool",)) -> Messages:
    """The messages with those of these roles, results of tools as a rule, cut to about `most` characters.

    Each that is cut says so.
    """
    return tuple(_shortened(message, most) if message.role in roles else message for message in messages)


def _shortened(message: Message, most: int) -> Message:
    content = message.content
    if isinstance(content, str):
        return replace(message, content=_cut(content, most))
    if content is None:
        return message
    parts = [
        {**part, "text": _cut(part["text"], most)} if isinstance(part.get("text"), str) else part for part in content
    ]
    return replace(message, content=parts)


def _cut(text: str, most: int) -> str:
    """Head and tail of a text, with a notice between them; all of it where that is no longer."""
    if len(text) <= most:
        return text
    head, tail = most * 2 // 3, most - most * 2 // 3
    notice = f"\n[{len(text) - most:,} characters were left out here, to fit the token budget]\n"
    if most < len(notice):
        notice = " […] "
    cut = f"{text[:head]}{notice}{text[-tail:]}"
    return cut if len(cut) < len(text) else text
