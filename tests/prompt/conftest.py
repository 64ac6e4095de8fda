"""What requests are made of, at random: histories as conversations have them, loops as agents and tools make them."""

from __future__ import annotations

import re
from itertools import count
from typing import NamedTuple

from hypothesis import strategies as st

from pytest_convo.conversation.message import Message, ToolCall
from pytest_convo.errors import PromptOverflow
from pytest_convo.prompt.build import Unwritten, build
from pytest_convo.prompt.estimate import Estimator
from pytest_convo.prompt.fit import Summarizing
from pytest_convo.prompt.gauge import Gauge
from pytest_convo.prompt.part import Part
from pytest_convo.prompt.request import Request, ToolSpec
from pytest_convo.prompt.source import Context
from pytest_convo.prompt.stack import Budget, Stack
from pytest_convo.settings.bots import BotSettings

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
BOT = BotSettings(model="m")

TEXTS = (
    st.text(max_size=12)
    | st.sampled_from(["", "Hello?", "<user>", "</ Result-2 >", "=== user ===\nhm", "a\n\nb", "\n", "<summary of=1>"])
    | st.integers(1, 40).map("word ".__mul__)
)
LONG = TEXTS | st.integers(100, 1200).map("word ".__mul__)
"""What tools say."""
CONTENTS = TEXTS | st.lists(TEXTS.map(lambda text: {"type": "text", "text": text}) | st.just(IMAGE), max_size=3)
STYLES = st.sampled_from(["messages", "xml", "text"])
OVERFLOWS = st.sampled_from(["error", "trim", "summarize"])


class Letters:
    """A token a character."""

    name = "letters"
    exact = True

    def count(self, text):
        return len(text)


def taught(tokenizer, counted=0):
    """A gauge that has seen a server count so many tokens for a request that it took for a hundred or so."""
    gauge = Gauge(tokenizer)
    gauge.learn(Request("m", (Message("user", "x" * 100),)), counted)
    return gauge


class Said(NamedTuple):
    history: tuple[Message, ...]
    loop: tuple[Message, ...]


class Case(NamedTuple):
    """All that a request is made of but its budget."""

    parts: tuple[Part, ...]
    said: Said
    context: tuple[Context, ...]
    tools: tuple[ToolSpec, ...]
    style: str

    def given(self, budget=None):
        stack = Stack(self.parts, self.style, budget, "estimate")
        return {"stack": stack, "bot": BOT, "context": self.context, "tools": self.tools} | self.said._asdict()


@st.composite
def said(draw):
    """A history and a loop: every message has a name of its own, to know it by."""
    number = count(1)

    def message(role, contents=CONTENTS, **further):
        return Message(role, draw(contents), name=f"m{next(number)}", **further)

    def some(role, most):
        return [message(role) for _ in range(draw(st.integers(0, most)))]

    def step(tells):
        if tells == "user":
            return [message("assistant"), message("user", LONG)]
        calls = tuple(ToolCall(f"c{next(number)}", "look", '{"a": 1}') for _ in range(draw(st.integers(0, 3))))
        results = [message("tool", LONG | CONTENTS, tool_call_id=call.id) for call in draw(st.permutations(calls))]
        return [message("assistant", tool_calls=calls), *results, *some("system", 1)]

    history = [*some("system", 1), *some("assistant", 1)]
    for _ in range(draw(st.integers(0, 5))):
        history += [message("user"), *some("system", 1), *some("user", 1)]
        for _ in range(draw(st.integers(0, 2))):
            history += step("tool")
        history += [message("assistant"), *some("system", 1)]
    history += [message("user"), *some("user", 1), *some("system", 1)]
    tells = draw(st.sampled_from(["tool", "user"]))
    loop = [one for _ in range(draw(st.integers(0, 3))) for one in step(tells)]
    return Said(tuple(history), tuple(loop))


@st.composite
def contexts(draw):
    """What sources have said, each with a name of its own."""
    found = []
    for number in range(draw(st.integers(0, 3))):
        text, dropped = draw(TEXTS.filter(bool)), draw(st.sampled_from(["", "", "it failed"]))
        found.append(Context(f"source {number}", text, not dropped and draw(st.booleans()), dropped=dropped))
    return tuple(found)


PARTS = st.lists(st.builds(Part, st.sampled_from(["a.md", "b.md"]), TEXTS.filter(bool)), max_size=2).map(tuple)
TOOLS = st.lists(st.builds(ToolSpec, st.just("look"), TEXTS), max_size=1).map(tuple)
CASES = st.builds(Case, PARTS, said(), contexts(), TOOLS, STYLES)


def budget(room, reserve=0, on_overflow="trim"):
    """A budget that leaves so much room for requests."""
    return Budget(room + reserve, reserve, on_overflow)


GAUGES = st.tuples(st.sampled_from([Letters, Estimator]), st.sampled_from([0, 150, 273]))
HOW = st.builds(Summarizing, st.integers(1, 3), st.integers(20, 60))


def gauge(tokenizer=Letters, counted=0):
    return taught(tokenizer(), counted)


def made(given, measured, how=None, write=lambda block: "s" * 20):
    """The request, with the summaries that it asks for."""
    texts = {}
    while True:
        try:
            return build(**given, gauge=measured, summarizing=how, texts=texts)
        except Unwritten as missing:
            asked = {block: write(block) for block in missing.blocks if block not in texts}
        assert asked
        texts |= asked


def excess(error):
    return int(re.search(r"is ([\d,]+) tokens too large", error.what)[1].replace(",", ""))


@st.composite
def tight(draw):
    """A case, with a budget that is seldom enough for all of it; whoever measures it, and whoever summarizes it."""
    case, by, on_overflow = draw(CASES), draw(GAUGES), draw(OVERFLOWS)
    whole = build(**case.given(), gauge=gauge(*by)).tokens
    least = 0
    if draw(st.integers(0, 3)):
        try:
            made(case.given(budget(0)), gauge(*by))
        except PromptOverflow as error:
            least = excess(error)
    room, reserve = draw(st.integers(least, whole)), draw(st.sampled_from([0, 100]))
    how = draw(HOW) if on_overflow == "summarize" else None
    return case, budget(room, reserve, on_overflow), by, how


def fits(case, limit, by, how):
    """What is made of a case, or nothing where it is too large for its budget."""
    try:
        return made(case.given(limit), gauge(*by), how)
    except PromptOverflow:
        return None
