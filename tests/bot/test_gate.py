from __future__ import annotations

import asyncio

import pytest

from pytest_convo.bot.gate import gated
from pytest_convo.bot.tools import Tool, answer_calls
from pytest_convo.conversation.message import ToolCall
from pytest_convo.errors import HarnessError


def look(order: str) -> dict:
    """Look an order up."""
    return {"order": order}


async def fetch(page: int) -> str:
    """Fetch a page."""
    await asyncio.sleep(0)
    return f"page {page}"


def answered(*calls, allows):
    """What is sent of these calls, and what somebody was asked about."""
    asked = []

    async def ask(name, arguments, result):
        asked.append((name, arguments, result))
        return allows

    tools = {tool.name: tool for tool in gated([Tool.of(look), Tool.of(fetch)], ask)}
    return asyncio.run(answer_calls([ToolCall("c1", *call) for call in calls], tools)), asked


def test_what_is_let_pass_is_sent_as_it_is() -> None:
    messages, asked = answered(("look", '{"order": "A17"}'), ("fetch", '{"page": 2}'), allows=True)
    assert [message.content for message in messages] == ['{"order":"A17"}', "page 2"]
    assert sorted(asked) == [("fetch", '{"page": 2}', "page 2"), ("look", '{"order": "A17"}', '{"order":"A17"}')]


def test_what_is_held_back_ends_the_run_and_measures_nothing() -> None:
    with pytest.raises(HarnessError, match="the result of look was not sent to the bot"):
        answered(("look", '{"order": "A17"}'), allows=False)


def test_nobody_is_asked_about_a_call_that_could_not_be_made() -> None:
    messages, asked = answered(("look", '{"number": 3}'), allows=False)
    assert messages[0].content.startswith("Error: ")
    assert asked == []


def test_the_model_is_told_of_the_same_tool() -> None:
    plain = Tool.of(look)

    async def ask(*_):
        return True

    assert gated([plain], ask)[0].spec == plain.spec
