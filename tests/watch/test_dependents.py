from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from pytest_convo.watch.dependents import INHERITED, INI, Dependents, Unit
from pytest_convo.watch.ledger import Ledger


class Project:
    """Files below a rootdir, their ledger, and who depends on them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.ledger = Ledger()
        self.ledger.learn([path])
        self.dependents = Dependents(path)

    def write(self, files: Mapping[str, str | None]) -> None:
        """Write, or delete (None)."""
        for name, text in files.items():
            path = self.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if text is None:
                path.unlink()
            else:
                path.write_text(text)

    def settle(self) -> None:
        """What is there now is known."""
        self.ledger.look([self.path])

    def learn(
        self,
        units: Mapping[str, Iterable[str]],
        modules: Mapping[str, str] | None = None,
        broken: Iterable[str] = (),
    ) -> None:
        """Units by their paths, with what they read; modules by their names."""
        self.dependents.learn(
            [Unit(self.path / unit, frozenset(self.path / read for read in reads)) for unit, reads in units.items()],
            {name: self.path / file for name, file in (modules or {}).items()},
            [self.path / unit for unit in broken],
        )
        self.settle()

    def concerned(self, *names: str) -> set[str]:
        """The units that concern changes made since the last look: of `names`, or of all."""
        paths = [self.path / name for name in names] or [self.path]
        found = self.dependents.of(self.ledger.look(paths))
        return {unit.relative_to(self.path).as_posix() for unit in found}

    def when(self, files: Mapping[str, str | None]) -> set[str]:
        """The units that are concerned when these files are written, or deleted."""
        self.settle()
        self.write(files)
        return self.concerned()


MESSAGES = dict.fromkeys(("one/0000_user.md", "deep/two/0000_user.md", "deep/three/0000_user.md"), "Hello?")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Three conversations, two of them in `deep`, and a file of tests."""
    root = tmp_path / "root"
    root.mkdir()
    project = Project(root)
    project.write({**MESSAGES, "tests/test_app.py": "import app", "app.py": "", "notes.txt": ""})
    project.learn({"one": [], "deep/two": [], "deep/three": [], "tests/test_app.py": []})
    return project


ALL = {"one", "deep/two", "deep/three", "tests/test_app.py"}


def test_a_message_concerns_its_conversation(project):
    assert project.when({"one/0000_user.md": "How are you?"}) == {"one"}
    assert project.when({"one/0001_assistant.md": "Well."}) == {"one"}
    assert project.when({"one/0001_assistant.md": None}) == {"one"}


def test_each_unit_is_told_with_its_changes(project):
    project.write({"one/0000_user.md": "x", "deep/convo.toml": "", "deep/two/0001_user.md": "x"})

    found = project.dependents.of(project.ledger.look([project.path]))

    told = {
        unit.relative_to(project.path).as_posix(): [change.path.name for change in why] for unit, why in found.items()
    }
    assert told == {
        "deep/three": ["convo.toml"],
        "deep/two": ["convo.toml", "0001_user.md"],
        "one": ["0000_user.md"],
    }


def test_a_name_that_is_wrong_concerns_its_conversation(project):
    assert project.when({"one/0001_usr.md": "x"}) == {"one"}
    assert project.when({"one/0001_usr.md": None}) == {"one"}


@pytest.mark.parametrize("name", ["notes.txt", "one/data.json", "one/picture.png", "README.md", "other.py"])
def test_what_nobody_reads_concerns_nobody(project, name):
    assert project.when({name: "x"}) == set()


def test_a_directory_that_newly_holds_a_message_is_a_unit(project):
    assert project.when({"deep/four/0000_user.md": "x", "deep/four/convo.toml": ""}) == {"deep/four"}
    assert project.when({"deep/convo.toml": ""}) == {"deep/two", "deep/three", "deep/four"}


def test_a_directory_that_holds_none_any_more_is_none(project):
    assert project.when({"one/0000_user.md": None}) == set()
    assert project.when({"convo.toml": ""}) == ALL - {"one"}


def test_a_conversation_that_moves(project):
    (project.path / "one").rename(project.path / "deep" / "one")

    assert project.concerned() == {"deep/one"}


def test_without_messages_the_tests_beside_them_are_on_their_own(project):
    project.write({"one/test_one.py": ""})
    project.learn({"one": []}, {"test_one": "one/test_one.py"})

    assert project.when({"one/test_one.py": "x"}) == {"one"}
    assert project.when({"one/0000_user.md": None}) == {"one/test_one.py"}
    assert project.when({"one/0000_user.md": "x"}) == {"one"}


