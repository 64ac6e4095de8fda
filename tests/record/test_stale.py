from __future__ import annotations

import pytest

from pytest_convo.record.stale import probes_file, recordings, remove, stale_files, unused_parts

A, B = "a" * 32, "b" * 32


@pytest.fixture
def root(tmp_path):
    def make(files):
        for name, text in files.items():
            path = tmp_path / "__recordings__" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path / "__recordings__"

    return make


def names(root, paths):
    return [path.relative_to(root).as_posix() for path in paths]


def test_runs_that_nothing_uses_are_stale(root):
    files = ["run-1.yaml", "run-2.yaml", "run-10.yaml", "late/run-1.yaml", "test_x.py/test_a/late/run-1.yaml"]
    at = root(dict.fromkeys(files, ""))

    assert names(at, recordings(at)) == files
    assert names(at, recordings(at, deep=False)) == files[:3]
    assert names(at, stale_files(at, [at / "run-2.yaml", at / "late" / "run-1.yaml"])) == [files[0], files[2], files[4]]
    assert stale_files(at, recordings(at)) == []


def test_what_was_asked_about_several_runs_is_a_recording_too(root):
    files = ["run-2.yaml", "run-10.yaml", "agreement.yaml", "judge-check-0a1b.yaml", "late/agreement.yaml"]
    at = root({**dict.fromkeys(files, f"user: {A}"), "judge.yaml": B, f"parts/{A}.md": "", f"parts/{B}.md": ""})

    assert names(at, recordings(at)) == files
    assert names(at, unused_parts(at)) == [f"parts/{B}.md"]
    assert probes_file("0a1b") == files[3]


def test_paths_in_use_may_be_written_in_another_way(root, monkeypatch, tmp_path):
    at = root({"run-1.yaml": ""})
    monkeypatch.chdir(tmp_path)
    assert stale_files(at, [at / ".." / "__recordings__" / "run-1.yaml"]) == []
    assert stale_files(at.relative_to(tmp_path), [at / "run-1.yaml"]) == []


@pytest.mark.parametrize(
    "name", ["notes.yaml", "run-1.yml", "run-0.yaml", "run-01.yaml", "run-x.yaml", "run-1.yaml.orig", ".run-1.yaml"]
)
def test_other_files_are_never_stale_and_never_removed(root, name):
    at = root({name: "", "run-2.yaml": ""})
    assert names(at, stale_files(at, [])) == ["run-2.yaml"]
    with pytest.raises(ValueError, match="is no recording"):
        remove([at / "run-2.yaml", at / name])
    assert (at / "run-2.yaml").exists()


def test_nothing_is_stale_where_nothing_is(tmp_path):
    assert stale_files(tmp_path / "__recordings__", []) == []
    assert unused_parts(tmp_path / "__recordings__") == []


def test_parts_that_no_run_names_are_unused(root):
    at = root(
        {
            f"parts/{A}.md": "a",
            f"parts/{B}.md": "b",
            "parts/readme.md": "",
            f"parts/{A[:-1]}.md": "",
            f"late/{B}.md": "",
            "late/run-1.yaml": f"is not even YAML: {{ user: {A}",
            "run-1.yaml": f"a longer number {B}0",
        }
    )
    assert names(at, unused_parts(at)) == [f"parts/{B}.md"]


def test_a_case_may_be_called_parts(root):
    at = root({"parts/run-1.yaml": A, f"parts/{A}.md": "a"})
    assert names(at, stale_files(at, [])) == ["parts/run-1.yaml"]
    assert unused_parts(at) == []


def test_folders_that_become_empty_go_too_but_none_above_the_recordings(root, tmp_path):
    at = root({"test_x.py/test_a/run-1.yaml": "", f"parts/{A}.md": "a", "late/run-1.yaml": "", "late/notes": ""})

    remove(stale_files(at, []))
    assert sorted(path.name for path in at.iterdir()) == ["late", "parts"]
    remove(unused_parts(at))
    assert [path.name for path in at.rglob("*")] == ["late", "notes"]
    (at / "late" / "notes").rename(at / "late" / "run-7.yaml")
    remove(stale_files(at, []))
    assert list(tmp_path.iterdir()) == []


def test_what_somebody_else_has_removed_is_no_matter(root):
    at = root({"run-1.yaml": ""})
    remove([at / "run-1.yaml", at / "run-2.yaml", at / "gone" / "run-1.yaml"])
    assert not at.exists()
