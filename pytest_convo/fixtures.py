"""The fixtures: `convo`, what the bot said in this run; `bot`, to ask; `convo_snapshot`, to compare with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .collect.asking import Bot
    from .collect.snapshot import ConvoSnapshot
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


@pytest.fixture
def convo_snapshot(request: pytest.FixtureRequest) -> ConvoSnapshot:
    """The snapshot of what was said, through syrupy: `assert convo == convo_snapshot`.

    `--snapshot-update` writes it. `convo_snapshot(alike="similar")` compares the texts by an equivalence.
    """
    from .collect.snapshot import snapshot

    return snapshot(request.node)
