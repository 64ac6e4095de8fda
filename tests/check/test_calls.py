from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from pytest_convo.check.call import ExpectedCall
from pytest_convo.check.calls import Calls
from pytest_convo.conversation.message import ToolCall

if TYPE_CHECKING:
    from .conftest import Judge


def made(*calls: str | tuple[str, Any]) -> tuple[ToolCall, ...]:
    pairs = [(call, {}) if isinstance(call, str) else call for call in calls]
    texts = [(name, given if isinstance(given, str) else json.dumps(given)) for name, given in pairs]
    return tuple(ToolCall(f"call_{number}", name, text) for number, (name, text) in enumerate(texts))


def expected(*calls: str | tuple[str, dict]) -> tuple[ExpectedCall, ...]:
    return tuple(ExpectedCall(call) if isinstance(call, str) else ExpectedCall(*call) for call in calls)


@pytest.mark.parametrize(
    ("wanted", "calls", "orders"),
    [
        ("", "", "strict unordered subset superset"),
        ("a", "a", "strict unordered subset superset"),
        ("ab", "ab", "strict unordered subset superset"),
        ("ab", "ba", "unordered subset superset"),
        ("ab", "a", "subset"),
        ("a", "ab", "superset"),
        ("a", "aa", "superset"),
        ("aa", "a", "subset"),
        ("a", "", "subset"),
        ("", "a", "superset"),
        ("a", "b", ""),
        ("ab", "bc", ""),
    ],
)
def test_the_orders(judge: Judge, wanted: str, calls: str, orders: str) -> None:
    held = [
        order
        for order in ("strict", "unordered", "subset", "superset")
        if judge.passes(Calls(expected(*wanted), order), calls=made(*calls))  # type: ignore[arg-type]
    ]
    assert held == orders.split()


@pytest.mark.parametrize(
    ("arguments", "given", "fits"),
    [
        (None, {"id": 1}, True),
        (None, "not json", True),
        ({"id": "A17"}, {"id": "A17"}, True),
        ({"id": "A17"}, {"id": "A17", "lang": "en"}, True),
        ({"id": "A17"}, {"id": "A18"}, False),
        ({"id": "A17"}, {}, False),
        ({"id": 1}, {"id": 1.0}, True),
        ({"id": 1}, {"id": True}, False),
        ({"id": {"a": 1}}, {"id": {"a": 1, "b": 2}}, False),
        ({"ids": [1, 2]}, {"ids": [2, 1]}, False),
        ({"id": 1}, "not json", False),
        ({"id": 1}, "[1]", False),
        ({}, {}, True),
        ({}, "", True),
        ({}, {"id": 1}, False),
    ],
)
def test_the_arguments_that_are_expected_must_be_there(arguments: dict | None, given: Any, fits: bool) -> None:
    [call] = made(("lookup", given))
    assert ExpectedCall("lookup", arguments).fits(call) is fits
    assert not ExpectedCall("other", arguments).fits(call)


def test_unordered_calls_are_paired_as_well_as_can_be(judge: Judge) -> None:
    wanted = expected("lookup", ("lookup", {"id": 1}))
    assert judge.passes(Calls(wanted, "unordered"), calls=made(("lookup", {"id": 1}), ("lookup", {"id": 2})))


def test_expected_and_made_stand_side_by_side(judge: Judge) -> None:
    wanted = expected(("lookup", {"id": "A17"}), ("refund", {"amount": 20, "to": "card"}), "notify")
    calls = made(("lookup", {"id": "A17"}), ("search", {"q": "x"}), ("refund", {"amount": 25, "why": "late"}))
    assert judge.why(Calls(wanted), calls=calls) == (
        'turn 1, calls: 3 expected, 3 made (calls_order = "strict")\n'
        "      expected                      made\n"
        '    = lookup(id="A17")              lookup(id="A17")\n'
        '    +                               search(q="x")\n'
        '    ! refund(amount=20, to="card")  refund(amount=25, why="late")\n'
        "        amount: expected 20, got 25\n"
        '        to: expected "card", it is missing\n'
        "    - notify(…)"
    )


def test_the_right_calls_in_another_order_are_told_so(judge: Judge) -> None:
    assert judge.why(Calls(expected("a", "b")), calls=made("b", "a")) == (
        'turn 1, calls: 2 expected, 2 made (calls_order = "strict"): the right calls in another order\n'
        "      expected  made\n"
        "    - a(…)\n"
        "    = b(…)      b()\n"
        "    +           a()"
    )


def test_calls_that_should_not_have_been_made_are_listed(judge: Judge) -> None:
    assert judge.why(Calls(()), calls=made(("refund", "{broken"))) == (
        'turn 1, calls: 0 expected, 1 made (calls_order = "strict")\n'
        "      expected  made\n"
        "    +           refund({broken)"
    )


def test_arguments_that_are_no_object_are_shown_as_they_are(judge: Judge) -> None:
    why = judge.why(Calls(expected(("f", {"a": 1}))), calls=made(("f", '{"a": 1')))
    assert '    ! f(a=1)    f({"a": 1)\n        the arguments are no JSON object' in why
    why = judge.why(Calls(expected(("f", {}))), calls=made(("f", {"a": 1})))
    assert "    ! f()       f(a=1)\n        expected no arguments" in why


def test_the_table_of_many_calls_is_bounded(judge: Judge) -> None:
    calls = made(*(("lookup", {"text": "x" * 1000}) for _ in range(100)))
    why = judge.why(Calls(expected("other")), calls=calls)
    assert len(why.splitlines()) < 60
    assert "more lines…" in why
