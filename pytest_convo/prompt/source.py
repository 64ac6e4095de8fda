"""Context sources: what a conftest adds to each question, looked up when it is asked."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any, Protocol, runtime_checkable

from ..errors import HarnessError, SettingsError
from .part import Part

UNLIMITED = sys.maxsize
"""Tokens that are left where there is no budget."""


@runtime_checkable
class ContextSource(Protocol):
    """What a conftest gives by `pytest_convo_context_sources`.

    It may have `required` (True where it does not say) and `cap`, the most tokens that it may take. An optional one
    that does not fit, or fails, is left out and listed; a required one is an error then.
    """

    name: str

    async def __call__(self, tokens_left: int) -> str | Part | None:
        """What it has to say, in at most `tokens_left` tokens; None for nothing."""


@dataclass(frozen=True, slots=True)
class Source:
    """A context source with all that it need not say."""

    name: str
    required: bool
    cap: int | None
    ask: Any

    @classmethod
    def of(cls, given: Any) -> Source:
        """The source that a conftest gave; `SettingsError` for what is none."""
        name, required, cap = (getattr(given, key, None) for key in ("name", "required", "cap"))
        if not callable(given) or isinstance(given, type) or not isinstance(name, str) or not name.strip():
            msg = f"pytest_convo_context_sources gave {given!r}, which is no context source"
            hint = "give objects with a `name` and `async def __call__(self, tokens_left)`"
            raise SettingsError(msg, hint=hint)
        if not isinstance(required, bool | None):
            msg = f"the context source {name!r}: required must be True or False, not {required!r}"
            raise SettingsError(msg)
        if cap is not None and (not isinstance(cap, int) or isinstance(cap, bool) or cap < 1):
            msg = f"the context source {name!r}: cap must be a number of tokens from 1, or None, not {cap!r}"
            raise SettingsError(msg)
        return cls(name, required is not False, cap, given)


def sources_of(given: Any) -> tuple[Source, ...]:
    """The sources that conftests gave; `SettingsError` for what is none, and for a name that is given twice."""
    if not isinstance(given, Iterable) or isinstance(given, str | Mapping):
        msg = f"pytest_convo_context_sources gave {given!r}, which is no list of context sources"
        raise SettingsError(msg, hint="give a list, also of one")
    sources = tuple(one if isinstance(one, Source) else Source.of(one) for one in given)
    names = [source.name for source in sources]
    for number, name in enumerate(names):
        if name in names[:number]:
            msg = f"there are two context sources named {name!r}"
            raise SettingsError(msg, hint="each has a name of its own")
    return sources


@dataclass(frozen=True, slots=True)
class Context:
    """What came of asking a source: its text, empty where it has nothing to say, or why that is not sent."""

    name: str
    text: str = ""
    required: bool = True
    cap: int | None = None
    dropped: str = ""

    @property
    def optional(self) -> bool:
        """Whether there is something that may still be left out."""
        return bool(self.text) and not self.required and not self.dropped


async def asked(source: Source, left: int) -> Context:
    """What a source says, told how many tokens are left; a required one that fails is a `HarnessError`."""
    try:
        if not isawaitable(answer := source.ask(left)):
            msg = "it is called as a function: `async def __call__` is needed, so that nobody else waits for it"
            raise TypeError(msg)  # noqa: TRY301 told like all else that goes wrong in it
        said = await answer
        if isinstance(said, Part):
            said = said.content
        if said is not None and not isinstance(said, str):
            msg = f"it gave {type(said).__name__}, where a text, a Part or None is needed"
            raise TypeError(msg)  # noqa: TRY301 told like all else that goes wrong in it
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        if source.required:
            msg = f"the context source {source.name!r} failed: {why}"
            raise HarnessError(msg, hint="required = False lets it be left out") from error
        return Context(source.name, required=False, dropped=f"it failed: {why}")
    return Context(source.name, said if said and said.strip() else "", source.required, source.cap)
