from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_convo.errors import SandboxError
from pytest_convo.sandbox.workspace import PREFIX, copy, directory, private_copy, remove, sweep, usable

SOMEBODY = 12345
"""A user who is not root."""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory in which temporary ones are made."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def theirs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Such a directory that other users can reach, as those below `tmp_path` are not."""
    with tempfile.TemporaryDirectory(prefix="convo-test-") as name:
        path = Path(name)
        path.chmod(0o755)
        monkeypatch.setattr("tempfile.tempdir", name)
        yield path


def test_a_folder_is_usable_by_its_absolute_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "task" / "workspace").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "task")

    assert usable(Path("../task/workspace")) == tmp_path / "task" / "workspace"


@pytest.mark.parametrize("make, says", [(lambda path: None, "does not exist"), (Path.touch, "is no folder")])
def test_what_is_no_folder_is_refused_and_not_created(tmp_path: Path, make, says: str) -> None:
    make(tmp_path / "work")

    with pytest.raises(SandboxError, match=says):
        usable(tmp_path / "work")
    assert not (tmp_path / "work").is_dir()


@pytest.mark.parametrize("folder, says", [("home/me", "is your home"), ("home", "holds your home")])
def test_a_home_directory_is_not_given_away_also_by_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, says: str
) -> None:
    (tmp_path / "home" / "me" / "project").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / folder)
    monkeypatch.setenv("HOME", str(tmp_path / "home" / "me"))

    for path in (tmp_path / folder, tmp_path / "link"):
        with pytest.raises(SandboxError, match=says):
            usable(path)
    usable(tmp_path / "home" / "me" / "project")


def test_the_root_is_not_given_away() -> None:
    with pytest.raises(SandboxError, match="root of this machine"):
        usable(Path("/usr/../"))


def test_a_folder_with_the_engines_socket_is_not_given_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run").mkdir()
    monkeypatch.chdir(tmp_path / "run")  # a socket's path must be short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("engine.sock")
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/run/engine.sock")

    with pytest.raises(SandboxError, match="socket"):
        usable(tmp_path)


def test_a_copy_has_contents_modes_times_and_links_and_leaves_out_what_is_no_file(tmp_path: Path) -> None:
    folder = tmp_path / "workspace"
    (folder / "inner" / "empty").mkdir(parents=True)
    (folder / "run.sh").write_bytes(b"\xff\0")
    (folder / "run.sh").chmod(0o750)
    os.utime(folder / "run.sh", ns=(1, 1_234_567_890_123_456_789))
    for name, target in {"out": "/etc/passwd", "nowhere": "gone", "inner/self": "../inner"}.items():
        (folder / name).symlink_to(target)
    os.mkfifo(folder / "pipe")

    made = private_copy(folder)

    try:
        assert (made / "run.sh").read_bytes() == b"\xff\0"
        status = (made / "run.sh").stat()
        assert (status.st_mode & 0o777, status.st_mtime_ns) == (0o750, 1_234_567_890_123_456_789)
        links = [str((made / name).readlink()) for name in ("out", "nowhere", "inner/self")]
        assert links == ["/etc/passwd", "gone", "../inner"]
        assert sorted(path.name for path in made.rglob("*")) == ["empty", "inner", "nowhere", "out", "run.sh", "self"]
        assert made.parent.stat().st_mode & 0o777 == 0o700
        assert made.stat().st_mode == folder.stat().st_mode
    finally:
        remove(made.parent)
    assert not made.parent.exists()


def test_a_copy_that_fails_leaves_nothing_and_says_what_could_not_be_copied(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (temporary / "workspace").mkdir()
    (temporary / "workspace" / "file").touch()
    monkeypatch.setattr("shutil.copy2", lambda *names: (_ for _ in ()).throw(OSError(28, "No space left on device")))

    with pytest.raises(SandboxError, match=r"workspace/file cannot be copied: .*No space left"):
        private_copy(temporary / "workspace")

    assert [path.name for path in temporary.iterdir()] == ["workspace"]


def test_a_folder_is_not_copied_over_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "from").mkdir()
    (tmp_path / "to").mkdir()

    with pytest.raises(SandboxError, match="cannot be copied"):
        copy(tmp_path / "from", tmp_path / "to")


