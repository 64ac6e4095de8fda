from __future__ import annotations

import multiprocessing
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.errors import HarnessError
from pytest_convo.record.digest import digest_of
from pytest_convo.record.disk import write_whole
from pytest_convo.record.parts import Parts

LONG = ["a" * 300_000, "b" * 299_999]


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_is_kept_as_it_is(text):
    with tempfile.TemporaryDirectory() as folder:
        parts = Parts(Path(folder))
        parts.keep({digest_of(text): text})
        assert parts.text(digest_of(text)) == text
        assert [path.read_text().endswith("\n") for path in Path(folder, "parts").iterdir()] == [True]


def test_a_text_is_kept_once_and_not_written_again(tmp_path):
    parts = Parts(tmp_path)
    digest = digest_of("Be kind.")
    parts.keep({digest: "Be kind."})
    path = tmp_path / "parts" / f"{digest}.md"
    before = path.stat()

    parts.keep({digest: "Be kind."})

    assert path.read_text() == "Be kind.\n"
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert [found.name for found in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("data", [b"", b"Be kind!\n", b"Be kind.  \n", b"\xff\n", b'"Be rude."'])
def test_a_text_whose_file_was_edited_is_none_and_is_written_again(tmp_path, data):
    parts = Parts(tmp_path)
    digest = digest_of("Be kind.")
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / f"{digest}.md").write_bytes(data)

    assert parts.text(digest) is None
    parts.keep({digest: "Be kind."})
    assert parts.text(digest) == "Be kind."


def test_a_text_that_is_not_kept_is_none(tmp_path):
    assert Parts(tmp_path).text("0" * 32) is None


def test_what_cannot_be_written_is_told_with_its_place(tmp_path):
    (tmp_path / "parts").write_text("a file is in the way")
    with pytest.raises(HarnessError, match=r"parts.*cannot be written"):
        write_whole(tmp_path / "parts" / "a.md", b"a")


def test_a_file_that_cannot_be_put_in_its_place_leaves_nothing_behind(tmp_path):
    (tmp_path / "a.md" / "inside").mkdir(parents=True)
    with pytest.raises(HarnessError):
        write_whole(tmp_path / "a.md", b"a")
    assert [path.name for path in tmp_path.iterdir()] == ["a.md"]


def rewrite(path, text, times):
    for _ in range(times):
        write_whole(path, text.encode())


def test_several_processes_that_write_one_file_leave_a_whole_one_at_every_moment(tmp_path):
    path = tmp_path / "parts" / "a.md"
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=rewrite, args=(path, text, 60)) for text in LONG]
    for writer in writers:
        writer.start()
    seen = set()
    while any(writer.is_alive() for writer in writers):
        if path.exists():
            seen.add(path.read_text())
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert seen | {path.read_text()} <= set(LONG)
    assert [found.name for found in path.parent.iterdir()] == ["a.md"]
