"""What convo.toml can say, and its defaults."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from .kinds import (
    Agreement,
    AtLeastOne,
    CaseId,
    EnvironmentName,
    File,
    Json,
    JsonTable,
    Name,
    NotNegative,
    NotNegativeNumber,
    Number,
    Patterns,
    Positive,
    Python,
    Rate,
    Regenerate,
    Request,
    Schema,
    Seconds,
    Share,
    Sought,
    Texts,
    Url,
    Variables,
    Version,
)
from .rules import UnfitError, is_index

EXTRA_CHECKS = "extra_checks"
"""In the context of a validation: the names of the checks that a conftest adds."""

ADDED = "\0"
"""The key under which added checks travel into `ExpectTable.checks`: none that anybody could have written."""


class Table(BaseModel):
    """A table of convo.toml: an unknown key is an error, and no value is turned into another type."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class PriceSettings(Table):
    """What the bot costs, whichever model it is: US dollars for a million tokens."""

    input: NotNegativeNumber = Field(description="tokens of the prompt")
    output: NotNegativeNumber = Field(description="tokens of the answer")
    cached: NotNegativeNumber | None = Field(
        None, description="tokens of the prompt that the server had in its cache; else as `input`"
    )


class LimitSettings(Table):
    """How fast a server may be asked, by all workers together; waiting does not count against `timeout`."""

    requests_per_minute: Positive | None = Field(None, description="requests, evenly spaced, retries included")
    tokens_per_minute: Positive | None = Field(None, description="tokens, of prompts and answers")


class RecordSettings(Table):
    """What is recorded of a run, and what is kept out of everything that is written or shown."""

    tools: Literal["check", "replay"] = Field(
        "check", description='"check": a tool that answers otherwise than recorded is told of; "replay": not called'
    )
    secrets: Patterns = Field((), description="what these regular expressions find is never written or shown")


class BotSettings(Table):
    """Who answers, and how it is asked."""

    model: Name | None = Field(None, description="the model's name, as the server has it")
    provider: Name = Field("openai", description='"openai" (any compatible server), "scripted", or one of a conftest')
    base_url: Url | None = Field(None, description="the server's address; else OPENAI_BASE_URL, else the SDK's own")
    api_key_env: EnvironmentName = Field("OPENAI_API_KEY", description="the environment variable that holds the key")
    temperature: Number | None = Field(None, description="sent exactly as given; not given, it is not sent")
    tool_rounds: NotNegative = Field(10, description="rounds of tool calls in one turn")
    retries: NotNegative = Field(5, description="how often a request that failed for the moment is sent again")
    request: Request = Field(
        default_factory=dict, description="any further field of the request: seed, top_p, max_tokens ..."
    )
    price: PriceSettings | None = Field(None, description="US dollars for a million tokens; else a kept list is asked")


class ExpectedNumber(Table):
    """The last number of a reply is at most `within` away from `value`."""

    value: Number = Field(description="the number")
    within: NotNegativeNumber = Field(0, description="how far off it may be")


class Similarity(Table):
    """The text is at least so similar to another, from 0 to 1."""

    to: Name = Field(description="the text to compare with")
    at_least: Share = Field(0.8, description="the least similarity, above 0 and at most 1")


class ExpectedCall(Table):
    """A tool call; without `arguments`, with whichever."""

    name: Name = Field(description="the tool's name")
    arguments: JsonTable | None = Field(None, description="its arguments; not given, any will do")


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


class Common(Table):
    """What a conversation can set, and what each of its cases can set otherwise."""

    runs: AtLeastOne = Field(1, description="redundant runs")
    agreement: Agreement = Field(
        Fraction(4, 5), description='the share of the runs that must pass, as 0.8 or "2/3"; or "sprt"'
    )
    good: Rate = Field(0.95, description='for agreement = "sprt": the pass rate of a good bot')
    bad: Rate = Field(0.7, description='for agreement = "sprt": the pass rate of a bad bot')
    prompt: File | None = Field(None, description="the system prompt; else prompt.md or prompt.md.j2, here or above")
    regenerate: Regenerate = Field("holes", description="which turns the bot answers, though a file stands there")
    timeout: Seconds = Field(120.0, description='of one run, all turns: "120s", "500ms", "2m", or seconds')
    bot: BotSettings = Field(default_factory=BotSettings, description="who answers")
    limits: LimitSettings = Field(default_factory=LimitSettings, description="how fast the server may be asked")
    record: RecordSettings = Field(default_factory=RecordSettings, description="what is recorded, and what never")
    vars: Variables = Field(default_factory=dict, description="variables of the templates (.j2)")
    expect: Expect = Field(
        default_factory=Expect, description="checks of the last reply; [expect.N] of the reply at index N"
    )


class Case(Common):
    """One `[[case]]`: a conversation with other variables or settings, judged by itself.

    What it does not set is the conversation's; `model_fields_set` says what it sets.
    """

    id: CaseId = Field(description="the case's name, part of node ids")


class Settings(Common):
    """Everything that convo.toml can say.

    As resolved for one conversation or case, `case` is empty: what the case sets is in its place already.
    """

    version: Version = Field(1, description="of the format of this file")
    case: Annotated[tuple[Case, ...], Field(strict=False)] = Field((), description="each case is judged by itself")

    @field_validator("case")
    @classmethod
    def _each_id_once(cls, cases: tuple[Case, ...]) -> tuple[Case, ...]:
        ids = [case.id for case in cases]
        for number, id_ in enumerate(ids):
            if id_ in ids[:number]:
                msg = f"is the id of an earlier case already: {id_}"
                raise UnfitError(msg, hint="each case has an id of its own", at=(number, "id"), whole=True)
        return cases
