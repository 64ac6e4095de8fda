from __future__ import annotations

from pathlib import Path

import pytest

from pytest_convo.watch.ledger import Change, Version
from pytest_convo.watch.rewind import edited_message

TEA = Path("/project/convos/tea")
OLD, NEW = Version("old", b"old", 0o644, 1), Version("new", b"new", 0o644, 2)


def edited(name: str, directory: Path = TEA) -> Change:
    return Change(directory / name, OLD, NEW)


@pytest.mark.parametrize(
    "changes, index",
    [
        ([edited("0002_user.md")], 2),
        ([edited("0004_user.md"), edited("0002_user_late.md.j2"), edited("0006_user.md")], 2),
        ([edited("0000_system.md")], 0),
        ([edited("0001_assistant.md")], 1),
        ([edited("0001_assistant_steps.yaml")], 1),
        ([Change(TEA / "0002_user.md", None, NEW)], None),
        ([Change(TEA / "0001_assistant.md", OLD, None)], None),
        ([Change(TEA / "0000_user.md", OLD, None), edited("0004_user.md")], 4),
        ([edited("0000_user.md", TEA / "deeper")], None),
        ([edited("prompt.md"), edited("convo.toml"), edited("checks.py")], None),
        ([edited("0002_usr.md")], None),
        ([edited("002_user.md")], None),
        ([], None),
    ],
)
def test_the_first_message_that_was_edited(changes, index):
    assert edited_message(TEA, changes) == index
