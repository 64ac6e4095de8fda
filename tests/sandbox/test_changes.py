from __future__ import annotations

import os
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_convo.sandbox.base import Change
from pytest_convo.sandbox.changes import MOST_READ, Manifest
from pytest_convo.sandbox.patch import MOST_LINES
from pytest_convo.sandbox.workspace import copy

NAMES = ["a", "b", "ä ö", "q\"\\'$", "tab\tnew\nline", "\udcff\udcfe"]
TEXTS = ["", "one\n", "one\ntwo", "\r\n", "x\x0by\u2028z\n", *("line\n" * count + "end\n" for count in (1, 9, 40))]
"""Such as differ in what is easily taken for the end of a line, or is far from what changed."""

PATHS = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map("/".join)
FILES = st.tuples(st.just("file"), st.sampled_from(TEXTS), st.sampled_from([0o644, 0o755]))
LINKS = st.tuples(st.just("link"), st.sampled_from(["nowhere", "../outside", "/etc/passwd"]), st.just(0))
GONE = st.tuples(st.just("gone"), st.just(""), st.just(0))
EDITS = st.lists(st.tuples(PATHS, FILES | LINKS | GONE), max_size=8)

Tree = dict[str, tuple[str, bytes, int]]


@pytest.fixture
def original(tmp_path: Path) -> Path:
    folder = tmp_path / "original"
    folder.mkdir()
    return folder


class Copied:
    """A copy of a folder, in a fixed place beside it, with the manifest of how it was made."""

    def __init__(self, original: Path) -> None:
        self.original = original
        self.copy = original.with_name("copy")
        copy(original, self.copy)
        self.manifest = Manifest.of(self.copy, original)

    def changes(self) -> list[Change]:
        return self.manifest.changes()

    def diff(self, limit: int) -> str:
        return self.manifest.diff(limit)


@settings(max_examples=60, deadline=None)
@given(EDITS, EDITS)
def test_whatever_is_done_the_changes_and_the_diff_lead_from_the_original_to_the_copy(before, after) -> None:
    with workplace() as place:
        edit(place / "original", before)
        copied = Copied(place / "original")

        edit(copied.copy, after)

        changes = copied.changes()
        assert {change.path: change.kind for change in changes} == difference(tree(copied.original), tree(copied.copy))
        assert changes == sorted(changes)
        applied(copied, place / "by_changes", changes)
        assert tree(place / "by_changes") == tree(copied.copy)
        shutil.copytree(copied.original, place / "by_git", symlinks=True)
        git_apply(place / "by_git", copied.diff(1 << 20))
        assert tree(place / "by_git") == tree(copied.copy)


def test_what_is_only_touched_or_written_as_it_was_has_not_changed(original: Path) -> None:
    (original / "file").write_text("text")
    (original / "link").symlink_to("file")
    copied = Copied(original)

    (copied.copy / "file").unlink()
    (copied.copy / "file").write_text("text")
    (copied.copy / "link").unlink()
    (copied.copy / "link").symlink_to("file")
    (copied.copy / "empty").mkdir()
    os.mkfifo(copied.copy / "pipe")

    assert (copied.changes(), copied.diff(1000)) == ([], "")


def test_another_text_of_the_same_length_and_time_is_a_change(original: Path) -> None:
    (original / "file").write_text("text")
    copied = Copied(original)
    before = (copied.copy / "file").stat()

    (copied.copy / "file").write_text("TEXT")
    os.utime(copied.copy / "file", ns=(before.st_atime_ns, before.st_mtime_ns))

    assert copied.changes() == [Change("file", "M")]


def test_without_an_original_whatever_was_touched_has_changed(original: Path) -> None:
    (original / "kept").write_text("text")
    (original / "touched").write_text("text")
    manifest = Manifest.of(original)

    (original / "touched").touch()

    assert manifest.changes() == [Change("touched", "M")]
    assert "Binary files a/touched and b/touched differ" in manifest.diff(1000)


