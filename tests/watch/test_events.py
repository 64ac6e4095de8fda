from __future__ import annotations

import errno
import logging
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pytest_convo.errors import CannotWatch
from pytest_convo.watch.events import Events, Hint
from pytest_convo.watch.ledger import Ledger
from pytest_convo.watch.settle import Burst

pytestmark = pytest.mark.filterwarnings("ignore:Callback with id:RuntimeWarning")  # see watch/observer.py

GENEROUS = 20.0
"""Seconds after which what was waited for will not come."""


class Heard:
    """Events and all that they have told."""

    def __init__(self, polling: float | None = None) -> None:
        self.woken = threading.Event()
        self.events = Events(self.woken.set, polling=polling)
        self.hints: list[Hint] = []

    def until(self, enough: Callable[[], bool]) -> None:
        """Wait until what has been told is enough."""
        deadline = time.monotonic() + GENEROUS
        while True:
            self.woken.clear()
            self.hints += self.events.take()
            if enough():
                return
            assert self.woken.wait(deadline - time.monotonic()), f"nothing more came than {self.hints}"

    def until_told(self, path: Path, *kinds: str) -> None:
        self.until(lambda: {*kinds} <= self.kinds(path) and bool(self.kinds(path)))

    def kinds(self, path: Path) -> set[str]:
        return {hint.kind for hint in self.hints if hint.path == path}

    def is_hinted(self, path: Path, root: Path) -> bool:
        """Whether the file is told of, or a directory that it is in below `root`."""
        covering = {path, *path.parents} - {root, *root.parents}
        return any(hint.path in covering for hint in self.hints)

    def forget(self) -> None:
        self.hints += self.events.take()
        self.hints.clear()


@pytest.fixture(params=[None, 0.02], ids=["system", "polling"])
def polling(request: pytest.FixtureRequest) -> float | None:
    return request.param


@pytest.fixture
def heard(polling: float | None) -> Iterator[Heard]:
    heard = Heard(polling)
    yield heard
    heard.events.close()


@pytest.fixture
def system() -> Iterator[Heard]:
    heard = Heard()
    yield heard
    heard.events.close()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    return root


def test_a_file_is_written(heard, root):
    heard.events.watch([root])

    (root / "a.md").write_text("a")

    heard.until_told(root / "a.md", "created")


def test_a_file_is_edited_deep_below(heard, root):
    (root / "b" / "c").mkdir(parents=True)
    (root / "b" / "c" / "a.md").write_text("a")
    heard.events.watch([root])

    (root / "b" / "c" / "a.md").write_text("another")

    heard.until_told(root / "b" / "c" / "a.md", "modified")


def test_both_ends_of_a_move_are_told(heard, root):
    (root / "a.md").write_text("a")
    heard.events.watch([root])

    (root / "a.md").rename(root / "b.md")

    heard.until_told(root / "a.md", "moved")
    heard.until_told(root / "b.md", "moved")


def test_a_file_goes(heard, root):
    (root / "a.md").write_text("a")
    heard.events.watch([root])

    (root / "a.md").unlink()

    heard.until_told(root / "a.md", "deleted")


def test_what_is_read_or_looked_at_is_not_told(system, root):
    (root / "a.md").write_text("a")
    system.events.watch([root])

    (root / "a.md").read_text()
    list(root.iterdir())
    (root / "b.md").write_text("b")
    system.until_told(root / "b.md", "closed")

    assert system.kinds(root / "a.md") == set()
    assert system.kinds(root) == set()


def test_a_directory_that_is_made_is_watched(heard, root):
    heard.events.watch([root])

    (root / "b" / "c").mkdir(parents=True)
    heard.until_told(root / "b" / "c", "created")
    (root / "b" / "c" / "a.md").write_text("a")

    heard.until_told(root / "b" / "c" / "a.md")


def test_a_directory_that_is_moved_in_is_watched(heard, root, tmp_path):
    (tmp_path / "outside" / "b").mkdir(parents=True)
    heard.events.watch([root])

    (tmp_path / "outside").rename(root / "inside")
    heard.until_told(root / "inside", "created")
    (root / "inside" / "b" / "a.md").write_text("a")

    heard.until_told(root / "inside" / "b" / "a.md")


