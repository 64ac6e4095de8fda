"""The bot that a test asks: the settings, prompt and tools of the test's own directory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ..errors import SettingsError
from .models import model_maker
from .prompts import prompt_files
from .recipes import recipe
from .spec import agent_tools, redactor
from .state import of
from .tools import tools_maker

if TYPE_CHECKING:
    from ..bot.model import ChatModel
    from ..bot.recipe import Recipe
    from ..bot.tools import Tool
    from ..redaction import Redactor
    from ..settings.bots import BotSettings
    from ..settings.model import Settings

OF_QUESTIONS = frozenset({"model", "temperature", "tool_rounds"})
"""What `[bot]` says, and a question may say for itself."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What a test's questions are asked with, unless it says otherwise."""

    settings: Settings
    recipe: Recipe
    """How the requests of its runs are made."""
    prompts: tuple[Path, ...]
    """The file of the system prompt, if there is one."""
    model: Callable[[int], ChatModel]
    redactor: Redactor
    _tools: Callable[[int], Sequence[Tool]] | None

    @classmethod
    def of(cls, item: pytest.Item) -> Setup:
        """The setup of the directory in which `item` stands."""
        state = of(item.config)
        directory = item.path.parent
        settings = state.resolver.resolve(directory).settings
        hook = state.hook(directory)
        hidden = redactor(settings, hook, [name for tool in agent_tools(settings) for name in tool.secrets])
        return cls(
            settings,
            recipe(state, directory, None, settings, hook, hidden),
            prompt_files(state, directory, settings),
            model_maker(state, settings, directory, None, hook, hidden),
            hidden,
            tools_maker(state, directory, hook, hidden, settings.bot.functions),
        )

    def tools(self, run: int) -> Sequence[Tool]:
        """The tools of the conftests, made for this question."""
        return self._tools(run) if self._tools is not None else ()

    def bot(self, request: Mapping[str, Any]) -> BotSettings:
        """The bot's settings with the fields that one question gives for itself; `SettingsError` for what is none."""
        for name in request:
            if name in type(self.settings.bot).model_fields and name not in OF_QUESTIONS:
                msg = f"`{name}` is no field of a question: it is part of what the bot is"
                hint = (
                    "give its fields themselves, as seed=7" if name == "request" else "set it in [bot] of a convo.toml"
                )
                raise SettingsError(msg, hint=hint)
        own = {name: value for name, value in request.items() if name in OF_QUESTIONS}
        further = {**self.settings.bot.request, **{name: value for name, value in request.items() if name not in own}}
        return self.settings.bot.model_copy(update={**own, "request": further})
