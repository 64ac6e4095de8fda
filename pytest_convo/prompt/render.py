"""How what is sent is written down: as messages, or for models without roles as one text.

Bodies stand as they are, whatever is in them: nothing is escaped. Delimiters are chosen so that none of them occurs in
a body.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, groupby
from typing import Any

from ..conversation.message import Message
from .part import Part
from .stack import Style

_NAMES = ("instructions", "context", "summary", "history", "now", "user", "assistant", "result", "call", "system")
_BREAKS = r"\n\r\v\f\x1c-\x1e\x85\u2028\u2029"
# No quantifier here gives back what it took: a body of many blanks would take the square of its length.
_TAG = re.compile(rf"<\s*+/?+\s*+(?:{'|'.join(_NAMES)})(?:-(\d{{1,9}}))?", re.IGNORECASE)
_RULE = re.compile(rf"(?:^|[{_BREAKS}])[^\S{_BREAKS}]*+(=++)\s*+(?:{'|'.join(_NAMES)})\b", re.IGNORECASE)
_SHORTEST_RULE = 3


@dataclass(frozen=True, slots=True)
class Aside:
    """A text beside the system prompt: what a source gave (`context`), or what turns that are left out came to."""

    kind: str
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Page:
    """All that one request says, in order."""

    parts: Sequence[Part] = ()
    asides: Sequence[Aside] = ()
    history: Sequence[Message] = ()
    now: Sequence[Message] = ()


def render(style: Style, page: Page) -> tuple[Message, ...]:
    """The messages of the request: with roles one for each, else a single one of the user's."""
    if style == "messages":
        return (*_opening(page), *page.history, *page.now)
    pieces = _xml(page) if style == "xml" else _text(page)
    return (Message("user", _joined(pieces)),)


def apart(style: Style, messages: Sequence[Message]) -> tuple[Message, ...]:
    """Messages as they stand in a request of that style, without what stands around all of them."""
    if style == "messages" or not messages:
        return tuple(messages)
    bodies = _bodies(Page(history=messages))
    write: _Writer = _Tags.for_bodies(bodies) if style == "xml" else _Rules.for_bodies(bodies)
    return (Message("user", _joined(piece for message in messages for piece in write.message(message))),)


def beside(aside: Aside) -> str:
    """A text as it stands beside the system prompt, with its delimiters."""
    return _Tags.for_bodies([aside.text]).block(aside.kind, aside.text, **_named(aside))


def _opening(page: Page) -> tuple[Message, ...]:
    """The system message: many servers take no second one."""
    write = _Tags.for_bodies([aside.text for aside in page.asides] + [part.content for part in page.parts])
    texts = [part.content for part in page.parts]
    texts += [write.block(aside.kind, aside.text, **_named(aside)) for aside in page.asides]
    return (Message("system", "\n\n".join(texts)),) if texts else ()


def _xml(page: Page) -> Iterator[Any]:
    write = _Tags.for_bodies(_bodies(page))
    yield from write.told_first(page)
    for name, messages in (("history", page.history), ("now", page.now)):
        if messages:
            yield write.open(name)
            for message in messages:
                yield from write.message(message)
            yield write.close(name)


def _text(page: Page) -> Iterator[Any]:
    write = _Rules.for_bodies(_bodies(page))
    yield from write.told_first(page)
    for message in (*page.history, *page.now):
        yield from write.message(message)
    yield write.open("assistant")


class _Writer:
    """What both have in common: a message is its content, and what it calls for."""

    def open(self, tag: str, **attributes: str) -> str:
        raise NotImplementedError

    def close(self, tag: str) -> str:
        raise NotImplementedError

    def block(self, tag: str, body: str, **attributes: str) -> str:
        return "\n".join(filter(None, (self.open(tag, **attributes), body, self.close(tag))))

    def told_first(self, page: Page) -> Iterator[str]:
        """The system prompt, and what stands beside it."""
        if page.parts:
            yield self.block("instructions", "\n\n".join(part.content for part in page.parts))
        for aside in page.asides:
            yield self.block(aside.kind, aside.text, **_named(aside))

    def message(self, message: Message) -> Iterator[Any]:
        name = "result" if message.role == "tool" else message.role
        attributes = {"name": message.name, "id": message.tool_call_id}
        given = {key: value for key, value in attributes.items() if value is not None}
        if isinstance(message.content, list):
            yield self.open(name, **given)
            for part in message.content:
                yield part["text"] if isinstance(part.get("text"), str) else part
            yield self.close(name)
        elif message.content or not message.tool_calls:
            yield self.block(name, message.content or "", **given)
        for call in message.tool_calls:
            yield self.block("call", call.arguments, name=call.name, id=call.id)


@dataclass(frozen=True, slots=True)
class _Tags(_Writer):
    """`<user>` and `</user>`, with a number behind the name where a body has such a tag."""

    suffix: str

    @classmethod
    def for_bodies(cls, bodies: Iterable[str]) -> _Tags:
        taken = {int(found[1] or 1) for body in bodies for found in _TAG.finditer(body)}
        number = next(number for number in count(1) if number not in taken)
        return cls("" if number == 1 else f"-{number}")

    def open(self, tag: str, **attributes: str) -> str:
        return f"<{tag}{self.suffix}{''.join(f' {key}={_quoted(value)}' for key, value in attributes.items())}>"

    def close(self, tag: str) -> str:
        return f"</{tag}{self.suffix}>"


@dataclass(frozen=True, slots=True)
class _Rules(_Writer):
    """`=== user ===` on a line of its own, with more strokes where a body has such a line."""

    stroke: str

    @classmethod
    def for_bodies(cls, bodies: Iterable[str]) -> _Rules:
        taken = {len(found[1]) for body in bodies for found in _RULE.finditer(body)}
        return cls("=" * next(length for length in count(_SHORTEST_RULE) if length not in taken))

    def open(self, tag: str, **attributes: str) -> str:
        said = "".join(f" {key}={_quoted(value)}" for key, value in attributes.items())
        return f"{self.stroke} {tag}{said} {self.stroke}"

    def close(self, tag: str) -> str:  # noqa: ARG002 what comes next ends it
        return ""


def _named(aside: Aside) -> dict[str, str]:
    return {"of" if aside.kind == "summary" else "name": aside.name}


def _quoted(value: str) -> str:
    """As an attribute: of one line, and without what would end it."""
    return '"' + " ".join(value.replace('"', "'").replace("<", "(").replace(">", ")").split()) + '"'


def _bodies(page: Page) -> Iterator[str]:
    yield from (part.content for part in page.parts)
    yield from (aside.text for aside in page.asides)
    for message in (*page.history, *page.now):
        yield message.text
        yield from (call.arguments for call in message.tool_calls)


def _joined(pieces: Iterable[Any]) -> str | list[dict[str, Any]]:
    """The texts as one; where there are images between them, a list of parts as the API has it."""
    runs = [(text, list(run)) for text, run in groupby(filter(None, pieces), lambda piece: isinstance(piece, str))]
    if all(text for text, _ in runs):
        return "\n".join(piece for _, run in runs for piece in run)
    return [part for text, run in runs for part in ([{"type": "text", "text": "\n".join(run)}] if text else run)]
