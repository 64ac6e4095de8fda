from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from pytest_convo.conversation.disk import digest
from pytest_convo.watch.ledger import LARGE, Change, Ledger


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    (tmp_path / "a.md").write_text("a")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "c.md").write_text("c")
    ledger = Ledger()
    ledger.learn([tmp_path])
    return ledger


def told(changes: list[Change], root: Path) -> dict[str, str]:
    """Path → what happened."""
    kinds = ("created", "deleted", "edited")
    return {
        change.path.relative_to(root).as_posix(): next(kind for kind in kinds if getattr(change, kind))
        for change in changes
    }


def test_what_is_there_is_known(ledger, tmp_path):
    assert set(ledger.known()) == {tmp_path / "a.md", tmp_path / "b" / "c.md"}
    assert ledger.look([tmp_path]) == []


def test_created_edited_deleted(ledger, tmp_path):
    (tmp_path / "a.md").write_text("another")
    (tmp_path / "b" / "c.md").unlink()
    (tmp_path / "d.md").write_text("d")

    changes = ledger.look([tmp_path / "a.md", tmp_path / "b" / "c.md", tmp_path / "d.md"])

    assert told(changes, tmp_path) == {"a.md": "edited", "b/c.md": "deleted", "d.md": "created"}
    assert ledger.look([tmp_path]) == []


def test_only_what_is_hinted_at_is_looked_at(ledger, tmp_path):
    (tmp_path / "a.md").write_text("another")
    (tmp_path / "d.md").write_text("d")

    assert told(ledger.look([tmp_path / "d.md"]), tmp_path) == {"d.md": "created"}
    assert told(ledger.look([tmp_path / "a.md"]), tmp_path) == {"a.md": "edited"}


def test_a_touch_is_no_change_but_what_is_known_is_fresh(ledger, tmp_path):
    path = tmp_path / "a.md"
    path.chmod(0o600)
    os.utime(path, ns=(5, 5))

    assert ledger.look([path]) == []
    path.write_text("another")
    (change,) = ledger.look([path])
    assert (change.before.mode, change.before.mtime_ns) == (0o600, 5)


def test_the_bytes_are_kept_where_they_are_asked_for(ledger, tmp_path):
    keeping = Ledger(keeps=True)
    keeping.learn([tmp_path])
    (tmp_path / "a.md").write_text("another")

    (kept,) = keeping.look([tmp_path])
    (not_kept,) = ledger.look([tmp_path])

    assert (kept.before.data, kept.after.data) == (b"a", b"another")
    assert (not_kept.before.data, not_kept.after.data) == (None, None)
    assert kept.before.digest == not_kept.before.digest == digest(b"a")


@pytest.mark.parametrize("change", ["gone", "moved", "moved in", "a file", "a directory"])
def test_a_directory_stands_for_all_below_it(ledger, tmp_path, change):
    directory = tmp_path / "b"
    if change == "gone":
        shutil.rmtree(directory)
        expected = {"b/c.md": "deleted"}
    elif change == "moved":
        directory.rename(tmp_path / "e")
        expected = {"b/c.md": "deleted", "e/c.md": "created"}
    elif change == "moved in":
        shutil.copytree(directory, tmp_path / "e" / "f")
        expected = {"e/f/c.md": "created"}
    elif change == "a file":
        shutil.rmtree(directory)
        directory.write_text("a file now")
        expected = {"b": "created", "b/c.md": "deleted"}
    else:
        (tmp_path / "a.md").unlink()
        (tmp_path / "a.md").mkdir()
        (tmp_path / "a.md" / "f.md").touch()
        expected = {"a.md": "deleted", "a.md/f.md": "created"}

    assert told(ledger.look([directory, tmp_path / "e", tmp_path / "a.md"]), tmp_path) == expected