@pytest.mark.parametrize("name", sorted(INHERITED))
def test_what_is_inherited_concerns_all_at_and_below(project, name):
    for where, expected in {"": ALL, "deep/": {"deep/two", "deep/three"}, "deep/two/": {"deep/two"}}.items():
        assert project.when({where + name: "one"}) == expected
        assert project.when({where + name: "another"}) == expected
        assert project.when({where + name: None}) == expected


@pytest.mark.parametrize(
    "name, nearer",
    [("script.toml", "script.toml"), ("prompt.md", "prompt.md.j2"), ("judge.md.j2", "judge.md.j2")],
)
def test_where_only_the_nearest_holds_it_hides_those_above(project, name, nearer):
    project.write({f"deep/{nearer}": "nearer"})

    assert project.when({name: "x"}) == {"one", "tests/test_app.py"}
    assert project.when({f"deep/{nearer}": None}) == {"deep/two", "deep/three"}
    assert project.when({name: "y"}) == ALL


def test_a_prompt_that_is_edited_concerns_those_that_are_known_to_have_read_it(project):
    project.write({"prompt.md": "x", "deep/other.md": "y"})
    project.learn({"one": ["prompt.md"], "deep/two": ["deep/other.md"]})

    assert project.when({"prompt.md": "another"}) == {"one", "deep/three", "tests/test_app.py"}
    assert project.when({"deep/other.md": "another"}) == {"deep/two"}


def test_above_the_rootdir_nothing_is_inherited(project):
    above = project.path.parent
    project.ledger.learn([above / "convo.toml"])
    (above / "convo.toml").write_text("")

    assert project.dependents.of(project.ledger.look([above / "convo.toml"])) == {}


def test_what_settings_and_templates_name_concerns_those_that_do(project):
    project.write({"shared/schema.json": "{}", "shared/part.md.j2": ""})
    project.learn({"one": ["shared/schema.json"], "deep/two": ["shared/part.md.j2", "shared/schema.json"]})

    assert project.when({"shared/schema.json": "[]"}) == {"one", "deep/two"}
    assert project.when({"shared/part.md.j2": None}) == {"deep/two"}


def test_what_is_told_later_stands_in_place_of_what_was_told(project):
    project.write({"a.txt": "", "b.txt": ""})
    project.learn({"one": ["a.txt"]})
    project.learn({"one": ["b.txt"]})

    assert project.when({"a.txt": "x"}) == set()
    assert project.when({"b.txt": "x"}) == {"one"}


@pytest.mark.parametrize("name", sorted(INI))
def test_a_configuration_of_pytest_concerns_all_at_the_rootdir_alone(project, name):
    assert project.when({name: "x"}) == ALL
    assert project.when({f"one/{name}": "x"}) == set()


# -- Python


def test_a_file_of_tests_concerns_itself(project):
    assert project.when({"tests/test_app.py": "another"}) == {"tests/test_app.py"}
    assert project.when({"tests/test_new.py": ""}) == {"tests/test_new.py"}
    assert project.when({"tests/test_app.py": None}) == set()


def test_files_of_tests_are_named_as_pytest_has_it(project):
    project.dependents = Dependents(project.path, python_files=["check_*.py", "spec/*.py"])

    assert project.when({"check_it.py": "x", "test_it.py": "x", "spec/it.py": "x"}) == {"check_it.py", "spec/it.py"}


def test_a_module_concerns_those_whose_tests_conftests_and_checks_import_it(project):
    project.write(
        {
            "deep/conftest.py": "def f():\n    from lib.tools import tool",
            "lib/__init__.py": "",
            "lib/tools.py": "from .words import word",
            "lib/words.py": "",
            "one/checks.py": "from .helpers import h",
            "one/helpers.py": "import app",
        }
    )
    modules = {
        "conftest": "deep/conftest.py",
        "lib": "lib/__init__.py",
        "lib.tools": "lib/tools.py",
        "lib.words": "lib/words.py",
        "convo_checks.1234.checks": "one/checks.py",
        "convo_checks.1234.helpers": "one/helpers.py",
        "app": "app.py",
        "test_app": "tests/test_app.py",
    }
    project.learn({"one": ["one/checks.py"]}, modules)

    assert project.when({"lib/words.py": "x = 1"}) == {"deep/two", "deep/three"}
    assert project.when({"lib/__init__.py": "x = 1"}) == {"deep/two", "deep/three"}
    assert project.when({"one/helpers.py": "import app, sys"}) == {"one"}
    assert project.when({"app.py": "x = 1"}) == {"one", "tests/test_app.py"}
    assert project.when({"app.py": "x ="}) == {"one", "tests/test_app.py"}
    assert project.when({"app.py": None}) == {"one", "tests/test_app.py"}


