"""Who is asked, and on which terms: the bot, its judge, and what measures how alike two texts are."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from pydantic import Field

from .kinds import (
    Agreement,
    AtLeastOne,
    BotName,
    EnvironmentName,
    File,
    Files,
    Functions,
    Name,
    NotNegative,
    NotNegativeNumber,
    Number,
    Positive,
    Request,
    Share,
    Url,
)
from .table import Table


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


class BotSettings(Table):
    """Who answers, and how it is asked."""

    use: BotName | None = Field(None, description="a bot by its name: that of bots/NAME.toml, or a conftest's")
    model: Name | None = Field(None, description="the model's name, as the server has it")
    provider: Name = Field("openai", description='"openai" (any compatible server), "scripted", or one of a conftest')
    base_url: Url | None = Field(None, description="the server's address; else OPENAI_BASE_URL, else the SDK's own")
    api_key_env: EnvironmentName = Field("OPENAI_API_KEY", description="the environment variable that holds the key")
    temperature: Number | None = Field(None, description="sent exactly as given; not given, it is not sent")
    tool_rounds: NotNegative = Field(10, description="rounds of tool calls in one turn")
    retries: NotNegative = Field(5, description="how often a request that failed for the moment is sent again")
    functions: Functions = Field((), description='Python functions that it may call: "tools.py:lookup_order"')
    request: Request = Field(
        default_factory=dict, description="any further field of the request: seed, top_p, max_tokens ..."
    )
    price: PriceSettings | None = Field(None, description="US dollars for a million tokens; else a kept list is asked")


class OtherSettings(Table):
    """Who is asked beside the bot; model, server and key are the bot's where they are not given here."""

    use: BotName | None = Field(None, description="a bot by its name: that of bots/NAME.toml, or a conftest's")
    model: Name | None = Field(None, description="the model's name, as the server has it; else the bot's")
    provider: Name | None = Field(None, description='"openai", "scripted", or one of a conftest; else the bot\'s')
    base_url: Url | None = Field(None, description="the server's address; else the bot's")
    api_key_env: EnvironmentName | None = Field(None, description="the variable that holds the key; else the bot's")
    temperature: Number | None = Field(None, description="sent exactly as given; not given, it is not sent")
    retries: NotNegative | None = Field(None, description="how often a request is sent again; else as for the bot")
    request: Request = Field(default_factory=dict, description="any further field of the request")
    system: Files = Field((), description="files that say who it is, before what it is asked")
    budget: AtLeastOne | None = Field(None, description="tokens that a request and its answer may have together")
    reserve: NotNegative | None = Field(
        None, description="of them for the answer; else max_tokens or max_completion_tokens of its request, else none"
    )
    price: PriceSettings | None = Field(None, description="US dollars for a million tokens; else a kept list is asked")

    def of(self, bot: BotSettings, model: str | None = None) -> BotSettings:
        """The bot that is asked: what is said here, and where that is silent the bot's own server, key and model.

        `model` comes before both. Temperature and further fields of the request are its own alone, and so is a price,
        unless both are one model.
        """
        given = {name: value for name in _INHERITED if (value := getattr(self, name)) is not None}
        if model is not None:
            given["model"] = model
        if bot.provider == "scripted" and given.keys() & {"model", "base_url"}:
            given.setdefault("provider", "openai")  # a script has neither
        other = any(
            given.get(name, getattr(bot, name)) != getattr(bot, name) for name in ("model", "provider", "base_url")
        )
        price = self.price or (None if other else bot.price)
        own = {"temperature": self.temperature, "request": self.request, "price": price}
        return bot.model_copy(update={**given, **own, "use": self.use, "functions": (), "tool_rounds": 0})


_INHERITED = ("model", "provider", "base_url", "api_key_env", "retries")


class JudgeSettings(OtherSettings):
    """Who judges a reply, and how it is asked."""

    prompt: File | None = Field(None, description="what the judge is told; else the nearest judge.md.j2, else our own")
    output: Literal["auto", "schema", "tool", "text"] = Field(
        "auto", description='how the verdict is asked for; "auto": as a JSON schema, else a tool call, else as text'
    )
    runs: AtLeastOne = Field(1, description="independent judgements of each reply and criterion")
    agreement: Agreement = Field(Fraction(2, 3), description="the share of these judgements that must be a pass")
    probes: File | None = Field(
        None, description="planted replies for --convo-judge-check; else the nearest judge_probes.toml"
    )


class RefineSettings(OtherSettings):
    """How a prompt is rewritten that cases fail with, and by whom."""

    correction: str = Field("", description="what whoever rewrites the prompt is told beside the failures")
    attempts: AtLeastOne = Field(8, description="texts that are tried")
    holdout: Share = Field(
        0.25, description="the share of the cases that are never shown to the rewriter; as many again choose"
    )
    minutes: Positive | None = Field(None, description="how long it may take")
    max_calls: AtLeastOne | None = Field(None, description="model calls that it may take")
    max_usd: Positive | None = Field(None, description="US dollars that it may cost")


class EmbeddingSettings(Table):
    """The endpoint that embeds texts; without a model there is none."""

    model: Name | None = Field(None, description="the model's name, as the server has it")
    base_url: Url | None = Field(None, description="the server's address; else the bot's")
    api_key_env: EnvironmentName | None = Field(None, description="the variable that holds the key; else the bot's")
    retries: NotNegative | None = Field(None, description="how often a request is sent again; else as for the bot")
    price: PriceSettings | None = Field(None, description="US dollars for a million tokens; else a kept list is asked")
    differ_below: Share = Field(
        0.5, description='for [agree] by = "judge": answers less similar than this differ, and no judge is asked'
    )
