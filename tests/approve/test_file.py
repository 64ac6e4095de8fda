from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.approve.file import look, write
from pytest_convo.approve.plan import Standing
from pytest_convo.conversation.encode import Unwritable
from pytest_convo.conversation.text import read_text

ANSWERS = st.lists(
    st.one_of(st.text(max_size=8), st.sampled_from(["\n", "\r", "\r\n", "\ufeff", "\0", "\ud800", " ", "\x85", "é"])),
    max_size=6,
).map("".join)


@given(ANSWERS)
def test_what_is_written_is_read_as_exactly_the_answer(tmp_path_factory: pytest.TempPathFactory, answer: str) -> None:
    path = tmp_path_factory.getbasetemp() / "0001_assistant.md"
    try:
        write(path, answer)
    except Unwritable:
        assert "\0" in answer or any("\ud800" <= character <= "\udfff" for character in answer)
    else:
        assert read_text(path) == answer


@pytest.mark.parametrize("answer", ["", "\n", "a\n", "a\n\n", "a\r", "a\r\n", "\ufeffa", "\ufeff", "a"])
def test_nothing_that_a_file_can_hold_is_refused(tmp_path: Path, answer: str) -> None:
    write(tmp_path / "0001_assistant.md", answer)
    assert read_text(tmp_path / "0001_assistant.md") == answer
    assert [path.name for path in tmp_path.iterdir()] == ["0001_assistant.md"]


def test_a_rewritten_file_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "0001_assistant.md"
    path.write_text("No.\n")
    path.chmod(0o640)
    write(path, "Yes.")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_directory_that_has_gone_is_told_in_words(tmp_path: Path) -> None:
    with pytest.raises(Unwritable, match="it could not be written: No such file or directory"):
        write(tmp_path / "gone" / "0001_assistant.md", "Yes.")


def test_what_cannot_be_replaced_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "0001_assistant.md" / "inside").mkdir(parents=True)
    with pytest.raises(Unwritable):
        write(tmp_path / "0001_assistant.md", "Yes.")
    assert [path.name for path in tmp_path.iterdir()] == ["0001_assistant.md"]


def found(tmp_path: Path, **files: str | bytes) -> tuple[str, Standing]:
    for name, content in {"0000_user.md": "Hello?", **{f"0001_{name}": text for name, text in files.items()}}.items():
        stem, _, extension = name.partition("__")
        data = content.encode() if isinstance(content, str) else content
        (tmp_path / f"{stem}{'.' if extension else ''}{extension.replace('__', '.')}").write_bytes(data)
    path, standing = look(tmp_path, 1)
    return path.name, standing


def test_where_there_is_no_file_it_is_to_be_a_new_one(tmp_path: Path) -> None:
    assert found(tmp_path) == ("0001_assistant.md", Standing())


def test_the_one_plain_text_file_of_the_turn_is_rewritten(tmp_path: Path) -> None:
    assert found(tmp_path, assistant__txt="Yes.\n") == ("0001_assistant.txt", Standing("Yes."))


def test_also_where_it_has_a_label(tmp_path: Path) -> None:
    assert found(tmp_path, assistant_short__md="Yes.") == ("0001_assistant_short.md", Standing("Yes."))


@pytest.mark.parametrize(
    ("files", "text", "obstacle"),
    [
        ({"assistant__md__j2": "Yes."}, "Yes.", "it is a template"),
        ({"assistant__md__j2": "{{ order }}"}, None, "it is a template"),
        ({"assistant__yaml": "content: Yes."}, "Yes.", "it is a record, with more than a text"),
        (
            {"assistant__md": "Yes.", "assistant_more__md": "No."},
            "Yes.\n\nNo.",
            "2 files make up this reply: 0001_assistant.md, 0001_assistant_more.md",
        ),
        (
            {"assistant__md": "Yes.", "assistant_steps__yaml": "broken: ["},
            None,
            "0001_assistant_steps.yaml keeps the steps to another answer: delete both to approve a new one",
        ),
        ({"user__md": "Yes."}, "Yes.", "it is the user's"),
        ({"assistant__md": b"\xff"}, None, "it is not UTF-8: byte 0xff"),
    ],
)
def test_everything_else_is_left_alone(tmp_path: Path, files: dict[str, str], text: str | None, obstacle: str) -> None:
    assert found(tmp_path, **files)[1] == Standing(text, obstacle)


def test_a_symbolic_link_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "shared").write_text("Yes.")
    (tmp_path / "0001_assistant.md").symlink_to("shared")
    assert look(tmp_path, 1)[1] == Standing("Yes.", "it is a symbolic link")


@pytest.mark.parametrize("kind", ["directory", "dangling link"])
def test_so_is_what_is_no_file(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "0001_assistant.md"
    path.mkdir() if kind == "directory" else path.symlink_to("nowhere")
    (tmp_path / "0000_user.md").touch()
    assert look(tmp_path, 1)[1] == Standing(None, "what stands there is no file")


def test_a_write_protected_file_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "0001_assistant.md").write_text("Yes.")
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write whatever is protected
    assert look(tmp_path, 1)[1] == Standing("Yes.", "it is write-protected")
