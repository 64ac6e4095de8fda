from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_convo.check.limits import Limit, max_chars, max_seconds, max_tokens, max_usd, max_words, no_price
from pytest_convo.conversation.reply import Reply, Usage

if TYPE_CHECKING:
    from .conftest import Judge


def price(reply: Reply) -> float | None:
    return None if reply.usage is None else reply.usage.total_tokens * 0.001


@pytest.mark.parametrize(
    ("check", "reply", "holds"),
    [
        (max_chars(5), {"text": "Grüße"}, True),
        (max_chars(5), {"text": "Grüße!"}, False),
        (max_words(3), {"text": "one  two\nthree "}, True),
        (max_words(2), {"text": "one  two\nthree "}, False),
        (max_tokens(10), {"usage": Usage(100, 10)}, True),
        (max_tokens(10), {"usage": Usage(1, 11)}, False),
        (max_seconds(1.5), {"seconds": 1.5}, True),
        (max_seconds(1.5), {"seconds": 1.51}, False),
        (max_usd(0.01, price), {"usage": Usage(5, 5)}, True),
        (max_usd(0.01, price), {"usage": Usage(5, 6)}, False),
    ],
)
def test_a_limit_itself_is_allowed(judge: Judge, check: Limit, reply: dict, holds: bool) -> None:
    assert judge.passes(check, **{"text": "Yes.", **reply}) is holds


@pytest.mark.parametrize(
    ("check", "reply", "why"),
    [
        (max_chars(1000), {"text": "x" * 1234}, "max_chars: 1,234 characters, at most 1,000 are allowed"),
        (max_words(1), {"text": "one two"}, "max_words: 2 words, at most 1 are allowed"),
        (max_tokens(10), {"usage": Usage(1, 11)}, "max_tokens: 11 tokens, at most 10 are allowed"),
        (max_seconds(1.5), {"seconds": 2.25}, "max_seconds: 2.25 seconds, at most 1.5 are allowed"),
        (max_usd(0.01, price), {"usage": Usage(5, 6)}, "max_usd: 0.011 US dollars, at most 0.01 are allowed"),
    ],
)
def test_what_is_over_a_limit_is_told_in_figures(judge: Judge, check: Limit, reply: dict, why: str) -> None:
    assert judge.why(check, **{"text": "Yes.", **reply}).splitlines()[:2] == [f"turn 1, {why}", "  the reply:"]


def test_a_server_that_does_not_count_leaves_tokens_unknown(judge: Judge) -> None:
    assert judge.error(max_tokens(10), "Yes.").startswith(
        "turn 1, max_tokens: the server did not say how many tokens the reply took"
    )


def test_without_a_price_the_cost_is_unknown(judge: Judge) -> None:
    error = judge.error(max_usd(1, no_price), "Yes.", usage=Usage(1, 1), model="gpt-4o")
    assert error.startswith("turn 1, max_usd: the cost cannot be told: no price is known for the model 'gpt-4o'")
    error = judge.error(max_usd(1, no_price), "Yes.", usage=Usage(1, 1))
    assert "no price is known for the model, which the server did not name" in error


def test_without_a_count_a_price_is_of_no_use(judge: Judge) -> None:
    assert "the cost cannot be told: the server did not count tokens" in judge.error(max_usd(1, price), "Yes.")