def test_a_module_that_nobody_is_seen_to_import_concerns_all(project):
    project.learn({}, {"plugin": "app.py"})

    assert project.when({"app.py": "x = 1"}) == ALL


def test_a_conftest_with_nothing_below_concerns_nobody(project):
    project.write({"lib/conftest.py": ""})
    project.learn({}, {"conftest": "lib/conftest.py"})

    assert project.when({"lib/conftest.py": "x = 1"}) == set()


def test_conftests_of_one_name_are_told_apart(project):
    project.write({"one/conftest.py": "import app", "deep/conftest.py": "import other", "other.py": ""})
    project.learn({}, {"conftest": "one/conftest.py", "app": "app.py"})
    project.learn({}, {"conftest": "deep/conftest.py", "other": "other.py"})

    assert project.when({"app.py": "x = 1"}) == {"one"}
    assert project.when({"other.py": "x = 1"}) == {"deep/two", "deep/three"}


def test_a_test_beside_a_conversation_brings_its_imports_along(project):
    project.write({"one/test_one.py": "import app"})
    project.learn({"one": []}, {"test_one": "one/test_one.py", "app": "app.py"})

    assert project.when({"app.py": "x = 1"}) == {"one"}


# -- what is broken


def test_a_broken_unit_waits_for_any_module(project):
    project.learn({"one": []}, broken=["one"])

    assert project.when({"newly.py": "x = 1"}) == {"one"}
    assert project.when({"newly.py": "x = 2"}) == set()


def test_a_broken_unit_waits_for_files_that_it_may_lack_and_for_no_others(project):
    project.learn({"one": ["schema.json"]}, broken=["one"])

    assert project.when({"report.xml": "<tests/>"}) == set()
    assert project.when({"schema.json": "{}"}) == {"one"}


def test_a_broken_unit_waits_for_new_files_beside_it(project):
    project.learn({"one": []}, broken=["one"])

    assert project.when({"one/schema.json": "{}"}) == {"one"}


def test_a_unit_that_was_mended_waits_no_more(project):
    project.learn({"one": []}, broken=["one"])
    project.learn({"one": []})

    assert project.when({"newly.py": "x = 1"}) == set()


def test_a_broken_directory_of_settings_is_one_until_it_is_mended(project):
    project.write({"deep/convo.toml": "wrong"})
    project.learn({}, broken=["deep"])

    assert project.when({"deep/convo.toml": ""}) == {"deep", "deep/two", "deep/three"}
    project.learn({"deep/two": [], "deep/three": []})
    assert project.when({"deep/convo.toml": "runs = 2"}) == {"deep/two", "deep/three"}


# -- what to watch


def test_everything_that_is_depended_on_is_watched(project):
    project.write({"lib/tools.py": "", "elsewhere/prompt.md": ""})
    project.learn({"one": ["elsewhere/prompt.md", "gone/x.md"]}, {"tools": "lib/tools.py"})

    files = project.dependents.files()

    assert {project.path / name for name in ("one", "elsewhere/prompt.md", "lib/tools.py", "pyproject.toml")} <= files
    assert {project.path / where / name for where in ("", "deep", "tests") for name in INHERITED} <= files
    assert project.path / "gone" / "x.md" not in files
    assert all(file.parent.is_dir() for file in files)


def test_imports_can_be_read_in_advance(project, monkeypatch):
    import ast

    project.write({"one/conftest.py": "import app"})
    project.learn({}, {"conftest": "one/conftest.py", "app": "app.py"})
    project.dependents.prepare()
    project.write({"app.py": "x = 1"})
    parsed = []
    parse = ast.parse
    monkeypatch.setattr(ast, "parse", lambda source: parsed.append(source) or parse(source))

    assert project.concerned() == {"one"}
    assert parsed == [b"x = 1"]
