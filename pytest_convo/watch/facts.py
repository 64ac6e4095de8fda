"""What a collection tells the watcher: what runs by itself, what it reads, which of the user's modules are loaded."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ..conversation.text import sources
from ..errors import ConvoError
from ..settings.files import named

if TYPE_CHECKING:
    from ..collect.state import State

FOREIGN = ("site-packages", "dist-packages", ".venv", "venv", ".tox", ".nox")
"""Directories below a rootdir whose modules are not the user's own."""


def is_users(file: str, rootdir: Path) -> bool:
    """Whether a file of Python is the user's own: below the rootdir, and not installed there."""
    root = f"{rootdir}/"
    return file.startswith(root) and not any(part in FOREIGN for part in file.removeprefix(root).split("/"))


def loaded_modules(rootdir: Path) -> dict[str, str]:
    """The user's modules in this process: name → file."""
    files = {name: getattr(module, "__file__", None) for name, module in list(sys.modules.items())}
    return {
        name: file
        for name, file in files.items()
        if isinstance(file, str) and file[-3:] == ".py" and is_users(file, rootdir)
    }


def collected(state: State | None, session: pytest.Session) -> dict[str, Any]:
    """All of it, as a note: `units`, each with the files that it reads and the ids of its groups, and `modules`."""
    groups = groups_by_unit(session.items)
    conversations = {directory for directory, _ in state.specs} if state is not None else set()
    broken = state.broken if state is not None else set()
    units = [
        {
            "path": str(path),
            "reads": sorted(map(str, _read_by(state, path))) if state is not None and path in conversations else [],
            "groups": groups.get(path, []),
            "conversation": path in conversations or path in broken,
        }
        for path in sorted({*conversations, *broken, *groups})
    ]
    return {
        "kind": "collected",
        "units": units,
        "broken": sorted(map(str, broken)),
        "modules": loaded_modules(session.config.rootpath),
    }


def groups_by_unit(items: Iterable[pytest.Item]) -> dict[Path, list[str]]:
    """The node ids of what gets a verdict, by what runs by itself."""
    found: defaultdict[Path, dict[str, None]] = defaultdict(dict)
    for item in filter(concerns_us, items):
        found[unit_of(item)][group_of(item)] = None
    return {unit: list(ids) for unit, ids in found.items()}


def concerns_us(item: pytest.Item) -> bool:
    """Whether a model may be asked for it, or it reads what one said; other tests beside a conversation run with it."""
    from ..collect.state import existing
    from ..run.session import RUN

    state = existing(item.config)
    beside = state is not None and state.scan(item.path.parent).is_conversation
    return RUN in item.stash or beside or "bot" in getattr(item, "fixturenames", ())


def unit_of(item: pytest.Item) -> Path:
    """What runs by itself that an item is part of: the directory of a conversation, or else the file of the test."""
    from ..collect.state import existing

    state, directory = existing(item.config), item.path.parent
    if state is not None and (state.scan(directory).is_conversation or directory in state.broken):
        return directory
    return item.path


def group_of(item: pytest.Item) -> str:
    """The node id under which an item gets its verdict."""
    from ..run.session import RUN

    run = item.stash.get(RUN, None)
    return run.group.id if run is not None else item.nodeid


def _read_by(state: State, directory: Path) -> Iterator[Path]:
    """The files that a conversation is made of, beside those in its directory that every conversation has."""
    found: set[Path] = set()
    for at, case in state.specs:
        if at == directory:
            found.update(_named_in_settings(state, directory, case))
    found.update(directory / file.name for file in state.scan(directory).files if file.template)
    for path in list(found):
        if path.suffix == ".j2":
            found |= sources(path)
    yield from found


def _named_in_settings(state: State, directory: Path, case: str | None) -> Iterator[Path]:
    try:
        resolved = state.resolver.resolve(directory, case=case)
        prompt = resolved.settings.prompt or state.resolver.find_prompt(directory)
    except ConvoError:
        return  # told as the error of its collection
    yield from named(resolved.values)
    if prompt is not None:
        yield Path(prompt)
