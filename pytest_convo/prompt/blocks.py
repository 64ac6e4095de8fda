"""Which turns one summary covers, so that each is written once however long a conversation grows.

The turns before a point are covered by blocks: of `turns` turns each, and once there are four of these by one of four
times as many, which is written from the four, and so on. A block never moves, and there are never more than three of a
size, so that a thousand turns take about a dozen summaries: a log-structured merge, with four for its fan-out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from ..conversation.message import Message

FAN = 4
"""Blocks that become one."""


@dataclass(frozen=True, slots=True, order=True)
class Block:
    """Turns `first` to `last`, from 1, both included."""

    first: int
    last: int

    @property
    def length(self) -> int:
        return self.last - self.first + 1

    def __str__(self) -> str:
        return f"turns {self.first}-{self.last}" if self.last > self.first else f"turn {self.first}"

    def made_of(self, turns: int) -> tuple[Block, ...]:
        """The four blocks that it is written from; none where it is written from its turns."""
        if self.length <= turns:
            return ()
        part = self.length // FAN
        return tuple(Block(first, first + part - 1) for first in range(self.first, self.last + 1, part))


def cover(number: int, turns: int) -> tuple[Block, ...]:
    """The blocks for the first `number` turns, the oldest and largest first; the last one may be shorter."""
    blocks, done = [], 0
    size = turns
    while size * FAN <= number:
        size *= FAN
    while size >= turns:
        while done + size <= number:
            blocks.append(Block(done + 1, done + size))
            done += size
        size //= FAN
    if done < number:
        blocks.append(Block(done + 1, number))
    return tuple(blocks)


def digest(turns: Sequence[Sequence[Message]], told: str, clean: Callable[[Any], Any] = lambda said: said) -> str:
    """What tells these turns, summarized by who is `told` so, from all others.

    It is of what `clean` leaves of them, so that they are the same with their secrets and without.
    """
    said = clean([[message.to_api() for message in turn] for turn in turns])
    return sha256(json.dumps([told, said], sort_keys=True, ensure_ascii=True).encode()).hexdigest()[:16]
