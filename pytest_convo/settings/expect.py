"""What a conversation expects: the checks of its replies."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, model_validator

from .kinds import (
    Agreement,
    AtLeastOne,
    Json,
    JsonTable,
    Name,
    NotNegative,
    NotNegativeNumber,
    Number,
    Patterns,
    PatternTable,
    Positive,
    Python,
    Schema,
    Seconds,
    Share,
    Sought,
    Succession,
    Texts,
)
from .rules import is_index
from .table import Table
from .unfit import UnfitError

EXTRA_CHECKS = "extra_checks"
"""In the context of a validation: the names of the checks that a conftest adds."""

ADDED = "\0"
"""The key under which added checks travel into `ExpectTable.checks`: none that anybody could have written."""


class ExpectedNumber(Table):
    """The last number of a reply is at most `within` away from `value`."""

    value: Number = Field(description="the number")
    within: NotNegativeNumber = Field(0, description="how far off it may be")


class Similarity(Table):
    """The text is at least so similar to another, from 0 to 1."""

    to: Name = Field(description="the text to compare with")
    at_least: Share = Field(0.8, description="the least similarity, above 0 and at most 1")
    by: Literal["text", "embedding"] = Field(
        "text", description='"text": how many words they share; "embedding": in meaning, as [embeddings] measures it'
    )


class ExpectedCall(Table):
    """A tool call; without `arguments`, with whichever."""

    name: Name = Field(description="the tool's name")
    arguments: JsonTable | None = Field(None, description="its arguments; not given, any will do")
    arguments_match: PatternTable | None = Field(
        None, description="by argument, a regular expression that is found in its value"
    )
    arguments_schema: Schema | None = Field(
        None, description="the JSON schema, a table or a file, that all arguments together fit"
    )


class Criterion(Table):
    """What a judge judges a reply by; how often it is asked is `[judge]`'s where it is not given here."""

    criterion: Name = Field(description="what must hold of the reply, in words")
    model: Name | None = Field(None, description="the judge's model, for this criterion")
    runs: AtLeastOne | None = Field(None, description="independent judgements")
    agreement: Agreement | None = Field(None, description="the share of them that must be a pass")


def _criteria(value: Any) -> Any:
    """One criterion or several; a text is one."""
    several = value if isinstance(value, list | tuple) else [value]
    if not several:
        msg = "must name at least one criterion: an empty list judges nothing"
        raise UnfitError(msg, whole=True)
    return tuple({"criterion": one} if isinstance(one, str) else one for one in several)


Criteria = Annotated[tuple[Criterion, ...], Field(strict=False), BeforeValidator(_criteria)]


class ExpectTable(Table):
    """The checks of one reply; all that are given must hold."""

    equals: Texts | None = Field(None, description="the reply is this text, or one of these")
    contains: Sought | None = Field(None, description="the reply contains this text, or all of these")
    contains_any: Sought | None = Field(None, description="the reply contains at least one of these texts")
    excludes: Sought | None = Field(None, description="the reply contains none of these texts")
    matches: Patterns | None = Field(None, description="this regular expression, or each of these, is found in it")
    ignore_case: bool = Field(False, description="for the checks of text beside it: upper and lower case are alike")
    json_schema: Schema | None = Field(None, description="the reply is JSON that fits this schema, a table or a file")
    json_equals: Json | None = Field(None, description="the reply is JSON and equals this value")
    json_contains: Json | None = Field(None, description="the reply is JSON and contains this value")
    number: ExpectedNumber | None = Field(None, description="the last number in the reply")
    similar: Similarity | None = Field(None, description="the reply is similar to a text")
    calls: Annotated[tuple[ExpectedCall, ...], Field(strict=False)] | None = Field(
        None, description="the tool calls of the turn"
    )
    calls_order: Literal["strict", "unordered", "subset", "superset"] = Field(
        "strict", description="how the tool calls of the turn are compared with `calls`"
    )
    called_before: Succession | None = Field(
        None, description="tools that are all called, each for the first time before the next is"
    )
    not_called: Sought | None = Field(None, description="a tool, or several, that the turn must not call")
    max_calls: NotNegative | None = Field(None, description="tool calls of the turn, at most")
    judge: Criteria | None = Field(None, description="a criterion by which a model judges the reply, or several")
    approved: Literal["exact", "normalized", "json", "similar", "judge"] | None = Field(
        None, description="how the reply must be like the approved one, the assistant file of its turn"
    )
    max_chars: AtLeastOne | None = Field(None, description="characters of the reply, at most")
    max_words: AtLeastOne | None = Field(None, description="words of the reply, at most")
    max_tokens: AtLeastOne | None = Field(None, description="tokens of the reply, at most")
    max_seconds: Seconds | None = Field(None, description="duration of the turn, at most")
    max_usd: Positive | None = Field(None, description="cost of the turn in US dollars, at most")
    finish_reason: Sought | None = Field(None, description="how the reply ended, or one of several ways")
    python: Python | None = Field(None, description='a function that judges, as "checks.py:polite"')
    checks: dict[str, Any] = Field(
        default_factory=dict, validation_alias=ADDED, description="what the checks of a conftest are given"
    )

    @model_validator(mode="before")
    @classmethod
    def _set_added_checks_apart(cls, value: Any, info: ValidationInfo) -> Any:
        added: Collection[str] = (info.context or {}).get(EXTRA_CHECKS, ())
        if not added or not isinstance(value, Mapping):
            return value
        found = {key: setting for key, setting in value.items() if key in added and key not in cls.model_fields}
        return {key: setting for key, setting in value.items() if key not in found} | {ADDED: found}


class Expect(Table):
    """The checks of a conversation: of its last reply, and of the replies at given indexes."""

    last: ExpectTable = Field(default_factory=ExpectTable, description="of the last reply")
    turns: dict[int, ExpectTable] = Field(default_factory=dict, description="of the reply at each index")

    @model_validator(mode="before")
    @classmethod
    def _from_table(cls, value: Any) -> Any:
        """`[expect]` holds the last reply's checks, and beside them the tables `[expect.N]`."""
        if not isinstance(value, Mapping) or _is_built(value):
            return value
        return {
            "last": {key: setting for key, setting in value.items() if not is_index(key)},
            "turns": {int(key): table for key, table in value.items() if is_index(key)},
        }


def _is_built(value: Mapping[str, Any]) -> bool:
    """Whether it is Python that speaks, not a file: `Expect(last=ExpectTable(...))`."""
    tables = [value.get("last"), *(value["turns"].values() if isinstance(value.get("turns"), dict) else ())]
    return any(isinstance(table, ExpectTable) for table in tables)
