"""Builds the requests of one run: looks its context up, has summaries written, and learns how servers count."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from ..conversation.message import Message
from ..errors import PromptOverflow
from .blocks import Block
from .build import Built, Unwritten, build, gauge_for
from .fit import Material, Summarizing, left, size_beside
from .request import ToolSpec
from .source import UNLIMITED, Context, Source, asked
from .stack import Stack
from .talk import Messages, split

if TYPE_CHECKING:
    from ..conversation.reply import Usage
    from ..settings.bots import BotSettings
    from .gauge import Gauge

CUT = " [cut here]"
"""The end of a summary that is longer than it may be."""


class Summarizer(Protocol):
    """Who writes the summaries of a run's turns, or has them already."""

    @property
    def how(self) -> Summarizing:
        """How many turns each covers, and the tokens that it may have."""

    async def summary(self, block: Block, turns: Sequence[Messages]) -> str:
        """The summary of a block of `turns`, which are all turns of the conversation so far."""


def cut(text: str, most: int, size: Callable[[str], int]) -> str:
    """The text, or as much of its beginning as has at most so many tokens and says so; "" where that does not fit."""
    if size(text) <= most:
        return text
    if size(CUT) > most:
        return ""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if size(text[:middle] + CUT) <= most else (low, middle - 1)
    return text[:low].rstrip() + CUT


class Composer:
    """One run's requests; it is no other run's, and nothing of it is shared.

    The sources are asked once for each question, before its first request, and their answers stand in all requests of
    its turn.
    """

    def __init__(
        self,
        stack: Stack,
        *,
        bot: BotSettings,
        tools: Sequence[ToolSpec] = (),
        sources: Sequence[Source] = (),
        summarizer: Summarizer | None = None,
    ) -> None:
        self.stack = stack
        self.bot = bot
        self.tools = tuple(tools)
        self._sources = tuple(sources)
        self._summarizer = summarizer
        self._context: tuple[Context, ...] = ()

    async def compose(self, history: Sequence[Message], loop: Sequence[Message] = ()) -> Built:
        """The request for the next answer to `history`, of which `loop` is what its turn has come to.

        Raises what `build` raises, what a required source raises, and what the summarizer raises.
        """
        if self._sources and not loop:
            self._context = await self._asked(history)
        how = self._summarizer.how if self._summarizer is not None else None
        texts: dict[Block, str] = {}
        while True:
            try:
                return build(
                    stack=self.stack,
                    history=history,
                    loop=loop,
                    bot=self.bot,
                    tools=self.tools,
                    context=self._context,
                    gauge=self._gauge if self._counts else None,
                    summarizing=how,
                    texts=texts,
                )
            except Unwritten as missing:
                blocks = missing.blocks
            assert self._summarizer is not None
            turns = split(history, loop).turns
            for block in blocks:
                text = await self._summarizer.summary(block, turns)
                texts[block] = cut(text, self._summarizer.how.cap, self._gauge.text)

    def learn(self, built: Built, usage: Usage | None) -> None:
        """What the server has counted for a request; a script counts words, and teaches nothing."""
        if usage is not None and self.stack.budget is not None and self._is_counted:
            self._gauge.learn(built.request, usage.prompt_tokens)

    def told(self, built: Built) -> dict[str, Any] | None:
        """What a request is made of, as builtins; None where all requests of the stack are made of the same parts."""
        if not self._counts:
            return None
        return {**built.told(), "server_counts": self._is_counted}

    @cached_property
    def _gauge(self) -> Gauge:
        """What measures this run's requests."""
        return gauge_for(self.bot.model, self.stack)

    @property
    def _counts(self) -> bool:
        return self.stack.budget is not None or bool(self._sources)

    @property
    def _is_counted(self) -> bool:
        return self.bot.provider != "scripted"

    async def _asked(self, history: Sequence[Message]) -> tuple[Context, ...]:
        """What the sources say, the required ones first: each is told what its predecessors have left."""
        room = self._left(history)
        found: dict[str, Context] = {}
        for source in sorted(self._sources, key=lambda source: not source.required):
            one = await self._asked_for(source, room)
            found[source.name] = one
            size = 0 if one.dropped or not one.text else size_beside(self._gauge, "context", one.name, one.text)
            if self.stack.budget is not None and (one.required or size <= room):  # else it is left out
                room -= size
        return tuple(found[source.name] for source in self._sources)

    async def _asked_for(self, source: Source, left: int) -> Context:
        if left <= 0 and not source.required:
            return Context(source.name, required=False, dropped="no room was left to ask it")
        said = await asked(source, max(0, left if source.cap is None else min(left, source.cap)))
        if said.dropped or said.cap is None or (size := self._gauge.text(said.text)) <= said.cap:
            return said
        why = f"it has {size:,} tokens, and its cap is {said.cap:,}"
        if said.required:
            msg = f"the context source {said.name!r} is too long: {why}"
            raise PromptOverflow(msg, hint="raise its cap, or let it be left out: required = False")
        return Context(said.name, said.text, said.required, said.cap, why)

    def _left(self, history: Sequence[Message]) -> int:
        """Tokens that are left beside what is in every request."""
        budget = self.stack.budget
        if budget is None:
            return UNLIMITED
        material = Material(self.stack, split(history), (), self.tools, self.bot.request)
        return left(material, budget.room, self._gauge, budget.on_overflow)
