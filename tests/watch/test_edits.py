"""Any edits, in any order and as fast as they come: what the watcher says then is what a fresh session says."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

NAMES = ("a", "b", "c", "d")
PROJECTS = 10
"""So many sequences of edits are made at once, each of a project of its own below the directory that is watched."""

BOT = """
def bot(messages):
    return "No." if any("bad" in message["content"] for message in messages) else "Yes."


def pytest_convo_model(settings):
    return bot
"""
"""A bot that says no where anything bad was said to it, by the prompt or by the user."""

TEXTS = ("good", "fine", "bad", "very bad")
WANTED = ("Yes", "No")


def in_place(path: Path, text: str) -> None:
    path.write_text(text)


def by_rename(path: Path, text: str) -> None:
    unfinished = path.with_name(f"{path.name}.tmp")
    unfinished.write_text(text)
    unfinished.replace(path)


def as_vim(path: Path, text: str) -> None:
    """Vim's way: a probe, the old file moved aside, the new one written, the old one gone."""
    probe, backup = path.with_name("4913"), path.with_name(f"{path.name}~")
    probe.touch()
    probe.unlink()
    if path.exists():
        path.rename(backup)
    path.write_text(text)
    backup.unlink(missing_ok=True)


SAVES = (in_place, by_rename, as_vim)

saves = st.tuples(st.just("save"), st.sampled_from(NAMES), st.sampled_from((0, 2)), st.sampled_from(TEXTS))
edits = st.tuples(
    saves
    | saves
    | st.tuples(st.just("delete"), st.sampled_from(NAMES), st.sampled_from((0, 2)))
    | st.tuples(st.just("touch"), st.sampled_from(NAMES), st.sampled_from((0, 2)))
    | st.tuples(st.just("move"), st.sampled_from(NAMES), st.sampled_from(NAMES))
    | st.tuples(st.just("prompt"), st.sampled_from(TEXTS))
    | st.tuples(st.just("want"), st.sampled_from(WANTED)),
    st.sampled_from(SAVES),
)


class Project:
    """The files, and what they should be; `edits` counts by conversation how often what it is made of has changed."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.said = {name: {0: "good"} for name in NAMES}
        self.prompt, self.wanted = "good", "Yes"
        self.edits: Counter[str] = Counter()
        for name in NAMES:
            (root / name).mkdir(parents=True)
            self.file(name, 0).write_text("good")
        (root / "conftest.py").write_text(BOT)
        (root / "prompt.md").write_text(self.prompt)
        self.want(self.wanted, in_place)

    def file(self, name: str, index: int) -> Path:
        return self.root / name / f"{index:04}_user.md"

    def want(self, text: str, save) -> None:
        save(self.root / "convo.toml", f'[expect]\ncontains = "{text}"\n[bot]\nprovider = "ours"\n')

    def do(self, edit, save) -> None:
        """Make an edit, as far as there is anything to be edited."""
        kind, *given = edit
        getattr(self, f"_{kind}")(*given, save)

    def _save(self, name: str, index: int, text: str, save) -> None:
        (self.root / name).mkdir(exist_ok=True)
        save(self.file(name, index), text)
        self.edits[name] += self.said.setdefault(name, {}).get(index) != text
        self.said[name][index] = text

    def _delete(self, name: str, index: int, _save) -> None:
        if self.said.get(name, {}).pop(index, None) is not None:
            self.file(name, index).unlink()
            self.edits[name] += 1

    def _touch(self, name: str, index: int, _save) -> None:
        if index in self.said.get(name, {}):
            os.utime(self.file(name, index))

    def _move(self, name: str, to: str, _save) -> None:
        if (self.root / name).exists() and not (self.root / to).exists():
            (self.root / name).rename(self.root / to)
            self.said[to] = self.said.pop(name)
            self.edits[name] += 1
            self.edits[to] += 1

    def _prompt(self, text: str, save) -> None:
        save(self.root / "prompt.md", text)
        self.edits.update(dict.fromkeys(NAMES, int(text != self.prompt)))
        self.prompt = text

    def _want(self, text: str, save) -> None:
        self.want(text, save)
        self.edits.update(dict.fromkeys(NAMES, int(text != self.wanted)))
        self.wanted = text

    @property
    def words(self) -> dict[str, str]:
        """How each conversation that there is ends."""
        return {name: self._word(said) for name, said in self.said.items() if said}

    def _word(self, said: dict[int, str]) -> str:
        replied = "No" if any("bad" in text for text in (self.prompt, *said.values())) else "Yes"
        return "PASSED" if replied == self.wanted else "FAILED"

    def require_files(self) -> None:
        """Nothing is there but what was written."""
        found = {path: path.read_text() for name in NAMES for path in (self.root / name).glob("*")}
        files = {self.file(name, index): text for name, said in self.said.items() for index, text in said.items()}
        assert found == files


def test_any_edits_end_as_a_fresh_session_does(convos, watch) -> None:
    projects = {f"p{number}": Project(convos.path / f"convos/p{number}") for number in range(PROJECTS)}
    watching = watch("convos")
    watching.press("\n")
    # The line of rest, for there is one above: of many lines that come at once, one before it proves nothing.
    watching.wait_for(r"watching 41 · nothing failed")
    last = {f"{place}/{name}": "PASSED" for place in projects for name in NAMES}

    @settings(
        max_examples=200 // PROJECTS,
        deadline=None,
        database=None,
        phases=[Phase.generate],  # what is there is left by the examples before: none can be made simpler
        suppress_health_check=list(HealthCheck),
    )
    @given(st.tuples(*[st.lists(edits, min_size=1, max_size=5)] * PROJECTS))
    def go(bursts) -> None:
        watching.quiet()
        for project, burst in zip(projects.values(), bursts, strict=True):
            project.edits.clear()
            for edit, save in burst:
                project.do(edit, save)
        watching.tick()
        ran = {unit.partition("/")[2]: words for unit, words in watching.ended(watching.quiet()).items()}
        ran.pop("zz", None)
        last.update({unit: words[-1] for unit, words in ran.items()})
        expected = words_of(projects)
        assert {unit: last[unit] for unit in expected} == expected, watching.said[-6000:]
        for unit, words in ran.items():
            place, name = unit.split("/")
            assert len(words) <= projects[place].edits[name], f"{unit} ran {len(words)} times"
        for project in projects.values():
            project.require_files()

    go()
    assert fresh(convos) == words_of(projects)


def words_of(projects: dict[str, Project]) -> dict[str, str]:
    return {f"{place}/{name}": word for place, project in projects.items() for name, word in project.words.items()}


def fresh(convos) -> dict[str, str]:
    """What a session without a watcher says of everything."""
    result = convos.pytester.runpytest_subprocess("--convo-json=report.json", "convos", timeout=60)
    assert result.ret in (0, 1)
    report = json.loads((convos.path / "report.json").read_text())
    words = {"pass": "PASSED", "fail": "FAILED"}
    found = {"/".join(group["id"].split("/")[1:-1]): words[group["verdict"]] for group in report["groups"]}
    return {name: word for name, word in found.items() if name != "zz"}
