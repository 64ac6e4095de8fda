"""What convo.toml can say, and its defaults."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from .agents import AgentSettings
from .bots import BotSettings, EmbeddingSettings, JudgeSettings, LimitSettings, RefineSettings
from .expect import Expect
from .kinds import (
    Agreement,
    AtLeastOne,
    CaseId,
    Equivalence,
    NotNegativeNumber,
    Pattern,
    Patterns,
    Rate,
    Regenerate,
    Seconds,
    Threshold,
    Variables,
    Version,
)
from .prompts import Prompt, PromptSettings, SummarizeSettings
from .table import Table
from .unfit import UnfitError


class AgreeSettings(Table):
    """Whether the last replies of the runs agree with each other, and when two of them do."""

    by: Equivalence = Field(
        "text", description='"text", "json", "calls", "number", "judge", or a function, as "python:checks.py:same"'
    )
    at_least: Threshold | None = Field(
        None, description="the share of the runs whose answers must be alike; not given, it is shown and never judged"
    )
    pattern: Pattern | None = Field(
        None, description="what is compared of a reply: what this regular expression finds, or its one group"
    )
    within: NotNegativeNumber = Field(0, description='for by = "number": how far apart two numbers may be')

    @model_validator(mode="after")
    def _each_where_it_counts(self) -> Self:
        if self.within and self.by != "number":
            msg = f'is for by = "number", not for "{self.by}"'
            raise UnfitError(msg, at=("within",), whole=True)
        if self.pattern is not None and self.by == "calls":
            msg = 'looks into the text of a reply, and by = "calls" does not'
            raise UnfitError(msg, at=("pattern",), whole=True)
        return self


class RecordSettings(Table):
    """What is recorded of a run, and what is kept out of everything that is written or shown."""

    tools: Literal["check", "replay"] = Field(
        "check", description='"check": a tool that answers otherwise than recorded is told of; "replay": not called'
    )
    secrets: Patterns = Field((), description="what these regular expressions find is never written or shown")


class _Asked(Table):
    """How something is asked, judged and recorded, be it a conversation or an agent's task."""

    runs: AtLeastOne = Field(1, description="redundant runs")
    agreement: Agreement = Field(
        Fraction(4, 5), description='the share of the runs that must pass, as 0.8 or "2/3"; or "sprt"'
    )
    good: Rate = Field(0.95, description='for agreement = "sprt": the pass rate of a good bot')
    bad: Rate = Field(0.7, description='for agreement = "sprt": the pass rate of a bad bot')
    prompt: Prompt = Field(
        default_factory=PromptSettings, description="the files of the system prompt, or a table of all about requests"
    )
    regenerate: Regenerate = Field("holes", description="which turns the bot answers, though a file stands there")
    timeout: Seconds = Field(120.0, description='of one run, all turns: "120s", "500ms", "2m", or seconds')
    bot: BotSettings = Field(default_factory=BotSettings, description="who answers")
    limits: LimitSettings = Field(default_factory=LimitSettings, description="how fast the server may be asked")
    record: RecordSettings = Field(default_factory=RecordSettings, description="what is recorded, and what never")
    vars: Variables = Field(default_factory=dict, description="variables of the templates (.j2)")
    judge: JudgeSettings = Field(default_factory=JudgeSettings, description="who judges, and how it is asked")
    embeddings: EmbeddingSettings = Field(
        default_factory=EmbeddingSettings, description="what measures how similar two texts are in meaning"
    )
    agree: AgreeSettings = Field(
        default_factory=AgreeSettings, description="whether the answers of the runs agree with each other"
    )
    summarize: SummarizeSettings = Field(
        default_factory=SummarizeSettings, description="who puts earlier turns into fewer words, where they do not fit"
    )
    refine: RefineSettings = Field(
        default_factory=RefineSettings, description="how a prompt is rewritten that cases fail with: --convo-refine"
    )
    expect: Expect = Field(
        default_factory=Expect, description="checks of the last reply; [expect.N] of the reply at index N"
    )


class Common(AgentSettings, _Asked):
    """What a conversation or a task can set, and what each of a conversation's cases can set otherwise."""


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
