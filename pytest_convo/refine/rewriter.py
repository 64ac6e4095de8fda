"""Asking the rewriter: the model of `[refine]`, else the bot's own, else whom a conftest gives."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..bot.deadline import within
from ..bot.factory import PROVIDERS, make_model
from ..bot.model import ChatModel, replied
from ..collect.recipes import other_stack
from ..collect.spec import redactor
from ..collect.state import State
from ..conversation.message import Message
from ..errors import HarnessError, SettingsError
from ..prompt.build import build
from ..prompt.part import Part
from ..run.shelter import sheltered
from ..settings.bots import RefineSettings
from .order import Writing

if TYPE_CHECKING:
    from ..conversation.reply import Reply
    from ..settings.model import Settings

SCRIPT = "rewriter_script.toml"
"""What a scripted rewriter answers from: not the bot's own words."""


def rewrite(state: State, writing: Writing) -> str:
    """What the rewriter answers, as it stands; `ConvoError` where it does not."""
    directory = Path(writing.directory)
    settings = state.resolver.resolve(directory).settings
    refine = RefineSettings.model_validate({**settings.refine.model_dump(exclude_unset=True), **writing.settings})
    settings = settings.model_copy(update={"refine": refine, "bot": refine.of(settings.bot)})
    model = _model(state, settings, directory, writing.number)
    system, *history = [Message(role, text) for role, text in writing.messages]  # type: ignore[arg-type]
    stack = other_stack(settings, refine, "refine").then(Part("rewriter", system.text))
    request = build(stack=stack, history=history, bot=settings.bot).request

    async def asked(idle: object) -> Reply:  # noqa: ARG001 it asks once, and is in flight all the time
        async with within(settings.timeout, "the rewriter"), sheltered():
            return replied(model, await model.complete(request))

    reply = state.runs.wait(state.runs.engine.submit(asked))
    if reply.finish_reason == "length":
        msg = "the rewriter's answer was cut off"
        raise HarnessError(msg, hint="raise max_tokens in [refine.request]")
    return reply.text


def _model(state: State, settings: Settings, directory: Path, number: int) -> ChatModel:
    """The rewriter. An application under test is not asked to rewrite its own prompt: it is no model for that."""
    hook, bot, named = state.hook(directory), settings.bot, settings.refine.provider
    custom = hook.pytest_convo_rewriter(settings=settings)
    if custom is None and named is not None and named not in PROVIDERS:
        custom = hook.pytest_convo_model(settings=settings)
    if custom is None and (bot.provider not in PROVIDERS or (bot.provider == "openai" and bot.model is None)):
        msg = "nobody is named who rewrites prompts"
        raise SettingsError(msg, hint="set `model` in [refine] of a convo.toml, or give one by pytest_convo_rewriter")
    return make_model(
        bot,
        directory=directory,
        run=number,
        custom=custom,
        root=state.config.rootpath,
        meter=state.runs.meter,
        limits=settings.limits,
        redactor=redactor(settings, hook),
        script=SCRIPT,
    )