def test_a_directory_that_is_renamed_is_watched_under_its_new_name(heard, root):
    (root / "b").mkdir()
    (root / "b" / "a.md").write_text("a")
    heard.events.watch([root])

    (root / "b").rename(root / "c")
    heard.until_told(root / "b", "moved")
    heard.until_told(root / "c", "moved")
    heard.forget()
    (root / "c" / "a.md").write_text("another")

    heard.until_told(root / "c" / "a.md")


def test_a_directory_that_is_moved_out_is_told(heard, root, tmp_path):
    (root / "b").mkdir()
    heard.events.watch([root])

    (root / "b").rename(tmp_path / "b")

    heard.until_told(root / "b", "deleted")


def test_a_named_file_is_told_and_its_neighbours_are_not(heard, root):
    heard.events.watch([root / "a.md"])

    (root / "b.md").write_text("b")
    (root / "c").mkdir()
    (root / "c" / "a.md").write_text("c")
    (root / "a.md").write_text("a")
    heard.until_told(root / "a.md")

    assert {hint.path for hint in heard.hints} == {root / "a.md"}


def test_another_file_of_a_directory_and_then_the_directory(heard, root):
    heard.events.watch([root / "a.md"])
    heard.events.watch([root / "b.md"])
    (root / "b.md").write_text("b")
    heard.until_told(root / "b.md")

    heard.events.watch([root])
    (root / "c.md").write_text("c")

    heard.until_told(root / "c.md")


def test_what_is_watched_already_takes_no_further_thread(system, root):
    (root / "b").mkdir()
    system.events.watch([root])
    threads = threading.active_count()

    system.events.watch([root, root / "b", root / "b" / "a.md", root / "a.md"])

    assert threading.active_count() == threads


def test_a_root_behind_a_link_is_told_as_it_was_named(heard, root, tmp_path):
    (tmp_path / "link").symlink_to(root)
    heard.events.watch([tmp_path / "link"])

    (root / "a.md").write_text("a")

    heard.until_told(tmp_path / "link" / "a.md", "created")


def test_a_root_that_goes_and_comes_back_is_watched_again(heard, root):
    (root / "a.md").write_text("a")
    heard.events.watch([root])

    shutil.rmtree(root)
    heard.until(lambda: heard.events.lost == [root])
    root.mkdir()
    (root / "a.md").write_text("again")
    heard.until(lambda: heard.events.lost == [])
    heard.until_told(root, "created")
    heard.forget()
    (root / "b.md").write_text("b")

    heard.until_told(root / "b.md")


def test_a_root_that_is_replaced_is_watched_where_it_was(system, root, tmp_path):
    system.events.watch([root])

    root.rename(tmp_path / "before")
    root.mkdir()
    system.until_told(root, "created")
    system.forget()
    (root / "a.md").write_text("a")
    system.until_told(root / "a.md")
    (tmp_path / "before" / "b.md").write_text("b")
    (root / "c.md").write_text("c")
    system.until_told(root / "c.md")

    assert system.kinds(root / "b.md") == set()


def test_a_root_whose_parent_is_replaced_is_watched_where_it_was(system, root, tmp_path):
    (root / "deep").mkdir()
    system.events.watch([root / "deep"])

    root.rename(tmp_path / "before")
    (root / "deep").mkdir(parents=True)
    system.until_told(root / "deep", "created")
    (root / "deep" / "a.md").write_text("a")

    system.until_told(root / "deep" / "a.md")


def test_a_directory_that_is_not_there_is_one_clean_error(heard, root):
    with pytest.raises(CannotWatch, match="there is no such directory") as caught:
        heard.events.watch([root / "b" / "a.md"])

    assert caught.value.path == str(root / "b")


@pytest.mark.parametrize(
    "number, words",
    [(errno.ENOSPC, "fs.inotify.max_user_watches"), (errno.EMFILE, "fs.inotify.max_user_instances")],
)
def test_a_limit_of_the_system_is_one_clean_error(system, root, monkeypatch, number, words):
    def refuse(*args, **kwargs):
        raise OSError(number, "limit reached")

    monkeypatch.setattr(system.events._observer._observer, "schedule", refuse)

    with pytest.raises(CannotWatch) as caught:
        system.events.watch([root])

    assert words in str(caught.value)
    assert "--convo-watch-poll" in str(caught.value)


