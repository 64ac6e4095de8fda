"""What a collection tells the watcher: what runs by itself, what it reads, which of the user's modules are loaded."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ..collect.state import State, existing
from ..conversation.text import sources
from ..errors import ConvoError
from ..layout import TASK, TASK_FOLDERS
from ..run.session import RUN
from ..settings.files import named
from ..settings.task import INSTRUCTION, is_task

BY_COMMAND_LINE = "command line --convo-runs"
"""Where settings come from that a watcher has made itself."""

ASKING = frozenset({"agent", "bot"})
"""The fixtures by which a test asks a model itself."""

INSTALLED = ("site-packages", "dist-packages")
"""Directories of modules that are not the user's own, be they below the rootdir."""


def is_users(file: str, rootdir: Path) -> bool:
    """Whether a file of Python is the user's own: below the rootdir, and not installed there."""
    root = f"{rootdir}/"
    return file.startswith(root) and not any(part in INSTALLED for part in file.removeprefix(root).split("/"))


def loaded_modules(rootdir: Path) -> dict[str, str]:
    """The user's modules in this process: name → file."""
    files = {name: getattr(module, "__file__", None) for name, module in list(sys.modules.items())}
    return {
        name: file
        for name, file in files.items()
        if isinstance(file, str) and file[-3:] == ".py" and is_users(file, rootdir)
    }


def collected(state: State | None, session: pytest.Session) -> dict[str, Any]:
    """All of it, as a note: `units`, each with the files that it reads, those that are `broken`, and `modules`.

    A unit is `redundant` where its settings, but for the command line's, ask for more than one run, or may do so.
    """
    units_of_items = {unit_of(item) for item in session.items if concerns_us(item)}
    conversations = {directory for directory, _ in state.specs} if state is not None else set()
    broken = state.broken if state is not None else set()
    units = [
        {
            "path": str(path),
            "reads": sorted(map(str, _read_by(state, path))) if state is not None and path.is_dir() else [],
            "redundant": _is_redundant(state, path) if state is not None and path in conversations else True,
        }
        for path in sorted({*conversations, *broken, *units_of_items})
    ]
    return {
        "kind": "collected",
        "units": units,
        "broken": sorted(map(str, broken)),
        "modules": loaded_modules(session.config.rootpath),
    }


def concerns_us(item: pytest.Item) -> bool:
    """Whether a model may be asked for it, or it reads what one said; other tests beside a conversation run with it."""
    state = existing(item.config)
    beside = state is not None and state.scan(item.path.parent).is_conversation
    return RUN in item.stash or beside or not ASKING.isdisjoint(getattr(item, "fixturenames", ()))


def unit_of(item: pytest.Item) -> Path:
    """What runs by itself that an item is part of: the directory of a conversation or task, or the file of the test."""
    state, directory = existing(item.config), item.path.parent
    if state is not None and (
        state.scan(directory).is_conversation or directory in state.broken or (directory, None) in state.specs
    ):
        return directory
    return item.path


def group_of(item: pytest.Item) -> str:
    """The node id under which an item gets its verdict."""
    run = item.stash.get(RUN, None)
    return run.group.id if run is not None else item.nodeid


def _read_by(state: State, directory: Path) -> Iterator[Path]:
    """The files that a conversation is made of, beside those in its directory that every conversation has.

    Of a task also its own, and its folders; but a workspace that runs write to is no reason to run.
    """
    found: set[Path] = set()
    if is_task(directory):
        found = {directory / name for name in (TASK, INSTRUCTION, *TASK_FOLDERS)}
        spec = state.specs.get((directory, None))
        if spec is not None and spec.settings.write_back:
            found.remove(directory / "workspace")
    cases = [case for at, case in state.specs if at == directory] or [None]  # none where it is broken
    for case in cases:
        found.update(_named_in_settings(state, directory, case))
    found.update(directory / file.name for file in state.scan(directory).files if file.template)
    for path in list(found):
        if path.suffix == ".j2":
            found |= sources(path)
    yield from found


def _is_redundant(state: State, directory: Path) -> bool:
    """Whether there is more than one run where nobody says otherwise on the command line."""
    if any(path.suffix == ".py" for path in directory.glob("test_*.py")):
        return True  # marks may say so
    for at, case in state.specs:
        if at == directory:
            layers = state.resolver.resolve(directory, case=case).layers
            asked = (
                layer.values["runs"] for layer in layers if "runs" in layer.values and layer.origin != BY_COMMAND_LINE
            )
            if next(asked, 1) != 1:
                return True
    return False


def _named_in_settings(state: State, directory: Path, case: str | None) -> Iterator[Path]:
    """The files that settings name, and where the bots may be that they use: one may come that is nearer."""
    yield from state.resolver.bot_files(directory, case)
    try:
        resolved = state.resolver.resolve(directory, case=case)
        prompt = None if resolved.settings.prompt.files else state.resolver.find_prompt(directory)
    except ConvoError:
        return  # told as the error of its collection
    yield from named(resolved.values)
    if prompt is not None:
        yield prompt
