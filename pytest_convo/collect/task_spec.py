"""From a task directory to what can be run: who works on it, where, and who verifies it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ..agent.kinds import told
from ..agent.oracle import OraclePlayer
from ..agent.task import TURN, TaskPlayer
from ..agent.verifier import CLOSED, Verifier
from ..agent.write_back import WriteBack
from ..bot.recipe import Recipe
from ..check.run import asks
from ..conversation.conversation import Conversation
from ..conversation.message import Message
from ..conversation.text import read_text
from ..errors import ConvoError, FormatError, FormatErrors
from ..flags import MEASURE
from ..run.measure import Spec
from ..sandbox.base import WORKSPACE
from ..sandbox.toolset import variables_of as of_tools
from ..settings.expect import Expect
from ..settings.harbor import resolved
from ..settings.task import INSTRUCTION, OURS
from .judging import Judging
from .models import model_maker
from .prompts import prompt_files
from .recipes import task_recipe
from .recordings import complete, of_conversation
from .sandboxes import spec_of, variables_of
from .spec import agent_tools, checks_of, gathered, likeness_of, redactor, runs_code
from .tools import tools_maker

if TYPE_CHECKING:
    from ..bot.tools import Tool
    from ..run.measure import Player
    from ..sandbox.base import SandboxSpec
    from ..sandbox.tool import AgentTool
    from ..settings.model import Settings
    from ..settings.task import Task
    from .state import State


COMPOSED = ("docker-compose.yaml", "docker-compose.yml", "compose.yaml", "compose.yml")
"""Files that describe several containers."""


def task_spec(state: State, task: Task) -> Spec:
    """The task as it can be run; `FormatErrors` with everything that is wrong with it."""
    directory, oracle = task.directory, state.options.oracle
    found = state.resolver.resolve(directory)
    settings = found.settings
    errors: list[ConvoError] = list(_missing(task, settings))
    tools: Sequence[AgentTool] = gathered(errors, partial(agent_tools, settings)) or ()
    hook = state.hook(directory)
    hidden = redactor(settings, hook, [name for tool in tools for name in tool.secrets])
    model = model_maker(state, settings, directory, None, hook, hidden)
    own = gathered(errors, partial(task_recipe, state, directory, settings, hook))
    instruction: str = gathered(errors, partial(read_text, task.instruction)) or ""
    if not oracle:
        gathered(errors, partial(model, TURN))
    if errors:
        raise FormatErrors(errors)
    functions = tools_maker(state, directory, hook, hidden, settings.bot.functions)
    asked = state, task, settings, tools, instruction
    player: Player | None = _oracle(*asked) if oracle else _agent(*asked, own, functions)
    message = Message("user", instruction)
    conversation = Conversation(directory, {0: (message,)}, (TURN,) if player is not None else ())
    judging = Judging(state, directory, None, settings, hook, hidden, conversation)
    expects = settings.expect != Expect() and not oracle
    checks = checks_of(judging, found.mistake) if expects else {}
    likeness = None if oracle else likeness_of(judging, found.mistake)
    if settings.bot.provider == "openai" and not oracle and not complete(state, directory, None, settings.runs):
        state.preload()
    return Spec(
        directory=directory,
        case=None,
        settings=settings,
        conversation=conversation,
        recipe=Recipe(player.opening, player.sources) if isinstance(player, TaskPlayer) else Recipe(),
        checks=checks,
        model=model,
        tools=None,
        redactor=hidden,
        recording=of_conversation(state, directory, None, hidden),
        slow=runs_code(checks),
        asking=asks(checks),
        likeness=likeness,
        beside=judging.recordings(checks, likeness),
        prompts=(*prompt_files(state, directory, settings), task.instruction),
        player=player,
    )


def _missing(task: Task, settings: Settings) -> Iterator[FormatError]:
    """What a task cannot do without, and does not have; and what it has and we cannot do."""
    if not task.instruction.is_file():
        msg = "the task has no instruction"
        yield FormatError(msg, path=task.instruction, hint=f"write what is asked of the agent into {INSTRUCTION}")
    if task.tests is None and settings.expect == Expect():
        msg = "nothing says whether the agent did it"
        hint = "write tests/test.sh, which ends with 0 where it did, or [convo.expect] for what it answers"
        yield FormatError(msg, path=task.toml.path, hint=hint)
    if task.tests is not None and not (script := task.tests / "test.sh").read_bytes().strip():
        msg = "the verifier is empty, and would pass whatever an agent did"
        yield FormatError(msg, path=script)
    for name in COMPOSED:
        if (task.directory / "environment" / name).exists():
            msg = "several containers that belong together are not supported, only a Dockerfile"
            yield FormatError(msg, path=task.directory / "environment" / name)
    if task.workspace is None and os.path.lexists(task.directory / "workspace"):
        msg = "is no folder, and the agent is to work on one"
        yield FormatError(msg, path=task.directory / "workspace")
    elif settings.write_back and task.workspace is None:
        msg = "write_back = true, and there is no workspace/ to write to"
        yield FormatError(msg, path=task.toml.path)
    if task.hardened and "case" in task.toml.values[OURS]:
        msg = "a task has no cases"
        line = task.toml.line((OURS, "case"))
        yield FormatError(msg, path=task.toml.path, line=line, hint="write a task directory for each")


def _place(task: Task, settings: Settings, tools: Sequence[AgentTool]) -> SandboxSpec:
    """The sandbox that the agent is given."""
    harbor = task.harbor
    user = settings.user or (str(harbor.agent.user) if harbor.agent.user is not None else None)
    return spec_of(
        settings,
        build=task.build,
        build_timeout=harbor.environment.build_timeout_sec,
        tools=tuple(tools),
        folder=task.workspace,
        workdir=harbor.environment.workdir,
        user=user,
        hardened=task.hardened,
        closed=CLOSED,
        secrets={},  # looked up when a run begins
        owner=task.directory.name,
    )


def _variables(task: Task, settings: Settings, tools: Sequence[AgentTool]) -> Mapping[str, str]:
    """The variables of every command; `ConvoError` where one is needed and not set.

    They are given to each command, so that none stands in what an engine tells of a container.
    """
    plain, secret = of_tools(tools)
    return {**resolved(task.harbor.environment.env), **variables_of(settings), **plain, **secret}


def _agent(
    state: State,
    task: Task,
    settings: Settings,
    tools: Sequence[AgentTool],
    instruction: str,
    own: Recipe,
    functions: Callable[[int], Sequence[Tool]] | None,
) -> TaskPlayer:
    """Who works on the task, told `own` beside what its kind is told."""
    parts = told(settings.kind, own.stack.parts or None, tools=tools, place=WORKSPACE if task.workspace else None)
    writes_back = settings.write_back and state.options.refine != MEASURE
    return TaskPlayer(
        instruction=instruction,
        stack=replace(own.stack, parts=parts),
        settings=settings,
        place=replace(_place(task, settings, tools), keep=state.options.keep_sandbox),
        host=state.host,
        verifier=_verifier(task),
        functions=functions,
        sources=own.sources,
        write_back=WriteBack(task.workspace) if writes_back and task.workspace else None,
        variables=partial(_variables, task, settings, tools),
        alone=task.hardened and not settings.background,
        judged_by=tuple(filter(None, (task.tests, task.workspace, task.build))),
    )


def _verifier(task: Task) -> Verifier | None:
    if task.tests is None:
        return None
    own = task.harbor.verifier
    user = None if own.user is None else str(own.user)
    return Verifier(task.tests, own.timeout_sec, partial(resolved, own.env), user)


def _oracle(
    state: State, task: Task, settings: Settings, tools: Sequence[AgentTool], instruction: str
) -> OraclePlayer | None:
    """Who runs the solution; None where there is none, or nobody to verify it."""
    verifier = _verifier(task)
    if task.solution is None or verifier is None:
        return None
    return OraclePlayer(
        instruction=instruction,
        environment=settings.environment,
        place=_place(task, settings, tools),
        host=state.host,
        verifier=verifier,
        solution=task.solution,
        timeout=settings.timeout,
        variables=partial(_variables, task, settings, tools),
        own_variables=partial(resolved, task.harbor.solution.env),
    )
