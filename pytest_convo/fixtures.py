"""The fixtures: `convo`, what the bot said in this run; `bot`, to ask; `agent` and `sandbox`, to have work done;
`prompt` and `refine`, for prompts that are mended; `convo_snapshot`, to compare with.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .collect.asking import Bot
    from .collect.hands import Agents
    from .collect.prompts import Prompts, Refine
    from .collect.snapshot import ConvoSnapshot
    from .conversation.transcript import Transcript
    from .sandbox.base import Sandbox


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
def agent(request: pytest.FixtureRequest) -> Iterator[Agents]:
    """Agents as the nearest settings have them: `agent.run(task)`, or `agent(kind=…, folder=…).run(task)`.

    They ask the bot of the nearest convo.toml, and work in sandboxes of their own.
    """
    from .collect.hands import Agents

    made = Agents(request.node)
    yield made
    made.close()


@pytest.fixture
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """A sandbox as the nearest settings have it: `sandbox.execute("ls").output`; it ends with the test."""
    from .collect.hands import opened

    with opened(request.node) as made:
        yield made


@pytest.fixture
def prompt(request: pytest.FixtureRequest) -> Prompts:
    """Reads a prompt file, which `--convo-refine` may mend: `prompt("prompts/extract.md", product="tea")`."""
    from .collect.prompts import Prompts

    return Prompts(request.node)


@pytest.fixture
def refine(request: pytest.FixtureRequest) -> Refine:
    """Says how a prompt of this test is mended: `refine(prompt="prompts/extract.md", correction="JSON only.")`.

    Best in a fixture of the same name, which is asked for by the tests that it is of, or by all with `autouse=True`.
    """
    from .collect.prompts import Refine

    return Refine(request.node)


@pytest.fixture
def convo_snapshot(request: pytest.FixtureRequest) -> ConvoSnapshot:
    """The snapshot of what was said, through syrupy: `assert convo == convo_snapshot`.

    `--snapshot-update` writes it. `convo_snapshot(alike="similar")` compares the texts by an equivalence.
    """
    from .collect.snapshot import snapshot

    return snapshot(request.node)
