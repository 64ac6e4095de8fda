"""What the fixtures `sandbox` and `agent` hand to a test: a place to work in, and agents that ask the test's bot."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .._compat import Skipped
from ..agent.agent import Agent
from ..run.redact import REDACTOR
from ..sandbox.tool import AgentTool
from ..sandbox.tool_file import read_tool
from .asking import Bot
from .prompts import reads
from .sandboxes import skips, spec_of
from .spec import agent_tools, redactor_at
from .state import of

if TYPE_CHECKING:
    from ..agent.result import AgentResult
    from ..sandbox.base import Environment, Sandbox
    from ..settings.model import Settings


@contextmanager
def opened(item: pytest.Item) -> Iterator[Sandbox]:
    """A sandbox as the settings of the test's directory have it; its folder is `workspace/` there, if there is one."""
    state = of(item.config)
    settings = state.resolver.resolve(item.path.parent).settings
    _require(item, settings)
    if REDACTOR not in item.stash:
        item.stash[REDACTOR] = redactor_at(state, item.path.parent)  # its commands may be given secrets, by `env`
    folder = item.path.parent / "workspace"
    spec = spec_of(settings, folder=folder if folder.is_dir() else None, owner=item.nodeid)
    with state.host.open(settings.environment, spec) as sandbox:
        yield sandbox


class Agents:
    """Makes agents as the settings of the test's directory have them, which ask its bot."""

    def __init__(self, item: pytest.Item) -> None:
        self._item = item
        self._bot = Bot(item)

    def __call__(
        self,
        *,
        kind: str | None = None,
        folder: str | Path | None = None,
        tools: Sequence[AgentTool | str | Path] | None = None,
        system_prompt: str | None = None,
        **given: Any,
    ) -> TestedAgent:
        """An agent; what is given comes in the place of the settings: see `pytest_convo.Agent`.

        `folder` and files of `tools` are relative to the test's directory.
        """
        setup, here = self._bot.setup, self._item.path.parent
        if system_prompt is None:
            reads(self._item, setup.prompts)
        settings = setup.settings
        own = [tool if isinstance(tool, AgentTool) else read_tool(here / tool) for tool in tools or ()]
        self._bot.hide(name for tool in own for name in tool.secrets)
        made = TestedAgent(
            given.pop("name", self._item.name),
            bot=self._bot.model(),
            settings=settings.bot,
            kind=kind or settings.kind,  # type: ignore[arg-type]  # the agent says what kinds there are
            permission=given.pop("permission", settings.permission),
            system_prompt=system_prompt,
            stack=given.pop("stack", setup.recipe.stack),
            sources=given.pop("sources", setup.recipe.sources or ()),
            environment=given.pop("environment", None) or _require(self._item, settings),
            tools=agent_tools(settings) if tools is None else own,
            folder=None if folder is None else here / folder,
            functions=given.pop("functions", self._bot.tools()),
            sandbox=given.pop("sandbox", None) or spec_of(settings, owner=self._item.nodeid),
            protocol=given.pop("protocol", settings.protocol),
            command_timeout=given.pop("command_timeout", settings.command_timeout),
            **given,
        )
        made.join(self._bot, settings)
        return made

    def run(self, task: str, timeout: float | None = None, max_iterations: int | None = None) -> AgentResult:
        """What an agent as the settings have it makes of `task`."""
        return self().run(task, timeout, max_iterations)

    def close(self) -> None:
        """The test is over: save what was asked."""
        self._bot.close()


class TestedAgent(Agent):
    """An agent in a test: its model calls are metered, recorded and kept with the test's run."""

    __test__ = False

    def join(self, bot: Bot, settings: Settings) -> None:
        """Belong to a test, and take its limits where none are given."""
        self._own = bot
        self._limits = settings.timeout, settings.max_iterations

    def run(self, task: str, timeout: float | None = None, max_iterations: int | None = None) -> AgentResult:
        """As `Agent.run`, within the settings' `timeout` and `max_iterations` unless they are given."""
        return self._own.wait(self._own.work(self._work(task, timeout, max_iterations)))

    async def arun(  # type: ignore[override]  # what hears and records it is the test's
        self,
        task: str,
        timeout: float | None = None,  # noqa: ASYNC109
        max_iterations: int | None = None,
    ) -> AgentResult:
        """As `run`, for coroutines."""
        return await asyncio.wrap_future(self._own.work(self._work(task, timeout, max_iterations)))

    def _work(self, task: str, timeout: float | None, max_iterations: int | None) -> Any:
        seconds, iterations = self._limits
        return partial(super().arun, task, timeout or seconds, max_iterations or iterations)


def _require(item: pytest.Item, settings: Settings) -> Environment:
    """The environment that the settings name; skips the test where it cannot be used and that is no error."""
    state = of(item.config)
    reason = state.host.unavailable(settings.environment)
    if reason is not None and skips(state.options):
        raise Skipped(reason, _use_item_location=True)
    return state.host.environment(settings.environment)
