from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_convo.errors import SandboxUnavailable
from pytest_convo.sandbox import cached

if TYPE_CHECKING:
    from docker import DockerClient


def test_one_at_a_time_has_a_name_and_others_wait_for_nobody(tmp_path: Path) -> None:
    inside, entered = threading.Event(), []

    def enter() -> None:
        with cached.locked("same", tmp_path):
            entered.append(inside.is_set())

    other = threading.Thread(target=enter)
    with cached.locked("same", tmp_path), cached.locked("another", tmp_path):
        other.start()
        assert entered == []
        inside.set()
    other.join(30)
    assert entered == [True]


def test_a_lock_is_let_go_of_when_the_work_fails(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), cached.locked("same", tmp_path):
        _ = 1 / 0
    with cached.locked("same", tmp_path):
        pass


def test_names_of_any_length_and_characters_have_locks_of_their_own(tmp_path: Path) -> None:
    for name in ("a/b:c", "a/b c", "ü" * 500, "../../up"):
        with cached.locked(name, tmp_path):
            pass
    assert len(list(tmp_path.iterdir())) == 4


def test_when_an_image_was_used_last_is_known_from_then_on(tmp_path: Path) -> None:
    before = time.time() - 5
    assert cached.last_used("pytest-convo/build:1", tmp_path) is None
    cached.used("pytest-convo/build:1", tmp_path)
    last = cached.last_used("pytest-convo/build:1", tmp_path)
    assert last is not None
    assert last >= before
    assert cached.last_used("pytest-convo/build:2", tmp_path) is None


def test_locks_are_in_the_users_cache_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with cached.locked("x"):
        pass
    assert [path.suffix for path in (tmp_path / "pytest-convo" / "images").iterdir()] == [".lock"]


def test_who_has_no_home_to_write_to_keeps_locks_in_a_directory_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with cached.locked("x"):
        pass
    own = tmp_path / f"pytest-convo-images-{os.getuid()}"
    assert own.stat().st_mode & 0o777 == 0o700

    for path in own.iterdir():
        path.unlink()
    own.rmdir()
    own.symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").mkdir()
    with pytest.raises(SandboxUnavailable, match="somebody else"), cached.locked("x"):
        pass


def test_a_key_is_of_all_its_parts_in_their_order() -> None:
    keys = {cached.key("a", "b"), cached.key("b", "a"), cached.key("ab"), cached.key(["a", "b"]), cached.key("a")}
    assert len(keys) == 5
    assert cached.key({"a": 1, "b": 2}) == cached.key({"b": 2, "a": 1})
    assert cached.tag_of("tools", "0123456789abcdef") == "pytest-convo/tools:0123456789ab"


@pytest.mark.engine
def test_an_image_has_an_id_by_its_name_and_none_where_there_is_none(client: DockerClient, hostbin: str) -> None:
    found = cached.image_id(client, hostbin)
    assert found is not None
    assert cached.image_id(client, found) == found
    assert cached.image_id(client, "pytest-convo-test/absent:1") is None
