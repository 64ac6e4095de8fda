"""From a directory to what can be run: settings, messages, prompt and checks, with every error told at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ..errors import CheckError, ConvoError, FormatErrors, SettingsError
from ..redaction import Redactor
from ..run.group import Group
from ..run.measure import Spec
from .identity import Identity
from .judging import Judging
from .models import model_maker
from .prompts import prompt_files
from .recipes import recipe
from .recordings import complete, of_conversation
from .state import LISTENER, State, of
from .store import stored
from .tools import tools_maker

if TYPE_CHECKING:
    from ..bot.model import ChatModel
    from ..bot.recipe import Recipe
    from ..bot.scribe import Scribe
    from ..check.build import Mistake
    from ..check.run import Checks
    from ..conversation.conversation import Conversation
    from ..conversation.reply import Reply
    from ..run.alike import Likeness
    from ..sandbox.tool import AgentTool
    from ..settings.model import Settings


def cases(state: State, directory: Path) -> Sequence[str | None]:
    """The ids of a conversation's cases; one None where it has none."""
    return state.resolver.cases(directory) or (None,)


def specs_of_all(node: pytest.Item | pytest.Collector, directory: Path) -> tuple[Sequence[str | None], Sequence[Spec]]:
    """The ids of a conversation's cases, and each as it can be run; `FormatErrors` with everything that is wrong."""
    state = of(node.config)
    errors: list[ConvoError] = list(state.scan(directory).errors)
    ids: Sequence[str | None] | None = gathered(errors, partial(cases, state, directory))
    found: Sequence[Spec] | None = gathered(errors, partial(specs, node, directory, ids)) if ids is not None else None
    if errors or ids is None or found is None:
        raise FormatErrors(list({str(error): error for error in errors}.values()))
    return ids, found


def specs(node: pytest.Item | pytest.Collector, directory: Path, ids: Sequence[str | None]) -> list[Spec]:
    """The cases of the conversation at `directory`, each read once in a session.

    Raises `FormatErrors` with all that is wrong with any of them.
    """
    state = of(node.config)
    errors: list[ConvoError] = []
    for case in ids:
        if (directory, case) not in state.specs:
            state.specs[directory, case] = gathered(errors, partial(_read, state, directory, case))
    if errors:
        for case in ids:
            del state.specs[directory, case]
        raise FormatErrors(list({str(error): error for error in errors}.values()))
    return [state.specs[directory, case] for case in ids]


def _read(state: State, directory: Path, case: str | None) -> Spec:
    if (task := state.resolver.task(directory)) is not None:
        from .task_spec import task_spec

        return task_spec(state, task)
    return _conversation_spec(state, directory, case)


def _conversation_spec(state: State, directory: Path, case: str | None) -> Spec:
    from ..check.run import asks

    hook = state.hook(directory)
    resolved = state.resolver.resolve(directory, case=case)
    settings = resolved.settings
    hidden = redactor(settings, hook)
    model = model_maker(state, settings, directory, case, hook, hidden)
    made, conversation = _asked(state, directory, case, settings, model, hook, hidden)
    if settings.bot.provider == "openai" and not complete(state, directory, case, settings.runs):
        state.preload()
    judging = Judging(state, directory, case, settings, hook, hidden, conversation)
    checks = checks_of(judging, resolved.mistake)
    likeness = likeness_of(judging, resolved.mistake)
    return Spec(
        directory=directory,
        case=case,
        settings=settings,
        conversation=conversation,
        recipe=made,
        checks=checks,
        model=stored(state, directory, case, hidden, model),
        tools=tools_maker(state, directory, hook, hidden, settings.bot.functions),
        redactor=hidden,
        recording=of_conversation(state, directory, case, hidden),
        cases=len(cases(state, directory)),
        slow=runs_code(checks),
        asking=asks(checks),
        likeness=likeness,
        beside=judging.recordings(checks, likeness),
        scribe=_scribe(state, directory, case, hidden, conversation),
        prompts=prompt_files(state, directory, settings),
        writes=state.options.write,
    )


def runs_code(checks: Checks) -> bool:
    """Whether a check runs a user's code."""
    from ..check.python import HookCheck, PythonCheck

    return any(isinstance(check, PythonCheck | HookCheck) for several in checks.values() for check in several)


def _scribe(
    state: State, directory: Path, case: str | None, redactor: Redactor, conversation: Conversation
) -> Callable[[int], Scribe] | None:
    """Makes who takes down the answers of each run; None where nobody does."""
    if not state.options.write and LISTENER not in state.config.stash:
        return None
    from .writing import scribe_maker

    return scribe_maker(state, directory, case, redactor, conversation)


