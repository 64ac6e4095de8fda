"""What of a conversation fits into a budget.

Required parts come first: the system prompt, tools, required context, system messages, the question, and the last step
of its answer. Then optional context in declared order, the steps before the last, and the turns before the question,
both the newest first and without a gap, for as long as they fit.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ..conversation.message import Message
from . import render
from .blocks import Block, cover
from .render import Page
from .request import ToolSpec
from .source import Context
from .stack import OnOverflow, Stack
from .talk import IN_STEPS, LENGTHS, Messages, Talk, shortened, spoken, standing

if TYPE_CHECKING:
    from .gauge import Gauge

NO_ROOM = "no room was left"


@dataclass(frozen=True, slots=True)
class Summarizing:
    """How summaries take the place of turns: each covers so many `turns`, and has at most `cap` tokens."""

    turns: int
    cap: int


@dataclass(frozen=True, slots=True)
class Material:
    """All that there is to send."""

    stack: Stack
    talk: Talk
    context: tuple[Context, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Selection:
    """What is sent of it: some of the context, the last of the turns and of the steps, and summaries of other turns."""

    context: tuple[Context, ...]
    """All that was asked for; what is not sent says why."""
    turns: tuple[Messages, ...]
    steps: tuple[Messages, ...]
    summaries: tuple[Block, ...] = ()

    def page(self, material: Material, texts: Mapping[Block, str] = MappingProxyType({})) -> Page:
        """What it says, in order; `texts` are the summaries."""
        talk = material.talk
        turns, steps = _without_last(talk.turns, len(self.turns)), _without_last(talk.steps, len(self.steps))
        asides = [render.Aside("context", one.name, one.text) for one in self.context if one.text and not one.dropped]
        asides += [render.Aside("summary", str(block), texts[block]) for block in self.summaries]
        history = (*standing(_flat(turns)), *_flat(self.turns))
        now = (*talk.question, *standing(_flat(steps)), *_flat(self.steps))
        return Page(material.stack.parts, asides, history, now)


class TooLarge(Exception):
    """What is `required` does not fit, as far as its pieces tell, which are counted one by one."""

    def __init__(self, required: Selection) -> None:
        super().__init__("what is required does not fit")
        self.required = required


def everything(material: Material) -> Selection:
    """All of it."""
    return Selection(material.context, material.talk.turns, material.talk.steps)


def fit(
    material: Material, room: int, gauge: Gauge, on_overflow: OnOverflow, summarizing: Summarizing | None = None
) -> Selection:
    """What fits into so many tokens; `TooLarge` where what is required does not.

    With "error" all that was said is required. A summary counts as its cap, so that what is sent does not depend on
    what was written: the same conversation is the same requests, with summaries that are there already and without.
    """
    return _Fitting(material, room, gauge, trims=on_overflow != "error").selection(summarizing)


def left(material: Material, room: int, gauge: Gauge, on_overflow: OnOverflow) -> int:
    """How many of so many tokens are left beside what is required; below zero where it does not fit."""
    return _Fitting(material, room, gauge, trims=on_overflow != "error").left


def size_beside(gauge: Gauge, kind: str, name: str, text: str = "") -> int:
    """The tokens of a text beside the system prompt, with its delimiters and with a message to stand in."""
    return gauge.messages([Message("system", render.beside(render.Aside(kind, name, text)))])


class _Fitting:
    def __init__(self, material: Material, room: int, gauge: Gauge, *, trims: bool) -> None:
        self.material, self.talk, self.gauge = material, material.talk, gauge
        self.trims = trims
        self.left = room - self._always()
        self.required = self._required()

    def selection(self, summarizing: Summarizing | None) -> Selection:
        if self.left < 0:
            raise TooLarge(self.required)
        required = self.required
        context = self._context()
        steps = self._steps(required.steps) if self.trims else required.steps
        if not self.trims or len(steps) < len(self.talk.steps):
            return replace(required, context=context, steps=steps)
        sizes = self._newest()
        if summarizing is not None and len(sizes) < len(self.talk.turns):
            end, blocks = self._summarized(sizes, summarizing)
            return Selection(context, self.talk.turns[end:], steps, blocks)
        return Selection(context, self._turns(sizes), steps)

    def _always(self) -> int:
        """Tokens of what is in every request, whatever is left out of it."""
        material, gauge = self.material, self.gauge
        page = Selection(self._required_context(), (), ()).page(material)
        said = gauge.messages(render.render(material.stack.style, page))
        return said + gauge.tools(material.tools, material.parameters) + gauge.fixed()

    def _required_context(self) -> tuple[Context, ...]:
        return tuple(_without(one) if one.optional else one for one in self.material.context)

    def _required(self) -> Selection:
        """What must be sent, its results of tools as long as they can be; takes its tokens from what is left."""
        context = self._required_context()
        if not self.trims:
            self.left -= sum(map(self._size, (*self.talk.turns, *self.talk.steps)))
            return Selection(context, self.talk.turns, self.talk.steps)
        if not self.talk.steps:
            return Selection(context, (), ())
        last = self.talk.steps[-1]
        if (fits := self._fitting(last, IN_STEPS)) is None:
            fits = min((last, *(shortened(last, most, IN_STEPS) for most in LENGTHS)), key=self._size)
            self.left -= self._size(fits)
        return Selection(context, (), (fits,))

    def _context(self) -> tuple[Context, ...]:
        """What there is of context; the optional ones as long as there is room for them."""
        found = []
        for one in self.material.context:
            if one.optional:
                size = size_beside(self.gauge, "context", one.name, one.text)
                if size > self.left:
                    found.append(_without(one))
                    continue
                self.left -= size
            found.append(one)
        return tuple(found)

    def _steps(self, last: tuple[Messages, ...]) -> tuple[Messages, ...]:
        """The steps that fit beside the last one."""
        kept = list(last)
        for step in reversed(self.talk.steps[: -len(last)] if last else ()):
            fits = self._fitting(step, IN_STEPS)
            if fits is None:
                break
            kept.insert(0, fits)
        return tuple(kept)

    def _newest(self) -> list[int]:
        """The sizes of the turns that fit as they are, the last of all; those before them are not looked at."""
        left, sizes = self.left, deque[int]()
        for turn in reversed(self.talk.turns):
            if (size := self._size(turn)) > left:
                break
            left -= size
            sizes.appendleft(size)
        return list(sizes)

    def _turns(self, sizes: Sequence[int]) -> tuple[Messages, ...]:
        """The turns that fit as they are, which have these sizes, and those before that fit when they are shortened."""
        self.left -= sum(sizes)
        first = len(self.talk.turns) - len(sizes)
        kept = list(self.talk.turns[first:])
        for turn in reversed(self.talk.turns[:first]):
            fits = self._fitting(turn)
            if fits is None:
                break
            kept.insert(0, fits)
        return tuple(kept)

    def _fitting(self, messages: Messages, cut: Collection[str] = ("tool",)) -> Messages | None:
        """The messages as they fit, and their tokens taken; None where they do not."""
        for most in (None, *LENGTHS):
            tried = messages if most is None else shortened(messages, most, cut)
            if (size := self._size(tried)) <= self.left:
                self.left -= size
                return tried
        return None

    def _summarized(self, sizes: Sequence[int], how: Summarizing) -> tuple[int, tuple[Block, ...]]:
        """The first of the turns that are sent, and the blocks before it, all of them or the newest.

        The last turns, which have these `sizes`, would fit without a block beside them. They go on being sent as far as
        all turns before them can be summarized, and where these cannot, as far as the newest block can.
        """
        number, best = len(self.talk.turns), None
        whole = number - len(sizes)
        steady = range(-(-whole // how.turns) * how.turns, number, how.turns)  # blocks that never move
        for end in (*steady, *range(whole, min(whole + how.turns, number)), number):
            blocks = cover(end, how.turns)
            fitting = self._newest_of(blocks, how, self.left - sum(sizes[end - whole :]))
            if fitting == blocks:
                return end, blocks
            if fitting and best is None:
                best = end, fitting
        return best or (whole, ())

    def _newest_of(self, blocks: tuple[Block, ...], how: Summarizing, left: int) -> tuple[Block, ...]:
        first = len(blocks)
        while first and (left := left - how.cap - size_beside(self.gauge, "summary", str(blocks[first - 1]))) >= 0:
            first -= 1
        return blocks[first:]

    def _size(self, messages: Messages) -> int:
        return self.gauge.messages(render.apart(self.material.stack.style, spoken(messages)))


def _without(one: Context) -> Context:
    return replace(one, dropped=NO_ROOM)


def _without_last(pieces: Sequence[Messages], number: int) -> Sequence[Messages]:
    return pieces[: len(pieces) - number]


def _flat(pieces: Sequence[Messages]) -> Messages:
    return tuple(message for piece in pieces for message in piece)
