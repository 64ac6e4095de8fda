"""Paths in settings: relative to the place that sets them, absolute from then on, and they must exist."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .locate import Keys
from .rules import is_index, may_be_path, split_python


def anchored(values: Mapping[str, Any], base: Path) -> dict[str, Any]:
    """`values`, in which `prompt` and the files of `json_schema` and `python` are absolute."""
    result = dict(values)
    if isinstance(result.get("prompt"), str | os.PathLike):
        result["prompt"] = _absolute(result["prompt"], base)
    if isinstance(result.get("expect"), Mapping):
        result["expect"] = _anchored_checks(result["expect"], base)
    if isinstance(result.get("case"), list):
        result["case"] = [anchored(case, base) if isinstance(case, Mapping) else case for case in result["case"]]
    return result


def missing(values: Mapping[str, Any]) -> Iterator[tuple[Keys, str, str]]:
    """Each file that anchored `values` name and that is not there: the key, the path, and what is like it."""
    for keys, path in _references(values):
        if not is_file(Path(path)):
            yield keys, path, _alike(Path(path))


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


def _anchored_checks(checks: Mapping[str, Any], base: Path) -> dict[str, Any]:
    result = dict(checks)
    for key, value in checks.items():
        if is_index(key) and isinstance(value, Mapping):
            result[key] = _anchored_checks(value, base)
        elif _names_file(key, value):
            result[key] = _absolute(value, base)
    return result


def _names_file(key: str, value: Any) -> bool:
    if key == "json_schema":
        return isinstance(value, str | os.PathLike)
    return key == "python" and isinstance(value, str) and split_python(value) is not None


def _absolute(path: str | os.PathLike[str], base: Path) -> str:
    text = os.fspath(path)
    return os.path.normpath(base / text) if text.strip() else text


def _references(values: Mapping[str, Any], keys: Keys = ()) -> Iterator[tuple[Keys, str]]:
    """Each file that is named, where it is named as it should be: what is malformed is said by others."""
    prompt, checks, cases = values.get("prompt"), values.get("expect"), values.get("case")
    if isinstance(prompt, str) and may_be_path(prompt):
        yield (*keys, "prompt"), prompt
    if isinstance(checks, Mapping):
        yield from _references_of_checks(checks, (*keys, "expect"))
    for number, case in enumerate(cases if isinstance(cases, list) else ()):
        if isinstance(case, Mapping):
            yield from _references(case, ("case", number))


def _references_of_checks(checks: Mapping[str, Any], keys: Keys) -> Iterator[tuple[Keys, str]]:
    for key, value in checks.items():
        if is_index(key) and isinstance(value, Mapping):
            yield from _references_of_checks(value, (*keys, key))
        elif _names_file(key, value) and may_be_path(value):
            yield (*keys, key), value if key == "json_schema" else value.rpartition(":")[0]


def _alike(path: Path) -> str:
    """A hint at the files beside `path` whose names are nearest to its own."""
    if not os.access(path.parent, os.R_OK | os.X_OK):
        return "its directory is not there, or cannot be read"
    names = [entry.name for entry in path.parent.iterdir()]
    nearest = difflib.get_close_matches(path.name, names, n=3, cutoff=0.5)
    return f"did you mean {' or '.join(nearest)}?" if nearest else "a relative path starts at the place that sets it"
