"""Where the bots are that are used by name: in the nearest `bots/NAME.toml`, or among those that conftests define."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import ConvoError, SettingsError
from .files import anchored, is_file, parent_within
from .layer import Layer, TomlPart
from .rules import is_bot_name
from .show import show
from .toml import read

FOLDER = "bots"
HOOK = "pytest_convo_bots"

Definitions = Mapping[str, Mapping[str, Any]]
"""Definitions of bots by their names, each as its file would be read."""


class NamedBots:
    """Reads each definition once, when it is first used; nothing is looked for before.

    `of_conftests` says what conftests define for a directory; relative paths there are relative to `rootdir`.
    """

    def __init__(self, rootdir: Path, of_conftests: Callable[[Path], Definitions] | None = None) -> None:
        self._rootdir = rootdir
        self._of_conftests = of_conftests
        self._hooked: dict[Path, Definitions] = {}
        self._paths: dict[tuple[Path, str], Path | None] = {}
        self._files: dict[Path, Layer | ConvoError] = {}
        self._coded: dict[tuple[str, str], Layer] = {}

    def find(self, directory: Path, name: str) -> Layer | None:
        """The bot of this name that is used in a directory; None where there is none.

        `ConvoError` for a file that cannot be read, and for a name that stands for two bots.
        """
        path, in_code = self._path(directory, name), self._defined(directory).get(name)
        if path is None:
            return None if in_code is None else self._code(name, in_code)
        if in_code is not None:
            msg = f"{HOOK} of a conftest defines a bot of this name, too: {name}"
            raise SettingsError(msg, path=path, hint="give one of the two another name")
        return self._file(path, name)

    def lacks(self, directory: Path, name: str) -> tuple[str, str]:
        """What to say of a name that no bot has, and what to do about it."""
        place = f"{FOLDER}/{name}.toml"
        within = directory.is_relative_to(self._rootdir) and directory != self._rootdir
        where = f"in {directory.relative_to(self._rootdir).as_posix()} or above it" if within else "there"
        known = sorted({*self._defined(directory), *self._names(directory)})
        text = f"there is no bot {show(name)}: no {place} {where}, and no conftest defines it"
        if not known:
            return text, f"no bot is defined yet: write {place}, as convo.toml is written"
        nearest = difflib.get_close_matches(name, known, n=3)
        listed = f"there are {', '.join(known)}"
        return text, f"did you mean {' or '.join(nearest)}? {listed}" if nearest else listed

    def candidates(self, directory: Path, name: str) -> Iterator[Path]:
        """Where the file may be, nearest first, as far as the first one that is there."""
        for above in self._upward(directory):
            path = above / FOLDER / f"{name}.toml"
            yield path
            if is_file(path):
                return

    def _path(self, directory: Path, name: str) -> Path | None:
        key = (directory, name)
        if key not in self._paths:
            own, above = directory / FOLDER / f"{name}.toml", parent_within(directory, self._rootdir)
            farther = None if above is None else self._path(above, name)
            self._paths[key] = own if is_file(own) else farther
        return self._paths[key]

    def _file(self, path: Path, name: str) -> Layer:
        if path not in self._files:
            try:
                self._files[path] = _read(path, name)
            except ConvoError as error:
                self._files[path] = error
        found = self._files[path]
        if isinstance(found, ConvoError):
            raise found.with_traceback(None)
        return found

    def _code(self, name: str, values: Mapping[str, Any]) -> Layer:
        """What a conftest defines: the same layer for as long as the definition is the same."""
        key = (name, repr(values))
        if key not in self._coded:
            self._coded[key] = Layer(anchored(values, self._rootdir), f"{HOOK} {name}", self._rootdir, defines=name)
        return self._coded[key]

    def _defined(self, directory: Path) -> Definitions:
        if self._of_conftests is None:
            return {}
        if directory not in self._hooked:
            found = self._of_conftests(directory)
            for name, values in found.items():
                if not is_bot_name(name) or not isinstance(values, Mapping):
                    msg = f"{HOOK} returned {show(name)} with {show(values)}"
                    hint = 'return names with tables, for instance {"support": {"bot": {"model": "gpt-4o"}}}'
                    raise SettingsError(msg, hint=hint)
            self._hooked[directory] = found
        return self._hooked[directory]

    def _names(self, directory: Path) -> Iterator[str]:
        for above in self._upward(directory):
            yield from (path.stem for path in (above / FOLDER).glob("*.toml") if is_bot_name(path.stem))

    def _upward(self, directory: Path) -> Iterator[Path]:
        above: Path | None = directory
        while above is not None:
            yield above
            above = parent_within(above, self._rootdir)


def _read(path: Path, name: str) -> Layer:
    toml = read(path)
    assert toml is not None  # it was there a moment ago
    return Layer(anchored(toml.values, path.parent), TomlPart(toml), path.parent, defines=name)
