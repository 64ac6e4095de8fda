"""The one way in which requests are made: from a prompt stack, what was said, the tools and the bot's settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ..errors import PromptOverflow, SettingsError
from .blocks import Block
from .fit import Material, Selection, Summarizing, TooLarge, everything, fit
from .render import render
from .request import Request, ToolSpec
from .source import Context
from .stack import Budget, Stack
from .table import Row, lines
from .talk import split

if TYPE_CHECKING:
    from ..conversation.message import Message
    from ..settings.bots import BotSettings
    from .gauge import Gauge

_OURS = {
    "messages": "they are made from the conversation's files",
    "model": "set `model` in [bot]",
    "n": "set `runs` for several answers",
    "stream": "an answer is streamed where somebody listens",
}


@dataclass(frozen=True)
class Built:
    """A request with what it is made of."""

    request: Request
    material: Material
    selection: Selection
    texts: Mapping[Block, str] = field(default_factory=dict)
    """The summaries in it."""
    gauge: Gauge | None = None
    """Who has measured it; where nobody has, nobody needed to."""

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """A line for each part, for what was left out, and for what is kept free."""
        from .rows import rows_of

        return rows_of(self.request, self.material, self.selection, self.texts, self._measured_by)

    @cached_property
    def tokens(self) -> int:
        """Its size, as far as we can count."""
        return self._measured_by.request(self.request)

    @property
    def counted_by(self) -> str:
        """Who counts: the name of a tokenizer, or "estimate"."""
        return self._measured_by.tokenizer.name

    @property
    def exact(self) -> bool:
        """Whether the tokenizer is the model's own."""
        return self._measured_by.tokenizer.exact

    def told(self) -> dict[str, Any]:
        """All of it as builtins, for reports."""
        budget = self.material.stack.budget
        return {
            "rows": [row.told() for row in self.rows],
            "tokens": self.tokens,
            "budget": None if budget is None else budget.tokens,
            "room": None if budget is None else budget.room,
            "counted_by": self.counted_by,
        }

    @cached_property
    def _measured_by(self) -> Gauge:
        return self.gauge or gauge_for(self.request.model, self.material.stack)


def gauge_for(model: str | None, stack: Stack) -> Gauge:
    """What measures requests to a model; one for each run. Most need none, and none of it is loaded for them."""
    from .gauge import Gauge
    from .tokenizer import tokenizer_for

    return Gauge(tokenizer_for(model, stack.counting))


def build(
    *,
    stack: Stack,
    history: Sequence[Message],
    bot: BotSettings,
    loop: Sequence[Message] = (),
    tools: Sequence[ToolSpec] = (),
    context: Sequence[Context] = (),
    gauge: Gauge | None = None,
    summarizing: Summarizing | None = None,
    texts: Mapping[Block, str] = MappingProxyType({}),
) -> Built:
    """The request for the next answer to `history`, of which `loop` is what its turn has come to.

    `temperature` and what `[bot.request]` holds are sent exactly as given; what is not given is not sent. A field
    that is ours to fill, or is given twice, is a `SettingsError`. What does not fit into the stack's budget is left
    out, or a `PromptOverflow`, as the budget says. `texts` are the summaries that are written: `Unwritten` where one is
    needed that is not.
    """
    material = Material(stack, split(history, loop), tuple(context), tuple(tools), _parameters(bot, tools))
    if (budget := stack.budget) is None:
        return _built(bot.model, material, everything(material), {}, gauge)
    gauge = gauge or gauge_for(bot.model, stack)
    if _may_fit(material, budget.room, gauge):
        whole = _built(bot.model, material, everything(material), {}, gauge)
        if whole.tokens <= budget.room:
            return whole
    spare = 0
    while True:
        least = False
        try:
            chosen = fit(material, budget.room - spare, gauge, budget.on_overflow, summarizing)
        except TooLarge as error:
            chosen, least = error.required, True
        if unwritten := [block for block in chosen.summaries if block not in texts]:
            raise Unwritten(unwritten)
        built = _built(bot.model, material, chosen, {block: texts[block] for block in chosen.summaries}, gauge)
        cap = 0 if summarizing is None else summarizing.cap  # as which a summary counts, however short it is
        short = sum(max(0, cap - gauge.text(text)) for text in built.texts.values())
        if (over := built.tokens + short - budget.room) <= 0:
            return built
        if least:
            raise _overflow(built, budget)
        # Pieces were counted one by one: delimiters between them take more than was thought.
        spare += max(over, spare)


def _may_fit(material: Material, room: int, gauge: Gauge) -> bool:
    """Whether what was said, the newest first, has room without anything around it: else nothing need be rendered."""
    talk = material.talk
    for piece in (*reversed(talk.steps), talk.question, *reversed(talk.turns)):
        room -= sum(gauge.text(message.text) for message in piece)
        if room < 0:
            return False
    return True


class Unwritten(Exception):
    """Summaries of these blocks are needed first."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        super().__init__(", ".join(map(str, blocks)))
        self.blocks = tuple(blocks)


def _built(
    model: str | None, material: Material, chosen: Selection, texts: Mapping[Block, str], gauge: Gauge | None
) -> Built:
    messages = render(material.stack.style, chosen.page(material, texts))
    request = Request(model, messages, material.tools, material.parameters)
    return Built(request, material, chosen, texts, gauge)


def _overflow(built: Built, budget: Budget) -> PromptOverflow:
    """What is required does not fit: by how much, and what takes how many tokens."""
    kept = f" with {budget.reserve:,} for the answer" if budget.reserve else ""
    counted = "" if built.exact else ", as far as can be estimated"
    what = f"the prompt is {built.tokens - budget.room:,} tokens too large{counted}: it has {built.tokens:,},"
    what += f" and [{budget.table}] budget = {budget.tokens:,} leaves {budget.room:,}{kept}"
    table = "\n".join(f"  {line}" for line in lines(built.rows))
    trims = budget.table == "prompt" and budget.on_overflow == "error"
    last = '; on_overflow = "trim" leaves out what is old' if trims else ""
    hint = f"raise budget in [{budget.table}], or shorten the largest part{last}"
    return PromptOverflow(f"{what}\n{table}", hint=hint)


def _parameters(bot: BotSettings, tools: Sequence[ToolSpec]) -> dict[str, Any]:
    clashes = dict(_OURS)
    if bot.temperature is not None:
        clashes["temperature"] = "it is set in [bot] as well"
    if tools:
        clashes["tools"] = "a conftest.py gives tools by pytest_convo_tools as well"
    for name, why in clashes.items():
        if name in bot.request:
            msg = f"[bot.request] must not hold {name!r}: {why}"
            raise SettingsError(msg)
    given = {} if bot.temperature is None else {"temperature": bot.temperature}
    return given | dict(bot.request)
