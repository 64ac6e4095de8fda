from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest


class Tasks:
    """A project of tasks in the making, whose agents do as they are told."""

    def __init__(self, convos: Any, image: str) -> None:
        self.convos = convos
        self.path: Path = convos.path
        self._image = image

    def write(
        self,
        name: str = "one",
        *,
        commands: Sequence[str] = ("echo hello > out.txt",),
        answer: str = "It is done.",
        test: str = "grep -q hello out.txt",
        solution: str | None = "echo hello > out.txt",
        workspace: Mapping[str, str] | None = None,
        ours: str | None = "",
        harbor: str = "",
        script: str | None = None,
        **files: str,
    ) -> Path:
        """A task whose agent runs these commands one after the other, whatever comes of them, and then answers.

        `ours` is what stands in its table [convo]; None: it has none. `test` and `solution` are scripts.
        """
        directory = self.path / "tasks" / name
        written = {
            "instruction.md": f"Begin {name}.\n",
            "task.toml": f"{harbor}\n" + ("" if ours is None else f"[convo]\n{ours}\n"),
            "convo.toml": f'image = "{self._image}"\n[bot]\nprovider = "scripted"\n',
            "script.toml": _script(commands, answer) if script is None else script,
            "tests/test.sh": f"#!/bin/sh\n{test}\n",
            **{f"workspace/{file}": text for file, text in (workspace or {"in.txt": "tea\n"}).items()},
            **({"solution/solve.sh": f"#!/bin/sh\n{solution}\n"} if solution is not None else {}),
            **{file.replace("__", "/").replace("DOT", "."): text for file, text in files.items()},
        }
        for file, text in written.items():
            path = directory / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return directory

    def run(self, *args: str) -> pytest.RunResult:
        """The result of a session of everything; what broke inside pytest fails the test."""
        return self.convos.run(*args)

    def kept(self, file: str, name: str = "one", run: int = 1) -> str:
        """What the run directory of the last session has of a run."""
        return (self._last(name, run) / file).read_text()

    def events(self, kind: str, name: str = "one", run: int = 1) -> list[dict[str, Any]]:
        """The events of that kind in a run of the last session."""
        lines = (self._last(name, run) / "events.jsonl").read_text().splitlines()
        return [event for event in map(json.loads, lines) if event["kind"] == kind]

    def _last(self, name: str, run: int) -> Path:
        return max((self.path / ".convo/runs").iterdir()) / f"tasks/{name}/task.toml/run-{run}"


def _script(commands: Sequence[str], answer: str) -> str:
    """A bot that makes one call after the other; each is meant for one turn, in their order."""
    calls = "".join(
        f"[[reply]]\ntimes = 1\ncalls = [{{ name = 'shell', arguments = {{ command = {json.dumps(command)} }} }}]\n"
        for command in commands
    )
    return f"{calls}[[reply]]\ntext = {json.dumps(answer)}\n"


@pytest.fixture
def tasks(convos: Any, hostbin: str) -> Tasks:
    return Tasks(convos, hostbin)