def test_a_large_file_is_told_by_its_time_and_size(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(b"a" * (LARGE + 1))
    ledger = Ledger(keeps=True)
    ledger.learn([tmp_path])

    path.write_bytes(b"b" * (LARGE + 2))
    (change,) = ledger.look([path])

    assert change.edited
    assert change.after.data is None


def test_a_large_file_of_our_own_is_no_change(tmp_path):
    ledger = Ledger()
    ledger.learn([tmp_path])
    data = b"a" * (LARGE + 1)

    ledger.account(tmp_path / "a.bin", digest(data))
    (tmp_path / "a.bin").write_bytes(data)

    assert ledger.look([tmp_path / "a.bin"]) == []
    assert ledger.look([tmp_path / "a.bin"]) == []


# -- links


def test_a_link_is_what_it_leads_to(tmp_path):
    root, outside = tmp_path / "root", tmp_path / "outside"
    for directory in (root, outside / "deep"):
        directory.mkdir(parents=True)
    (outside / "deep" / "a.md").write_text("a")
    (outside / "b.md").write_text("b")
    (root / "to-directory").symlink_to(outside / "deep")
    (root / "b.md").symlink_to(outside / "b.md")
    ledger = Ledger()
    ledger.learn([root])

    (outside / "deep" / "a.md").write_text("another")
    (outside / "b.md").write_text("another")

    assert ledger.targets() == {outside / "deep", outside / "b.md"}
    changes = ledger.look([outside / "deep" / "a.md", outside / "b.md"])
    assert told(changes, root) == {"b.md": "edited", "to-directory/a.md": "edited"}


def test_links_in_a_circle_end(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "a.md").write_text("a")
    (tmp_path / "a" / "b" / "up").symlink_to(tmp_path / "a")
    (tmp_path / "a" / "itself").symlink_to("itself")
    ledger = Ledger()
    ledger.learn([tmp_path])

    assert set(ledger.known()) == {tmp_path / "a" / "b" / "a.md", tmp_path / "a" / "itself"}
    (tmp_path / "a" / "b" / "a.md").write_text("another")
    assert told(ledger.look([tmp_path / "a" / "b" / "a.md"]), tmp_path) == {"a/b/a.md": "edited"}


def test_a_link_to_nothing_is_there(ledger, tmp_path):
    (tmp_path / "0000_user.md").symlink_to("nowhere/at/all")

    assert told(ledger.look([tmp_path]), tmp_path) == {"0000_user.md": "created"}
    assert ledger.targets() == set()
    (tmp_path / "0000_user.md").unlink()
    assert told(ledger.look([tmp_path]), tmp_path) == {"0000_user.md": "deleted"}


def test_what_is_no_file_never_raises(ledger, tmp_path):
    os.mkfifo(tmp_path / "0000_user.md")

    (change,) = ledger.look([tmp_path])

    assert change.after.digest == "cannot be read: it is not a regular file"


def test_a_file_that_may_not_be_read_is_there(ledger, tmp_path, monkeypatch):
    from pytest_convo.errors import FormatError
    from pytest_convo.watch import ledger as module

    def refuse(path):
        raise FormatError("cannot be read: Permission denied", path=path)

    monkeypatch.setattr(module, "read_bytes", refuse)
    changes = ledger.look([tmp_path / "a.md"])

    assert told(changes, tmp_path) == {"a.md": "edited"}
    assert changes[0].after.digest == "cannot be read: Permission denied"


# -- our own writes


def test_an_announced_write_is_no_change(ledger, tmp_path):
    ledger.account(tmp_path / "a.md", digest(b"ours"))
    (tmp_path / "a.md").write_text("ours")

    assert ledger.look([tmp_path]) == []
    (tmp_path / "a.md").write_text("theirs")
    assert told(ledger.look([tmp_path]), tmp_path) == {"a.md": "edited"}


def test_a_look_before_the_announced_write_is_done(ledger, tmp_path):
    ledger.account(tmp_path / "a.md", digest(b"ours"))
    assert ledger.look([tmp_path]) == []

    (tmp_path / "a.md").write_text("ours")

    assert ledger.look([tmp_path]) == []


def test_an_edit_right_after_ours_is_a_change_and_so_is_its_undoing(ledger, tmp_path):
    ledger.account(tmp_path / "a.md", digest(b"ours"))
    (tmp_path / "a.md").write_text("ours")
    (tmp_path / "a.md").write_text("theirs")
    assert told(ledger.look([tmp_path]), tmp_path) == {"a.md": "edited"}

    (tmp_path / "a.md").write_text("ours")

    assert told(ledger.look([tmp_path]), tmp_path) == {"a.md": "edited"}


def test_two_writes_of_ours_looked_at_in_between_and_after(ledger, tmp_path):
    ledger.account(tmp_path / "a.md", digest(b"one"))
    ledger.account(tmp_path / "a.md", digest(b"two"))
    (tmp_path / "a.md").write_text("one")
    assert ledger.look([tmp_path]) == []

    (tmp_path / "a.md").write_text("two")

    assert ledger.look([tmp_path]) == []
    (tmp_path / "a.md").write_text("one")
    assert told(ledger.look([tmp_path]), tmp_path) == {"a.md": "edited"}


def test_an_announced_deletion_and_creation(ledger, tmp_path):
    ledger.account(tmp_path / "a.md", None)
    ledger.account(tmp_path / "d.md", digest(b"d"))
    (tmp_path / "a.md").unlink()
    (tmp_path / "d.md").write_text("d")

    assert ledger.look([tmp_path]) == []
    (tmp_path / "d.md").unlink()
    assert told(ledger.look([tmp_path]), tmp_path) == {"d.md": "deleted"}


# -- half a save


def test_half_a_save(ledger, tmp_path):
    path = tmp_path / "a.md"
    assert not ledger.half_saved(path)
    path.write_text("")
    assert ledger.half_saved(path)
    path.unlink()
    assert ledger.half_saved(path)
    ledger.look([path])
    assert not ledger.half_saved(path)


def test_a_new_file_that_is_empty_is_half_a_save_until_that_is_known(ledger, tmp_path):
    (tmp_path / "d.md").touch()

    assert ledger.half_saved(tmp_path / "d.md")
    ledger.look([tmp_path])
    assert not ledger.half_saved(tmp_path / "d.md")


def test_what_nobody_knows_and_directories_are_no_half_saves(ledger, tmp_path):
    for path in (tmp_path / "z.md", tmp_path / "b", tmp_path / "z.md~", tmp_path / ".z"):
        assert not ledger.half_saved(path)


def test_our_own_deletion_and_our_own_empty_file_are_no_half_saves(ledger, tmp_path):
    ledger.account(tmp_path / "a.md", None)
    ledger.account(tmp_path / "d.md", digest(b""))
    (tmp_path / "a.md").unlink()
    (tmp_path / "d.md").touch()

    assert not ledger.half_saved(tmp_path / "a.md")
    assert not ledger.half_saved(tmp_path / "d.md")


# -- what is of interest


@pytest.mark.parametrize(
    "name",
    [
        ".hidden.md",
        ".hidden/a.md",
        ".git/index",
        ".convo/x.json",
        "b/__pycache__/x.pyc",
        "b/x.pyc",
        "b/__recordings__/x.json",
        "__snapshots__/x.ambr",
        "node_modules/x.py",
        "venv/x.py",
        ".venv/x.py",
        "build/x.md",
        "b/build/c/x.md",
        "some/place/x.md",
        "a.md~",
        "#a.md#",
        ".a.md.swp",
        "4913",
        "a.md___jb_tmp___",
        "0001_assistant.md.partial",
        "0001_assistant.md.new",
    ],
)
def test_what_is_of_no_interest(tmp_path, name):
    ledger = Ledger(ignores=["build", f"{tmp_path}/some/p*"])
    ledger.learn([tmp_path])
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x")

    assert not ledger.interesting(path)
    assert ledger.look([path, tmp_path, path.parent]) == []


@pytest.mark.parametrize("name", ["0000_user.md", "build.md", "notes", "draft.new/a.md", "b/build", "some/other/x.md"])
def test_what_is_of_interest(tmp_path, name):
    ledger = Ledger(ignores=["build", f"{tmp_path}/some/p*"])
    ledger.learn([tmp_path])
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x")

    assert ledger.interesting(path)
    assert told(ledger.look([tmp_path]), tmp_path) == {name: "created"}


def test_a_root_is_of_interest_wherever_it_lies(tmp_path):
    root = tmp_path / ".hidden" / "venv"
    root.mkdir(parents=True)
    ledger = Ledger()
    ledger.learn([root, tmp_path / ".env"])
    for path in (root / "a.md", tmp_path / ".env", tmp_path / "other.md"):
        path.write_text("x")

    changes = ledger.look([root / "a.md", tmp_path / ".env", tmp_path / "other.md", tmp_path])

    assert told(changes, tmp_path) == {".env": "created", ".hidden/venv/a.md": "created"}


def test_what_is_learned_again_hides_no_edit(ledger, tmp_path):
    (tmp_path / "a.md").write_text("another")
    (tmp_path / "b" / "d.md").write_text("d")

    ledger.learn([tmp_path, tmp_path / "b", tmp_path / "a.md"])

    assert told(ledger.look([tmp_path]), tmp_path) == {"a.md": "edited", "b/d.md": "created"}


# -- any sequence of edits

NAMES = ["a.md", "b/c.md", "b/d.md", "b/e/f.md"]
names = st.sampled_from(NAMES)
texts = st.sampled_from([f"text {number}" for number in range(6)])


class Edits(RuleBasedStateMachine):
    """Others write, rename and delete; we announce and write what nobody else does; looks come when they come.

    What a look must find: exactly the files whose content is not what was last accounted for.
    """

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp())
        self.ledger = Ledger(keeps=True)
        self.accounted: dict[str, str] = {}
        self.ours = 0

    @initialize(before=st.dictionaries(names, texts))
    def learn(self, before: dict[str, str]) -> None:
        for name, text in before.items():
            self.write(name, text)
        self.ledger.learn([self.root])
        self.accounted = before

    @rule(name=names, text=texts)
    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    @rule(name=names)
    def delete(self, name: str) -> None:
        (self.root / name).unlink(missing_ok=True)

    @rule(name=names, to=names)
    def rename(self, name: str, to: str) -> None:
        if (self.root / name).exists():
            (self.root / to).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).rename(self.root / to)

    @rule()
    def move_a_directory_away_and_back(self) -> None:
        for name, to in ((self.root / "b", self.root / ".away"), (self.root / ".away", self.root / "b")):
            if name.exists() and not to.exists():
                name.rename(to)
                return

    @rule(name=names, goes=st.booleans())
    def write_ourselves(self, name: str, goes: bool) -> None:
        """Only where there is no edit to be noticed yet: our writer does not write over one."""
        path = self.root / name
        if self.content(name) != self.accounted.get(name):
            return
        self.ours += 1
        text = f"ours {self.ours}"
        self.ledger.account(path, None if goes else digest(text.encode()))
        if goes:
            path.unlink(missing_ok=True)
            self.accounted.pop(name, None)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            self.accounted[name] = text
        # Until it is seen, what was known before is taken for not yet written: it is seen at once, or not undone.
        assert self.ledger.look([path]) == []

    @rule(hinted=st.sets(st.sampled_from([*NAMES, ".", "b", "b/e"]), min_size=1))
    def look(self, hinted: set[str]) -> None:
        def is_hinted(name: str) -> bool:
            return any(hint in (".", name) or name.startswith(f"{hint}/") for hint in hinted)

        expected = {
            name: (self.accounted.get(name), self.content(name))
            for name in NAMES
            if is_hinted(name) and self.accounted.get(name) != self.content(name)
        }
        changes = self.ledger.look([self.root / hint for hint in hinted])
        found = {change.path.relative_to(self.root).as_posix(): tuple(_texts(change)) for change in changes}
        assert found == expected
        for name, (_, text) in expected.items():
            self.accounted.pop(name, None)
            if text is not None:
                self.accounted[name] = text

    @invariant()
    def what_is_known_is_what_was_accounted_for(self) -> None:
        assert {path.relative_to(self.root).as_posix() for path in self.ledger.known()} == set(self.accounted)

    def content(self, name: str) -> str | None:
        path = self.root / name
        return path.read_text() if path.is_file() else None

    def teardown(self) -> None:
        shutil.rmtree(self.root)


