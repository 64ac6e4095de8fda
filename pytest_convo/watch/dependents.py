"""What is to be run when files change: exactly what depends on them, as far as that can be told."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from ..bot.factory import JUDGE_SCRIPT, SCRIPT, SUMMARY_SCRIPT
from ..conversation.names import FileName, parse
from ..conversation.scan import CONFIG, scan
from ..errors import FormatError
from ..judge.probes import FILE as PROBES
from ..judge.question import INSTRUCTIONS, SAME
from ..layout import TASK, TASK_FOLDERS
from ..settings.files import parent_within
from ..settings.named_bots import FOLDER as BOTS
from ..settings.promptfile import NAMES as PROMPTS
from ..settings.prompts import SUMMARY
from ..settings.task import INSTRUCTION, is_task
from .imports import Imports, importers
from .ledger import Change

CONFTEST = "conftest.py"

_OF_TASKS = (TASK, INSTRUCTION)

ADDING = frozenset({CONFIG, CONFTEST})
"""Files of which all those at and above a directory hold."""

_ALONE = (SCRIPT, JUDGE_SCRIPT, SUMMARY_SCRIPT, INSTRUCTIONS, SAME, SUMMARY, PROBES)

NEAREST = (frozenset(PROMPTS), *(frozenset({name}) for name in _ALONE))
"""Files of which only the nearest holds; those of one set stand in for each other."""

INHERITED = ADDING.union(*NEAREST)

INI = frozenset({"pyproject.toml", "pytest.toml", "pytest.ini", "tox.ini", "setup.cfg"})
"""Files at the rootdir that configure pytest."""


@dataclass(frozen=True, slots=True)
class Unit:
    """What runs by itself: the directory of a conversation or task with the tests beside it, or another file of tests.

    `reads` are files that its settings and templates name, the system prompt, the files of the bots that it uses, and
    the files and folders of a task, as its last collection told.
    """

    path: Path
    reads: frozenset[Path] = frozenset()


class Dependents:
    """Knows the units of a project, and tells which of them a change concerns.

    `python_files` are the patterns of files of tests, as pytest has them.
    """

    def __init__(self, rootdir: Path, *, python_files: Sequence[str] = ("test_*.py", "*_test.py")) -> None:
        self._rootdir = rootdir
        self._python_files = tuple(python_files)
        self._units: dict[Path, Unit] = {}
        self._read_by_tests: dict[Path, set[Path]] = {}
        """Prompt files that tests have asked for while they ran; no collection knows of them."""
        self._broken: set[Path] = set()
        self._modules: set[tuple[str, Path]] = set()
        self._imports = Imports()

    def learn(self, units: Iterable[Unit], modules: Mapping[str, Path], broken: Collection[Path] = ()) -> None:
        """Take in what a collection has told of these units, in place of what was known of them.

        `modules` are the user's modules that were loaded, by their names; `broken` the units that could not be
        collected.
        """
        told = {unit.path: unit for unit in units}
        self._units |= {path: Unit(path) for path in broken if path not in self._units} | told
        self._broken = (self._broken - set(told)) | set(broken)
        self._modules.update(modules.items())

    def read(self, unit: Path, files: Iterable[Path]) -> None:
        """A test of a unit has read these files; it is taken to do so again."""
        self._read_by_tests.setdefault(unit, set()).update(files)

    def of(self, changes: Iterable[Change]) -> dict[Path, list[Change]]:
        """The units that changes concern, each with these; sorted by path.

        A directory that newly holds a message is a unit, one that holds none any more is none; so with files of tests.
        A broken unit counts as mended as soon as it is told here: the collection that follows tells better.
        """
        found: dict[Path, list[Change]] = {}
        changes = list(changes)
        for change in changes:
            for unit in self._added_by(change):
                self._units.setdefault(unit, Unit(unit))
        for change in changes:
            for unit in self._concerned(change):
                found.setdefault(unit, []).append(change)
        result = {unit: found[unit] for unit in sorted(found) if self._is_there(unit)}
        self._broken -= set(result)
        return result

    def knows(self, unit: Path) -> bool:
        """Whether there is such a unit, as far as is known."""
        return unit in self._units

    def files(self) -> set[Path]:
        """Everything that is depended on: directories with all that is below them, and files, there or not yet."""
        parents = {unit.parent for unit in self._units}
        above = {directory for parent in parents for directory in self._upward(parent)}
        named = {path for unit in self._units.values() for path in unit.reads} | {path for _, path in self._modules}
        found = {directory / name for directory in above for name in INHERITED}
        found |= {self._rootdir / name for name in INI} | set(self._units) | named
        found.update(*self._read_by_tests.values())
        there = {directory for directory in {path.parent for path in found} if directory.is_dir()}
        return {path for path in found if path.parent in there}

    def prepare(self) -> None:
        """Read the modules' imports, which takes a while for many, before a change of one asks for them."""
        self._imports.graph(self._modules)

    def _added_by(self, change: Change) -> Iterator[Path]:
        """What may newly be a unit."""
        path = change.path
        if _is_message(path.name):
            yield path.parent
            if not _is_conversation(path.parent):  # its tests are on their own now
                yield from (file for file in _files(path.parent) if self._is_test(file))
        elif path.name in _OF_TASKS and is_task(path.parent):
            yield path.parent
        elif self._is_test(path) and not _is_in_task(path):
            yield path.parent if _is_conversation(path.parent) or is_task(path.parent) else path

    def _concerned(self, change: Change) -> set[Path]:
        path = change.path
        if path.parent == self._rootdir and path.name in INI:
            return set(self._units)
        with_parents = {path, *path.parents}
        found = {unit.path for unit in self._units.values() if not unit.reads.isdisjoint(with_parents)}
        found |= {unit for unit, files in self._read_by_tests.items() if path in files and unit in self._units}
        found.update(self._added_by(change))
        if path.name in INHERITED:
            found.update(self._below(change))
        if path.parent.name == BOTS and path.suffix == ".toml":
            found.update(self._may_use(path))
        if path.suffix == ".py":
            found.update(self._importing(path))
        if path.suffix == ".py":
            found |= self._broken  # it may be what a broken one lacks to import
        if change.created:
            found |= self._broken & {path.parent}  # or a file that its settings name
        return found

    def _below(self, change: Change) -> Iterator[Path]:
        """The units that inherit the file, or have it themselves."""
        directory, name = change.path.parent, change.path.name
        if directory != self._rootdir and self._rootdir.is_relative_to(directory):
            return  # nothing inherits from above the rootdir
        names = next((names for names in NEAREST if name in names), frozenset())
        shadowed: dict[Path, bool] = {}
        for unit in self._units.values():
            if not _is_within(unit.path, directory) or (change.edited and name in PROMPTS and self._tells(unit)):
                continue
            own = unit.path.parent if self._is_test(unit.path) else unit.path
            if not _is_shadowed(own, directory, names, shadowed):
                yield unit.path

    def _may_use(self, bot: Path) -> Iterator[Path]:
        """The units with tests that may use a bot by its name, which no collection tells of tests."""
        directory, name = bot.parent.parent, f"{BOTS}/{bot.name}"
        shadowed: dict[Path, bool] = {}
        for unit in self._units.values():
            own = unit.path.parent if self._is_test(unit.path) else unit.path
            with_tests = self._is_test(unit.path) or any(self._is_test(file) for file in _files(own))
            if with_tests and _is_within(own, directory) and not _is_shadowed(own, directory, {name}, shadowed):
                yield unit.path

    def _tells(self, unit: Unit) -> bool:
        """Whether `reads` has the system prompt: so it is with conversations that could be collected."""
        return bool(unit.reads) and unit.path not in self._broken

    def _importing(self, path: Path) -> set[Path]:
        """The units that import a module, by their conftests, checks or tests; all, where nobody seems to."""
        if path.name != CONFTEST and not any(path == file for _, file in self._modules):
            return set()
        changed = {path} | importers(self._imports.graph(self._modules), path)
        found = {unit.path for unit in self._units.values() if not changed.isdisjoint(self._python_of(unit))}
        is_known = path.name == CONFTEST or self._is_test(path) or any(path in u.reads for u in self._units.values())
        return found if found or is_known else set(self._units)

    def _python_of(self, unit: Unit) -> Iterator[Path]:
        """The Python files that a unit is run with."""
        yield from (read for read in unit.reads if read.suffix == ".py")
        if self._is_test(unit.path):
            yield unit.path
            own = unit.path.parent
        else:
            own = unit.path
            yield from (file for _, file in self._modules if file.parent == own and self._is_test(file))
        yield from (directory / CONFTEST for directory in self._upward(own))

    def _upward(self, directory: Path) -> Iterator[Path]:
        """The directory and those above it, up to the rootdir."""
        above: Path | None = directory
        while above is not None:
            yield above
            above = parent_within(above, self._rootdir)

    def _is_test(self, path: Path) -> bool:
        return path.suffix == ".py" and any(
            fnmatch(
                str(path) if os.sep in pattern else path.name, f"*{os.sep}{pattern}" if os.sep in pattern else pattern
            )
            for pattern in self._python_files
        )

    def _is_there(self, unit: Path) -> bool:
        """Whether there still is something to run; what is not is forgotten."""
        scanned = scan(unit)
        is_broken = scanned.config and unit in self._broken
        if unit.is_file() or scanned.files or scanned.errors or is_broken or is_task(unit):
            return True
        self._units.pop(unit, None)
        self._broken.discard(unit)
        return False


def _is_message(name: str) -> bool:
    """Whether this is the name of a message file, or is wrong for one so that nothing is collected."""
    try:
        return isinstance(parse(name), FileName)
    except FormatError:
        return True


def _is_in_task(path: Path) -> bool:
    """Whether it lies in a task's own folders, where no test is looked for."""
    return any(above.name in TASK_FOLDERS and is_task(above.parent) for above in path.parents)


def _is_conversation(directory: Path) -> bool:
    return scan(directory).is_conversation


def _files(directory: Path) -> Iterator[Path]:
    try:
        yield from directory.iterdir()
    except (FileNotFoundError, NotADirectoryError):
        return


def _is_within(path: Path, directory: Path) -> bool:
    return path == directory or str(path).startswith(f"{str(directory).rstrip(os.sep)}{os.sep}")


def _is_shadowed(directory: Path, top: Path, names: Collection[str], known: dict[Path, bool]) -> bool:
    """Whether one of `names` stands in `directory`, or above it but below `top`."""
    if directory == top or not names:
        return False
    if directory not in known:
        own = any((directory / name).is_file() for name in names)
        known[directory] = own or _is_shadowed(directory.parent, top, names, known)
    return known[directory]
