"""Who answers: the model that the settings name."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import SettingsError
from .clients import DEFAULT_URL, is_here
from .metered import Meter, MeteredModel, Terms
from .model import ChatModel
from .price import FREE, Price, Prices

if TYPE_CHECKING:
    from ..redaction import Redactor
    from ..settings.bots import BotSettings, LimitSettings
    from ..settings.model import Settings
    from .script import Script

PROVIDERS = ("openai", "scripted")
SCRIPT = "script.toml"
JUDGE_SCRIPT = "judge_script.toml"
"""What a scripted judge answers from: not the bot's own words."""
SUMMARY_SCRIPT = "summary_script.toml"
"""What a scripted summarizer answers from."""


def make_model(
    bot: BotSettings,
    *,
    directory: Path,
    case: str | None = None,
    run: int = 1,
    environ: Mapping[str, str] | None = None,
    custom: ChatModel | Callable[..., Any] | None = None,
    root: Path | None = None,
    meter: Meter | None = None,
    limits: LimitSettings | None = None,
    redactor: Redactor | None = None,
    script: str = SCRIPT,
) -> ChatModel:
    """The model for run `run` (from 1) of the conversation in `directory`.

    `custom` is what a conftest's `pytest_convo_model` gave: it comes first. A file named `script` is looked for in
    `directory` and above, up to `root`. `meter` counts what is asked, and keeps to `limits`; `redactor` takes secrets
    out of errors. Nothing is sent or opened yet, and no key is needed yet: with recordings none may ever be. Raises
    `SettingsError`, and `FormatError` for a script.
    """
    environ = os.environ if environ is None else environ
    model = _model(bot, directory, case, run, environ, custom, root, redactor, script)
    return model if meter is None else MeteredModel(model, meter, _terms(bot, environ, custom, limits))


def make_similarity_model(
    settings: Settings,
    *,
    environ: Mapping[str, str] | None = None,
    meter: Meter | None = None,
    redactor: Redactor | None = None,
) -> ChatModel:
    """What says how alike two texts are in meaning, as `[embeddings]` has it, and `[bot]` where that is silent.

    As `make_model` it sends and opens nothing yet. Raises `SettingsError` where no model is set.
    """
    from .embedding import SimilarityModel
    from .endpoint import Endpoint
    from .retry import Retry

    if settings.embeddings.model is None:
        msg = "no model is set to embed texts with"
        raise SettingsError(msg, hint="set `model` in [embeddings] of a convo.toml, as the server has it")
    environ = os.environ if environ is None else environ
    bot = _embedding_bot(settings)
    endpoint = Endpoint(**_connection(bot, environ), table="embeddings", redactor=redactor)
    model = SimilarityModel(endpoint, retry=Retry(bot.retries))
    if meter is None:
        return model
    terms = _terms(bot, environ, None, settings.limits)
    return MeteredModel(model, meter, replace(terms, prices=replace(terms.prices, embeds=True)))


def prices_for(bot: BotSettings, environ: Mapping[str, str], custom: object = None) -> Prices:
    """What this bot costs: the price of the settings; nothing, where a script answers; else that of its server.

    A server on this machine, and an application of one's own, have no price that could be known.
    """
    if bot.price is not None:
        return Prices(Price(bot.price.input, bot.price.output, bot.price.cached))
    if custom is not None:
        return _prices_of(custom)
    if bot.provider == "scripted":
        return Prices(FREE)
    return _prices_at(bot.base_url or environ.get("OPENAI_BASE_URL") or DEFAULT_URL)


def _prices_of(custom: object) -> Prices:
    from .openai import OpenAIModel
    from .scripted import ScriptedModel

    if isinstance(custom, OpenAIModel):
        return _prices_at(custom.address)
    return Prices(FREE if isinstance(custom, ScriptedModel) else None)


def _prices_at(url: str) -> Prices:
    return Prices(url=None if is_here(url) else url)


