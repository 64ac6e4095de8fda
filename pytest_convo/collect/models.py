"""Who is asked in a directory: the models that its settings and its conftests name, made for each run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..redaction import Redactor
from .state import State

if TYPE_CHECKING:
    from ..bot.model import ChatModel
    from ..settings.bots import BotSettings
    from ..settings.model import Settings


def model_maker(
    state: State, settings: Settings, directory: Path, case: str | None, hook: Any, hidden: Redactor
) -> Callable[[int], ChatModel]:
    """Makes the bot for run i: what a conftest gives, else what the settings name."""

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
            meter=state.runs.meter,
            limits=settings.limits,
            redactor=hidden,
        )

    return make


def other_maker(
    state: State,
    settings: Settings,
    bot: BotSettings,
    directory: Path,
    case: str | None,
    hook: Any,
    hidden: Redactor,
    *,
    script: str,
) -> Callable[[int], ChatModel]:
    """Makes the judge or the summarizer, whose settings are `bot`, for run i; a scripted one answers from `script`.

    A conftest's model is asked for only where a provider is named that is not ours, with settings in which the one who
    is asked is the bot: an application under test is not to judge itself.
    """

    def make(run: int) -> ChatModel:
        from ..bot.factory import PROVIDERS, make_model

        own = settings.model_copy(update={"bot": bot})
        return make_model(
            bot,
            directory=directory,
            case=case,
            run=run,
            custom=None if bot.provider in PROVIDERS else hook.pytest_convo_model(settings=own),
            root=state.config.rootpath,
            meter=state.runs.meter,
            limits=settings.limits,
            redactor=hidden,
            script=script,
        )

    return make
