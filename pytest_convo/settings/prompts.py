"""What is said before the first message, how much of it fits, and who puts into fewer words what does not."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, GetJsonSchemaHandler, model_validator
from pydantic_core import CoreSchema

from .bots import OtherSettings
from .kinds import AtLeastOne, File, NotNegative, SomeFiles
from .short import Short
from .table import Table

SUMMARY = "summary.md.j2"
"""What the summarizer is told, where no setting says it: the nearest file of this name."""

LEAST = 32
"""Tokens below which nothing can be summarized."""


class PromptSettings(Table):
    """What a request is made of; a text or a list in its place are its files."""

    files: SomeFiles | None = Field(
        None, description="the system prompt, of one file or of several; else prompt.md or prompt.md.j2, here or above"
    )
    style: Literal["messages", "xml", "text"] = Field(
        "messages", description='how a request is written: "messages", or as one text for models without roles'
    )
    budget: AtLeastOne | None = Field(None, description="tokens that a request and its answer may have together")
    reserve: NotNegative | None = Field(
        None, description="of them for the answer; else max_tokens or max_completion_tokens of [bot.request], else none"
    )
    on_overflow: Literal["error", "trim", "summarize"] = Field(
        "error",
        description='what is done with what does not fit: leave the oldest out ("trim"), or shorten it',
    )
    tokenizer: Literal["auto", "estimate"] = Field(
        "auto", description='how tokens are counted: by tiktoken where it is there, or by an "estimate", alike anywhere'
    )

    @model_validator(mode="before")
    @classmethod
    def _from_files(cls, value: Any) -> Any:
        return Short.of(value)


class SummarizeSettings(OtherSettings):
    """Who puts earlier turns into fewer words, and how it is asked."""

    prompt: File | None = Field(
        None, description="what the summarizer is told; else the nearest summary.md.j2, else our own"
    )
    turns: AtLeastOne = Field(6, description="turns that one summary covers")
    tokens: Annotated[int, Field(ge=LEAST)] | None = Field(
        None, description="of one summary at most; else a sixteenth of the budget"
    )


class _OrFiles:
    """In a JSON schema: the table, or the names of its files."""

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        text = {"type": "string", "minLength": 1}
        return {"anyOf": [text, {"type": "array", "items": text, "minItems": 1}, handler(schema)]}


Prompt = Annotated[PromptSettings, _OrFiles()]
