"""What a session of the loop is told to do, and what it tells of it: JSON files, for it is a process of its own."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

VARIABLE = "_PYTEST_CONVO_ORDER"
"""The environment variable that names the file of the order; workers of xdist inherit it."""


@dataclass(frozen=True, slots=True)
class Writing:
    """A question to the rewriter."""

    messages: Sequence[tuple[str, str]]
    """What it is asked: a role and a text each."""
    directory: str
    """Whose settings and conftests say who it is."""
    settings: Mapping[str, Any]
    """What comes in the place of `[refine]` there."""
    number: int
    """Which question of the loop it is, from 1."""


@dataclass(frozen=True, slots=True)
class Order:
    """What a session is to run, and with which texts in the place of prompt files."""

    result: str
    """The file that it writes its `Result` to, when it ends."""
    groups: Sequence[str]
    prompts: Mapping[str, str] = field(default_factory=dict)
    """Texts by the real paths of the files that they stand for."""
    again: int = 0
    """Of a further round all runs are made, under numbers of their own: the same numbers may have the same luck."""
    maxfail: int = 0
    """After so many groups that do not pass it need not go on; 0: it goes on."""
    caps: Mapping[str, float] = field(default_factory=dict)
    """What it may spend: `usd`, `calls`, `tokens`."""
    keep: str = ""
    """The directory, relative to the rootdir, in which its runs are kept."""
    writing: Writing | None = None
    """What it asks the rewriter, and then it runs nothing."""

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def given(cls) -> Self | None:
        """The order of this process, if it has one."""
        if (path := os.environ.get(VARIABLE)) is None:
            return None
        found = json.loads(Path(path).read_text(encoding="utf-8"))
        if found["writing"] is not None:
            found["writing"] = Writing(**found["writing"])
        return cls(**found)


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a session."""

    groups: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What its runs tell, by group: see `reading.score_of`."""
    problems: Sequence[str] = ()
    """What could not be collected."""
    reply: str | None = None
    """What the rewriter answered."""
    error: str = ""
    """Why it did not answer."""
    spent: Mapping[str, float] = field(default_factory=dict)
    """`usd`, `calls`, `tokens`."""
    capped: bool = False
    """Whether a cap was reached."""

    def save(self, path: Path) -> None:
        """Write it whole or not at all: who reads it may come while it is being written."""
        unfinished = path.with_suffix(".partial")
        unfinished.write_text(json.dumps(asdict(self)), encoding="utf-8")
        unfinished.replace(path)

    @classmethod
    def read(cls, path: Path) -> Self:
        return cls(**json.loads(path.read_text(encoding="utf-8")))