def test_only_a_temporary_directory_of_ours_is_removed(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path that came out empty names the working directory: this has cost a project all of its files."""
    project, ours = temporary / "project", directory()
    for place in (project, ours, ours / f"{PREFIX}inner", temporary / PREFIX, temporary / "other" / f"{PREFIX}x"):
        place.mkdir(parents=True, exist_ok=True)
        (place / "file").touch()
    (temporary / f"{PREFIX}link").symlink_to(project)
    before = sorted(temporary.rglob("*"))
    wrong = ["", ".", "..", "/", str(project), str(temporary), f"{temporary}/{PREFIX}", f"{temporary}/{PREFIX}link"]
    wrong += [ours.name, f"{ours}/..", f"{ours}/{PREFIX}inner", f"{temporary}/other/{PREFIX}x", f"{ours}/../project"]

    for place in (project, temporary):
        monkeypatch.chdir(place)
        for path in map(Path, wrong):
            with pytest.raises(SandboxError, match="is not removed"):
                remove(path)

    assert sorted(temporary.rglob("*")) == before
    remove(ours)
    assert not ours.exists()


def test_what_is_not_writable_is_removed_and_what_links_lead_to_is_not(theirs: Path) -> None:
    folder = directory()
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "b" / "file").touch()
    (theirs / "kept").mkdir()
    (theirs / "kept" / "file").touch()
    (folder / "link").symlink_to(theirs / "kept")
    (folder / "a" / "link").symlink_to(theirs / "kept" / "file")
    for path in (folder / "a" / "b", folder / "a", folder):
        path.chmod(0)
    _give(theirs, *theirs.rglob("*"))

    assert _remove_as_them(folder) == ""

    assert [path.name for path in theirs.iterdir()] == ["kept"]
    assert (theirs / "kept" / "file").exists()


def test_a_tree_deeper_than_any_path_is_removed(temporary: Path) -> None:
    script = "import os; [(os.mkdir('d'), open('f', 'w').close(), os.chdir('d')) for _ in range(3000)]"
    deep = directory()
    subprocess.run([sys.executable, "-c", script], cwd=deep, check=True)

    remove(deep)
    remove(deep)  # again: there is nothing to do

    assert not list(temporary.iterdir())


@pytest.mark.skipif(os.getuid() != 0, reason="files of another user can only be made by root")
def test_what_belongs_to_another_user_is_told_of(theirs: Path) -> None:
    folder = directory()
    (folder / "ours").mkdir()
    _give(theirs, folder)

    assert f"SandboxError: {folder} cannot be removed" in _remove_as_them(folder)


def test_a_link_that_takes_a_directorys_place_while_it_is_removed_is_not_followed(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Processes of a sandbox may outlive its engine, and do as they like where it is being removed."""
    kept = temporary / "kept"
    kept.mkdir()
    (kept / "file").touch()
    made = directory()
    (made / "inner" / "deeper").mkdir(parents=True)
    really = os.rename

    def swap(source: str, target: str, **more: int) -> None:
        really(made / source, made / "moved")
        (made / source).symlink_to(kept)
        really(source, target, **more)

    monkeypatch.setattr("os.rename", swap)

    with pytest.raises(SandboxError, match="cannot be removed"):
        remove(made)

    assert (kept / "file").exists()


def test_what_a_process_left_that_was_killed_is_swept_away_and_nothing_else(temporary: Path) -> None:
    script = "from pytest_convo.sandbox.workspace import *; print(directory('x-')); print(k := directory()); leave(k)"
    variables = {**os.environ, "TMPDIR": str(temporary)}
    said = subprocess.run([sys.executable, "-c", script], env=variables, capture_output=True, text=True, check=True)
    left, kept = map(Path, said.stdout.split())
    (left / "inner").mkdir()
    place, pid, started = left.name.removeprefix(PREFIX).split("-")[:3]
    elsewhere = temporary / f"{PREFIX}{'0' * len(place)}-{pid}-{started}-abc"
    others = [directory(), kept, elsewhere, temporary / f"{PREFIX}{'0' * 32}", temporary / f"other-{left.name}"]
    for path in others:
        path.mkdir(exist_ok=True)

    sweep()

    assert sorted(temporary.iterdir()) == sorted(others)


def test_what_cannot_be_swept_away_is_told_of_when_the_rest_is(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [directory(), directory()]
    monkeypatch.setattr("pytest_convo.sandbox.workspace.started", lambda pid: None)
    really = os.rmdir

    def rmdir(path: str) -> None:
        if path == str(made[0]):
            raise PermissionError(1, "no", path)
        really(path)

    monkeypatch.setattr("os.rmdir", rmdir)

    with pytest.raises(SandboxError, match=f"{made[0].name} cannot be removed"):
        sweep()

    assert not made[1].exists()


def _give(*paths: Path) -> None:
    """Make somebody the owner whom modes hold back, if we are root."""
    if os.getuid() == 0:
        for path in paths:
            os.chown(path, SOMEBODY, -1, follow_symlinks=False)


def _remove_as_them(folder: Path) -> str:
    """Remove a folder as its owner, and return what Python wrote to its error output."""
    become = f"import os; os.setuid({SOMEBODY})" if os.getuid() == 0 else "pass"
    script = f"from pytest_convo.sandbox.workspace import *; {become}; remove(Path({str(folder)!r}))"
    variables = {**os.environ, "TMPDIR": str(folder.parent)}
    return subprocess.run([sys.executable, "-c", script], env=variables, capture_output=True, text=True).stderr
