"""How the requests of all runs of a bot are made: a composer for each of them, which shares nothing with another's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ..prompt.composer import Composer, Summarizer
from ..prompt.request import ToolSpec
from ..prompt.source import Source
from ..prompt.stack import Stack
from .model import Around
from .threads import in_thread

if TYPE_CHECKING:
    from ..settings.bots import BotSettings


@dataclass(frozen=True, slots=True)
class Recipe:
    """A prompt stack, and what makes context sources and a summarizer afresh for each run."""

    stack: Stack = field(default_factory=Stack)
    sources: Callable[[], Sequence[Source]] | None = None
    """Calls a conftest's hook, in a thread; None where no conftest has any."""
    summarizer: Callable[[int, Around], Summarizer] | None = None
    """Makes who summarizes in run i, recorded as the second argument does it; None where nobody does."""

    def telling(self, system: str) -> Recipe:
        """The same with another system prompt, "" for none."""
        return replace(self, stack=replace(self.stack, parts=Stack.of(system).parts))

    async def composer(self, *, run: int, bot: BotSettings, tools: Sequence[ToolSpec], around: Around) -> Composer:
        """What makes the requests of run i, which declare `tools`; its sources are its own."""
        return Composer(
            self.stack,
            bot=bot,
            tools=tools,
            sources=await in_thread(self.sources, name="context sources") if self.sources is not None else (),
            summarizer=self.summarizer(run, around) if self.summarizer is not None else None,
        )
