from __future__ import annotations

from pathlib import Path

import pytest

from pytest_convo.watch.imports import Imports, importers


@pytest.fixture
def modules(tmp_path: Path):
    """Writes modules, by their names, and gives the pairs of name and file."""

    def write(**sources: str) -> list[tuple[str, Path]]:
        pairs = []
        for written, source in sources.items():
            name = written.replace("__", ".").removesuffix(".init")
            below = name.replace(".", "/")
            path = tmp_path / (f"{below}/__init__.py" if written.endswith("__init") else f"{below}.py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(source)
            pairs.append((name, path))
        return pairs

    return write


def imported_by(pairs: list[tuple[str, Path]], name: str) -> set[str]:
    """The modules that the one of that name imports."""
    files, names = dict(pairs), {path: name for name, path in pairs}
    return {names[path] for path in Imports().graph(pairs)[files[name]]}


@pytest.mark.parametrize(
    "source",
    [
        "import a",
        "import x, a as b",
        "from a import name",
        "from a import *",
        "def f():\n    import a",
        "class C:\n    async def f(self):\n        with x:\n            from a import name",
        "try:\n    pass\nexcept E:\n    import a",
        "try:\n    pass\nfinally:\n    import a",
        "if x:\n    pass\nelse:\n    import a",
        "match x:\n    case 1:\n        import a",
        "import importlib\nm = importlib.import_module('a')",
        "from importlib import import_module\nx = [import_module('a').name]",
        "__import__('a')",
        "import pytest\na = pytest.importorskip('a')",
        "pytest_plugins = ['x', 'a']",
        "pytest_plugins: str = 'a'",
    ],
)
def test_the_ways_to_import(modules, source):
    assert imported_by(modules(a="", b="", main=source), "main") == {"a"}


@pytest.mark.parametrize(
    "source", ["x = 'import a'", "# import a", "importlib.import_module(a)", "from . import a", ""]
)
def test_what_is_no_import_of_it(modules, source):
    assert imported_by(modules(a="", main=source), "main") == ({"a"} if "from" in source else set())


def test_a_submodule_and_the_packages_that_it_lies_in(modules):
    pairs = modules(p__init="", p__q__init="", p__q__m="", p__q__n="", one="import p.q.m", two="from p.q import m")

    assert imported_by(pairs, "one") == {"p", "p.q", "p.q.m"}
    assert imported_by(pairs, "two") == {"p", "p.q", "p.q.m"}


def test_relative_imports(modules):
    pairs = modules(
        p__init="from . import m",
        p__m="from .q import n",
        p__q__init="from .n import name",
        p__q__n="from .. import m\nfrom ..m import x\nfrom . import o",
        p__q__o="from ...p import m",
    )

    assert imported_by(pairs, "p") == {"p.m"}
    assert imported_by(pairs, "p.m") == {"p", "p.q", "p.q.n"}
    assert imported_by(pairs, "p.q") == {"p", "p.q.n"}
    assert imported_by(pairs, "p.q.n") == {"p", "p.m", "p.q", "p.q.o"}


def test_a_relative_import_by_name(modules):
    pairs = modules(p__init="", p__m="import importlib\nimportlib.import_module('.n', __package__)", p__n="")

    assert imported_by(pairs, "p.m") == {"p", "p.n"}


def test_two_files_of_one_name(tmp_path, modules):
    pairs = modules(a="", main="import conftest")
    for directory in ("x", "y"):
        path = tmp_path / directory / "conftest.py"
        path.parent.mkdir()
        path.write_text("import a")
        pairs.append(("conftest", path))

    graph = Imports().graph(pairs)

    assert graph[tmp_path / "main.py"] == {tmp_path / "x" / "conftest.py", tmp_path / "y" / "conftest.py"}
    assert importers(graph, tmp_path / "a.py") == {
        tmp_path / "main.py",
        tmp_path / "x" / "conftest.py",
        tmp_path / "y" / "conftest.py",
    }


def test_importers_of_importers_in_circles(modules):
    pairs = modules(a="import b", b="import c", c="import a", d="import b", e="")
    files = dict(pairs)

    graph = Imports().graph(pairs)

    assert importers(graph, files["c"]) == {files["a"], files["b"], files["d"]}
    assert importers(graph, files["d"]) == set()
    assert importers(graph, Path("/nowhere/x.py")) == set()


@pytest.mark.parametrize("broken", ["import (", "x = '\x00'", None])
def test_what_was_imported_before_stays_while_a_file_is_broken(modules, broken):
    pairs = modules(a="", b="", main="import a")
    files, imports = dict(pairs), Imports()
    assert imports.graph(pairs)[files["main"]] == {files["a"]}

    if broken is None:
        files["main"].unlink()
    else:
        files["main"].write_text(broken)
    assert imports.graph(pairs)[files["main"]] == {files["a"]}

    files["main"].write_text("import b")
    assert imports.graph(pairs)[files["main"]] == {files["b"]}


def test_a_file_that_was_never_read_imports_nothing(tmp_path):
    assert Imports().graph([("a", tmp_path / "a.py")]) == {tmp_path / "a.py": frozenset()}


def test_a_file_is_read_again_only_when_it_has_changed(modules, monkeypatch):
    import ast

    pairs, imports = modules(a="", main="import a"), Imports()
    before = imports.graph(pairs)
    monkeypatch.setattr(ast, "parse", None)

    assert imports.graph(pairs) == before
