from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_convo.check.finish import Finish, Whole
from pytest_convo.conversation.message import ToolCall

if TYPE_CHECKING:
    from .conftest import Judge

CALLS = (ToolCall("call_1", "lookup"),)


@pytest.mark.parametrize(
    "reply",
    [
        {"text": "Yes."},
        {"text": "Yes.", "finish_reason": None},
        {"text": "", "calls": CALLS},
        {"text": "", "calls": CALLS, "finish_reason": "tool_calls"},
        {"text": "Yes.", "extra": {"refusal": None}},
    ],
)
def test_a_whole_reply_passes(judge: Judge, reply: dict) -> None:
    assert judge.passes(Whole(), **reply)


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (
            {"text": "You can return it wi", "finish_reason": "length"},
            'the reply was cut off: the token limit was reached (finish_reason "length"), after "You can return it wi"',
        ),
        (
            {"text": "", "finish_reason": "content_filter"},
            'the reply was cut off: the provider\'s content filter stopped it (finish_reason "content_filter"), '
            "before it said anything",
        ),
        ({"text": " \n"}, "the reply is empty (finish_reason 'stop')"),
        ({"text": "", "extra": {"refusal": "I cannot do that."}}, 'the model refused: "I cannot do that."'),
        ({"text": "", "calls": CALLS, "finish_reason": "length"}, "the reply was cut off: the token limit was reached"),
    ],
)
def test_what_is_no_whole_reply_fails_with_its_reason(judge: Judge, reply: dict, why: str) -> None:
    assert judge.why(Whole(), **reply).startswith(f"turn 1, whole reply: {why}")


@pytest.mark.parametrize(
    ("reasons", "reply", "holds"),
    [
        (("length",), {"text": "cut o", "finish_reason": "length"}, True),
        (("length",), {"text": "", "finish_reason": "length"}, True),
        (("stop", "length"), {"text": "whole"}, True),
        (("length",), {"text": "whole"}, False),
        (("stop",), {"text": "cut o", "finish_reason": "length"}, False),
        (("stop",), {"text": ""}, False),
    ],
)
def test_an_expected_finish_reason_is_the_only_one_allowed(
    judge: Judge, reasons: tuple, reply: dict, holds: bool
) -> None:
    assert judge.passes(Finish(reasons), **reply) is holds


def test_another_finish_reason_is_named(judge: Judge) -> None:
    why = judge.why(Finish(("length", "tool_calls")), "Yes.")
    assert why == ('turn 1, finish_reason: "stop", expected "length" or "tool_calls"\n  the reply:\n    | Yes.')


def test_a_server_that_gives_no_finish_reason_leaves_it_unknown(judge: Judge) -> None:
    assert judge.error(Finish(("stop",)), "Yes.", finish_reason=None) == (
        "turn 1, finish_reason: the server gave no finish reason"
    )
