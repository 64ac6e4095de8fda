from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_convo.approve.update import MOST_LINES, approve, update
from pytest_convo.conversation.text import read_text
from pytest_convo.run.results import Results

from .conftest import Session

if TYPE_CHECKING:
    from collections.abc import Mapping


def tree(root: Path) -> Mapping[Path, tuple[bytes, int]]:
    """Every file below a directory: what it holds, and when it was last changed."""
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in root.rglob("*") if path.is_file()}


def test_a_session_without_anything_to_approve_says_nothing() -> None:
    assert approve(Results()) == []


def test_counts_what_was_added_updated_and_unchanged(session: Session) -> None:
    session.stands({"0000_user.md": "Hello?"}, "new")
    session.stands({"0000_user.md": "Hello?", "0001_assistant.md": "No.\n"}, "other")
    session.stands({"0000_user.md": "Hello?", "0001_assistant.txt": "Yes.\n"}, "same")
    for convo in ("new", "other", "same"):
        session.heard(["Yes.", "yes.", "Hm."], convo=convo)
    before = tree(session.root)
    assert approve(session.results) == ["approved replies: 1 added, 1 updated, 1 unchanged"]
    after = tree(session.root)
    assert {path.relative_to(session.root).as_posix() for path in after if after[path] != before.get(path)} == {
        "new/0001_assistant.md",
        "other/0001_assistant.md",
    }
    assert read_text(session.root / "new/0001_assistant.md") == "Yes."
    assert read_text(session.root / "other/0001_assistant.md") == "Yes."


def test_once_more_nothing_is_left_to_do(session: Session) -> None:
    session.stands({"0000_user.md": "Hello?"})
    session.heard(["Yes.\n"])
    assert approve(session.results) == ["approved replies: 1 added"]
    assert approve(session.results) == ["approved replies: 1 unchanged"]


def test_answers_of_runs_that_failed_are_not_approved(session: Session) -> None:
    session.stands({"0000_user.md": "Hello?"})
    session.heard(["No.", "No.", "Yes.", "yes.", "Yes.", ""], "ffppps")
    assert approve(session.results) == ["approved replies: 1 added"]
    assert read_text(session.root / "refund/0001_assistant.md") == "Yes."


@pytest.mark.parametrize(
    ("outcomes", "why"),
    [
        ("ffp", "flaky fail: 1 of 3 runs passed, 2 needed"),
        ("eee", "inconclusive: no run measured anything, 2 needed, 3 errors"),
    ],
)
def test_a_group_that_did_not_pass_is_not_approved_and_it_is_said(session: Session, outcomes: str, why: str) -> None:
    session.stands({"0000_user.md": "Hello?"})
    session.heard(["Yes."] * 3, outcomes)
    assert approve(session.results) == [
        "approved replies: 1 left alone",
        f"  refund/0001_assistant.md: left alone: {why}",
    ]
    assert not (session.root / "refund/0001_assistant.md").exists()


def test_a_group_without_a_verdict_is_not_approved(session: Session) -> None:
    session.stands({"0000_user.md": "Hello?"})
    session.heard(["Yes.", "Yes."])
    next(iter(session.results.groups.values())).verdict = None
    assert approve(session.results)[1].endswith("left alone: its runs did not all end, so there is no verdict")


def test_the_runs_come_in_any_order_and_the_first_by_number_counts(session: Session) -> None:
    session.stands({"0000_user.md": "Hello?"})
    session.heard([f"Yes{'!' * (n == 10)}" if n > 1 else "YES" for n in range(1, 12)])
    (group,) = session.results.groups.values()
    group.runs = dict(reversed(group.runs.items()))
    approve(session.results)
    assert read_text(session.root / "refund/0001_assistant.md") == "YES"


def test_a_tie_is_said(session: Session) -> None:
    session.stands({"0000_user.md": "Hello?"})
    session.heard(["Yes.", "No."])
    assert approve(session.results)[1] == (
        "  refund/0001_assistant.md: 2 answers are as frequent (1 × each), and the first of them is approved"
    )


def test_cases_share_the_file(session: Session) -> None:
    for convo, answers in {"alike": ("Yes.", "Yes."), "unlike": ("Yes.", "No.")}.items():
        session.stands({"0000_user.md": "Hello?"}, convo)
        for case, answer in zip(("late", "early"), answers, strict=True):
            session.heard([answer], convo=convo, case=case)
    assert approve(session.results) == [
        "approved replies: 1 added, 1 left alone",
        "  unlike/0001_assistant.md: left alone: its 2 cases answer differently, and they share the file",
    ]


def test_what_cannot_be_written_is_said_and_the_others_are_written(session: Session) -> None:
    session.heard(["Yes."], convo="gone")
    session.stands({"0000_user.md": "Hello?"})
    session.heard(["Yes."])
    assert approve(session.results) == [
        "approved replies: 1 added, 1 left alone",
        "  gone/0001_assistant.md: left alone: it could not be written: No such file or directory",
    ]


def test_the_summary_is_bounded(session: Session) -> None:
    for number in range(MOST_LINES + 5):
        session.heard(["Yes."], convo=f"gone-{number}")
    lines = approve(session.results)
    assert len(lines) == MOST_LINES + 2
    assert lines[-1] == "  and 5 more"


NAMES = [
    *(f"000{index}_{role}{rest}" for index in range(4) for role in ("user", "assistant") for rest in (".md", ".txt")),
    "0001_assistant.md.j2",
    "0001_assistant.yaml",
    "0001_assistant_more.md",
    "0001_assistant_steps.yaml",
    "0001_assistant.md.tmp",
    "0001_assistant.md~",
    "0003_tool.json",
    "convo.toml",
    "notes.txt",
    "1_assistant.md",
    "prompt.md",
    "__snapshots__/0001_assistant.md",
    "__recordings__/run-1.yaml",
]
CONTENTS = st.sampled_from([b"", b"Yes.\n", b"No.", b"{{ x }}", b"content: Yes.", b"\xff", b"\r\n"])


@settings(max_examples=150)
@given(
    st.dictionaries(st.sampled_from(NAMES), CONTENTS),
    st.lists(st.sampled_from(["Yes.", "No.", "yes.", "", "\ud800", "[secret OPENAI_API_KEY]"]), min_size=1, max_size=4),
    st.sampled_from([1, 3, 4]),
    st.sampled_from([None, "exact", "normalized", "json", "similar", "judge"]),
)
def test_no_other_file_is_ever_removed_or_changed(
    files: dict[str, bytes], answers: list[str], index: int, mode: str | None
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        session = Session(Path(directory))
        for name, content in files.items():
            path = session.root / "refund" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        before = tree(session.root)
        session.heard(answers, index=index, mode=mode)
        done = update(session.results).decisions
        after = tree(session.root)
        changed = {
            path.relative_to(session.root).as_posix()
            for path in {*before, *after}
            if before.get(path) != after.get(path)
        }
        written = {name for name, decision in done.items() if decision.deed in ("added", "updated")}
        assert changed == written
        assert all(name.startswith(f"refund/000{index}_assistant") for name in written)
        assert all(read_text(session.root / name) in answers for name in written)
        assert before.keys() <= after.keys()