def test_a_limit_that_is_met_below_a_root_is_an_error_too(system, root, monkeypatch):
    """Watchdog does not tell of it."""
    from watchdog.observers import inotify_c

    for name in "abc":
        (root / name).mkdir()
    given = 0
    add = inotify_c.inotify_add_watch

    def limited(file: int, path: bytes, mask: int) -> int:
        nonlocal given
        given += 1
        if given <= 2:
            return add(file, path, mask)
        return add(-1, path, mask)

    monkeypatch.setattr(inotify_c, "inotify_add_watch", limited)

    with pytest.raises(CannotWatch):
        system.events.watch([root])


def test_no_instance_left_is_one_clean_error(monkeypatch):
    from watchdog import observers

    def refuse():
        raise OSError(errno.EMFILE, "inotify instance limit reached")

    monkeypatch.setattr(observers, "Observer", refuse)
    before = threading.active_count()

    with pytest.raises(CannotWatch, match="no more inotify instances"):
        Events(lambda: None)
    assert threading.active_count() == before


def test_when_events_were_dropped_everything_is_to_be_looked_at(system, root, capfd):
    from watchdog.observers.inotify_c import InotifyConstants, InotifyEvent, InotifyFD, Mask

    system.events.watch([root])
    reader = next(thread for thread in threading.enumerate() if isinstance(thread, InotifyFD) and thread.is_alive())
    system.forget()

    reader.handle_event(InotifyEvent(-1, Mask(InotifyConstants.IN_Q_OVERFLOW), 0, b""))

    system.until(lambda: [hint.path for hint in system.hints].count(root) >= 3)
    assert capfd.readouterr() == ("", "")
    (root / "a.md").write_text("a")
    system.until_told(root / "a.md")


def test_when_watchdog_complains_named_files_are_to_be_looked_at(system, root):
    system.events.watch([root / "a.md"])

    logging.getLogger("watchdog.observers.something").error("went wrong")

    system.until_told(root / "a.md")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_when_a_thread_of_watchdogs_dies_all_is_watched_anew(system, root, monkeypatch):
    from watchdog.observers.inotify_c import InotifyFD

    system.events.watch([root])
    reader = next(thread for thread in threading.enumerate() if isinstance(thread, InotifyFD))
    with monkeypatch.context() as patched:
        patched.setattr(InotifyFD, "handle_event", None)
        (root / "a.md").write_text("a")
        reader.join(GENEROUS)

    system.until_told(root, "created")
    (root / "b.md").write_text("b")
    system.until_told(root / "b.md")


def test_no_thread_is_left(polling, root):
    before = set(threading.enumerate())
    events = Events(lambda: None, polling=polling)
    events.watch([root])

    events.close()

    assert set(threading.enumerate()) <= before


# -- around what is nobody's business


@pytest.fixture
def project(root: Path) -> Path:
    for name in (".git/objects/00", ".venv/lib", "web/node_modules/a/b", "web/src", "one/deep", "two"):
        (root / name).mkdir(parents=True)
    return root


def test_other_peoples_packages_are_not_listened_to(heard, project):
    heard.events.watch([project])

    for name in (".git/objects/00/a", ".venv/lib/a.py", "web/node_modules/a/b/a.md", "web/src/a.md", "one/deep/a.md"):
        (project / name).write_text("a")
    heard.until_told(project / "one" / "deep" / "a.md")
    heard.until_told(project / "web" / "src" / "a.md")

    assert {hint.path.suffix for hint in heard.hints} == {".md"}
    assert not [hint for hint in heard.hints if "node_modules" in hint.path.parts]