def _terms(bot: BotSettings, environ: Mapping[str, str], custom: object, limits: LimitSettings | None) -> Terms:
    url = bot.base_url or environ.get("OPENAI_BASE_URL") or ""
    return Terms(
        server=f"{url} {bot.api_key_env}",
        prices=prices_for(bot, environ, custom),
        requests_per_minute=limits.requests_per_minute if limits is not None else None,
        tokens_per_minute=limits.tokens_per_minute if limits is not None else None,
    )


def _model(
    bot: BotSettings,
    directory: Path,
    case: str | None,
    run: int,
    environ: Mapping[str, str],
    custom: ChatModel | Callable[..., Any] | None,
    root: Path | None,
    redactor: Redactor | None,
    script: str,
) -> ChatModel:
    if custom is not None:
        return _customized(custom, redactor)
    if bot.provider == "scripted":
        return _scripted(directory, case, run, root, redactor, script)
    if bot.provider not in PROVIDERS:
        raise _unknown(bot.provider)
    if bot.model is None:
        msg = f"no model is set for {directory.name}"
        raise SettingsError(msg, hint="set `model` in [bot] of a convo.toml, --convo-model or PYTEST_CONVO_MODEL")
    return _openai(bot, environ, redactor)


def _customized(custom: Any, redactor: Redactor | None) -> ChatModel:
    if isinstance(custom, ChatModel) and not isinstance(custom, type):
        return custom
    if not callable(custom) or isinstance(custom, type):
        msg = f"pytest_convo_model returned {custom!r}, which is no model"
        raise SettingsError(msg, hint="return a function from messages to a text, or an object with `complete`")
    from .callable import CallableModel

    return CallableModel(custom, redactor=redactor)


def _openai(bot: BotSettings, environ: Mapping[str, str], redactor: Redactor | None) -> ChatModel:
    from .openai import OpenAIModel
    from .retry import Retry

    return OpenAIModel(**_connection(bot, environ), retry=Retry(bot.retries), redactor=redactor)


def _embedding_bot(settings: Settings) -> BotSettings:
    """The bot that embeds: where and how the other one is asked, but for what `[embeddings]` says of it."""
    own = settings.embeddings
    given = {"base_url": own.base_url, "api_key_env": own.api_key_env, "retries": own.retries}
    update = {key: value for key, value in given.items() if value is not None}
    return settings.bot.model_copy(update={**update, "provider": "openai", "model": own.model, "price": own.price})


def _connection(bot: BotSettings, environ: Mapping[str, str]) -> dict[str, Any]:
    """Where the server is, and the key for it."""
    return {
        "base_url": bot.base_url or environ.get("OPENAI_BASE_URL") or None,
        "api_key": environ.get(bot.api_key_env) or None,
        "variable": bot.api_key_env,
    }


def _scripted(
    directory: Path, case: str | None, run: int, root: Path | None, redactor: Redactor | None, name: str
) -> ChatModel:
    from .scripted import ScriptedModel

    for above in _upward(directory, root):
        path = above / name
        if path.is_file():
            place = (
                directory.relative_to(root).as_posix() if root and directory.is_relative_to(root) else directory.name
            )
            script, seed = _script(path, path.stat().st_mtime_ns), f"{place}::{case or ''}"
            return ScriptedModel(script, seed=seed, run=run, redactor=redactor)
    msg = f'provider = "scripted" needs a {name}, and there is none in {directory} or above'
    raise SettingsError(msg, hint=f"write {name} beside the conversation")


@lru_cache(maxsize=64)
def _script(path: Path, changed: int) -> Script:  # noqa: ARG001 a changed file is another script
    from .script import Script

    return Script.load(path)


def _upward(directory: Path, root: Path | None) -> Iterator[Path]:
    """`directory` and those above it, up to `root`."""
    for above in (directory, *directory.parents):
        yield above
        if above == root:
            return


def _unknown(provider: str) -> SettingsError:
    near = difflib.get_close_matches(provider, PROVIDERS, n=1)
    known = " and ".join(f'"{name}"' for name in PROVIDERS)
    suggestion = f'did you mean "{near[0]}"? ' if near else ""
    msg = f"unknown provider {provider!r}"
    hint = f"{suggestion}known are {known}, and what a conftest gives by pytest_convo_model"
    return SettingsError(msg, hint=hint)
