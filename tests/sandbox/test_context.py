from __future__ import annotations

import os
import socket
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.errors import SandboxUnavailable
from pytest_convo.sandbox.context import archive_of, digest_of

NAMES = st.text("ab.-é", min_size=1, max_size=4).filter(lambda name: name not in (".", ".."))
FILES = st.dictionaries(NAMES, st.binary(max_size=20), max_size=4)


def entries(folder: Path) -> dict[str, tarfile.TarInfo]:
    with archive_of(folder) as file, tarfile.open(fileobj=file) as archive:
        return {entry.name: entry for entry in archive}


def bytes_of(folder: Path) -> bytes:
    with archive_of(folder) as file:
        return file.read()


def test_a_folder_is_archived_with_modes_and_links(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "run").write_text("echo")
    (tmp_path / "bin" / "run").chmod(0o755)
    (tmp_path / "link").symlink_to("../outside")
    os.link(tmp_path / "bin" / "run", tmp_path / "second")
    found = entries(tmp_path)
    assert sorted(found) == ["bin", "bin/run", "link", "second"]
    assert found["bin/run"].mode & 0o777 == 0o755
    assert (found["link"].issym(), found["link"].linkname) == (True, "../outside")
    assert found["second"].isreg()
    assert found["second"].size == 4
    assert {(entry.uid, entry.gid, entry.uname) for entry in found.values()} == {(0, 0, "")}


def test_what_dockerignore_names_is_neither_sent_nor_counts(tmp_path: Path) -> None:
    (tmp_path / ".dockerignore").write_text("# said once\n*.log\nnode_modules\n!keep.log\nDockerfile\n")
    (tmp_path / "Dockerfile").write_text("FROM scratch\n")
    (tmp_path / "node_modules").mkdir()
    for name in ("a.log", "keep.log", "node_modules/x"):
        (tmp_path / name).write_text(name)
    assert sorted(entries(tmp_path)) == [".dockerignore", "Dockerfile", "keep.log"]
    before = digest_of(tmp_path)
    (tmp_path / "a.log").write_text("another")
    assert digest_of(tmp_path) == before
    (tmp_path / "keep.log").write_text("another")
    assert digest_of(tmp_path) != before


def test_sockets_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as one:
        one.bind("s")
        assert entries(tmp_path) == {}


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SandboxUnavailable, match="absent"):
        digest_of(tmp_path / "absent")


@given(FILES, FILES)
def test_equal_folders_are_equal_archives_and_others_are_not(
    tmp_path_factory: pytest.TempPathFactory, one: dict[str, bytes], other: dict[str, bytes]
) -> None:
    folders = []
    for number, files in enumerate((one, dict(reversed(one.items())), other)):
        folder = tmp_path_factory.mktemp("folder")
        for name, data in files.items():
            (folder / name).write_bytes(data)
            os.utime(folder / name, (number, number))
        folders.append(folder)
    assert digest_of(folders[0]) == digest_of(folders[1])
    assert bytes_of(folders[0]) == bytes_of(folders[1])
    assert (digest_of(folders[0]) == digest_of(folders[2])) == (one == other)


@pytest.mark.parametrize("change", ["mode", "target", "type"])
def test_more_than_bytes_counts(tmp_path: Path, change: str) -> None:
    path = tmp_path / "a"
    path.symlink_to("x") if change == "target" else path.write_text("")
    before = digest_of(tmp_path)
    if change == "mode":
        path.chmod(0o777)
    else:
        path.unlink()
        path.symlink_to("y") if change == "target" else path.mkdir()
    assert digest_of(tmp_path) != before
