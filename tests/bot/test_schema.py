from __future__ import annotations

import collections.abc
import datetime
import enum
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

import pydantic
import pytest
from typing_extensions import TypedDict

from pytest_convo.bot.schema import Arguments, ArgumentsError, as_text
from pytest_convo.errors import FormatError


class Size(enum.Enum):
    SMALL = "s"
    LARGE = "l"


@dataclass
class Address:
    street: str
    number: int = 1


class Item(TypedDict):
    name: str
    count: int


class Order(pydantic.BaseModel):
    id: str
    items: list[Item] = []


def schema(function):
    return Arguments.of(function, "f").schema


def read(function, text):
    return Arguments.of(function, "f").read(text)


def property_of(function, name):
    return schema(function)["properties"][name]


def test_the_schema_of_a_plain_function():
    def look(order_id: str, deep: bool = False, limit: int | None = None):
        """Look an order up.

        Args:
            order_id: The number on the bill.
        """

    found = Arguments.of(look, "look")

    assert found.description == "Look an order up."
    assert found.schema == {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "order_id": {"type": "string", "description": "The number on the bill."},
            "deep": {"type": "boolean", "default": False},
            "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        },
        "required": ["order_id"],
    }


@pytest.mark.parametrize(
    "kind, expected, text, value",
    [
        (str, {"type": "string"}, '"a"', "a"),
        (int, {"type": "integer"}, '"5"', 5),
        (float, {"type": "number"}, "5", 5.0),
        (bool, {"type": "boolean"}, "true", True),
        (list[int], {"type": "array", "items": {"type": "integer"}}, "[1]", [1]),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}, '{"a": 1}', {"a": 1}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}, '"b"', "b"),
        (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}, "null", None),
        (int | str, {"anyOf": [{"type": "integer"}, {"type": "string"}]}, '"a"', "a"),
        (datetime.date, {"type": "string", "format": "date"}, '"2026-01-02"', datetime.date(2026, 1, 2)),
        (tuple[int, str], None, '[1, "a"]', (1, "a")),
        (Size, None, '"l"', Size.LARGE),
        (Address, None, '{"street": "A"}', Address("A")),
        (Item, None, '{"name": "tea", "count": "2"}', {"name": "tea", "count": 2}),
        (Order, None, '{"id": "A17"}', Order(id="A17")),
        (list[Address], None, '[{"street": "A", "number": 2}]', [Address("A", 2)]),
        (Any, {}, '{"x": [1]}', {"x": [1]}),
        (Annotated[int, pydantic.Field(ge=3)], {"type": "integer", "minimum": 3}, "3", 3),
        (Annotated[str, "a text about it"], {"type": "string", "description": "a text about it"}, '"x"', "x"),
    ],
    ids=str,
)
def test_types_as_schema_and_as_values(kind, expected, text, value):
    def f(x):
        pass

    f.__annotations__ = {"x": kind}

    assert expected is None or property_of(f, "x") == expected
    assert read(f, f'{{"x": {text}}}') == {"x": value}


def test_no_annotation_is_any_value():
    def f(x, y=3):
        pass

    assert schema(f)["properties"] == {"x": {}, "y": {"default": 3}}


def test_names_that_pydantic_keeps_for_itself():
    def f(schema: str, model_config: int, copy: str = "", _hidden: str = ""):
        pass

    assert list(schema(f)["properties"]) == ["schema", "model_config", "copy", "_hidden"]
    assert read(f, '{"schema": "a", "model_config": 1}') == {"schema": "a", "model_config": 1}


def test_a_property_named_title_is_kept():
    def f(title: str):
        pass

    assert property_of(f, "title") == {"type": "string"}


def test_none_as_default_admits_null_whatever_the_annotation():
    def f(x: str | None = None):
        pass

    assert read(f, '{"x": null}') == {"x": None}


def test_defaults_are_left_to_the_function():
    def f(x: str = "a", size: Size = Size.SMALL, thing: Any = object):
        pass

    assert read(f, "{}") == {}
    assert [one.get("default") for one in schema(f)["properties"].values()] == ["a", "s", None]


@pytest.mark.parametrize("text", ["", " ", "{}", "null"])
def test_no_arguments(text):
    assert read(lambda: None, text) == {}


