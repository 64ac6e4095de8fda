"""Bots that are used by name: a change of one runs what uses it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_convo.watch.dependents import Dependents, Unit
from pytest_convo.watch.ledger import Ledger


class Project:
    """Conversations `one` and `deep/two`, and a file of tests in `deep`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.ledger = Ledger()
        self.ledger.learn([path])
        self.dependents = Dependents(path)
        for name in ("one/0000_user.md", "deep/two/0000_user.md", "deep/test_app.py"):
            self.write(name)

    def write(self, name: str, text: str = "x") -> None:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def learn(self, broken: str | None = None, **reads: list[str]) -> None:
        """What each unit reads: one, two, and tests."""
        paths = {"one": "one", "two": "deep/two", "tests": "deep/test_app.py"}
        units = [
            Unit(self.path / path, frozenset(self.path / read for read in reads.get(name, ())))
            for name, path in paths.items()
        ]
        self.dependents.learn(units, {}, [] if broken is None else [self.path / broken])
        self.ledger.look([self.path])

    def after(self, name: str, text: str | None = "y") -> set[str]:
        """The units that a change of a file concerns."""
        if text is None:
            (self.path / name).unlink()
        else:
            self.write(name, text)
        found = self.dependents.of(self.ledger.look([self.path]))
        return {unit.relative_to(self.path).as_posix() for unit in found}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_a_bot_concerns_those_that_use_it_and_tests_that_may(project):
    project.write("bots/support.toml")
    project.learn(one=["bots/support.toml", "one/bots/support.toml"])
    assert project.after("bots/support.toml") == {"one", "deep/test_app.py"}
    assert project.after("bots/other.toml") == {"deep/test_app.py"}


def test_one_that_comes_nearer_concerns_them_too(project):
    project.write("bots/support.toml")
    project.learn(one=["bots/support.toml", "one/bots/support.toml"])
    assert project.after("one/bots/support.toml") == {"one"}
    assert project.after("one/bots/support.toml", None) == {"one"}


def test_tests_that_have_a_nearer_one_of_the_name_are_not_concerned(project):
    project.write("deep/bots/support.toml")
    project.learn()
    assert project.after("bots/support.toml") == set()
    assert project.after("deep/bots/support.toml") == {"deep/test_app.py"}


def test_one_that_was_lacking_mends_what_is_broken(project):
    project.learn(broken="deep/two", two=["deep/two/bots/x.toml", "deep/bots/x.toml", "bots/x.toml"])
    assert project.after("bots/x.toml") == {"deep/two", "deep/test_app.py"}


def test_tests_beside_a_conversation_may_use_one(project):
    project.write("one/test_one.py")
    project.learn()
    assert project.after("bots/support.toml") == {"one", "deep/test_app.py"}


def test_what_the_summarizer_is_told_concerns_all_below(project):
    project.learn()
    assert project.after("deep/summary.md.j2") == {"deep/two", "deep/test_app.py"}


def test_exactly_what_uses_a_bot_or_names_a_file_runs(convos, watch):
    convos.write(
        {
            "convos/convo.toml": "[bot]\nprovider = 'scripted'",
            "convos/script.toml": "[[reply]]\ntext = 'Yes.'",
            "bots/support.toml": "prompt = ['base.md', 'more.md.j2']",
            "bots/base.md": "Be kind.",
            "bots/more.md.j2": "And brief.",
            "who.md": "A judge.",
            "convos/tea/0000_user.md": "Tea?",
            "convos/tea/convo.toml": "[bot]\nuse = 'support'",
            "convos/milk/0000_user.md": "Milk?",
            "convos/milk/convo.toml": "[judge]\nsystem = '../../who.md'\n[summarize]\nuse = 'support'",
            "convos/zz/0000_user.md": "x",
            "convos/coffee/0000_user.md": "Coffee?",
        }
    )
    watching = watch()

    def runs_after(name: str, text: str) -> dict[str, list[str]]:
        return watching.after(lambda: convos.write({name: text}))

    tea, milk = {"convos/tea": ["PASSED"]}, {"convos/milk": ["PASSED"]}
    assert runs_after("bots/base.md", "Be very kind.") == {**milk, **tea}
    assert runs_after("bots/more.md.j2", "And quick.") == {**milk, **tea}
    assert runs_after("who.md", "Another judge.") == milk
    assert runs_after("bots/support.toml", "prompt = 'base.md'") == {**milk, **tea}
    assert runs_after("convos/tea/bots/support.toml", "bot.temperature = 1") == tea
    assert runs_after("bots/support.toml", "prompt = 'more.md.j2'") == milk
    assert runs_after("convos/coffee/convo.toml", "bot.use = 'new'") == {"convos/coffee": ["ERROR"]}
    assert runs_after("bots/new.toml", "bot.temperature = 0") == {"convos/coffee": ["PASSED"]}
