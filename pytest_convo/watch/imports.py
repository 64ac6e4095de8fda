"""Which Python files import which, read from their source; what is imported where the program runs is imported, too."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from ..conversation.disk import digest, read_bytes
from ..errors import FormatError

Graph = Mapping[Path, frozenset[Path]]
"""File → the files that it imports."""

_CALLS = frozenset({"import_module", "__import__", "importorskip"})
"""Functions that import what their first argument names."""

_PLUGINS = "pytest_plugins"
"""The variable of a conftest that names modules to import."""


class Imports:
    """Remembers what the files of modules import, until their content changes.

    What a file imported before stays, while it cannot be read or is no Python.
    """

    def __init__(self) -> None:
        self._read: dict[Path, tuple[str, tuple[str, ...]]] = {}

    def graph(self, modules: Iterable[tuple[str, Path]]) -> Graph:
        """Who imports whom among `modules`, which are pairs of a name and the file that was loaded under it.

        Two files may have had one name, as conftests of different processes; whoever imports it imports both. A module
        of a package needs the packages that it lies in: they are imported first.
        """
        pairs = list(modules)
        files: defaultdict[str, set[Path]] = defaultdict(set)
        for name, path in pairs:
            files[name].add(path)
        edges: dict[Path, set[Path]] = {path: set() for _, path in pairs}
        for name, path in pairs:
            package = name if path.name == "__init__.py" else name.rpartition(".")[0]
            for target in (package, *(_absolute(written, package) for written in self._names(path))):
                for above in _upward(target):
                    edges[path] |= files.get(above, set())
        return {path: frozenset(targets - {path}) for path, targets in edges.items()}

    def _names(self, path: Path) -> Iterable[str]:
        """What the file imports, as it is written there: relative names begin with dots."""
        known, names = self._read.get(path, ("", ()))
        try:
            data = read_bytes(path)
            if (now := digest(data)) != known:
                self._read[path] = now, tuple(dict.fromkeys(_imported(data)))
        except (FormatError, SyntaxError, ValueError, RecursionError):
            return names
        return self._read[path][1]


def importers(graph: Graph, changed: Path) -> set[Path]:
    """The files that import this one, or import one that does; circles end. The file itself is not among them."""
    direct: defaultdict[Path, set[Path]] = defaultdict(set)
    for path, targets in graph.items():
        for target in targets:
            direct[target].add(path)
    found: set[Path] = set()
    ahead = [changed]
    while ahead:
        new = direct[ahead.pop()] - found
        found |= new
        ahead.extend(new)
    return found - {changed}


def _imported(source: bytes) -> Iterator[str]:
    """The names that a source imports; of `from x import y` both x and x.y, as y may be a module."""
    tree = ast.parse(source)
    calls = any(call.encode() in source for call in _CALLS)
    for node in ast.walk(tree) if calls else _statements(tree.body):
        match node:
            case ast.Import(names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module, names, level):
                above = "." * (level or 0) + (module or "")
                yield above
                yield from (_joined(above, alias.name) for alias in names if alias.name != "*")
            case ast.Call(ast.Name(function) | ast.Attribute(_, function), [ast.Constant(str(name)), *_]):
                if function in _CALLS:
                    yield name
            case ast.Assign([ast.Name(variable)], value) | ast.AnnAssign(ast.Name(variable), _, value):
                if variable == _PLUGINS:
                    yield from _strings(value)


def _statements(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """All statements, also within others; expressions, which are most of a tree, are passed over."""
    for node in body:
        yield node
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            yield from _statements(getattr(node, field, ()))


def _strings(value: ast.AST | None) -> Iterator[str]:
    for node in ast.walk(value) if value is not None else ():
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _joined(above: str, name: str) -> str:
    return above + name if above.endswith(".") else f"{above}.{name}"


def _absolute(name: str, package: str) -> str:
    """A name as seen from a package: one dot is the package itself, each further one goes up."""
    bare = name.lstrip(".")
    level = len(name) - len(bare)
    if not level:
        return name
    parts = package.split(".") if package else []
    base = parts[: len(parts) - level + 1] if level <= len(parts) else []
    return ".".join([*base, bare] if bare else base)


def _upward(name: str) -> Iterator[str]:
    """A dotted name, and those above it."""
    while name:
        yield name
        name = name.rpartition(".")[0]