def test_only_what_was_touched_is_read(original: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "abc":
        (original / name).write_text(name)
    copied = Copied(original)
    (copied.copy / "b").write_text("B")
    opened: list[str] = []
    really = os.open
    monkeypatch.setattr("os.open", lambda name, *rest, **more: opened.append(name) or really(name, *rest, **more))

    copied.changes()

    assert {"a", "b", "c"} & set(map(str, opened)) == {"b"}


def test_a_diff_is_as_git_writes_it(original: Path) -> None:
    for name, text in {"kept.py": "same\n", "edited.py": "1\n2\n3\n4\n5\n6\n7\n8\n", "gone.txt": "bye\n"}.items():
        (original / name).write_text(text)
    copied = Copied(original)
    (copied.copy / "edited.py").write_text("1\n2\n3\n4\n5\nsix\n7\n8")
    (copied.copy / "edited.py").chmod(0o755)
    (copied.copy / "gone.txt").unlink()
    (copied.copy / "a new").write_text("hello\n")
    (copied.copy / "picture").write_bytes(b"\x89PNG\0")

    assert copied.diff(10_000) == (
        "diff --git a/a new b/a new\n"
        "new file mode 100644\n"
        "--- /dev/null\n"
        "+++ b/a new\t\n"
        "@@ -0,0 +1,1 @@\n"
        "+hello\n"
        "diff --git a/edited.py b/edited.py\n"
        "old mode 100644\n"
        "new mode 100755\n"
        "--- a/edited.py\n"
        "+++ b/edited.py\n"
        "@@ -3,6 +3,6 @@\n"
        " 3\n 4\n 5\n-6\n+six\n 7\n-8\n+8\n"
        "\\ No newline at end of file\n"
        "diff --git a/gone.txt b/gone.txt\n"
        "deleted file mode 100644\n"
        "--- a/gone.txt\n"
        "+++ /dev/null\n"
        "@@ -1,1 +0,0 @@\n"
        "-bye\n"
        "diff --git a/picture b/picture\n"
        "new file mode 100644\n"
        "Binary files /dev/null and b/picture differ\n"
    )


def test_a_diff_never_shows_what_a_link_leads_to(tmp_path: Path, original: Path) -> None:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "file").write_text("top secret")
    (original / "inner").mkdir()
    (original / "inner" / "file").write_text("text")
    copied = Copied(original)
    shutil.rmtree(copied.copy / "inner")
    (copied.copy / "inner").symlink_to(tmp_path / "secrets")
    (copied.copy / "direct").symlink_to(tmp_path / "secrets" / "file")

    assert [(change.path, change.kind) for change in copied.changes()] == [
        ("direct", "A"),
        ("inner", "A"),
        ("inner/file", "D"),
    ]
    assert "top secret" not in copied.diff(10_000)


def test_a_link_that_takes_a_directorys_place_while_it_is_read_is_not_followed(
    tmp_path: Path, original: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "file").write_text("top secret")
    (original / "inner").mkdir()
    copied = Copied(original)
    (copied.copy / "inner" / "file").write_text("text")
    compared = Manifest._compared

    def swap(self: Manifest, now: object) -> list[Change]:
        changes = compared(self, now)
        (self.folder / "inner").rename(self.folder / "moved")
        (self.folder / "inner").symlink_to(tmp_path / "secrets")
        return changes

    monkeypatch.setattr(Manifest, "_compared", swap)

    assert "inner/file" in (diff := copied.diff(10_000))
    assert "secret" not in diff


def test_a_file_that_cannot_be_read_or_is_too_large_is_only_said_to_differ(original: Path) -> None:
    (original / "large").write_text("x" * (MOST_READ + 1))
    copied = Copied(original)
    (copied.copy / "large").write_text("y" * (MOST_READ + 1))

    assert copied.diff(10_000) == "diff --git a/large b/large\nBinary files a/large and b/large differ\n"


