"""What holds in a directory, and where each value came from, as `--convo-explain` prints it."""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path
from typing import Any

from ..agreement.verdict import rule
from .agents import AgentSettings
from .bots import BotSettings
from .layer import leaves
from .model import Common, Settings
from .promptfile import find_prompt
from .resolve import Resolved, named
from .short import KEY
from .show import show
from .task import is_task

_ORDER = {name: number for number, name in enumerate(["version", *Common.model_fields, *BotSettings.model_fields])}


def explain(resolved: Resolved, directory: Path) -> str:
    """One line for each setting: its key, its value, the place it came from. No secret is shown."""
    given = {named(keys): _shown(keys[-1], value, resolved.rootdir) for keys, value in leaves(resolved.values)}
    rows = [(key, given.get(key) or _default(key, resolved), origin) for key, origin in resolved.origins.items()]
    settings, task = resolved.settings, is_task(directory)
    rows = [
        _row(*row, resolved, directory) for row in rows if row[0] in given or _concerns(row[0], settings, task=task)
    ]
    return _table(sorted(rows, key=lambda row: [_ORDER.get(part, len(_ORDER)) for part in row[0].split(".")]))


def _row(key: str, value: str, origin: str, resolved: Resolved, directory: Path) -> tuple[str, str, str]:
    settings = resolved.settings
    if key == "agreement":
        value += f", {rule(settings.runs, settings.agreement, settings.good, settings.bad).text}"
    if key == "prompt" and settings.prompt.files is None and (found := find_prompt(directory, resolved.rootdir)):
        return key, _shown(key, found, resolved.rootdir), "the nearest of its name"
    return key, value, origin


def _concerns(key: str, settings: Settings, *, task: bool) -> bool:
    """Whether a default says something: those of agents in a task, those of the sequential test where that is asked."""
    if key in AgentSettings.model_fields:
        return task
    return settings.agreement == "sprt" or key not in ("good", "bad")


def _default(key: str, resolved: Resolved) -> str:
    value: Any = resolved.settings
    for part in key.split("."):
        value = getattr(value, part)
    if value is None or key == KEY:
        return "not set"
    return (
        f'"{value:g}s"'
        if key in ("timeout", "command_timeout")
        else show(float(value) if isinstance(value, Fraction) else value)
    )


def _shown(name: object, value: Any, rootdir: Path) -> str:
    """The value on one line; files below the rootdir as they stand there."""
    if isinstance(value, list | tuple):
        value = [_below(one, rootdir) for one in value]
    return show(_below(value, rootdir), name)


def _below(value: Any, rootdir: Path) -> Any:
    return os.fspath(value).removeprefix(f"{rootdir}{os.sep}") if isinstance(value, str | os.PathLike) else value


def _table(rows: list[tuple[str, str, str]]) -> str:
    keys, values = (max(len(row[column]) for row in rows) for column in (0, 1))
    return "\n".join(f"{key:{keys}}  {value:{values}}  {origin}" for key, value, origin in rows)
