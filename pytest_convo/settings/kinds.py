"""The kinds of values that settings have: the type in Python, the rule it obeys, and its JSON schema."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, PlainSerializer, PlainValidator, WithJsonSchema

from . import rules, wording


def _described(**schema: Any) -> WithJsonSchema:
    return WithJsonSchema(schema)


_TEXT_OR_LIST = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}, "minItems": 1}]}
_SOME_TEXT = {"type": "string", "minLength": 1}
_SOUGHT = {"anyOf": [_SOME_TEXT, {"type": "array", "items": _SOME_TEXT, "minItems": 1}]}
_INDEX = {"type": "integer", "minimum": 0, "maximum": rules.MAX_INDEX}
_DURATION_SCHEMA = {
    "anyOf": [
        {"type": "string", "pattern": r"^\s*([0-9]+(\.[0-9]+)?|\.[0-9]+) ?(ms|s|m|h)\s*$"},
        {"type": "number", "exclusiveMinimum": 0},
    ]
}

AtLeastOne = Annotated[int, Field(ge=1)]
NotNegative = Annotated[int, Field(ge=0)]
Number = Annotated[int | float, PlainValidator(rules.number), _described(type="number")]
"""As it is given: an integer stays one."""
Positive = Annotated[int | float, PlainValidator(rules.positive), _described(type="number", exclusiveMinimum=0)]
NotNegativeNumber = Annotated[int | float, PlainValidator(rules.not_negative), _described(type="number", minimum=0)]
Share = Annotated[float, PlainValidator(rules.share), _described(type="number", exclusiveMinimum=0, maximum=1)]
Rate = Annotated[float, PlainValidator(rules.rate), _described(type="number", exclusiveMinimum=0, exclusiveMaximum=1)]
Seconds = Annotated[float, PlainValidator(rules.seconds), WithJsonSchema(_DURATION_SCHEMA)]
Version = Annotated[Literal[1], PlainValidator(rules.version), _described(const=1)]
Agreement = Annotated[
    Fraction | Literal["sprt"],
    PlainValidator(rules.agreement),
    _described(
        anyOf=[
            {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
            {"type": "string", "pattern": r"^\s*([0-9]+/[0-9]+|[0-9]*\.?[0-9]*([eE][+-]?[0-9]+)?|sprt)\s*$"},
        ]
    ),
]
Threshold = Annotated[
    Fraction,
    PlainValidator(rules.threshold),
    _described(
        anyOf=[
            {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
            {"type": "string", "pattern": r"^\s*([0-9]+/[0-9]+|[0-9]*\.?[0-9]*([eE][+-]?[0-9]+)?)\s*$"},
        ]
    ),
]
Equivalence = Annotated[
    str,
    PlainValidator(rules.equivalence),
    _described(
        anyOf=[{"enum": list(rules.EQUIVALENCES)}, {"type": "string", "pattern": r"^python:.+\.py:[^\W\d]\w*$"}]
    ),
]
Regenerate = Annotated[
    Literal["holes", "last", "all"] | tuple[int, ...],
    PlainValidator(rules.regenerate),
    _described(anyOf=[{"enum": ["holes", "last", "all"]}, {"type": "array", "items": _INDEX, "minItems": 1}]),
]
Name = Annotated[str, PlainValidator(wording.name), WithJsonSchema(_SOME_TEXT)]
Texts = Annotated[tuple[str, ...], PlainValidator(wording.texts), WithJsonSchema(_TEXT_OR_LIST)]
Sought = Annotated[tuple[str, ...], PlainValidator(wording.sought), WithJsonSchema(_SOUGHT)]
Patterns = Annotated[tuple[str, ...], PlainValidator(wording.patterns), WithJsonSchema(_SOUGHT)]
Pattern = Annotated[str, PlainValidator(wording.pattern), WithJsonSchema(_SOME_TEXT)]
PatternTable = Annotated[
    dict[str, str], PlainValidator(wording.pattern_table), _described(type="object", additionalProperties=_SOME_TEXT)
]
Succession = Annotated[
    tuple[str, ...],
    PlainValidator(wording.succession),
    _described(type="array", items=_SOME_TEXT, minItems=2),
]
File = Annotated[Path, PlainValidator(rules.path), WithJsonSchema(_SOME_TEXT)]
Files = Annotated[tuple[Path, ...], PlainValidator(rules.paths), WithJsonSchema(_TEXT_OR_LIST)]
SomeFiles = Annotated[tuple[Path, ...], PlainValidator(rules.some_paths), WithJsonSchema(_TEXT_OR_LIST)]
"""At least one."""
Bytes = Annotated[
    int,
    PlainValidator(rules.size),
    _described(
        anyOf=[
            {"type": "string", "pattern": r"^\s*[0-9]+(\.[0-9]+)? ?[kmgtKMGT]?[iI]?[bB]?\s*$"},
            {"type": "integer", "exclusiveMinimum": 0},
        ]
    ),
]
Names = Annotated[
    tuple[str, ...],
    PlainValidator(rules.environment_names),
    _described(type="array", items={"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"}),
]
Schema = Annotated[
    dict[str, Any] | Path, PlainValidator(rules.schema), _described(anyOf=[{"type": "object"}, _SOME_TEXT])
]
Python = Annotated[str, PlainValidator(rules.python), _described(type="string", pattern=r"^.+\.py:[^\W\d]\w*$")]
_FUNCTION_SCHEMA = {"type": "string", "pattern": r"^.+\.py:[^\W\d]\w*$"}
Functions = Annotated[
    tuple[str | Callable[..., Any], ...],
    PlainValidator(rules.functions),
    PlainSerializer(rules.function_names, return_type=list[str], when_used="json"),
    _described(anyOf=[_FUNCTION_SCHEMA, {"type": "array", "items": _FUNCTION_SCHEMA}]),
]
BotName = Annotated[
    str, PlainValidator(rules.bot_name), _described(type="string", pattern="^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$")
]
EnvironmentName = Annotated[
    str, PlainValidator(rules.environment_name), _described(type="string", pattern="^[A-Za-z_][A-Za-z0-9_]*$")
]
Url = Annotated[str, PlainValidator(rules.url), _described(type="string", pattern="^https?://.+$")]
CaseId = Annotated[str, PlainValidator(rules.case_id), _described(type="string", pattern=r"^[A-Za-z0-9._-]{1,100}$")]
Variables = Annotated[dict[str, Any], PlainValidator(rules.variables), _described(type="object")]
Request = Annotated[dict[str, Any], PlainValidator(rules.request), _described(type="object")]
JsonTable = Annotated[dict[str, Any], PlainValidator(rules.json_table), _described(type="object")]
Json = Annotated[Any, PlainValidator(rules.json), WithJsonSchema({})]
