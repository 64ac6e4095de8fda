from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.agreement.outcome import Outcome
from pytest_convo.check.trajectory import CalledBefore, MaxCalls, NotCalled
from pytest_convo.conversation.message import ToolCall
from pytest_convo.conversation.reply import Reply
from pytest_convo.errors import CheckError

if TYPE_CHECKING:
    from .conftest import Judge


def made(names: str | list[str]) -> tuple[ToolCall, ...]:
    return tuple(ToolCall(f"call_{number}", name, f'{{"id": {number}}}') for number, name in enumerate(names))


@pytest.mark.parametrize(
    ("names", "calls", "holds"),
    [
        ("ab", "ab", True),
        ("ab", "axxb", True),
        ("ab", "aab", True),
        ("ab", "aba", True),
        ("abc", "abc", True),
        ("ab", "ba", False),
        ("ab", "bab", False),
        ("abc", "acb", False),
        ("ab", "a", False),
        ("ab", "b", False),
        ("ab", "", False),
        ("a", "a", True),
    ],
)
def test_the_first_call_of_each_comes_before_the_first_of_the_next(
    judge: Judge, names: str, calls: str, holds: bool
) -> None:
    assert judge.passes(CalledBefore(tuple(names)), calls=made(calls)) is holds


tools = st.text("abcd", max_size=8)


@given(st.lists(st.sampled_from("abcd"), min_size=1, unique=True), tools)
def test_the_order_is_that_in_which_the_tools_appear(names: list[str], calls: str) -> None:
    appeared = [name for name in dict.fromkeys(calls) if name in names]
    found = CalledBefore(tuple(names)).judge(Reply("", calls=made(calls)))
    assert (found.outcome is Outcome.PASS) is (appeared == names)


@given(st.lists(st.sampled_from("abcd"), min_size=2, unique=True), tools)
def test_what_is_said_to_be_missing_or_too_early_is_so(names: list[str], calls: str) -> None:
    reason = CalledBefore(tuple(names)).judge(Reply("", calls=made(calls))).reason.partition("\n")[0]
    missing = [name for name in names if name not in calls]
    assert reason.startswith(f"not called: {', '.join(missing)}") if missing else "not called" not in reason
    present = [name for name in names if name in calls]
    early = sum(calls.index(one) > calls.index(other) for one, other in pairwise(present))
    assert reason.count("came before") == early


@given(st.lists(st.sampled_from("abcd"), min_size=1), tools, st.integers(0, 8))
def test_the_others_count_and_look_for_names(names: list[str], calls: str, most: int) -> None:
    reply = Reply("", calls=made(calls))
    assert (NotCalled(tuple(names)).judge(reply).outcome is Outcome.PASS) is (not set(names) & set(calls))
    assert (MaxCalls(most).judge(reply).outcome is Outcome.PASS) is (len(calls) <= most)


def test_a_wrong_order_is_told_with_the_calls(judge: Judge) -> None:
    check = CalledBefore(("look_up", "refund", "notify"))
    assert judge.why(check, calls=made(["refund", "search", "search", "look_up"])) == (
        "turn 1, called_before: not called: notify; refund (call 1) came before look_up (call 4)\n"
        "  expected: look_up → refund → notify\n"
        "  the calls: refund → search × 2 → look_up"
    )


def test_no_call_at_all_is_told_so(judge: Judge) -> None:
    assert judge.why(CalledBefore(("look_up", "refund"))) == (
        "turn 1, called_before: not called: look_up, refund\n  expected: look_up → refund\n  no tool was called"
    )


def test_a_tool_that_is_named_twice_is_a_mistake() -> None:
    with pytest.raises(CheckError, match="names a tool twice: a"):
        CalledBefore(("a", "b", "a"))


def test_what_must_not_be_called_is_told_with_its_arguments(judge: Judge) -> None:
    why = judge.why(NotCalled(("delete", "refund")), calls=made(["look_up", "refund", "delete", "refund"]))
    assert why == (
        "turn 1, not_called: called, and must not be: refund, delete\n"
        "    call 2: refund(id=1)\n"
        "    call 3: delete(id=2)\n"
        "    call 4: refund(id=3)\n"
        "  the calls: look_up → refund → delete → refund"
    )


@pytest.mark.parametrize(
    ("calls", "most", "over"), [("a", 0, "1 call, at most 0 are"), ("aab", 2, "3 calls, at most 2 are")]
)
def test_too_many_calls_are_counted(judge: Judge, calls: str, most: int, over: str) -> None:
    assert judge.why(MaxCalls(most), calls=made(calls)).startswith(f"turn 1, max_calls: {over} allowed\n  the calls: a")


def test_names_that_a_bot_made_up_are_shown_flat_and_bounded(judge: Judge) -> None:
    calls = made([f"made\nup\x00{number}" for number in range(200)])
    why = judge.why(MaxCalls(3), calls=calls)
    assert r"made\nup\x000 → " in why
    assert len(why) < 500