def test_a_diff_without_room_names_what_it_leaves_out_and_keeps_to_its_limit(original: Path) -> None:
    copied = Copied(original)
    (copied.copy / "a").write_text("small\n")
    (copied.copy / "b").write_text("line\n" * 1000)
    for number in range(100):
        (copied.copy / f"c{number:02}").write_text("small\n")

    diff = copied.diff(1000)

    assert "+small" in diff
    assert "# A 'b': 6081 characters are left out\n" in diff
    assert diff.endswith(" more files are left out\n")
    assert all(len(copied.diff(limit)) <= limit for limit in (0, 1, 50, 150, 500, 1000, 5000))


def test_a_file_that_was_written_anew_is_compared_in_little_time(original: Path) -> None:
    lines = 20 * MOST_LINES
    (original / "file").write_text("".join(f"{number % 7}\n{number}\n" for number in range(lines)))
    copied = Copied(original)
    (copied.copy / "file").write_text("".join(f"{number % 5}\n{-number}\n" for number in range(lines)))

    begin = time.monotonic()
    diff = copied.diff(1 << 30)

    assert time.monotonic() - begin < 20
    assert diff.count("\n") > 4 * lines


def test_what_lies_deeper_than_any_path_does_no_harm(original: Path) -> None:
    copied = Copied(original)
    (copied.copy / "file").touch()
    below, further = ("/".join([letter * 200] * 10) for letter in "de")
    (original.parent / "deep" / further).mkdir(parents=True)
    (copied.copy / below).mkdir(parents=True)
    (original.parent / "deep").rename(copied.copy / below / "further")

    assert copied.changes() == [Change("file", "A")]


# -- trees


@pytest.fixture(autouse=True)
def _no_git_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)


class workplace(tempfile.TemporaryDirectory):  # noqa: N801
    """A new directory for each example, with an empty folder in it."""

    def __enter__(self) -> Path:
        (path := Path(super().__enter__(), "original")).mkdir()
        return path.parent


def edit(folder: Path, edits: list[tuple[str, tuple[str, str, int]]]) -> None:
    """Put things in the place of whatever was there, or on the way there."""
    for path, (kind, content, mode) in edits:
        place = clear(folder, path)
        if kind == "file":
            place.write_bytes(content.encode())
            place.chmod(mode)
        elif kind == "link":
            place.symlink_to(content)


def clear(folder: Path, path: str) -> Path:
    *parents, name = path.split("/")
    for parent in parents:
        folder = folder / parent
        if folder.is_symlink() or folder.is_file():
            folder.unlink()
        folder.mkdir(exist_ok=True)
    place = folder / name
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    return place


def walk(folder: Path) -> Iterator[Path]:
    for directory, directories, files in os.walk(folder):
        yield from (Path(directory, name) for name in [*directories, *files])


def tree(folder: Path) -> Tree:
    """Files and links: their kind, contents and modes."""
    found: Tree = {}
    for path in walk(folder):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = ("link", os.fsencode(path.readlink()), 0)
        elif path.is_file():
            found[name] = ("file", path.read_bytes(), stat.S_IMODE(path.stat().st_mode))
    return found


def difference(then: Tree, now: Tree) -> dict[str, str]:
    return {
        path: "A" if path not in then else "D" if path not in now else "M"
        for path in then.keys() | now.keys()
        if then.get(path) != now.get(path)
    }


def applied(copied: Copied, target: Path, changes: list[Change]) -> None:
    """The original with the changes: what is gone is removed first, what is new or modified is then taken as it is."""
    shutil.copytree(copied.original, target, symlinks=True)
    for change in changes:
        if change.kind != "A":
            (target / change.path).unlink()
    for change in changes:
        if change.kind != "D":
            shutil.copy2(copied.copy / change.path, clear(target, change.path), follow_symlinks=False)


def git_apply(folder: Path, diff: str) -> None:
    """Apply a diff with git, which knows of no empty directories and minds them."""
    for directory in sorted(filter(Path.is_dir, walk(folder)), reverse=True):
        if not directory.is_symlink() and not any(directory.iterdir()):
            directory.rmdir()
    if diff:
        command = ["git", "apply", "--whitespace=nowarn", "-"]
        done = subprocess.run(command, cwd=folder, input=diff.encode(), capture_output=True)
        assert done.returncode == 0, f"{done.stderr!r}\n{diff}"
