"""A task directory: what it asks of an agent, where the agent works, and who verifies it. Harbor's layout, and ours."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ConvoError, FormatError
from ..layout import TASK
from .files import anchored, is_file
from .layer import Layer, TomlPart
from .toml import Toml, read

if TYPE_CHECKING:
    from .harbor import Harbor

INSTRUCTION = "instruction.md"
OURS = "convo"
"""The table of a task.toml that is ours."""


@dataclass(frozen=True, eq=False)
class Task:
    """A task as its files have it; paths are None where there is nothing."""

    directory: Path
    toml: Toml
    harbor: Harbor

    @property
    def instruction(self) -> Path:
        return self.directory / INSTRUCTION

    @property
    def hardened(self) -> bool:
        """Whether it has a table of ours: one without is run as Harbor runs it."""
        return OURS in self.toml.values

    @property
    def workspace(self) -> Path | None:
        """The folder on which the agent works."""
        return _folder(self.directory / "workspace")

    @property
    def build(self) -> Path | None:
        """The folder with the Dockerfile of the task's image."""
        return _folder(self.directory / "environment") if is_file(self.directory / "environment/Dockerfile") else None

    @property
    def tests(self) -> Path | None:
        """The folder of the verifier."""
        return _folder(self.directory / "tests") if is_file(self.directory / "tests/test.sh") else None

    @property
    def solution(self) -> Path | None:
        """The folder of the solution that proves the task."""
        return _folder(self.directory / "solution") if is_file(self.directory / "solution/solve.sh") else None

    def layers(self) -> tuple[Layer, ...]:
        """The settings in its task.toml, nearest first: of our table, then of Harbor's."""
        from .harbor import DEFAULT_TIMEOUT

        given = self.harbor.settings()
        if not self.hardened:
            given.setdefault("timeout", (DEFAULT_TIMEOUT, "agent.timeout_sec, which is Harbor's default"))
            given["network"] = self.harbor.environment.allow_internet, "environment.allow_internet"
            given["writable"] = True, "Harbor's default"
        values = {name: value for name, (value, _) in given.items()}
        origins = {name: f"{self.toml.path.name} {key}" for name, (_, key) in given.items()}
        harbors = Layer(values, origins, self.directory)
        if not self.hardened:
            return (harbors,)
        ours = self.toml.values[OURS]
        if not isinstance(ours, dict):
            msg = f"{OURS} must be a table"
            raise FormatError(msg, path=self.toml.path, line=self.toml.line((OURS,)), hint=f"as [{OURS}]")
        return (Layer(anchored(ours, self.directory), TomlPart(self.toml, (OURS,)), self.directory), harbors)


def is_task(directory: Path) -> bool:
    """Whether a directory is one, by the names of its files: some other project's task.toml is none of our business."""
    return is_file(directory / TASK) and (is_file(directory / INSTRUCTION) or _has_our_table(directory / TASK))


def read_task(directory: Path) -> Task:
    """The task in a directory that is one; `FormatError` and `SettingsError` for its task.toml."""
    from .harbor import read_harbor  # sessions of conversations alone need none of it

    toml = read(directory / TASK)
    assert toml is not None
    return Task(directory, toml, read_harbor(toml))


def _has_our_table(path: Path) -> bool:
    try:
        toml = read(path)
    except ConvoError:  # whoever's it is: nothing says that it is meant for us
        return False
    return toml is not None and OURS in toml.values


def _folder(path: Path) -> Path | None:
    return path if path.is_dir() else None