def _texts(change: Change) -> Iterator[str | None]:
    for version in (change.before, change.after):
        yield None if version is None else version.data.decode()


TestEdits = Edits.TestCase
TestEdits.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


@given(st.lists(st.tuples(st.booleans(), texts), max_size=12), st.lists(st.integers(0, 12), max_size=4))
@settings(deadline=None)
def test_writes_of_ours_and_of_others_in_any_order_with_looks_anywhere(writes, looks):
    """Of one file; however late the looks come: the last one has found a change unless what is there was ours."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "a.md"
        ledger = Ledger()
        ledger.learn([path.parent])
        found = []
        for number, (is_ours, text) in enumerate(writes):
            data = f"{text}{' of ours' if is_ours else ''} {number}".encode()
            if is_ours:
                ledger.account(path, digest(data))
            path.write_bytes(data)
            if number in looks:
                found += ledger.look([path])
                last_looked = number
        after = ledger.look([path])

        assert all(change.after.digest == digest(change.path.read_bytes()) for change in after)
        assert bool(after) == (bool(writes) and not writes[-1][0] and len(writes) - 1 not in looks)
        looked = sorted({number for number in looks if number < len(writes)})
        assert len(found) == sum(not writes[number][0] for number in looked)
        assert not looked or last_looked == looked[-1]
