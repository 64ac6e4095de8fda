"""An agent in Python: a bot with hands in a sandbox."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from ..bot.threads import in_thread
from ..bot.tools import Known, Tool, make_tools
from ..errors import SettingsError
from ..prompt.source import ContextSource, Source, sources_of
from ..prompt.stack import Stack
from ..sandbox.base import Change, Environment, Permission, Sandbox, SandboxSpec
from ..sandbox.tool import AgentTool
from .blocking import blocking
from .kinds import KINDS, KindName, told
from .loop import work
from .opened import Opened
from .opening import closed, opened
from .policy import Policy
from .protocol import PROTOCOLS, ProtocolName
from .result import AgentResult, Event, Work

if TYPE_CHECKING:
    from ..bot.answer import Idle
    from ..bot.events import Observer
    from ..bot.model import ChatModel
    from ..settings.bots import BotSettings


class Agent:
    """A bot that works on tasks by running commands in a sandbox.

    Each `run` has a history of its own and, but inside `with`, a sandbox of its own that ends with it. Inside `with`
    all runs share one sandbox, which stays for you to look at: `agent.sandbox`.

    `permission` is the kind's unless it is given; `system_prompt`, or what `stack` holds, comes in the place of the
    kind's prompt, and what the tools and the protocol need to be told is added to either. `stack` also says how long a
    request may be, and how it is written; `sources`, or what a function makes of
    them for each run, add context to the task. `environment` is an environment or its
    name, `sandbox` what else the sandbox is to be. `functions` run on this machine, everything else in the sandbox.
    """

    def __init__(
        self,
        name: str,
        *,
        bot: ChatModel,
        settings: BotSettings | None = None,
        kind: KindName = "writing",
        permission: Permission | None = None,
        system_prompt: str | None = None,
        stack: Stack | None = None,
        sources: Sequence[ContextSource | Source] | Callable[[], Sequence[ContextSource | Source]] = (),
        environment: str | Environment = "docker",
        tools: Sequence[AgentTool] = (),
        functions: Sequence[Tool | Callable[..., Any]] = (),
        folder: str | Path | None = None,
        sandbox: SandboxSpec | None = None,
        protocol: ProtocolName = "tools",
        policy: Policy | None = None,
        command_timeout: float = 60.0,
    ) -> None:
        _one_of("kind", kind, KINDS)
        _one_of("protocol", protocol, PROTOCOLS)
        _one_of("permission", permission, (None, "READ_ONLY", "READ_WRITE"))
        self.name = name
        self.kind = KINDS[kind]
        self.spec = replace(
            sandbox or SandboxSpec(),
            permission=permission or self.kind.permission,
            tools=tuple(tools),
            folder=None if folder is None else Path(folder),
            owner=name,
        )
        self._bot = bot
        self._settings = settings
        self._stack = stack or Stack()
        own = self._stack.parts or None
        self._told = own if system_prompt is None else Stack.of(system_prompt).parts
        self._sources = sources if callable(sources) else partial(sources_of, sources)
        self._environment = environment
        self._functions = make_tools([functions])
        self._protocol = protocol
        self._policy = policy
        self._command_timeout = command_timeout
        self._held: Opened | None = None

    def run(self, task: str, timeout: float = 300.0, max_iterations: int = 20) -> AgentResult:
        """What the agent makes of `task`, in at most `timeout` seconds and `max_iterations` commands.

        Whether it did the task is not for the agent to say: look at the folder, or at the sandbox. Raises what is no
        fault of the bot's, as `HarnessError`.
        """
        return blocking(lambda: self.arun(task, timeout, max_iterations))

    async def arun(
        self,
        task: str,
        timeout: float = 300.0,  # noqa: ASYNC109 it is one of the four ends, and no error
        max_iterations: int = 20,
        *,
        observe: Observer | None = None,
        idle: Idle | None = None,
        known: Known | None = None,
    ) -> AgentResult:
        """As `run`, for coroutines; `observe` hears each event at once, `idle` and `known` are as for `loop.work`."""
        if max_iterations < 1 or timeout <= 0:
            msg = f"an agent needs at least one command and some time, not {max_iterations} and {timeout:g} s"
            raise SettingsError(msg)
        work = partial(self._worked, task, timeout, max_iterations, observe, idle, known)
        if self._held is not None:
            return await work(self._held)
        own = await opened(partial(Opened.of, self._environment, self.spec))
        try:
            return await work(own)
        finally:
            await closed(own)

    @property
    def sandbox(self) -> Sandbox:
        """The sandbox inside `with`."""
        if self._held is None:
            msg = f"the agent {self.name!r} keeps its sandbox inside `with` only"
            raise SettingsError(msg, hint="with agent: agent.run(...); agent.sandbox.execute(...)")
        return self._held.sandbox

    def __enter__(self) -> Self:
        if self._held is not None:
            msg = f"the agent {self.name!r} has a sandbox already"
            raise SettingsError(msg)
        self._held = Opened.of(self._environment, self.spec)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        held, self._held = self._held, None
        if held is not None:
            held.close()

    async def _worked(
        self,
        task: str,
        timeout: float,  # noqa: ASYNC109
        max_iterations: int,
        observe: Observer | None,
        idle: Idle | None,
        known: Known | None,
        place: Opened,
    ) -> AgentResult:
        from ..settings.bots import BotSettings

        log: list[Event] = []
        began = time.perf_counter()
        sandbox = place.sandbox

        def hear(event: Event) -> None:
            log.append({"at": round(time.perf_counter() - began, 4), **event})
            if observe is not None:
                observe(event)

        parts = told(self.kind.name, self._told, place=place.place, tools=self.spec.tools)
        done = await work(
            task,
            model=self._bot,
            stack=replace(self._stack, parts=parts),
            sources=sources_of(await in_thread(self._sources, name="context sources")),
            bot=self._settings or BotSettings(),
            sandbox=sandbox,
            timeout=timeout,
            protocol=self._protocol,
            max_iterations=max_iterations,
            command_timeout=self._command_timeout,
            tools=self.spec.tools,
            functions=self._functions,
            browses=self.kind.browses,
            policy=self._policy,
            observe=hear,
            idle=idle,
            known=known,
        )
        return _result(done, log, await in_thread(sandbox.changes), await in_thread(sandbox.diff))


def _result(done: Work, log: Sequence[Event], changes: Sequence[Change], diff: str) -> AgentResult:
    return AgentResult(
        status=done.end,
        result=done.result,
        error=done.error,
        log=tuple(log),
        iterations=done.iterations,
        transcript=done.transcript(),
        changes=tuple(changes),
        diff=diff,
        usage=done.usage,
        seconds=done.seconds,
    )


def _one_of(what: str, given: object, known: Iterable[object]) -> None:
    if given not in known:
        listed = ", ".join(repr(one) for one in known if one is not None)
        msg = f"{what} must be one of {listed}, not {given!r}"
        raise SettingsError(msg)
