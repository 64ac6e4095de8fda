"""What the bot answered: to one request, and in one turn."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .message import Message, ToolCall

_FENCED = re.compile(r"^ {0,3}(`{3,}|~{3,})[^\n`]*\n(.*?)^ {0,3}\1[ \t]*$", re.DOTALL | re.MULTILINE)

CUT_OFF = ("length", "content_filter")
"""The finish reasons of a reply that is not whole."""


class NotJSON(AssertionError):
    """The reply was asked for as JSON and is not: a failed check, not a broken harness."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the server counted them; `cached` are those of the prompt that it had already seen."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cached_tokens + other.cached_tokens,
        )


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer of the bot.

    Of one request: its text and the tool calls it asks for. Of a whole turn (`Reply.of_turn`): the final text,
    every call made on the way, usage and seconds summed. `usage` counts what was accepted, `billed` also what
    retries and cut-off attempts cost; both are None where the server did not say.
    """

    text: str
    calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = "stop"
    usage: Usage | None = None
    billed: Usage | None = None
    seconds: float = 0.0
    model: str | None = None
    """The model's name as the server reported it."""
    attempts: int = 1
    extra: Mapping[str, Any] = field(default_factory=dict)
    replayed: bool = field(default=False, compare=False)
    """Whether it is a recording that no model was asked for; of a turn, whether every reply of it is."""

    @classmethod
    def of_turn(cls, replies: Iterable[Reply]) -> Reply:
        """The replies of one turn, in order and at least one, as one: the last one's text, everything else summed."""
        several = tuple(replies)
        last = several[-1]
        return cls(
            text=last.text,
            calls=tuple(call for reply in several for call in reply.calls),
            finish_reason=last.finish_reason,
            usage=total(reply.usage for reply in several),
            billed=total(reply.billed for reply in several),
            seconds=sum(reply.seconds for reply in several),
            model=last.model,
            attempts=sum(reply.attempts for reply in several),
            extra=last.extra,
            replayed=all(reply.replayed for reply in several),
        )

    @property
    def whole(self) -> bool:
        """Whether the model ended by itself, rather than being cut off by a limit or a filter."""
        return self.finish_reason not in CUT_OFF

    def json(self) -> Any:
        """The value of the reply, or of the one fenced block in it, read as JSON.

        Raises `NotJSON`, an AssertionError, where neither is JSON, or where several fenced blocks leave it open.
        """
        try:
            return json.loads(self.text)
        except ValueError as error:
            blocks = [match[2] for match in _FENCED.finditer(self.text)]
            if len(blocks) != 1:
                msg = f"the reply is not JSON ({error}) and holds {len(blocks)} fenced blocks, not one:\n{self.text}"
                raise NotJSON(msg) from None
        try:
            return json.loads(blocks[0])
        except ValueError as error:
            msg = f"the fenced block in the reply is not JSON ({error}):\n{blocks[0]}"
            raise NotJSON(msg) from None

    def to_message(self) -> Message:
        """The reply as a message of the conversation."""
        content = self.text if self.text or not self.calls else None
        return Message("assistant", content, tool_calls=self.calls, extra=self.extra)


def total(usages: Iterable[Usage | None]) -> Usage | None:
    """The sum of what is known; None where nothing is."""
    known = [usage for usage in usages if usage is not None]
    return sum(known, Usage()) if known else None
