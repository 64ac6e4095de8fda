"""Environments by name, found among what is installed: ours and those of other packages."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

from ..errors import SandboxUnavailable, SettingsError
from ..texts import one_line
from .base import GROUP, Environment


def named(name: str) -> Environment:
    """A new environment. `SettingsError` where none has that name, `SandboxUnavailable` where it cannot be made."""
    known = {point.name: point for point in entry_points(group=GROUP)}
    if name not in known:
        msg = f"there is no environment {name!r}; the environments are: {', '.join(sorted(known)) or 'none'}"
        raise SettingsError(msg, hint=f"a package brings one along as an entry point of the group {GROUP}")
    return _made(known[name])


def _made(point: EntryPoint) -> Environment:
    try:
        environment: Environment = point.load()()
    except Exception as error:  # somebody else's code
        msg = f"the environment {point.name!r} ({point.value}) cannot be used: {type(error).__name__}: {error}"
        raise SandboxUnavailable(one_line(msg)) from error
    return environment