def test_each_directory_beside_them_is_listened_to_as_it_comes_and_goes(heard, project):
    heard.events.watch([project])

    (project / "new" / "deep").mkdir(parents=True)
    (project / "new" / "deep" / "a.md").write_text("a")
    (project / "web" / "lib").mkdir()
    heard.until_told(project / "new", "created")
    heard.until_told(project / "web" / "lib", "created")
    shutil.rmtree(project / "two")
    (project / "one").rename(project / "three")
    heard.until_told(project / "two", "deleted")
    heard.until_told(project / "three")
    (project / "two").mkdir()
    (project / "two" / "b.md").write_text("b")
    (project / "three" / "deep" / "c.md").write_text("c")
    (project / "new" / "deep" / "d.md").write_text("d")
    (project / "web" / "lib" / "e.md").write_text("e")

    for text in ("another", "and another"):
        for name in ("two/b.md", "three/deep/c.md", "new/deep/d.md", "web/lib/e.md"):
            heard.forget()
            (project / name).write_text(text)
            heard.until(lambda name=name: heard.is_hinted(project / name, project))


def test_a_file_that_is_named_is_listened_to_wherever_it_is(heard, project):
    heard.events.watch([project, project / ".venv" / "lib" / "a.py"])

    (project / ".venv" / "lib" / "b.py").write_text("b")
    (project / ".venv" / "lib" / "a.py").write_text("a")

    heard.until_told(project / ".venv" / "lib" / "a.py")
    assert heard.kinds(project / ".venv" / "lib" / "b.py") == set()


def test_too_many_pieces_are_one(system, root):
    for number in range(70):
        (root / f"d{number}" / "node_modules").mkdir(parents=True)
        (root / f"d{number}" / "src").mkdir()
    threads = threading.active_count()
    system.events.watch([root])

    assert threading.active_count() <= threads + 2
    (root / "d5" / "src" / "a.md").write_text("a")
    system.until_told(root / "d5" / "src" / "a.md")


@pytest.mark.parametrize("worktree", [False, True])
def test_gits_lock_is_heard_from_below_a_repository(system, root, worktree):
    git = root / ".git"
    if worktree:
        (root / "repository" / "worktrees" / "root").mkdir(parents=True)
        git.write_text("gitdir: repository/worktrees/root\n")
        git = root / "repository" / "worktrees" / "root"
    else:
        git.mkdir()
    (root / "conversations").mkdir()
    system.events.watch([root / "conversations"])

    (git / "index.lock").touch()
    (git / "HEAD").touch()
    (git / "index.lock").rename(git / "index")

    system.until_told(git / "index.lock", "created", "moved")
    assert {hint.path for hint in system.hints} == {git / "index.lock"}


# -- how editors save, as system calls


def vim(path: Path, text: str) -> None:
    """With `backupcopy=no`: may I write here, move the old one away, write anew, remove the old one."""
    probe = path.with_name("4913")
    probe.touch()
    probe.unlink()
    backup = path.with_name(f"{path.name}~")
    path.rename(backup)
    path.write_text(text)
    path.chmod(0o644)
    backup.unlink()


def vim_in_place(path: Path, text: str) -> None:
    """With `backupcopy=yes`: a copy beside it, then the same file from its start."""
    backup = path.with_name(f"{path.name}~")
    shutil.copy2(path, backup)
    with path.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    backup.unlink()


def emacs(path: Path, text: str) -> None:
    """A lock that is a link to nothing, an auto-save file, the backup by a rename."""
    lock, auto = path.with_name(f".#{path.name}"), path.with_name(f"#{path.name}#")
    lock.symlink_to("somebody@somewhere.1234:1700000000")
    auto.write_text(text[:3])
    path.rename(path.with_name(f"{path.name}~"))
    path.write_text(text)
    auto.unlink()
    lock.unlink()


def vs_code(path: Path, text: str) -> None:
    """In place: emptied, then written."""
    with path.open("r+") as file:
        file.truncate()
        file.write(text)


def jetbrains(path: Path, text: str) -> None:
    """A safe write: the new one beside it, the old one away, the new one into its place."""
    new, old = path.with_name(f"{path.name}___jb_tmp___"), path.with_name(f"{path.name}___jb_old___")
    new.write_text(text)
    path.rename(old)
    new.rename(path)
    old.unlink()


def nano(path: Path, text: str) -> None:
    with path.open("w") as file:
        for line in text.splitlines(keepends=True):
            file.write(line)
            file.flush()


