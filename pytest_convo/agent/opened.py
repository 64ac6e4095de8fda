"""The sandbox of one `Agent`, from before its first command until after its last."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from ..errors import SandboxUnavailable
from ..sandbox.base import WORKSPACE
from ..sandbox.environments import named
from ..sandbox.toolset import setup, uninstall, variables_of

if TYPE_CHECKING:
    from ..sandbox.base import Environment, Sandbox, SandboxSpec
    from ..sandbox.tool import AgentTool


class Opened:
    """A sandbox with its tools set up; everything here blocks."""

    def __init__(
        self, sandbox: Sandbox, tools: Sequence[AgentTool], place: str | None, environment: Environment | None
    ) -> None:
        self.sandbox = sandbox
        self.place = place
        """Where its folder is, in the sandbox; None where it has none, or not at a fixed path."""
        self._tools = tools
        self._environment = environment
        """Whose end is ours, too."""

    @classmethod
    def of(cls, given: str | Environment, spec: SandboxSpec) -> Self:
        """A new sandbox in an environment, or in one that is made by its name. Raises `SandboxError`."""
        environment = named(given) if isinstance(given, str) else given
        if (reason := environment.available()) is not None:
            raise SandboxUnavailable(reason)
        ours = environment if isinstance(given, str) else None
        try:
            prepared = environment.prepare(_with_variables(spec))
            place = WORKSPACE if spec.folder is not None and "isolation" in environment.capabilities else None
            opened = cls(environment.open(prepared), spec.tools, place, ours)
        except BaseException:
            if ours is not None:
                ours.close()
            raise
        try:
            setup(opened.sandbox, spec.tools)
        except BaseException:
            opened._end()
            raise
        return opened

    def close(self) -> None:
        """Have the tools uninstalled, and end it; what a tool leaves behind is warned of."""
        try:
            for note in uninstall(self.sandbox, self._tools):
                warnings.warn(note, stacklevel=2)
        finally:
            self._end()

    def _end(self) -> None:
        self.sandbox.close()
        if self._environment is not None:
            self._environment.close()


def _with_variables(spec: SandboxSpec) -> SandboxSpec:
    variables, secrets = variables_of(spec.tools)
    return replace(spec, variables={**variables, **spec.variables}, secrets={**secrets, **spec.secrets})
