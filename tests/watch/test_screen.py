from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from pytest_convo.watch.ledger import Change, Version
from pytest_convo.watch.screen import KEYS, Screen, listed
from pytest_convo.watch.standing import Standing

ROOT = Path("/project")
TEA, COFFEE = ROOT / "convos/tea", ROOT / "convos/coffee"
HELD = Version("digest", None, 0o644, 0)


class Terminal(io.StringIO):
    """What is shown, as text; the times of day are left out."""

    def __init__(self, live: bool) -> None:
        super().__init__()
        self.live = live

    def isatty(self) -> bool:
        return self.live

    @property
    def shown(self) -> str:
        return re.sub(r"^\d\d:\d\d:\d\d ", "", self.getvalue(), flags=re.M)


@pytest.fixture
def terminal() -> Terminal:
    return Terminal(live=True)


@pytest.fixture
def screen(terminal: Terminal) -> Screen:
    return Screen(terminal, ROOT, keys=False)


def note(
    kind: str, text: str = "", *, of: Path = TEA, index: int = 1, case: str | None = None, file: str | None = None
):
    return {"kind": kind, "directory": str(of), "case": case, "index": index, "text": text, "file": file}


def test_an_edit_names_the_files_as_seen_from_the_conversation(screen, terminal):
    changes = [
        Change(TEA / "0000_user.md", HELD, HELD),
        Change(TEA / "0002_user.md", None, HELD),
        Change(ROOT / "convos/prompt.md", HELD, None),
        Change(Path("/elsewhere/shared.j2"), HELD, HELD),
    ]

    screen.edited(TEA, changes)

    assert terminal.shown == (
        "convos/tea: 0000_user.md edited, 0002_user.md is new, convos/prompt.md has gone, /elsewhere/shared.j2 edited\n"
    )


def test_many_names_are_counted():
    assert listed(["a", "b", "a", "c", "d"]) == "a, b, c, d"
    assert listed(list("abcdef")) == "a, b, c, d and 2 more"


def test_how_things_stand(screen, terminal):
    standing = Standing()
    screen.standing(standing, 2, [], [])
    standing.ended(TEA, {"one": "passed"})
    screen.standing(standing, 2, [COFFEE], [])
    standing.ended(COFFEE, {"one": "failed"})
    screen.standing(standing, 2, [], [TEA])

    assert terminal.shown.splitlines() == [
        "watching 2",
        "watching 2 · running convos/coffee · nothing failed",
        "watching 2 · waiting convos/tea · failed: convos/coffee",
    ]


def test_keys_are_named_once(terminal):
    screen = Screen(terminal, ROOT, keys=True)

    screen.standing(Standing(), 2, [], [])
    screen.standing(Standing(), 2, [], [])

    assert terminal.shown.splitlines() == [f"watching 2 · {KEYS}", "watching 2"]


def test_words_are_coloured_in_a_terminal_alone(screen, terminal):
    screen.ended(TEA, "failed", "in 0.1 s")
    assert terminal.shown == "convos/tea \033[31;1mFAILED\033[0m in 0.1 s\n"

    file = Terminal(live=False)
    Screen(file, ROOT, keys=False).ended(TEA, "failed", "in 0.1 s")
    assert file.shown == "convos/tea FAILED in 0.1 s\n"


def test_an_answer_is_streamed_and_ends_its_line(screen, terminal):
    for text in ("One\nli", "ne, and"):
        screen.hear(note("piece", text))
    screen.hear(note("whole", "One\nline, and more."))

    assert terminal.shown == "  0001 One\n       line, and more.\n"


def test_of_two_answers_at_once_one_is_streamed(screen, terminal):
    screen.hear(note("piece", "Tea"))
    screen.hear(note("piece", "Cof", of=COFFEE))
    screen.hear(note("piece", " is"))
    screen.hear(note("whole", "Coffee.", of=COFFEE))
    screen.hear(note("piece", " served"))
    screen.hear(note("whole", "Tea is served."))

    shown = terminal.shown.splitlines()
    assert shown[:2] == ["  0001 Tea is", "  0001 Coffee."]
    assert shown[-1].endswith("Tea is served.") or "".join(shown[2:]).count("served") == 1


def test_what_was_streamed_in_vain_is_not_the_answer(screen, terminal):
    screen.hear(note("piece", "The teap"))
    screen.hear(note("again"))
    screen.hear(note("piece", "The kettle"))
    screen.hear(note("whole", "The kettle."))

    assert terminal.shown == "  0001 The teap …\n  0001 The kettle.\n"


def test_a_line_among_the_pieces_stands_by_itself(screen, terminal):
    screen.hear(note("piece", "Tea"))
    screen.line("convos/coffee: 0000_user.md edited")
    screen.hear(note("whole", "Tea.", file=str(TEA / "0001_assistant.md")))

    assert terminal.shown.splitlines() == [
        "  0001 Tea",
        "convos/coffee: 0000_user.md edited",
        "  0001 Tea.",
        "convos/tea/0001_assistant.md written",
    ]


def test_cases_of_one_conversation_are_told_apart(screen, terminal):
    screen.hear(note("piece", "One", case="one"))
    screen.hear(note("whole", "Two.", case="two"))
    screen.hear(note("whole", "One.", case="one"))

    assert terminal.shown.splitlines() == ["  0001 One", "  0001 Two.", "  0001 One."]


def test_where_nobody_looks_answers_come_whole():
    file = Terminal(live=False)
    screen = Screen(file, ROOT, keys=False)

    screen.hear(note("piece", "Te"))
    screen.hear(note("whole", "Tea."))

    assert file.shown == "  0001 Tea.\n"


def test_nothing_that_is_said_steers_the_terminal(screen, terminal):
    screen.hear(note("piece", "\033[2Jcl"))
    screen.hear(note("whole", "\033[2Jclear\033]0;title\a"))
    screen.line("a\033[31mb\rc")
    screen.edited(ROOT / "convos/t\033[2Jea", [Change(ROOT / "convos/t\033[2Jea/0000_user.md", HELD, HELD)])
    screen.ended(TEA, "skipped", "(because of \033[31m)")

    assert "\033" not in terminal.shown
    assert "\r" not in terminal.shown
    assert "\a" not in terminal.shown


def test_what_a_session_printed_ends_its_line(screen, terminal):
    screen.hear(note("piece", "Tea"))
    screen.block("1 failed")
    screen.block("2 failed\n")

    assert terminal.shown == "  0001 Tea\n1 failed\n2 failed\n"
