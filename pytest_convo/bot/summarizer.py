"""Has turns of a conversation summarized: by a model like any other, which is recorded, metered and has its own prompt.

It cannot call itself: its own requests are of a stack that is never summarized.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from ..conversation.message import ROLES
from ..conversation.reply import Reply
from ..errors import BotFailure, HarnessError, NoRecording, PromptOverflow
from ..prompt import render
from ..prompt.blocks import Block
from ..prompt.build import build, gauge_for
from ..prompt.composer import cut
from ..prompt.fit import Summarizing
from ..prompt.request import Request
from ..prompt.stack import Stack
from ..prompt.talk import LENGTHS, Messages, shortened
from .events import tell
from .model import Around, ChatModel, replied
from .threads import in_thread

if TYPE_CHECKING:
    from ..settings.bots import BotSettings

SHORTER = (80, 20)
"""Characters to which messages are cut where even the shortest results of tools are too long: a budget may be small."""

Parts = Sequence[tuple[Block, str]]
"""Smaller blocks with their summaries, of which a larger one is written."""


class Shelf(Protocol):
    """Where summaries are kept."""

    def key(self, turns: Sequence[Messages], told: str) -> str:
        """What tells these turns, summarized by who is `told` so, from all others."""

    def find(self, block: Block, key: str) -> str | None:
        """The summary of a block of the turns that have this `key`, if it is there."""

    def keep(self, block: Block, key: str, text: str) -> str:
        """Keep it, unless there is one by now; the one that is kept."""


class Desk:
    """What all runs of a conversation share of its summaries: the shelf, and that none is written twice at once."""

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf
        self.writing: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)


class BotSummarizer:
    """Writes the summaries of one run; a `prompt.composer.Summarizer`.

    `make` gives the model, and `around` wraps it into what is kept of this run; `bot` and `stack` say how it is asked,
    and `desk` has what was written before.

    A summary that is there already is kept with the run like one that it asked for: each run can be replayed by itself.
    """

    def __init__(
        self,
        make: Callable[[], ChatModel],
        around: Around,
        bot: BotSettings,
        stack: Stack,
        how: Summarizing,
        desk: Desk,
    ) -> None:
        self.how = how
        self._make, self._around, self._bot, self._stack, self._desk = make, around, bot, stack, desk
        self._size = gauge_for(bot.model, stack).text
        self._known: dict[Block, str] = {}

    async def summary(self, block: Block, turns: Sequence[Messages]) -> str:
        """The summary of a block of `turns`; a `HarnessError` where there is none, or its turns are too long for it.

        What a run has said stays as it was, so that a block is looked up once.
        """
        if block not in self._known:
            key, shelf = self._key(block, turns), self._desk.shelf
            async with self._desk.writing[key]:
                if (text := shelf.find(block, key)) is None:
                    text = await in_thread(shelf.keep, block, key, await self._written(block, turns))
                else:
                    await self._keep(block, turns, text)
            self._known[block] = text
        return self._known[block]

    async def _written(self, block: Block, turns: Sequence[Messages]) -> str:
        request = self._request(block, turns, await self._parts(block, turns))
        model = self._around(self._make)
        try:
            reply = replied(model, await model.complete(request))
        except BotFailure as error:  # it is not the bot that failed
            msg = f"{block} could not be summarized: {error.what}"
            raise HarnessError(msg, hint=error.hint) from error
        except HarnessError as error:
            error.what = f"{block} could not be summarized: {error.what}"
            raise
        text = reply.text.strip()
        tell("summary", of=str(block), text=text, replayed=reply.replayed)
        if not text:
            msg = f"whoever summarizes said nothing of {block}"
            raise HarnessError(msg)
        return text

    async def _keep(self, block: Block, turns: Sequence[Messages], text: str) -> None:
        """Have a summary that is there already kept with this run, as if it had been asked for; nobody is asked."""
        parts = block.made_of(self.how.turns)
        if any(self._desk.shelf.find(part, self._key(part, turns)) is None for part in parts):
            return
        # In a replay nothing is recorded, and what is too long by now is not asked for: the file alone has it then.
        with suppress(NoRecording, PromptOverflow):
            request = self._request(block, turns, await self._parts(block, turns))
            await self._around(lambda: _Said(text)).complete(request)

    async def _parts(self, block: Block, turns: Sequence[Messages]) -> Parts:
        return [(part, await self.summary(part, turns)) for part in block.made_of(self.how.turns)]

    def _key(self, block: Block, turns: Sequence[Messages]) -> str:
        told = f"{self._stack.system}\n{self.how.cap}"
        return self._desk.shelf.key(turns[block.first - 1 : block.last], told)

    def _request(self, block: Block, turns: Sequence[Messages], parts: Parts) -> Request:
        """The request, in which what was said is cut as far as it must be to fit into the budget."""
        asides = [render.Aside("summary", str(part), cut(text, self.how.cap, self._size)) for part, text in parts]
        said = () if parts else tuple(message for turn in turns[block.first - 1 : block.last] for message in turn)
        for most in (None, *LENGTHS, *SHORTER):
            shown = said if most is None else shortened(said, most, ROLES)
            asked = render.render("xml", render.Page((), asides, shown))
            try:
                return build(stack=self._stack, history=asked, bot=self._bot).request
            except PromptOverflow as error:
                problem = error
        msg = f"{block} cannot be summarized: {problem.what}"
        raise PromptOverflow(msg, hint="let [summarize] turns be fewer, or its budget larger") from None


class _Said:
    """A `ChatModel` that says what is there already."""

    def __init__(self, text: str) -> None:
        self._text = text

    async def complete(self, request: Request, stream: Callable[[str], None] | None = None) -> Reply:  # noqa: ARG002
        return Reply(self._text)
