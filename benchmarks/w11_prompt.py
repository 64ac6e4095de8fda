"""W11: building requests for a conversation of 1,000 turns under a budget, with 500 context sources; nothing is sent.

Each round is a process's own work, first with nothing known of the texts, then again: what a second request costs,
whose older texts were counted before.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import time

import common

from pytest_convo.conversation.message import Message, ToolCall
from pytest_convo.prompt.build import Built
from pytest_convo.prompt.composer import Composer
from pytest_convo.prompt.part import Part
from pytest_convo.prompt.request import ToolSpec
from pytest_convo.prompt.source import sources_of
from pytest_convo.prompt.stack import Budget, Stack, Style
from pytest_convo.settings.bots import BotSettings

WORDS = [
    "the",
    "tea",
    "was",
    "sent",
    "back",
    "unopened",
    "within",
    "thirty",
    "days",
    "and",
    "the",
    "postage",
    "of",
    "4.90",
    "€",
    "is",
    "paid",
    "by",
    "whom",
    "it",
    "concerns",
]


class Note:
    """A source that says one line."""

    required = False
    cap = 200

    def __init__(self, number: int) -> None:
        self.name = f"note {number}"

    async def __call__(self, tokens_left: int) -> str:  # noqa: ARG002
        return f"{self.name}: {' '.join(WORDS[:12])}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=1000, help="turns of the conversation (1000)")
    parser.add_argument("--sources", type=int, default=500, help="context sources (500)")
    parser.add_argument("--repeat", type=int, default=9, help="rounds (9)")
    given = parser.parse_args()
    history = _history(given.turns)
    rows = []
    for name, style, budget, sources in (
        ("all of it, no budget", "messages", None, 0),
        ("8,000 tokens, trimmed", "messages", Budget(8_000, 500, "trim"), 0),
        ("200,000 tokens: all of it fits", "messages", Budget(200_000, 500), 0),
        ("the same, and the sources", "messages", Budget(200_000, 500, "trim"), given.sources),
        ("20,000 tokens, and the sources", "messages", Budget(20_000, 500, "trim"), given.sources),
        ("the same as XML", "xml", Budget(20_000, 500, "trim"), given.sources),
    ):
        firsts, nexts, sent = zip(*(_round(history, style, budget, sources) for _ in range(given.repeat)), strict=True)  # type: ignore[assignment]
        rows.append([name, f"{sent[0]:,}", _spread(firsts), _spread(nexts)])
    common.table(
        f"W11: a request of {given.turns} turns, up to {given.sources} sources; ms, median of {given.repeat} (range)",
        ["", "messages sent", "the first", "the next"],
        rows,
    )


def _round(history: list[Message], style: Style, budget: Budget | None, sources: int) -> tuple[float, float, int]:
    """Milliseconds of a run's first request, and of its next one; how many messages that has."""
    tools = [ToolSpec(f"tool_{number}", "Looks something up.") for number in range(10)]
    fresh = [Message(one.role, _fresh(one.text), one.name, one.tool_calls, one.tool_call_id) for one in history]
    stack = Stack((Part("base.md", "Be kind. " * 40),), style, budget, "estimate")
    composer = Composer(
        stack,
        bot=BotSettings(model="m"),
        tools=tools,
        sources=sources_of([Note(number) for number in range(sources)]),
    )
    longer = [*fresh, Message("assistant", _fresh("Within thirty days.")), Message("user", _fresh("And then?"))]
    (first, _), (later, built) = asyncio.run(_timed(composer, fresh, longer))
    return first, later, len(built.request.messages)


async def _timed(composer: Composer, *histories: list[Message]) -> list[tuple[float, Built]]:
    """What each request took, without what a loop costs to start and end."""
    made = []
    for history in histories:
        begin = time.perf_counter()
        built = await composer.compose(history)
        made.append((1000 * (time.perf_counter() - begin), built))
    return made


_number = iter(range(10**9))


def _fresh(text: str) -> str:
    """A text that nobody has counted yet."""
    return f"{text} {next(_number)}"


def _history(turns: int) -> list[Message]:
    """Turns of about a hundred tokens, every fifth with a call and its result, and a question at the end."""
    rng, messages = random.Random(11), []
    for turn in range(turns):
        messages.append(Message("user", _text(rng, 30)))
        if turn % 5 == 0:
            call = ToolCall(f"call_{turn}", "tool_1", '{"order": "A17"}')
            messages += [
                Message("assistant", None, tool_calls=(call,)),
                Message("tool", _text(rng, 80), tool_call_id=call.id),
            ]
        messages.append(Message("assistant", _text(rng, 40)))
    return [*messages, Message("user", _text(rng, 20))]


def _text(rng: random.Random, words: int) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(words))


def _spread(values: tuple[float, ...]) -> str:
    return f"{statistics.median(values):.1f} ({min(values):.1f} to {max(values):.1f})"


if __name__ == "__main__":
    main()
