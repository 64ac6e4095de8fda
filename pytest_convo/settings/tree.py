"""The convo.toml and task.toml files of a tree of directories: which ones hold in a directory, and what they list."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ..errors import ConvoError
from .files import anchored, parent_within
from .layer import Layer, TomlPart
from .task import Task, is_task, read_task
from .toml import read

T = TypeVar("T")

FILE = "convo.toml"


class Tree:
    """Reads every file once, at the first time that it is asked for, and keeps it; so too what it has wrong."""

    def __init__(self, rootdir: Path) -> None:
        self._rootdir = rootdir
        self._files: dict[Path, Layer | ConvoError | None] = {}
        self._chains: dict[Path, tuple[Layer, ...]] = {}
        self._cases: dict[Layer, dict[str, Layer]] = {}
        self._tasks: dict[Path, Task | ConvoError | None] = {}

    def own(self, directory: Path) -> Layer | None:
        """The file in `directory`; `FormatError` where it cannot be read as TOML."""
        return _once(self._files, directory, _read)

    def chain(self, directory: Path) -> tuple[Layer, ...]:
        """What a task.toml in `directory` sets, the convo.toml beside it, and those above, nearest first."""
        if directory not in self._chains:
            above = parent_within(directory, self._rootdir)
            chain = () if above is None else self.chain(above)
            if (own := self.own(directory)) is not None:
                chain = (own, *chain)
            if (task := self.task(directory)) is not None:
                chain = (*task.layers(), *chain)
            self._chains[directory] = chain
        return self._chains[directory]

    def task(self, directory: Path) -> Task | None:
        """The task that `directory` is, if it is one; `ConvoError` where its task.toml cannot be read."""
        return _once(self._tasks, directory, lambda place: read_task(place) if is_task(place) else None)

    def cases(self, file: Layer) -> dict[str, Layer]:
        """What each case sets that a valid `file` lists, by its id and in its order."""
        if file not in self._cases:
            self._cases[file] = _cases(file)
        return self._cases[file]


def _once(found: dict[Path, T | ConvoError | None], directory: Path, read: Callable[[Path], T | None]) -> T | None:
    """What `read` gives for a directory, read once; the same error each time where it cannot be read."""
    if directory not in found:
        try:
            found[directory] = read(directory)
        except ConvoError as error:
            found[directory] = error
    what = found[directory]
    if isinstance(what, ConvoError):
        raise what.with_traceback(None)
    return what


def _read(directory: Path) -> Layer | None:
    toml = read(directory / FILE)
    return None if toml is None else Layer(anchored(toml.values, directory), TomlPart(toml), directory)


def _cases(file: Layer) -> dict[str, Layer]:
    assert isinstance(file.origin, TomlPart)
    cases = {}
    for number, case in enumerate(file.values.get("case", ())):
        values = {key: value for key, value in case.items() if key != "id"}
        cases[case["id"]] = Layer(values, TomlPart(file.origin.toml, ("case", number)), file.base)
    return cases