def gedit(path: Path, text: str) -> None:
    """A hidden file beside it that takes its place."""
    new = path.with_name(".goutputstream-A1B2C3")
    new.write_text(text)
    new.chmod(0o644)
    new.rename(path)


def sed(path: Path, text: str) -> None:
    """`sed -i`: a file of an odd name that takes its place."""
    new = path.with_name("sedR4nd0m")
    new.write_text(text)
    new.rename(path)


def shell(path: Path, text: str) -> None:
    subprocess.run(["sh", "-c", f"cat > {path}"], input=text.encode(), check=True)


EDITORS = [vim, vim_in_place, emacs, vs_code, jetbrains, nano, gedit, sed, shell]


class Watching:
    """Events, what settles them, and the ledger, as in a watcher's loop: the batches that come of edits."""

    def __init__(self, root: Path, polling: float | None = None) -> None:
        self.heard = Heard(polling)
        self.heard.events.watch([root])
        self.ledger = Ledger()
        self.ledger.learn([root])
        self.burst = Burst(self.ledger.interesting)

    def next_batch(self) -> dict[str, str | None]:
        """Of the next burst that holds a change: name → content, None for what has gone."""
        deadline = time.monotonic() + GENEROUS
        while time.monotonic() < deadline:
            self.heard.woken.clear()
            for hint in self.heard.events.take():
                self.burst.add(hint)
            wait = self.burst.wait(time.monotonic(), self.ledger.half_saved)
            if wait == 0 and (changes := self.ledger.look(self.burst.take())):
                return {change.path.name: change.path.read_text() if change.after else None for change in changes}
            if wait != 0:
                self.heard.woken.wait(GENEROUS if wait is None else wait)
        raise AssertionError(f"nothing has changed: {self.heard.hints}")


@pytest.fixture
def watching(root: Path, polling: float | None) -> Iterator[Watching]:
    (root / "0000_user.md").write_text("Hello?\n")
    watching = Watching(root, polling)
    yield watching
    watching.heard.events.close()


@pytest.mark.parametrize("save", EDITORS)
def test_a_save_is_one_batch_with_the_final_content(watching, root, save):
    save(root / "0000_user.md", "How are you?\nWell?\n")
    first = watching.next_batch()
    save(root / "0000_user.md", "And now?\n")

    assert "sedR4nd0m" not in first
    assert first == {"0000_user.md": "How are you?\nWell?\n"}
    assert watching.next_batch() == {"0000_user.md": "And now?\n"}


@pytest.mark.parametrize("save", EDITORS)
def test_a_save_of_the_same_text_is_nothing(watching, root, save):
    save(root / "0000_user.md", "Hello?\n")
    (root / "0001_user.md").write_text("the end")

    assert watching.next_batch() == {"0001_user.md": "the end"}


def test_a_checkout_of_500_files_is_one_batch(tmp_path):
    root = tmp_path / "root"
    git = ["git", "-c", "user.name=n", "-c", "user.email=e@example.com", "-C", str(root)]
    for number in range(500):
        path = root / f"d{number % 20}" / f"{number:04}_user.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"one {number}")
    for command in (["init", "-q", "-b", "one"], ["add", "."], ["commit", "-qm", "one"], ["checkout", "-qb", "two"]):
        subprocess.run([*git, *command], check=True)
    for path in root.rglob("*_user.md"):
        path.write_text(path.read_text().replace("one", "two"))
    subprocess.run([*git, "commit", "-qam", "two"], check=True)
    watching = Watching(root)

    subprocess.run([*git, "checkout", "-q", "one"], check=True)
    batch = watching.next_batch()
    watching.heard.events.close()

    assert len(batch) == 500
    assert all(text == f"one {int(name[:4])}" for name, text in batch.items())


def test_a_stream_of_what_is_of_no_interest_holds_nobody_up(watching, root):
    stop = threading.Event()

    def stream() -> None:
        with (root / "0001_assistant.md.partial").open("w") as file:
            while not stop.wait(0.001):
                file.write("word ")
                file.flush()

    thread = threading.Thread(target=stream)
    thread.start()
    (root / "0000_user.md").write_text("How are you?\n")
    batch = watching.next_batch()
    stop.set()
    thread.join()

    assert batch == {"0000_user.md": "How are you?\n"}