def _asked(
    state: State,
    directory: Path,
    case: str | None,
    settings: Settings,
    model: Callable[[int], ChatModel],
    hook: Any,
    hidden: Redactor,
) -> tuple[Recipe, Conversation]:
    """How requests are made, and the messages; `FormatErrors` with what is wrong with them, and with the bot."""
    from ..conversation.conversation import read

    errors: list[ConvoError] = []
    made = gathered(errors, partial(recipe, state, directory, case, settings, hook, hidden))
    scan = state.scan(directory)
    conversation = gathered(
        errors, partial(read, directory, variables=settings.vars, regenerate=settings.regenerate, scan=scan)
    )
    gathered(errors, partial(model, 1))
    if errors:
        raise FormatErrors(errors)
    return made, conversation


def checks_of(judging: Judging, mistake: Mistake) -> Checks:
    """The checks of each turn; `SettingsError` or `FormatErrors` where there is one that cannot be used."""
    from ..check.build import checks_for

    state, conversation = judging.state, judging.conversation
    expect = judging.settings.expect
    if state.options.write:  # what stands by now is given, what is to come has no turn yet: neither is a mistake
        turns = {index: table for index, table in expect.turns.items() if index in conversation.turns}
        expect = expect.model_copy(update={"turns": turns})
    return checks_for(
        expect,
        conversation.turns,
        extra=state.checks(judging.directory),
        price=_price(judging.settings, judging.hook),
        asks=judging,
        approved=conversation.approved,
        approving=state.options.approving,
        mistake=mistake,
    )


def likeness_of(judging: Judging, mistake: Mistake) -> Likeness | None:
    """When two answers say the same; `SettingsError`, with the place of it, where `[agree]` cannot be used."""
    try:
        return judging.likeness()
    except CheckError as error:
        told = mistake("agree.by", f"agree.by: {error}")
        raise told from None


def redactor(settings: Settings, hook: Any, further: Sequence[str] = ()) -> Redactor:
    """What takes out the secrets of the environment, of the settings' patterns and of the conftests' functions.

    `further` are names of variables whose values are secrets, whatever they are called.

    pluggy has the nearest conftest first; what it does comes last.
    """
    functions = [impl.function for impl in hook.pytest_convo_redact.get_hookimpls()]
    asked = (settings.bot, settings.judge, settings.refine, settings.summarize, settings.embeddings)
    names = [who.api_key_env for who in asked if who.api_key_env is not None]
    return Redactor.of_environment(names=[*names, *further], patterns=settings.record.secrets, functions=functions)


def agent_tools(settings: Settings) -> tuple[AgentTool, ...]:
    """The tools that the settings name for agents, as their files have them; `ConvoError` for what is wrong in one."""
    if not settings.tools:
        return ()
    from ..sandbox.tool_file import read_tool

    return tuple(read_tool(path) for path in settings.tools)


def require_plain(name: str, redactor: Redactor, path: Path) -> None:
    """Raise `SettingsError` where a name would put a secret into node ids, which stand in every report and file."""
    if redactor.text(name) != name:
        msg = "a name here holds a secret, and names stand in node ids, reports and files"
        raise SettingsError(msg, path=path, hint="give the parameter an id: pytest.param(..., id=...); or rename it")


def redactor_at(state: State, directory: Path) -> Redactor:
    """The redactor of a directory, also where its settings are wrong: those of the nearest above it hold then."""
    from ..settings.model import Settings

    for above in (directory, *directory.parents):
        try:
            settings = state.resolver.resolve(above).settings
            secrets = [name for tool in agent_tools(settings) for name in tool.secrets]
        except ConvoError:
            continue
        return redactor(settings, state.hook(directory), secrets)
    return redactor(Settings(), state.hook(directory))


def _price(settings: Settings, hook: Any) -> Callable[[Reply], float | None]:
    """What a reply of this conversation's bot costs."""

    def price(reply: Reply) -> float | None:
        from ..bot.factory import prices_for
        from ..bot.price import cost_of

        prices = prices_for(settings.bot, os.environ, hook.pytest_convo_model(settings=settings))
        return cost_of(reply, prices, settings.bot.model)

    return price


def gathered(errors: list[ConvoError], make: Callable[[], Any]) -> Any:
    """What `make` gives; None where it raises what goes to `errors` instead."""
    try:
        return make()
    except FormatErrors as several:
        errors.extend(several.errors)
    except ConvoError as error:
        errors.append(error)
    return None


def group(
    state: State, node_id: str, settings: Settings, identity: Callable[[], Identity], *, compares: bool = False
) -> Group:
    """The group that these settings make of the runs below a node; `compares`: whether its answers must agree.

    Fresh runs that confirm how often a case passes need not agree with each other. Where answers are written there is
    one run.
    """
    options, counted = state.options, bool(state.fresh)
    return Group(
        node_id,
        state.fresh or (1 if options.write or options.oracle else settings.runs),
        settings.agreement,
        settings.good,
        settings.bad,
        at_least=settings.agree.at_least if compares and not counted else None,
        full=options.full or state.fresh is not None,
        first=settings.runs * state.round + 1,
        fresh=state.fresh is not None,
        identity=identity() if options.baseline or options.new_baseline else None,
    )
