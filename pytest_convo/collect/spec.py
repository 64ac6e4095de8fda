"""From a directory to what can be run: settings, messages, prompt and checks, with every error told at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ..errors import ConvoError, FormatErrors
from ..run.group import Group
from ..run.measure import Spec
from .state import State, of

if TYPE_CHECKING:
    from ..bot.model import ChatModel
    from ..bot.tools import Tool
    from ..settings.model import Settings


def cases(state: State, directory: Path) -> Sequence[str | None]:
    """The ids of a conversation's cases; one None where it has none."""
    return state.resolver.cases(directory) or (None,)


def specs_of_all(node: pytest.Item | pytest.Collector, directory: Path) -> tuple[Sequence[str | None], Sequence[Spec]]:
    """The ids of a conversation's cases, and each as it can be run; `FormatErrors` with everything that is wrong."""
    state = of(node.config)
    errors: list[ConvoError] = list(state.scan(directory).errors)
    ids: Sequence[str | None] | None = _try(errors, partial(cases, state, directory))
    found: Sequence[Spec] | None = _try(errors, partial(specs, node, directory, ids)) if ids is not None else None
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
            state.specs[directory, case] = _try(errors, partial(_read, state, directory, case))
    if errors:
        for case in ids:
            del state.specs[directory, case]
        raise FormatErrors(list({str(error): error for error in errors}.values()))
    return [state.specs[directory, case] for case in ids]


def _read(state: State, directory: Path, case: str | None) -> Spec:
    from ..check.build import checks_for
    from ..check.python import HookCheck, PythonCheck
    from ..conversation.conversation import read

    hook = state.hook(directory)
    scan = state.scan(directory)
    resolved = state.resolver.resolve(directory, case=case)
    settings = resolved.settings
    errors: list[ConvoError] = []
    system = _try(errors, lambda: system_prompt(state, directory, settings))
    conversation = _try(
        errors, lambda: read(directory, variables=settings.vars, regenerate=settings.regenerate, scan=scan)
    )
    model = model_maker(state, settings, directory, case, hook)
    if _try(errors, lambda: model(1)) is not None and settings.bot.provider == "openai":
        state.preload()
    if conversation is None or errors:
        raise FormatErrors(errors)
    checks = checks_for(settings.expect, conversation.turns, extra=state.checks(directory), mistake=resolved.mistake)
    return Spec(
        directory=directory,
        case=case,
        settings=settings,
        conversation=conversation,
        system=system,
        checks=checks,
        model=model,
        tools=tools_maker(directory, hook),
        slow=any(isinstance(check, PythonCheck | HookCheck) for turn in checks.values() for check in turn),
    )


def _try(errors: list[ConvoError], make: Callable[[], Any]) -> Any:
    try:
        return make()
    except FormatErrors as several:
        errors.extend(several.errors)
    except ConvoError as error:
        errors.append(error)
    return None


def system_prompt(state: State, directory: Path, settings: Settings) -> str | None:
    """The system prompt: the file that `prompt` names, else the nearest prompt.md, else none."""
    from ..conversation.text import read_text

    path = settings.prompt or state.resolver.find_prompt(directory)
    if path is None:
        return None
    return read_text(path, variables=settings.vars, template=path.suffix == ".j2")


def model_maker(
    state: State, settings: Settings, directory: Path, case: str | None, hook: Any
) -> Callable[[int], ChatModel]:
    def make(run: int) -> ChatModel:
        from ..bot.factory import make_model

        custom = hook.pytest_convo_model(settings=settings)
        return make_model(
            settings.bot,
            directory=directory,
            case=case,
            run=run,
            custom=custom,
            root=state.config.rootpath,
            pauses=state.runs.ledger,
        )

    return make


def tools_maker(directory: Path, hook: Any) -> Callable[[int], Sequence[Tool]] | None:
    if not hook.pytest_convo_tools.get_hookimpls():
        return None

    def make(run: int) -> Sequence[Tool]:
        from ..bot.tools import make_tools

        return make_tools(hook.pytest_convo_tools(path=directory, run=run))

    return make


def group(state: State, node_id: str, settings: Settings) -> Group:
    """The group that these settings make of the runs below a node."""
    full = state.options.full
    return Group(node_id, settings.runs, settings.agreement, settings.good, settings.bad, full=full)
