"""The fixtures: `convo`, a transcript of the conversation beside the test, and `bot`, to ask what one likes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .collect.asking import Bot
    from .conversation.transcript import Transcript


@pytest.fixture
def convo(request: pytest.FixtureRequest) -> Transcript:
    """The transcript of this run of the conversation in the test's directory.

    It has `messages`, `replies`, `reply(index)`, `last`, `calls`, `usage`, `seconds` and `run`.
    """
    from .collect.asking import transcript

    return transcript(request.node)


@pytest.fixture
def bot(request: pytest.FixtureRequest) -> Iterator[Bot]:
    """The bot of the nearest convo.toml: `bot.ask(text)`, `await bot.aask(text)`, `bot.conversation(path)`."""
    from .collect.asking import Bot

    made = Bot(request.node)
    yield made
    made.close()
