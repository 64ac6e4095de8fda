from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.agreement.outcome import Outcome
from pytest_convo.check.base import CheckResult
from pytest_convo.check.call import ExpectedCall
from pytest_convo.check.calls import Calls
from pytest_convo.check.data import json_contains, json_equals, json_schema
from pytest_convo.check.finish import Finish, Whole
from pytest_convo.check.limits import max_chars
from pytest_convo.check.number import Number
from pytest_convo.check.run import evaluate
from pytest_convo.check.similar import Similar
from pytest_convo.check.text import Contains, ContainsAny, Equals, Excludes, Matches
from pytest_convo.conversation.message import ToolCall
from pytest_convo.conversation.reply import Reply
from pytest_convo.conversation.transcript import Transcript, Turn
from pytest_convo.errors import CheckError

PASS, FAIL, ERROR = Outcome.PASS, Outcome.FAIL, Outcome.ERROR


@dataclass
class Fixed:
    """A check that always finds the same, and counts how often it was asked."""

    outcome: Outcome
    reason: str = ""
    asked: int = 0
    name = "fixed"

    def evaluate(self, transcript: Any, turn: Any) -> CheckResult:
        self.asked += 1
        return CheckResult(self.outcome, self.reason)


class Unusable:
    name = "unusable"

    def evaluate(self, transcript: Any, turn: Any) -> CheckResult:
        msg = "the word list is missing"
        raise CheckError(msg, path="words.txt", hint="write one")


@pytest.mark.parametrize(
    ("outcomes", "outcome"),
    [
        ([PASS], PASS),
        ([PASS, PASS], PASS),
        ([PASS, FAIL], FAIL),
        ([PASS, ERROR], ERROR),
        ([ERROR, FAIL], FAIL),
        ([FAIL, ERROR, PASS], FAIL),
    ],
)
def test_one_fail_decides_and_else_one_error(transcript: Any, outcomes: list[Outcome], outcome: Outcome) -> None:
    assert evaluate({1: [Fixed(one) for one in outcomes]}, transcript({1: "Yes."})).outcome is outcome


def test_nothing_judged_is_no_pass(transcript: Any) -> None:
    found = evaluate({}, transcript({1: "Yes."}))
    assert found.outcome is ERROR
    assert found.reason == "nothing was judged: no check speaks of a reply of this run"


def test_every_check_is_evaluated_whatever_others_found(transcript: Any) -> None:
    checks = [Fixed(FAIL, "no"), Fixed(ERROR, "what?"), Fixed(PASS)]
    found = evaluate({1: checks, 3: [last := Fixed(FAIL, "nor this")]}, transcript({1: "a", 3: "b"}))
    assert [check.asked for check in (*checks, last)] == [1, 1, 1, 1]
    assert [(one.turn, one.name, one.outcome) for one in found.results] == [
        (1, "fixed", FAIL),
        (1, "fixed", ERROR),
        (1, "fixed", PASS),
        (3, "fixed", FAIL),
    ]


def test_the_reason_has_the_fails_first_each_with_its_turn_and_check(transcript: Any) -> None:
    checks = {1: [Fixed(ERROR, "what?"), Fixed(PASS)], 3: [Fixed(FAIL, "no:\n    really")]}
    found = evaluate(checks, transcript({1: "a", 3: "b"}))
    assert found.reason == "turn 3, fixed: no:\n    really\nturn 1, fixed: what?"
    assert [one.reason for one in found.results] == ["turn 1, fixed: what?", "", "turn 3, fixed: no:\n    really"]


def test_a_pass_has_no_reason(transcript: Any) -> None:
    assert evaluate({1: [Fixed(PASS)]}, transcript({1: "Yes."})).reason == ""


def test_a_check_that_raises_its_error_is_one(transcript: Any) -> None:
    found = evaluate({1: [Unusable(), Fixed(PASS)]}, transcript({1: "Yes."}))
    assert found.outcome is ERROR
    assert found.reason == "turn 1, unusable: words.txt: the word list is missing\n  write one"


def test_a_turn_that_the_run_did_not_generate_is_an_error(transcript: Any) -> None:
    found = evaluate({5: [Fixed(PASS)]}, transcript({1: "a", 3: "b"}))
    assert found.reason == "turn 5, fixed: this run generated no reply at 5; it generated: 1, 3"
    assert found.outcome is ERROR


def test_a_reason_is_bounded_in_lines_and_characters(transcript: Any) -> None:
    checks = [Fixed(FAIL, "line\n" * 10_000), Fixed(FAIL, "x" * 100_000)]
    lines, characters = evaluate({1: checks}, transcript({1: "Yes."})).results
    assert len(lines.reason.splitlines()) < 70
    assert lines.reason.startswith("turn 1, fixed: line\nline\n")
    assert len(characters.reason) < 4100


OF_EVERY_KIND = [
    Equals(("a b", "c")),
    Equals(("Straße",), ignore_case=True),
    Contains(("a", "ab")),
    ContainsAny(("ab c",), ignore_case=True),
    Excludes(("a", "ß"), ignore_case=True),
    Matches((re.compile(r"a+"),)),
    json_equals({"a": [1]}),
    json_contains([{"a": 1}]),
    json_schema({"type": "object"}),
    Number(Decimal(1)),
    Similar("a b"),
    Calls((ExpectedCall("a", {"b": 1}), ExpectedCall("c")), "unordered"),
    max_chars(3),
    Whole(),
    Finish(("length",)),
]


@given(st.text() | st.text('aAbB ß\n\x00\ud800{}[]":1,.'), st.text(max_size=8), st.text(max_size=8))
def test_no_reply_is_too_odd_to_be_judged(text: str, name: str, arguments: str) -> None:
    turn = Turn(1, Reply(text, calls=(ToolCall("call_1", name, arguments),)))
    found = evaluate({1: OF_EVERY_KIND}, Transcript((), (turn,)))
    assert [one.name for one in found.results] == [check.name for check in OF_EVERY_KIND]
    assert all(bool(one.reason) is (one.outcome is not PASS) for one in found.results)
    found.reason.encode()
