"""A tool that is installed in a sandbox for an agent to use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ToolVariable:
    """An environment variable of the host's that a tool needs."""

    name: str
    secret: bool = False
    """Whether its value must never be written or shown."""
    optional: bool = False


@dataclass(frozen=True, slots=True)
class ToolFile:
    """A file of the host's that a tool needs in the sandbox, byte for byte."""

    source: Path
    target: str
    """The absolute path in the sandbox."""
    mode: int = 0o644


@dataclass(frozen=True, slots=True)
class AgentTool:
    """A program for an agent: how it is installed and verified, and what the agent is told of it.

    `install` and `verify` are run once, while an image is made that has the tool: as root with a network, and as the
    user that the agent will be. `setup` is run in each sandbox before the agent begins, `uninstall` after it has ended.
    """

    name: str
    description: str = ""
    usage: str = ""
    """What the agent is told: how the tool is called, with examples."""
    install: tuple[str, ...] = ()
    verify: tuple[str, ...] = ()
    setup: tuple[str, ...] = ()
    uninstall: tuple[str, ...] = ()
    variables: tuple[ToolVariable, ...] = ()
    files: tuple[ToolFile, ...] = ()
    parameters: Mapping[str, object] = field(default_factory=dict)
    """The JSON schema of its arguments, where the model is to call it by its name; empty: it is used in the shell."""
    command: str = ""
    """For a tool that is called by its name: what runs, with the arguments as JSON in the variable `ARGUMENTS`."""
    path: Path | None = None
    """The file that defines it."""

    @property
    def secrets(self) -> list[str]:
        """The names of its variables whose values must never be written or shown."""
        return [variable.name for variable in self.variables if variable.secret]
