"""Layers that are no files: the environment, and `KEY=VALUE` of a command line."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

from ..errors import SettingsError
from .layer import Layer
from .locate import Keys
from .short import KEY, Short, as_written
from .show import dotted

PREFIX = "PYTEST_CONVO_"

SHORT: dict[Keys, Keys] = {("model",): ("bot", "model")}
"""Settings with a name of their own: PYTEST_CONVO_MODEL is PYTEST_CONVO_BOT__MODEL."""

SESSION_OPTIONS = frozenset(
    {"concurrency", "eager", "inconclusive", "record", "sandbox", "max_usd", "max_calls", "max_tokens"}
)
"""Variables of the same prefix that are no settings of a conversation: the options of a session read them."""


def environment_layer(environ: Mapping[str, str], base: Path | None = None) -> Layer:
    """The settings in the environment; relative paths in them are relative to `base`, else to the working directory.

    The rule: `PYTEST_CONVO_` and the key in upper case, each dot as two underscores, so that
    `PYTEST_CONVO_BOT__REQUEST__SEED=7` sets `bot.request.seed`. An empty variable sets nothing.
    """
    values: dict[str, Any] = {}
    names: dict[str, str] = {}
    for variable in sorted(environ):
        keys = _keys_of_variable(variable)
        if keys and environ[variable]:
            _put(values, keys, _value(environ[variable]))
            key = dotted(as_written(values, keys))
            if key in names:
                msg = f"{variable} and {names[key]} set the same, {key}"
                raise SettingsError(msg, hint="unset one of them")
            names[key] = variable
    return Layer(values, names, base or Path.cwd())


def assignments_layer(
    assignments: Iterable[str], origin: str = "command line --convo-set", base: Path | None = None
) -> Layer:
    """The settings of `["bot.temperature=0", "runs=3"]`; of two that set the same, the later one holds.

    A value is TOML where it can be (`0`, `true`, `["a", "b"]`, `"30"`), else a text as it stands. `SettingsError`
    for what is not KEY=VALUE. Relative paths are relative to `base`, else to the working directory.
    """
    values: dict[str, Any] = {}
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        keys = _keys(key) if equals else ()
        if not keys:
            msg = f"{origin}: KEY=VALUE is needed, not {dotted((key.strip(),)) or 'nothing'}"
            raise SettingsError(msg, hint="for instance bot.temperature=0")
        _put(values, keys, _value(text))
    return Layer(values, origin, base or Path.cwd())


def _keys_of_variable(variable: str) -> Keys:
    name = variable.removeprefix(PREFIX).lower()
    if not variable.startswith(PREFIX) or name in SESSION_OPTIONS:
        return ()
    keys: Keys = tuple(name.split("__"))
    return SHORT.get(keys, keys)


def _keys(text: str) -> Keys:
    """The parts of a dotted key, quoted ones too; none where it is no key."""
    try:
        inner: Any = tomllib.loads(f"{text} = 0")
    except ValueError:
        return ()
    keys: Keys = ()
    while isinstance(inner, dict) and len(inner) == 1:
        ((key, inner),) = inner.items()
        keys = (*keys, key)
    return keys if inner == 0 else ()


def _value(text: str) -> Any:
    try:
        found = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    value = found.pop("value")
    return text if found or isinstance(value, date | datetime | time) else value


def _put(values: dict[Any, Any], keys: Keys, value: Any) -> None:
    """Set one key; what was set of the same table before stays, also of one that no two files may share."""
    *tables, last = keys
    for table in tables:
        if not isinstance(values.get(table), dict):
            values[table] = {}
        values = values[table]
    values[last] = value if keys != (KEY,) else Short.of(value, values.get(KEY))