@pytest.mark.parametrize(
    "text, message",
    [
        ('{"n": 1', "arguments: Invalid JSON"),
        ("[1]", "arguments: Input should be an object"),
        ('{"n": "one"}', "n: Input should be a valid integer"),
        ("{}", "n: Field required"),
        ('{"n": 1, "m": 2}', "m: Extra inputs are not permitted"),
        ('{"m": 2}', "n: Field required; m: Extra inputs"),
        ('{"n": 1, "deep": {"street": 5}}', "deep.street: Input should be a valid string"),
        ('{"n": 1, "\ud83d": 1}', "arguments: Input should be a valid string"),
    ],
)
def test_arguments_that_do_not_fit_are_described_to_the_model(text, message):
    def f(n: int, deep: Address | None = None):
        pass

    with pytest.raises(ArgumentsError) as raised:
        read(f, text)

    assert str(raised.value).startswith(message)


class Callable:
    def __call__(self, x: int):
        """What it does."""

    def method(self, x: int):
        """What it does."""


def two(a: int, x: int):
    """What it does."""


@pytest.mark.parametrize(
    "function", [Callable(), Callable().method, partial(two, 1)], ids=["object", "method", "partial"]
)
def test_callables_of_all_sorts(function):
    found = Arguments.of(function, "f")

    assert list(found.schema["properties"]) == ["x"]
    assert found.description == "What it does."


def star(*x):
    pass


def stars(**x):
    pass


def positional(x, /):
    pass


def unknown(x: Nowhere):  # noqa: F821
    pass


def unfit(fine: int, x: object()):
    pass


class Own:
    pass


def own(fine: int, x: Own):
    pass


def stream(fine: int, x: collections.abc.Callable[[], int]):
    pass


def test_functions_that_are_alike_share_a_schema_and_others_do_not():
    def made(default):
        def f(x=default):
            pass

        return f

    assert schema(made(1)) is schema(made(1))
    assert property_of(made(1), "x") == {"default": 1}
    assert property_of(made(True), "x")["default"] is True
    assert property_of(made([1]), "x") == {"default": [1]}


@pytest.mark.parametrize(
    "function, message",
    [
        (star, "has the parameter '*x'"),
        (stars, "has the parameter '**x'"),
        (positional, "has the parameter 'x'"),
        (unknown, "the signature of tool 'f' cannot be read: name 'Nowhere' is not defined"),
        (unfit, "parameter 'x' of tool 'f' has a type that JSON cannot hold"),
        (own, "parameter 'x' of tool 'f' has a type that JSON cannot hold"),
        (stream, "parameter 'x' of tool 'f' has a type that JSON cannot hold"),
    ],
)
def test_signatures_that_are_no_schema_are_errors_with_file_and_line(function, message):
    with pytest.raises(FormatError) as raised:
        Arguments.of(function, "f")

    error = raised.value
    assert message in error.what
    assert (error.path, error.line) == (__file__, function.__code__.co_firstlineno)
    assert error.hint
    assert str(error).count("\n") < 3


GIVEN = {
    "type": "object",
    "properties": {"order_id": {"type": "string"}, "limit": {"type": "integer"}},
    "required": ["order_id"],
}


def look(order_id: str, limit: float = 3):
    pass


@pytest.mark.parametrize(
    "change, found",
    [
        ({}, []),
        ({"required": ["order_id", "limit"]}, []),
        ({"properties": {"order_id": {"type": "string"}}}, []),
        ({"properties": {"order_id": {}}}, []),
        ({"properties": {"limit": {"type": "integer"}}}, ["the schema has no property 'order_id'"]),
        ({"properties": {"order_id": {}, "id": {}}}, ["the signature has no parameter 'id'"]),
        ({"required": []}, ["'order_id' has no default and is not required"]),
        ({"required": ["order_id", "id"]}, ["'id' is required and no property"]),
        (
            {"properties": {"order_id": {"type": "integer"}}},
            ["'order_id' is integer in the schema and string"],
        ),
        (
            {"properties": {"order_id": {}, "limit": {"type": "string"}}},
            ["'limit' is string in the schema and number"],
        ),
    ],
)
def test_a_hand_written_schema_is_held_against_the_signature(change, found):
    said = Arguments.of(look, "look").mismatches({**GIVEN, **change})

    assert [text.removesuffix(" in the signature") for text in said] == found


@pytest.mark.parametrize(
    "value, text",
    [
        ("as it stands", "as it stands"),
        ("", ""),
        (None, "null"),
        (5, "5"),
        ({"é": [1, 2.5, None]}, '{"é":[1,2.5,null]}'),
        (Address("A"), '{"street":"A","number":1}'),
        (Order(id="A17"), '{"id":"A17","items":[]}'),
        (Size.SMALL, '"s"'),
        (datetime.date(2026, 1, 2), '"2026-01-02"'),
        ({3}, "[3]"),
    ],
    ids=str,
)
def test_results_as_the_model_reads_them(value, text):
    assert as_text(value) == text
