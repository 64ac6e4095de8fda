"""Paths in settings: relative to the place that sets them, absolute from then on, and they must exist."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from .locate import Keys
from .rules import is_index, may_be_path, split_python
from .short import Short, in_full
from .unfit import elements

_FUNCTION = "python:"
_PLACES: tuple[tuple[str, ...], ...] = (
    ("prompt", "files"),
    ("judge", "prompt"),
    ("judge", "probes"),
    ("summarize", "prompt"),
    ("judge", "system"),
    ("refine", "system"),
    ("summarize", "system"),
    ("tools",),
)
"""Where files stand: one, or a list."""


def anchored(values: Mapping[str, Any], base: Path) -> dict[str, Any]:
    """`values` in full, in which the files that they name are absolute."""
    result: dict[str, Any] = in_full(_copied(values))
    for keys, before, name in list(_named(result)):
        table: Any = result
        for key in keys[:-1]:
            table = table[key]
        table[keys[-1]] = before + _absolute(name, base)
    return result


def missing(values: Mapping[str, Any]) -> Iterator[tuple[Keys, str, str]]:
    """Each file that anchored `values` name and that is not there: the key, the path, and what is like it."""
    for keys, _, name in _named(values):
        path = _without_function(name)
        if may_be_path(path) and not is_file(Path(path)):
            yield keys, path, _alike(Path(path))


def named(values: Mapping[str, Any]) -> Iterator[Path]:
    """Each file that anchored `values` name, be it there or not."""
    for _, _, name in _named(values):
        path = _without_function(name)
        if may_be_path(path):
            yield Path(path)


def is_file(path: Path) -> bool:
    """Whether there is a file: what the system refuses to look at, as a name of a thousand letters, is none."""
    try:
        return path.is_file()
    except OSError:
        return False


def parent_within(directory: Path, rootdir: Path) -> Path | None:
    """The directory above, from which `directory` inherits; None at the `rootdir`, and anywhere outside of it."""
    within = directory != rootdir and str(directory).startswith(f"{str(rootdir).rstrip(os.sep)}{os.sep}")
    return directory.parent if within else None


def nearest(name: str, directory: Path, rootdir: Path) -> Path | None:
    """The file of that name in `directory`, or in the nearest one above up to `rootdir`; None where there is none."""
    above: Path | None = directory
    while above is not None:
        if is_file(above / name):
            return above / name
        above = parent_within(above, rootdir)
    return None


def _named(values: Mapping[str, Any]) -> Iterator[tuple[Keys, str, str]]:
    """Each file that is named: where, what stands before its name, and the name, maybe with a function's behind it."""
    for place in _PLACES:
        for at, name in elements(_at(values, place)):
            if isinstance(name, str | os.PathLike):
                yield (*place, *at), "", os.fspath(name)
    for at, name in elements(_at(values, ("bot", "functions"))):
        if isinstance(name, str) and split_python(name) is not None:
            yield ("bot", "functions", *at), "", name
    by = _at(values, ("agree", "by"))
    if isinstance(by, str) and by.startswith(_FUNCTION) and split_python(by.removeprefix(_FUNCTION)) is not None:
        yield ("agree", "by"), _FUNCTION, by.removeprefix(_FUNCTION)
    for keys, name in _named_by_checks(values.get("expect"), ("expect",)):
        yield keys, "", name
    cases = values.get("case")
    for number, case in enumerate(cases if isinstance(cases, list) else ()):
        for keys, before, name in _named(case) if isinstance(case, Mapping) else ():
            yield ("case", number, *keys), before, name


def _named_by_checks(checks: Any, keys: Keys) -> Iterator[tuple[Keys, str]]:
    for key, value in checks.items() if isinstance(checks, Mapping) else ():
        if is_index(key):
            yield from _named_by_checks(value, (*keys, key))
        elif _names_file(key, value):
            yield (*keys, key), os.fspath(value)
        elif key == "calls" and isinstance(value, list):
            for number, call in enumerate(value):
                schema = _at(call, ("arguments_schema",))
                if isinstance(schema, str | os.PathLike):
                    yield (*keys, key, number, "arguments_schema"), os.fspath(schema)


def _without_function(name: str) -> str:
    return name.rpartition(":")[0] if split_python(name) is not None else name


def _names_file(key: str, value: Any) -> bool:
    if key == "json_schema":
        return isinstance(value, str | os.PathLike)
    return key == "python" and isinstance(value, str) and split_python(value) is not None


def _at(values: Any, keys: Sequence[str]) -> Any:
    """What stands under `keys`; None where nothing does."""
    for key in keys:
        values = values.get(key) if isinstance(values, Mapping) else None
    return values


def _copied(value: Any) -> Any:
    """The value with tables and lists of its own."""
    if isinstance(value, Mapping):
        copy = {key: _copied(inner) for key, inner in value.items()}
        return Short(copy) if isinstance(value, Short) else copy
    return [_copied(inner) for inner in value] if isinstance(value, list | tuple) else value


def _absolute(path: str | os.PathLike[str], base: Path) -> str:
    text = os.fspath(path)
    return os.path.normpath(base / text) if text.strip() else text


def _alike(path: Path) -> str:
    """A hint at the files beside `path` whose names are nearest to its own."""
    if not os.access(path.parent, os.R_OK | os.X_OK):
        return "its directory is not there, or cannot be read"
    names = [entry.name for entry in path.parent.iterdir()]
    nearest = difflib.get_close_matches(path.name, names, n=3, cutoff=0.5)
    return f"did you mean {' or '.join(nearest)}?" if nearest else "a relative path starts at the place that sets it"
