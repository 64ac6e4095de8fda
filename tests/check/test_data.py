from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_convo.check.data import json_contains, json_equals, json_schema
from pytest_convo.check.schema import schema_fault

if TYPE_CHECKING:
    from .conftest import Judge

ORDER = {"id": "A17", "items": [{"name": "tea", "price": 5}, {"name": "cup", "price": 7}]}
REPLY = '{"id": "A17", "items": [{"name": "tea", "price": 5}, {"name": "cup", "price": 7}]}'
FENCED = f"Here it is:\n```json\n{REPLY}\n```\nAnything else?"


@pytest.mark.parametrize("reply", [REPLY, FENCED, f"  {REPLY}\n"])
def test_the_reply_or_its_one_fenced_block_is_read(judge: Judge, reply: str) -> None:
    assert judge.passes(json_equals(ORDER), reply)
    assert judge.passes(json_contains({"items": [{"name": "cup"}]}), reply)
    assert judge.passes(json_schema({"required": ["id"]}), reply)


@pytest.mark.parametrize(
    ("value", "reply", "holds"),
    [
        ({"a": 1}, '{"a": 1.0}', True),
        ({"a": 1}, '{"a": true}', False),
        ({"a": 1}, '{"a": 1, "b": 2}', False),
        ([1, 2], "[1, 2]", True),
        ([1, 2], "[2, 1]", False),
        ("tea", '"tea"', True),
        (False, "false", True),
    ],
)
def test_json_equals_compares_values(judge: Judge, value: Any, reply: str, holds: bool) -> None:
    assert judge.passes(json_equals(value), reply) is holds


def test_json_equals_names_every_place_that_differs(judge: Judge) -> None:
    wanted = {"id": 17, "items": ORDER["items"], "currency": "EUR"}
    assert judge.why(json_equals(wanted), REPLY) == (
        "turn 1, json_equals: the JSON differs in 2 places:\n"
        '    $.id: expected 17, got "A17"\n'
        '    $.currency: missing, expected "EUR"\n'
        "  the reply:\n"
        f"    | {REPLY}"
    )


def test_json_contains_names_what_is_lacking_and_what_came_nearest(judge: Judge) -> None:
    assert judge.why(json_contains({"items": [{"name": "cup", "price": 8}]}), REPLY) == (
        "turn 1, json_contains: the JSON lacks what is expected in one place:\n"
        '    $.items: no item contains {"name": "cup", "price": 8} (nearest: $.items[1].price: expected 8, got 7)\n'
        "  the reply:\n"
        f"    | {REPLY}"
    )


SCHEMA = {
    "type": "object",
    "properties": {"items": {"items": {"$ref": "#/$defs/item"}}},
    "required": ["id", "currency"],
    "$defs": {"item": {"properties": {"price": {"type": "string"}}}},
}


def test_json_schema_names_the_path_and_the_rule(judge: Judge) -> None:
    assert judge.why(json_schema(SCHEMA), REPLY) == (
        "turn 1, json_schema: the JSON does not fit the schema in 3 places:\n"
        "    $: 'currency' is a required property\n"
        "    $.items[0].price: 5 is not of type 'string'\n"
        "    $.items[1].price: 7 is not of type 'string'\n"
        "  the reply:\n"
        f"    | {REPLY}"
    )


def test_of_alternatives_the_one_that_nearly_fits_is_told(judge: Judge) -> None:
    schema = {"anyOf": [{"type": "string"}, {"properties": {"items": {"maxItems": 1}}}]}
    assert "$.items: [{'name': 'tea'" in judge.why(json_schema(schema), REPLY)


def test_the_schema_s_own_draft_is_used(judge: Judge) -> None:
    pair = {"items": [{"type": "integer"}, {"type": "string"}]}
    old = {"$schema": "http://json-schema.org/draft-07/schema#", **pair}
    assert not judge.passes(json_schema(old), "[1, 2]")
    assert schema_fault(old) == ""
    assert "items" in schema_fault(pair)


def test_a_true_schema_takes_any_json_and_a_false_one_none(judge: Judge) -> None:
    assert judge.passes(json_schema(True), "[]")
    assert not judge.passes(json_schema(False), "[]")


def test_format_is_an_annotation(judge: Judge) -> None:
    assert judge.passes(json_schema({"format": "date"}), '"tomorrow"')


@pytest.mark.parametrize("reference", ["http://127.0.0.1:9/schema.json", "#/$defs/none", "other.json#/x"])
def test_a_reference_out_of_the_schema_is_an_error_and_fetches_nothing(judge: Judge, reference: str) -> None:
    error = judge.error(json_schema({"$ref": reference}), "1")
    assert error.startswith("turn 1, json_schema: the schema refers to what is not in it: ")
    assert "$defs" in error


@pytest.mark.parametrize(("schema", "reply"), [({"$ref": "#"}, "1"), ({"multipleOf": 0.5}, "1" + "0" * 400)])
def test_a_schema_that_cannot_be_applied_is_an_error(judge: Judge, schema: Any, reply: str) -> None:
    assert "the schema cannot be applied to this reply: " in judge.error(json_schema(schema), reply)


@pytest.mark.parametrize(
    ("schema", "fault"),
    [
        ({"type": "object", "properties": {"a": {"type": "sting"}}}, "$.properties.a.type: 'sting' is not valid"),
        ({"pattern": "("}, "$.pattern: '(' is not a 'regex'"),
        ([], "$: [] is not of type"),
    ],
)
def test_a_faulty_schema_is_told_by_its_place(schema: Any, fault: str) -> None:
    assert schema_fault(schema).startswith(fault)


@pytest.mark.parametrize(
    ("reply", "what"),
    [
        ("tea", "the reply is not JSON (Expecting value: line 1 column 1 (char 0)) and holds 0 fenced blocks"),
        ("```\n1\n```\n```\n2\n```", "and holds 2 fenced blocks, not one"),
        ("```json\n{'a': 1}\n```", "the fenced block in the reply is not JSON (Expecting property name"),
        ("", "the reply is not JSON"),
        ("[" * 200_000, "the reply is nested too deeply to be read as JSON"),
        ("9" * 5000, "the reply is not JSON"),
    ],
)
def test_what_is_no_json_fails_and_is_shown(judge: Judge, reply: str, what: str) -> None:
    for check in (json_equals(1), json_contains(1), json_schema({"type": "null"})):
        why = judge.why(check, reply)
        assert what in why.splitlines()[0]
        assert "  the reply:" in why
        assert len(why) < 1500
