from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_convo.conversation.conversation import Conversation, read
from pytest_convo.conversation.message import Message
from pytest_convo.conversation.reply import Reply
from pytest_convo.redaction import Redactor
from pytest_convo.write.listener import Teller
from pytest_convo.write.scribe import Writer


class Place:
    """A conversation's directory, and what is told of it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.heard: list[dict[str, Any]] = []

    @property
    def files(self) -> dict[str, str]:
        """What stands there, but for the first message."""
        return {path.name: path.read_text() for path in sorted(self.path.iterdir()) if path.name != "0000_user.md"}

    @property
    def kinds(self) -> list[str]:
        return [event["kind"] for event in self.heard]

    def told(self, kind: str, key: str) -> list[Any]:
        """What the events of one kind have under a key."""
        return [event[key] for event in self.heard if event["kind"] == kind]

    def hear(self, event: Any) -> None:
        self.heard.append(dict(event))

    def teller(self, index: int = 1) -> Teller:
        return Teller(self.hear, self.path, None, index)

    def write(self, text: str = "Yes.") -> None:
        """Have turn 1 answered and written."""
        with Writer(self.path, None, Redactor(), self.hear, holes={1}).turn(1) as sheet:
            sheet.finish(Reply(text), [Message("assistant", text)])

    def read(self) -> Conversation:
        return read(self.path, variables={})


@pytest.fixture
def place(tmp_path: Path) -> Place:
    (tmp_path / "0000_user.md").write_text("Hello?\n")
    return Place(tmp_path)


@pytest.fixture(autouse=True)
def _as_on_a_quick_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look at what has arrived never takes so long that the next pieces wait: how long it takes is luck."""
    monkeypatch.setattr("pytest_convo.write.settled._SLOW", float("inf"))
