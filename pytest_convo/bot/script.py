"""A script: what a scripted bot answers to which message."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Literal, TypeAlias

from ..errors import FormatError
from ..prompt.request import Request
from .script_deck import LARGEST_DECK, dealt, drawn, whole_weights
from .script_reply import ReplyError, ScriptedReply

Draw = Literal["deck", "independent"]
ReplyFunction = Callable[[Request], str | ScriptedReply]
ScriptSource: TypeAlias = "Script | str | os.PathLike[str] | Iterable[ScriptedReply] | ReplyFunction"


class Script:
    """Replies in order, of which the first that matches and is not used up answers.

    Neighbours that have a `weight` and the same `when` are one draw. With `draw = "deck"` they are drawn without
    replacement from the smallest deck that realises the weights, shuffled anew when it is used up: of five draws with
    weights 4 and 1 exactly one is the rare reply. With `draw = "independent"` each draw is by chance alone, as a real
    bot's are. Both are fixed by the seed: see `script_reading.Reading`.

    A script holds no state and may be shared. Raises `ReplyError` for a reply that can never answer, because an earlier
    one with the same `when`, or none, always does.
    """

    def __init__(
        self, replies: Iterable[ScriptedReply] = (), *, draw: Draw = "deck", path: str | Path | None = None
    ) -> None:
        self.replies = tuple(replies)
        self.draw = draw
        self.path = path
        self.function: ReplyFunction | None = None
        if draw not in ("deck", "independent"):
            msg = f'draw must be "deck" or "independent", not {draw!r}'
            raise ReplyError(msg, at=("draw",))
        for number, reply in enumerate(self.replies):
            _need_reply(reply)
            _reachable(number, reply, self.replies[:number])
        self.entries = tuple(_entries(self.replies, draw))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Script:
        """The script in a `script.toml`. Raises `FormatError` with the line of what is wrong."""
        from .script_file import read_script

        return read_script(Path(path))

    @classmethod
    def of(cls, source: ScriptSource) -> Script:
        """A script from whatever may stand for one: a path, replies, or a function from a request to a reply."""
        if isinstance(source, Script):
            return source
        if isinstance(source, str | os.PathLike):
            return cls.load(source)
        if not callable(source):
            return cls(source)
        if inspect.iscoroutinefunction(source):
            msg = "a script's function is an ordinary function, not an async one"
            raise FormatError(msg, hint="let it return a ScriptedReply with the latency that it should have")
        script = cls()
        script.function = source
        return script


@dataclass(frozen=True, slots=True)
class Entry:
    """One place of a script: a single reply, or the replies of one draw with their weights."""

    index: int
    pattern: re.Pattern[str] | None
    replies: tuple[ScriptedReply, ...]
    weights: tuple[float, ...] = ()
    deck: tuple[int, ...] = ()
    """The weights as numbers of cards; empty where draws are independent."""

    def match(self, asked: str) -> re.Match[str] | Literal[False] | None:
        """What `when` found, None where there is no `when`, False where it does not match."""
        return None if self.pattern is None else self.pattern.search(asked) or False

    def pick(self, seed: str, position: int) -> ScriptedReply:
        """The reply of a draw at `position` (from 0)."""
        chosen = dealt(self.deck, seed, position) if self.deck else drawn(self.weights, seed, position)
        return self.replies[chosen]


def _need_reply(reply: object) -> None:
    if not isinstance(reply, ScriptedReply):
        msg = f"a script is made of ScriptedReply, not of {type(reply).__name__}"
        raise FormatError(msg, hint='ScriptedReply(text="...")')


def _reachable(number: int, reply: ScriptedReply, earlier: Sequence[ScriptedReply]) -> None:
    """Raise `ReplyError` where `reply` can never answer, because an earlier one always does."""
    for other, before in enumerate(earlier):
        covers = before.when in (None, reply.when) and before.times is None
        if covers and not all(_one_draw(reply, between) for between in earlier[other:]):
            msg = f"reply {number + 1} can never answer: reply {other + 1} always answers before it"
            hint = "give the earlier one `times`, or put both side by side with a `weight`"
            raise ReplyError(msg, number=number, hint=hint)


def _one_draw(reply: ScriptedReply, other: ScriptedReply) -> bool:
    return None not in (reply.weight, other.weight) and other.when == reply.when


def _entries(replies: Sequence[ScriptedReply], draw: Draw) -> Iterator[Entry]:
    """The places of a script: neighbours with a weight and the same `when` are one, every other reply is its own."""
    numbered = enumerate(replies)
    places = groupby(numbered, key=lambda at: (at[1].when, "draw" if at[1].weight is not None else at[0]))
    for index, (_, place) in enumerate(places):
        numbers, here = zip(*place, strict=True)
        weights = tuple(reply.weight for reply in here if reply.weight is not None)
        deck = _deck(weights, numbers[0]) if weights and draw == "deck" else ()
        yield Entry(index, here[0].pattern, here, weights, deck)


def _deck(weights: Sequence[float], number: int) -> tuple[int, ...]:
    cards = whole_weights(weights)
    if sum(cards) > LARGEST_DECK:
        msg = f"these weights need a deck of {sum(cards)} cards, and the largest has {LARGEST_DECK}: {list(weights)}"
        hint = 'use rounder weights, or draw = "independent"'
        raise ReplyError(msg, at=("weight",), number=number, hint=hint)
    return cards
