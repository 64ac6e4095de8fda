"""The prompt stack of a bot: what it is told before every conversation, how that is written, and how long it may be."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Self, get_args

from ..errors import SettingsError
from .part import Part

if TYPE_CHECKING:
    from ..settings.bots import BotSettings, OtherSettings
    from ..settings.prompts import PromptSettings

Style = Literal["messages", "xml", "text"]
OnOverflow = Literal["error", "trim", "summarize"]
Counting = Literal["auto", "estimate"]


@dataclass(frozen=True, slots=True)
class Budget:
    """Tokens that a request and its answer may have together, and how many of them are the answer's."""

    tokens: int
    reserve: int = 0
    on_overflow: OnOverflow = "error"
    table: str = "prompt"
    """The table of the settings that it comes from."""

    def __post_init__(self) -> None:
        if type(self.tokens) is not int or type(self.reserve) is not int:
            msg = f"a budget and its reserve are numbers of tokens, not {self.tokens!r} and {self.reserve!r}"
            raise SettingsError(msg)
        _require_one_of("on_overflow", self.on_overflow, get_args(OnOverflow))

    @property
    def room(self) -> int:
        """Tokens that a request may have."""
        return self.tokens - self.reserve

    @classmethod
    def of(
        cls,
        settings: PromptSettings | OtherSettings,
        bot: BotSettings,
        on_overflow: OnOverflow = "error",
        table: str = "prompt",
    ) -> Budget | None:
        """The budget that settings ask for, if they do; without a `reserve` as much as the answer of `bot` may have."""
        if settings.budget is None:
            return None
        reserve = most_of_answer(bot) if settings.reserve is None else settings.reserve
        return cls(settings.budget, reserve, on_overflow, table)


@dataclass(frozen=True, slots=True)
class Stack:
    """What stands before each conversation of a bot, and the rules for all that is sent with it."""

    parts: tuple[Part, ...] = ()
    style: Style = "messages"
    budget: Budget | None = None
    counting: Counting = "auto"

    def __post_init__(self) -> None:
        if not isinstance(self.parts, tuple | list) or not all(isinstance(part, Part) for part in self.parts):
            msg = f"a stack is made of parts, not of {self.parts!r}"
            raise SettingsError(msg, hint='Stack((Part("role", "You are a clerk."),)), or Stack.of("You are a clerk.")')
        if self.budget is not None and not isinstance(self.budget, Budget):
            msg = f"a stack has a Budget, not {self.budget!r}"
            raise SettingsError(msg, hint='Budget(8000, reserve=500, on_overflow="trim")')
        _require_one_of("style", self.style, get_args(Style))
        _require_one_of("counting", self.counting, get_args(Counting))

    @classmethod
    def of(cls, text: str | None) -> Self:
        """A stack of one part, or of none where there is no text."""
        return cls((Part("system", text),) if text else ())

    def then(self, *parts: Part) -> Stack:
        """The same with further parts at its end; what is empty is no part."""
        return replace(self, parts=(*self.parts, *(part for part in parts if part.content)))

    @property
    def system(self) -> str | None:
        """The system prompt: its parts, a blank line between each two; None where there are none."""
        return "\n\n".join(part.content for part in self.parts) or None


def _require_one_of(what: str, given: str, known: tuple[str, ...]) -> None:
    if given not in known:
        msg = f"{what} must be one of {', '.join(map(repr, known))}, not {given!r}"
        raise SettingsError(msg)


def most_of_answer(bot: BotSettings) -> int:
    """The tokens that an answer may have by the fields of the request; 0 where they do not say."""
    given = (bot.request.get(name) for name in ("max_completion_tokens", "max_tokens"))
    return next((value for value in given if type(value) is int and value > 0), 0)
