from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from pytest_convo.run.group import Group
from pytest_convo.run.results import Results


class Session:
    """The results of a session in the making, in which conversations below `root` answered."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.results = Results()

    def heard(
        self,
        answers: Sequence[str],
        outcomes: str = "",
        *,
        convo: str = "refund",
        case: str | None = None,
        cases: int = 1,
        index: int = 1,
        mode: str | None = None,
        agreement: str = "1/2",
    ) -> None:
        """A group whose runs gave these answers; the outcomes by their first letters, all passes if not given."""
        id_ = f"{convo}/convo.toml" + (f"::{case}" if case else "")
        words = {"p": "pass", "f": "fail", "e": "error", "s": "spared"}
        group = Group(id_, len(answers), Fraction(agreement))
        group.runs[:] = [f"{id_}::run-{number}" for number in range(1, len(answers) + 1)]
        for nodeid, answer, letter in zip(group.runs, answers, outcomes or "p" * len(answers), strict=True):
            told: dict[str, Any] = {**group.to_report(), "outcome": words[letter]}
            if letter != "s":
                turns = {str(index): {"text": answer, "mode": mode}}
                place = {"directory": str(self.root / convo), "case": case, "cases": cases}
                told["approvable"] = {**place, "last": index, "turns": turns}
            result = self.results.add(nodeid, told)
        if result.ended and result.rule.n > 1:
            result.verdict = result.rule.decide(result.tally)

    def stands(self, files: Mapping[str, str | bytes], convo: str = "refund") -> Path:
        """The files of a conversation, in its directory."""
        directory = self.root / convo
        directory.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (directory / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return directory


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path)
