"""Which sandbox settings ask for, and what becomes of a run where there is none."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from .._compat import Skipped
from ..agent.kinds import KINDS
from ..errors import SandboxUnavailable
from ..options import in_ci
from ..sandbox.base import SandboxSpec

if TYPE_CHECKING:
    from ..options import Options
    from ..settings.model import Settings
    from .state import State


def spec_of(settings: Settings, **further: Any) -> SandboxSpec:
    """The sandbox that settings ask for; `further` are fields that they do not know, or that come in their place."""
    given = {
        "image": settings.image,
        "permission": settings.permission or KINDS[settings.kind].permission,
        "scratch": settings.scratch,
        "user": settings.user,
        "writable": settings.writable,
        "network": settings.network,
        "memory": settings.memory,
        "cpus": float(settings.cpus),
        "pids": settings.pids,
        "runtime": settings.runtime,
        "secrets": variables_of(settings),
    }
    return SandboxSpec(**(given | further))


def variables_of(settings: Settings) -> dict[str, str]:
    """The variables of this machine's that commands get; each comes with its command, so that no engine shows it."""
    return {name: os.environ[name] for name in settings.env if name in os.environ}


def skip_without_engine(state: State, settings: Settings, error: Exception | None) -> None:
    """Skip what reads a run that has ended with `error`, where that is for want of an engine and no error."""
    if isinstance(error, SandboxUnavailable) and skips(state.options):
        reason = state.host.unavailable(settings.environment)
        if reason is not None:  # else it is an image that cannot be had: that is the task's fault
            raise Skipped(reason, _use_item_location=True)


def skips(options: Options) -> bool:
    """Whether a run is skipped where no sandbox can be made: a suite that skips itself in CI would be a false green."""
    return options.sandbox == "skip" or (options.sandbox == "auto" and not in_ci())
