from __future__ import annotations

from pathlib import Path

import pytest

from pytest_convo.write.screen import Screen

ROOT = Path("/root")


@pytest.fixture
def shows():
    """What is shown after these events."""
    screen = Screen()

    def shows(*events, as_it_comes=True) -> str:
        for event in events:
            screen.hear({"directory": "/root/refund", "case": None, "index": 1, **event})
        assert screen.waits == bool(events)
        return screen.text(ROOT, as_it_comes=as_it_comes)

    shows.screen = screen
    return shows


def piece(text: str):
    return {"kind": "piece", "text": text}


def whole(text: str, file: str | None = "/root/refund/0001_assistant.md"):
    return {"kind": "whole", "text": text, "file": file}


def test_an_answer_is_shown_as_it_comes(shows):
    assert shows({"kind": "turn"}) == ""
    assert shows(piece("Yes,")) == "refund/0001_assistant.md\nYes,"
    assert shows(piece(" gladly,")) == " gladly,"
    assert shows(whole("Yes, gladly, now.")) == " now.\n"
    assert not shows.screen.in_the_middle


def test_or_whole(shows):
    assert shows({"kind": "turn"}, piece("Yes,"), {"kind": "again"}, as_it_comes=False) == ""
    assert shows(whole("Yes, gladly."), as_it_comes=False) == "refund/0001_assistant.md\nYes, gladly.\n"


def test_what_is_said_anew_is_shown_anew(shows):
    told = shows(piece("One moment."), {"kind": "again"}, piece("Yes,"), whole("Yes, gladly."))
    assert told == "refund/0001_assistant.md\nOne moment.\n(anew)\nYes, gladly.\n"


def test_so_is_what_was_answered_otherwise_than_it_was_said(shows):
    assert shows(piece("No,"), whole("Yes.")) == "refund/0001_assistant.md\nNo,\n(anew)\nYes.\n"


def test_it_says_where_an_answer_went(shows):
    assert shows(whole("Yes.", "/root/refund/0001_assistant.md.new")).startswith("refund/0001_assistant.md.new\n")
    assert shows(whole("Yes.", None)) == "refund/0001_assistant.md (stays as it is)\nYes.\n"


def test_what_is_to_be_written_next_is_named(shows):
    assert shows({"kind": "writes", "path": "/root/refund/0001_assistant.md", "digest": "a"}) == ""
    told = shows({"kind": "writes", "path": "/root/refund/0002_user.md", "digest": "b"})
    assert told == "refund/0002_user.md: empty, to be written next\n"


def test_nothing_steers_the_terminal(shows):
    assert shows(piece("a\x1b[2J"), whole("a\x1b[2J\r\nb")) == "refund/0001_assistant.md\na\\x1b[2J\nb\n"


def test_an_answer_that_never_ends_ends_its_line(shows):
    shows(piece("Yes,"))
    assert shows.screen.end() == "\n"
    assert shows.screen.end() == ""
