"""What tells a request from a recorded one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..agreement.excerpt import excerpts
from .diff import changed_lines, shown_pair
from .digest import Entry, Outline, canonical, outline
from .exchange import Exchange

TextOf = Callable[[str], str | None]
"""The text of a digest; None where it is not kept."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is otherwise: in a few words, and the two texts, where it is one that changed."""

    what: str
    texts: tuple[str, str] | None = None

    def lines(self, limit: int) -> list[str]:
        """The lines of the texts that changed."""
        return changed_lines(*self.texts, limit) if self.texts else []


@dataclass(frozen=True, slots=True)
class ChangedTool:
    """A tool that answered a call otherwise than when it was recorded."""

    name: str
    arguments: str
    recorded: str
    now: str

    def __str__(self) -> str:
        recorded, now = excerpts([self.recorded, self.now], 60)
        return f"{self.name}({self.arguments}) answers «{now}», and «{recorded}» was recorded"


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that is being asked: its redacted body, its outline, and the texts by their digests."""

    body: Mapping[str, Any]
    outline: Outline
    texts: Mapping[str, str]

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Asked:
        return cls(body, *outline(body))

    def call(self, identity: str | None) -> tuple[str, str] | None:
        """Name and arguments of the call with this id; None where no message makes it."""
        for message in reversed(self.body["messages"]):
            for call in message.get("tool_calls") or ():
                if call["id"] == identity:
                    return call["function"]["name"], call["function"]["arguments"]
        return None


def nearest(asked: Outline, recorded: Iterable[Exchange]) -> Exchange | None:
    """The exchange that differs in the fewest things; of several the first."""
    return min(recorded, key=lambda exchange: _distance(asked, exchange.outline), default=None)


def differences(asked: Asked, then: Outline, recorded: TextOf) -> list[Difference]:
    """What is otherwise than in `then`, the most telling first."""
    now = asked.outline
    return [
        *_system(asked, then, recorded),
        *([Difference(f"the model changed: {then.model} → {now.model}")] if now.model != then.model else []),
        *_parameters(now.parameters, then.parameters),
        *_tools(asked, then, recorded),
        *_messages(asked, then, recorded),
    ]


def changed_tools(asked: Asked, then: Outline, recorded: TextOf) -> list[ChangedTool]:
    """The tools whose results differ from those in `then`, for the same calls of the same conversation."""
    found = []
    for new, old in zip(asked.outline.messages, then.messages, strict=False):
        if new == old:
            continue
        if not (new.role == old.role == "tool" and new.tool_call_id == old.tool_call_id):
            break
        if (call := asked.call(new.tool_call_id)) is not None and (text := recorded(old.part)) is not None:
            found.append(ChangedTool(*call, recorded=text, now=asked.texts[new.part]))
    return found


def _distance(now: Outline, then: Outline) -> int:
    (system, said), (old_system, old_said) = _split(now.messages), _split(then.messages)
    return (
        (system != old_system)
        + (now.model != then.model)
        + len(_differing(now.parameters, then.parameters))
        + len(_differing(now.tools, then.tools))
        + sum(new != old for new, old in zip(said, old_said, strict=False))
        + abs(len(said) - len(old_said))
    )


def _split(messages: Sequence[Entry]) -> tuple[Entry | None, Sequence[Entry]]:
    """The system prompt, and what was said."""
    return (messages[0], messages[1:]) if messages and messages[0].role == "system" else (None, messages)


def _differing(now: Mapping[str, Any], then: Mapping[str, Any]) -> list[str]:
    """The keys that only one of them has, or that have another value in each; 0, 0.0 and false are not the same."""
    return [
        key
        for key in dict.fromkeys([*then, *now])
        if key not in now or key not in then or canonical(now[key]) != canonical(then[key])
    ]


def _system(asked: Asked, then: Outline, recorded: TextOf) -> Iterator[Difference]:
    (now, _), (old, _) = _split(asked.outline.messages), _split(then.messages)
    if now is None and old is not None:
        yield Difference("the system prompt is gone")
    elif old is None and now is not None:
        yield Difference("a system prompt was added")
    elif now is not None and old is not None and now != old:
        yield _changed("the system prompt changed", asked, now.part, old.part, recorded)


def _parameters(now: Mapping[str, Any], then: Mapping[str, Any]) -> Iterator[Difference]:
    for key in _differing(now, then):
        if key not in then:
            yield Difference(f"{key} = {_cut_value(now[key])} was added")
        elif key not in now:
            yield Difference(f"{key} = {_cut_value(then[key])} is gone")
        else:
            yield Difference(f"{key} changed: {' → '.join(shown_pair(_value(then[key]), _value(now[key])))}")


def _tools(asked: Asked, then: Outline, recorded: TextOf) -> Iterator[Difference]:
    now = asked.outline.tools
    for name in _differing(now, then.tools):
        if name not in then.tools:
            yield Difference(f"the tool {name} was added")
        elif name not in now:
            yield Difference(f"the tool {name} is gone")
        else:
            yield _changed(f"the tool {name} is described otherwise", asked, now[name], then.tools[name], recorded)


def _messages(asked: Asked, then: Outline, recorded: TextOf) -> Iterator[Difference]:
    said, old = _split(asked.outline.messages)[1], _split(then.messages)[1]
    for place, (new, before) in enumerate(zip(said, old, strict=False)):
        if new != before:
            yield _message(asked, place, new, before, recorded)
            return  # what follows a changed message mostly follows from it
    if len(said) > len(old):
        yield Difference(f"the conversation goes on: {_count(len(said) - len(old))} after the recorded {len(old)}")
    elif len(said) < len(old):
        yield Difference(
            f"the conversation is shorter: {_count(len(old) - len(said))} of the recorded {len(old)} missing"
        )


def _message(asked: Asked, place: int, now: Entry, then: Entry, recorded: TextOf) -> Difference:
    if now.role != then.role:
        return Difference(f"message {place} is the {now.role}'s, and was the {then.role}'s")
    if now.tool_call_id != then.tool_call_id:
        return Difference(f"message {place} answers the call {now.tool_call_id}, and answered {then.tool_call_id}")
    if now.part == then.part:
        return Difference(f"the name in message {place} changed: {then.name} → {now.name}")
    what = f"message {place} ({now.role}) changed"
    if now.role == "tool" and (call := asked.call(now.tool_call_id)) is not None:
        what = f"the tool {call[0]} answers {call[1]} otherwise"
    return _changed(what, asked, now.part, then.part, recorded)


def _changed(what: str, asked: Asked, now: str, then: str, recorded: TextOf) -> Difference:
    text = recorded(then)
    if text is None:
        return Difference(f"{what} (parts/{then}.md, which had it as it was, is gone)")
    return Difference(what, (text, asked.texts[now]))


def _count(messages: int) -> str:
    return f"{messages} message{'s' * (messages > 1)}"


def _value(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _cut_value(value: Any) -> str:
    text = _value(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
