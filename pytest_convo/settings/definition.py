"""A bot that is defined once and used by its name: in `bots/NAME.toml`, or by a conftest's `pytest_convo_bots`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from .agents import AgentSettings
from .bots import BotSettings, LimitSettings, OtherSettings
from .kinds import Variables, Version
from .layer import Layer, Taken
from .locate import Keys
from .prompts import Prompt, PromptSettings, SummarizeSettings
from .short import FILES


class Definition(AgentSettings):
    """The settings that make a bot: of a file in `bots`, or of a conftest."""

    version: Version = Field(1, description="of the format of this file")
    prompt: Prompt = Field(default_factory=PromptSettings, description="what it is told, and how much of it")
    bot: BotSettings = Field(default_factory=BotSettings, description="who answers")
    limits: LimitSettings = Field(default_factory=LimitSettings, description="how fast its server may be asked")
    summarize: SummarizeSettings = Field(default_factory=SummarizeSettings, description="who shortens earlier turns")
    vars: Variables = Field(default_factory=dict, description="variables of the templates (.j2)")


_TAKEN: dict[str, Keys] = {
    **{
        name: ("bot", name) for name in OtherSettings.model_fields if name in BotSettings.model_fields and name != "use"
    },
    "system": ("prompt", FILES),
    "budget": ("prompt", "budget"),
    "reserve": ("prompt", "reserve"),
}
"""What a table of somebody who is asked beside the bot takes of a definition, and where it stands there."""


def taken(definition: Layer, table: str) -> Layer:
    """Of a definition what `[judge]`, or another such table, takes; as a layer of its own."""
    found = {name: value for name, keys in _TAKEN.items() if (value := _at(definition.values, keys)) is not None}
    places: dict[Keys, Keys] = {(table, name): _TAKEN[name] for name in found}
    return Layer({table: found} if found else {}, Taken(definition, places), definition.base)


def _at(values: Any, keys: Keys) -> Any:
    for key in keys:
        values = values.get(key) if isinstance(values, Mapping) else None
    return values
