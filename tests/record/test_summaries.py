from __future__ import annotations

import errno
import threading

import pytest

from pytest_convo.errors import HarnessError
from pytest_convo.prompt.blocks import Block
from pytest_convo.record.disk import write_first
from pytest_convo.record.summaries import Summaries
from pytest_convo.redaction import Redactor

BLOCK = Block(1, 6)
NAME = "turns-0001-0006.abc.md"


def summaries(root, *, writes=True, patterns=()):
    return Summaries(root, Redactor(patterns=patterns), writes=writes)


def test_the_first_of_several_that_write_a_file_is_the_one_that_stands(tmp_path):
    path, won = tmp_path / "deep" / "a.md", []
    texts = [f"{number}".encode() * 10_000 for number in range(8)]
    threads = [threading.Thread(target=lambda text=text: won.append((write_first(path, text), text))) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    (first,) = (text for was_first, text in won if was_first)
    assert path.read_bytes() == first
    assert list(path.parent.iterdir()) == [path]


def test_where_there_are_no_links_the_first_one_stands_as_well(tmp_path, monkeypatch):
    def refused(self, target):
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr("pathlib.Path.hardlink_to", refused)

    assert write_first(tmp_path / "a.md", b"a")
    assert not write_first(tmp_path / "a.md", b"b")
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"a"]


def test_what_cannot_be_written_is_an_error_that_says_where(tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises(HarnessError, match="cannot be written"):
        write_first(tmp_path / "file" / "a.md", b"a")


def test_a_summary_is_found_again_by_the_turns_that_it_covers_and_what_they_say(tmp_path):
    assert summaries(tmp_path).keep(BLOCK, "abc", "Ada wants tea.\n\nNot coffee.") == "Ada wants tea.\n\nNot coffee."

    again = summaries(tmp_path)
    assert again.find(BLOCK, "abc") == "Ada wants tea.\n\nNot coffee."
    assert again.find(BLOCK, "abd") is None
    assert [path.name for path in (tmp_path / "summaries").iterdir()] == [NAME]


def test_a_summary_that_somebody_edited_is_used_as_it_stands(tmp_path):
    summaries(tmp_path).keep(BLOCK, "abc", "Ada wants tea.")
    path = tmp_path / "summaries" / NAME
    path.write_text(path.read_text().replace("tea", "cocoa"))

    assert summaries(tmp_path).find(BLOCK, "abc") == "Ada wants cocoa."


def test_of_two_processes_that_wrote_a_summary_both_use_the_first_one_s(tmp_path):
    one, other = summaries(tmp_path), summaries(tmp_path)

    assert one.find(BLOCK, "abc") is None
    assert other.find(BLOCK, "abc") is None
    assert one.keep(BLOCK, "abc", "mine") == "mine"
    assert other.keep(BLOCK, "abc", "yours") == "mine"
    assert other.find(BLOCK, "abc") == "mine"


def test_nothing_is_written_where_nothing_may_be_and_the_session_remembers(tmp_path):
    kept = summaries(tmp_path, writes=False)

    assert kept.keep(BLOCK, "abc", "Ada wants tea.") == "Ada wants tea."
    assert kept.find(BLOCK, "abc") == "Ada wants tea."
    assert list(tmp_path.iterdir()) == []


def test_no_secret_is_written(tmp_path):
    kept = summaries(tmp_path, patterns=["order A[0-9]+"])

    kept.keep(BLOCK, "abc", "It is about order A17.")

    text = (tmp_path / "summaries" / NAME).read_text()
    assert "A17" not in text
    assert "It is about" in text
