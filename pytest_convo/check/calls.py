"""The check of the tool calls of a turn, every call counted as often as it was made.

- `strict`: the expected calls, all of them, in this order, and no others (the default);
- `unordered`: the same in any order;
- `subset`: nothing but expected calls, not necessarily all of them;
- `superset`: all expected calls, others are allowed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..conversation.message import ToolCall
from ..conversation.reply import Reply
from .base import CheckResult, ReplyCheck
from .call import ExpectedCall
from .lineup import lineup
from .matching import pairs, pairs_in_order
from .show import clip_lines

_MOST_LINES = 24

Order = Literal["strict", "unordered", "subset", "superset"]


@dataclass(frozen=True, slots=True)
class Calls(ReplyCheck):
    """The turn made these calls, in the sense of `order`."""

    expected: tuple[ExpectedCall, ...]
    order: Order = "strict"
    name = "calls"

    def judge(self, reply: Reply) -> CheckResult:
        made, strict = reply.calls, self.order == "strict"
        paired = (pairs_in_order if strict else pairs)(self.expected, made, ExpectedCall.fits)
        complete = len(paired) == len(self.expected) or self.order == "subset"
        alone = len(paired) == len(made) or self.order == "superset"
        if complete and alone:
            return CheckResult.passed()
        counts = f'{len(self.expected)} expected, {len(made)} made (calls_order = "{self.order}")'
        moved = ": the right calls in another order" if strict and self._all_made(made) else ""
        table = lineup(self.expected, made, paired, in_order=strict)
        return CheckResult.failed(counts + moved, *clip_lines(table, _MOST_LINES))

    def _all_made(self, made: Sequence[ToolCall]) -> bool:
        return len(self.expected) == len(made) == len(pairs(self.expected, made, ExpectedCall.fits))
