from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field
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
from pytest_convo.check.run import Evaluation, Finding, ask, asks, evaluate
from pytest_convo.check.similar import Similar
from pytest_convo.check.text import Contains, ContainsAny, Equals, Excludes, Matches
from pytest_convo.conversation.message import ToolCall
from pytest_convo.conversation.reply import Reply
from pytest_convo.conversation.transcript import Transcript, Turn
from pytest_convo.errors import (
    CapReached,
    CheckError,
    ContextOverflow,
    ConvoError,
    FormatError,
    NoRecording,
    ProviderError,
    UnusableVerdict,
)
from pytest_convo.prompt.request import Request

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


@dataclass
class Asking:
    """A check that asks a model: it always finds the same, or raises it."""

    found: Outcome | Exception
    reason: str = ""
    asked: list[Any] = field(default_factory=list)
    name = "asking"
    calls = (1, 1)
    identity = ()

    def preview(self, reply: str) -> Request:
        return Request(None, ())

    async def ask(self, transcript: Any, turn: Any, around: Any) -> CheckResult:
        self.asked.append((turn.index, around))
        if isinstance(self.found, Exception):
            raise self.found
        return CheckResult(self.found, self.reason)


def answer(checks: Any, transcript: Any, around: Any = None) -> Evaluation:
    return asyncio.run(ask(checks, transcript, around, 0.2))


NOT_NOW = UnusableVerdict("not now")


def evaluation(*found: tuple[int, Outcome, bool]) -> Evaluation:
    return Evaluation(
        tuple(Finding(turn, "x", outcome, error=NOT_NOW if again else None) for turn, outcome, again in found)
    )


def test_checks_that_ask_are_asked_in_the_order_of_their_turns_whatever_they_find(transcript: Any) -> None:
    first, second, third = Asking(FAIL, "no"), Asking(ProviderError("gone", status=503)), Asking(PASS)
    found = answer({3: [third], 1: [first, Fixed(FAIL), second]}, transcript({1: "a", 3: "b"}), "around")
    assert [(one.turn, one.name, one.outcome) for one in found.results] == [
        (1, "asking", FAIL),
        (1, "asking", ERROR),
        (3, "asking", PASS),
    ]
    assert [check.asked for check in (first, second, third)] == [[(1, "around")], [(1, "around")] * 2, [(3, "around")]]
    assert found.reason == "turn 1, asking: no\nturn 1, asking: gone"


def test_each_check_is_made_once_by_who_looks_or_by_who_asks(transcript: Any) -> None:
    looks, asked = Fixed(PASS), Asking(PASS)
    checks = {1: [asked, looks]}
    assert [one.name for one in evaluate(checks, transcript({1: "a"})).results] == ["fixed"]
    assert [one.name for one in answer(checks, transcript({1: "a"})).results] == ["asking"]
    assert (looks.asked, len(asked.asked)) == (1, 1)


def test_whether_a_check_asks() -> None:
    assert asks({1: [Fixed(PASS)], 3: [Fixed(PASS), Asking(PASS)]})
    assert not asks({1: [Fixed(PASS)], 3: []})
    assert not asks({})


@pytest.mark.parametrize(
    ("error", "times"),
    [
        (ProviderError("gone", status=503), 2),
        (ProviderError("no such model", status=404), 1),
        (UnusableVerdict("no verdict"), 1),
        (CapReached("no more calls"), 1),
        (NoRecording("not recorded"), 1),
        (CheckError("no word list"), 1),
        (FormatError("wrong template"), 1),
        (ContextOverflow("too long for the judge"), 1),
    ],
)
def test_what_goes_wrong_with_the_model_is_an_error_and_never_a_fail_and_what_may_pass_is_tried_once_more(
    transcript: Any, error: ConvoError, times: int
) -> None:
    found = answer({1: [check := Asking(error)]}, transcript({1: "a"}))
    assert (found.outcome, found.unasked, len(check.asked)) == (ERROR, True, times)
    assert found.reason == f"turn 1, asking: {error}"


def test_a_model_that_hangs_is_given_up_after_its_time(transcript: Any) -> None:
    class Hanging(Asking):
        async def ask(self, transcript: Any, turn: Any, around: Any) -> CheckResult:
            self.asked.append(turn.index)
            await asyncio.sleep(60)
            return CheckResult.passed()

    found = answer({1: [check := Hanging(PASS)]}, transcript({1: "a"}))
    assert found.reason.startswith("turn 1, asking: the check asking did not end within 0.2 s")
    assert (found.outcome, check.asked) == (ERROR, [1, 1])


def test_a_turn_that_the_run_did_not_generate_is_nothing_to_ask_about(transcript: Any) -> None:
    found = answer({5: [check := Asking(PASS)]}, transcript({1: "a"}))
    assert found.reason == "turn 5, asking: this run generated no reply at 5; it generated: 1"
    assert (found.outcome, found.unasked, check.asked) == (ERROR, False, [])


@pytest.mark.parametrize(
    ("found", "unasked"),
    [
        ([], False),
        ([(1, PASS, False)], False),
        ([(1, ERROR, False)], False),
        ([(1, ERROR, True)], True),
        ([(1, ERROR, True), (1, PASS, False)], True),
        ([(1, ERROR, True), (3, ERROR, False)], True),
        ([(1, ERROR, True), (3, FAIL, False)], False),
    ],
)
def test_what_was_not_asked_matters_unless_a_fail_decides_anyway(found: Any, unasked: bool) -> None:
    assert evaluation(*found).unasked is unasked


FOUND = st.lists(st.tuples(st.integers(0, 4), st.sampled_from(Outcome), st.booleans()), max_size=6)


@given(FOUND, FOUND)
def test_two_evaluations_together_are_one_of_all_checks(one: Any, other: Any) -> None:
    one, other = sorted(one, key=lambda found: found[0]), sorted(other, key=lambda found: found[0])
    both = evaluation(*one) + evaluation(*other)
    assert both == evaluation(*sorted([*one, *other], key=lambda found: found[0]))
    outcomes = {evaluation(*some).outcome for some in (one, other) if some}
    assert both.outcome is next((outcome for outcome in (FAIL, ERROR, PASS) if outcome in outcomes), ERROR)


def test_nothing_beside_something_changes_nothing() -> None:
    found = evaluation((1, PASS, False))
    assert found + Evaluation(()) == Evaluation(()) + found == found
