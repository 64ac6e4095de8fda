from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_convo.check.call import ExpectedCall
from pytest_convo.check.calls import Calls
from pytest_convo.check.schema import load_schema
from pytest_convo.conversation.message import ToolCall
from pytest_convo.errors import CheckError

if TYPE_CHECKING:
    from .conftest import Judge

AMOUNT = {"type": "object", "required": ["amount"], "properties": {"amount": {"type": "number", "maximum": 50}}}


def call(arguments: Any, name: str = "refund") -> ToolCall:
    return ToolCall("call_1", name, arguments if isinstance(arguments, str) else json.dumps(arguments))


@pytest.mark.parametrize(
    ("pattern", "value", "found"),
    [
        (r"^A\d+$", "A17", True),
        (r"^A\d+$", "xA17", False),
        (r"\d", "A17", True),
        (re.compile("a17", re.IGNORECASE), "A17", True),
        ("a17", "A17", False),
        (r"^17$", 17, True),
        (r"^17\.5$", 17.5, True),
        (r"^true$", True, True),
        (r"^null$", None, True),
        (r'^\["a",1\]$', ["a", 1], True),
        (r'^\{"to":"Zoë"\}$', {"to": "Zoë"}, True),
        (r'^"', "A17", False),
        ("[[A]17", "A17", True),
    ],
)
def test_a_pattern_is_searched_for_in_the_text_of_a_value(pattern: Any, value: Any, found: bool) -> None:
    assert ExpectedCall("refund", patterns={"id": pattern}).fits(call({"id": value, "else": 1})) is found


def test_values_patterns_and_schema_must_all_hold() -> None:
    wanted = ExpectedCall("refund", {"id": "A17"}, {"to": "@"}, AMOUNT)
    good = {"id": "A17", "to": "a@b.c", "amount": 20}
    assert wanted.fits(call(good))
    for wrong in ({"id": "A18"}, {"to": "card"}, {"amount": 60}, {"amount": "20"}):
        assert not wanted.fits(call(good | wrong))
    for lacking in good:
        assert not wanted.fits(call({key: value for key, value in good.items() if key != lacking}))


def test_each_fault_is_one_line() -> None:
    wanted = ExpectedCall("refund", {"id": "A17"}, {"to": "@", "why": re.compile("late|lost")}, AMOUNT)
    assert wanted.faults(call({"id": "B2", "to": "card"})) == [
        'id: expected "A17", got "B2"',
        'to: expected a match of /@/, got "card"',
        "why: expected a match of /late|lost/, it is missing",
        "the arguments: 'amount' is a required property",
    ]
    assert ExpectedCall("refund", schema=AMOUNT).faults(call({"amount": 60})) == [
        "amount: 60 is greater than the maximum of 50"
    ]


@pytest.mark.parametrize("wanted", [ExpectedCall("refund", patterns={"a": "."}), ExpectedCall("refund", schema=AMOUNT)])
@pytest.mark.parametrize("arguments", ["{broken", "[1]", "null"])
def test_arguments_that_are_no_object_fit_no_pattern_and_no_schema(wanted: ExpectedCall, arguments: str) -> None:
    assert wanted.faults(call(arguments)) == ["the arguments are no JSON object"]


def test_a_schema_that_refuses_everything_is_one() -> None:
    assert ExpectedCall("refund", schema=False).faults(call({}))
    assert ExpectedCall("refund", schema=True).fits(call({"any": 1}))


@pytest.mark.parametrize(
    ("wanted", "shown"),
    [
        (ExpectedCall("refund"), "refund(…)"),
        (ExpectedCall("refund", {}), "refund()"),
        (ExpectedCall("refund", {"id": 1}, {"to": "@\n"}), r"refund(id=1, to~/@\n/)"),
        (ExpectedCall("refund", patterns={"to": re.compile("@")}), "refund(to~/@/)"),
        (ExpectedCall("refund", schema=AMOUNT), "refund(fitting the schema)"),
    ],
)
def test_how_it_is_shown(wanted: ExpectedCall, shown: str) -> None:
    assert str(wanted) == shown


def test_what_is_off_stands_beside_the_call(judge: Judge) -> None:
    wanted = ExpectedCall("refund", patterns={"to": "@"}, schema=AMOUNT)
    assert judge.why(Calls((wanted,)), calls=(call({"to": "card", "amount": 60}),)) == (
        'turn 1, calls: 1 expected, 1 made (calls_order = "strict")\n'
        "      expected                            made\n"
        '    ! refund(to~/@/, fitting the schema)  refund(to="card", amount=60)\n'
        '        to: expected a match of /@/, got "card"\n'
        "        amount: 60 is greater than the maximum of 50"
    )


def test_a_schema_that_says_nothing_makes_the_check_unusable(judge: Judge) -> None:
    wanted = ExpectedCall("refund", schema={"$ref": "https://example.org/amount"})
    assert "refers to what is not in it" in judge.error(Calls((wanted,)), calls=(call({}),))


def test_a_schema_is_read_from_a_file_or_taken_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "amount.json"
    path.write_text(json.dumps(AMOUNT))
    assert load_schema(path) == load_schema(AMOUNT) == AMOUNT


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (None, "cannot be read: No such file"),
        ("{", "is not JSON"),
        ('{"type": "objekt"}', "is no JSON schema: $.type: 'objekt' is not valid"),
        ("[]", "is no JSON schema"),
    ],
)
def test_a_file_that_holds_no_schema_is_a_mistake(tmp_path: Path, text: str | None, fault: str) -> None:
    path = tmp_path / "amount.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(CheckError) as raised:
        load_schema(path)
    assert raised.value.what.startswith(fault)
    assert raised.value.path == path
