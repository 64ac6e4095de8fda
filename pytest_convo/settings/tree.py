"""The convo.toml files of a tree of directories: which ones hold in a directory, and which cases it lists."""

from __future__ import annotations

from pathlib import Path

from ..errors import ConvoError
from .files import anchored, parent_within
from .layer import Layer, TomlPart
from .toml import read

FILE = "convo.toml"


class Tree:
    """Reads every file once, at the first time that it is asked for, and keeps it; so too what it has wrong."""

    def __init__(self, rootdir: Path) -> None:
        self._rootdir = rootdir
        self._files: dict[Path, Layer | ConvoError | None] = {}
        self._chains: dict[Path, tuple[Layer, ...]] = {}
        self._cases: dict[Layer, dict[str, Layer]] = {}

    def own(self, directory: Path) -> Layer | None:
        """The file in `directory`; `FormatError` where it cannot be read as TOML."""
        if directory not in self._files:
            try:
                self._files[directory] = _read(directory)
            except ConvoError as error:
                self._files[directory] = error
        found = self._files[directory]
        if isinstance(found, ConvoError):
            raise found.with_traceback(None)
        return found

    def chain(self, directory: Path) -> tuple[Layer, ...]:
        """The file in `directory` and those above it, nearest first."""
        if directory not in self._chains:
            above = parent_within(directory, self._rootdir)
            inherited = () if above is None else self.chain(above)
            own = self.own(directory)
            self._chains[directory] = inherited if own is None else (own, *inherited)
        return self._chains[directory]

    def cases(self, file: Layer) -> dict[str, Layer]:
        """What each case sets that a valid `file` lists, by its id and in its order."""
        if file not in self._cases:
            self._cases[file] = _cases(file)
        return self._cases[file]


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
