"""The hooks that a conftest.py may implement; each is called for what lies below that conftest.

Where several conftests implement a hook, the results are put together, and of two of one name the nearest conftest's is
taken; context sources have each a name of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .bot.model import ChatModel
    from .bot.tools import Tool
    from .prompt.source import ContextSource
    from .settings.model import Settings


@pytest.hookspec
def pytest_convo_tools(path: Path, run: int) -> Sequence[Callable[..., Any] | Tool] | None:
    """The tools of the conversation at `path`, made afresh for each run: functions or `Tool`s."""


@pytest.hookspec
def pytest_convo_context_sources(path: Path) -> Sequence[ContextSource] | None:
    """What is added to each question of the conversation at `path`, made afresh for each run: see `ContextSource`."""


@pytest.hookspec
def pytest_convo_bots(path: Path) -> Mapping[str, Mapping[str, Any]] | None:
    """Bots that can be used by name at `path`, as in `[bot] use = "support"`, each as `bots/support.toml` would say it.

    `[bot] functions` may hold the functions themselves. Relative paths are relative to pytest's rootdir. Called where a
    bot is used by name, and there alone; a name that a file in `bots` has too is an error.
    """


@pytest.hookspec(firstresult=True)
def pytest_convo_model(settings: Settings) -> ChatModel | Callable[..., Any] | None:
    """A model of one's own in place of the configured one: a `ChatModel`, or a function from messages to a text."""


@pytest.hookspec(firstresult=True)
def pytest_convo_rewriter(settings: Settings) -> ChatModel | Callable[..., Any] | None:
    """Who rewrites prompts in place of the model of `[refine]`: a `ChatModel`, or a function of messages."""


@pytest.hookspec
def pytest_convo_redact(text: str) -> str | None:
    """The text without what must never be written or shown; None where all of it may be.

    Called with every text before it is written, whatever else takes from it, and from several threads.
    """


@pytest.hookspec
def pytest_convo_checks() -> Mapping[str, Callable[..., Any]] | None:
    """Further checks for `[expect]`, by the key that names them: functions of `(reply, value)`, where `value` is what
    stands under the key, or of `(reply, value, transcript)`. None or True: it holds. False or a text: it does not.
    """
