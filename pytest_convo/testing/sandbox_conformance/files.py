"""The folder of a sandbox, and files that are put into it and read from it."""

from __future__ import annotations

import os
import time
from pathlib import Path

from ...errors import SandboxError
from ...sandbox.base import Change
from .backend import Backend
from .case import Cases
from .seen import SOON, raised

CASES = Cases()


@CASES.add(31, "isolation")
def read_only_folder(backend: Backend) -> None:
    """A READ_ONLY folder can be read and in no way changed."""
    folder = backend.folder({"a": "text", "inner/b": ""})
    before = _listed(folder)
    sandbox = backend.open(folder=folder)
    result = sandbox.execute("cat a; echo x >a; rm -f a; touch b; mkdir c; chmod 777 a; mv inner other; ln -s a d")
    assert result.output == "text", result
    assert result.error.lower().count("read-only") >= 6, result
    assert (sandbox.changes(), sandbox.diff()) == ([], "")
    assert _listed(folder) == before


@CASES.add(32)
def read_write_folder(backend: Backend) -> None:
    """A READ_WRITE folder is a copy, whose files belong to us; the original is as it was."""
    folder = backend.folder({"kept": "1\n", "edited": "1\n", "removed": "1\n"})
    before = _listed(folder)
    sandbox = backend.open(folder=folder, permission="READ_WRITE")
    result = sandbox.execute("cat edited && mkdir d && echo hi >d/f && echo 2 >edited && rm removed && ln -s nowhere l")
    assert (result.return_code, result.output) == (0, "1\n"), result
    changes = [Change("d/f", "A"), Change("edited", "M"), Change("l", "A"), Change("removed", "D")]
    assert sandbox.changes() == changes, sandbox.changes()
    diff = sandbox.diff()
    for lines in ("--- a/edited\n+++ b/edited\n@@ -1,1 +1,1 @@\n-1\n+2\n", "+++ b/d/f\n@@ -0,0 +1,1 @@\n+hi\n"):
        assert lines in diff, diff
    assert len(sandbox.diff(100)) <= 100
    if sandbox.workspace is not None:
        status = (sandbox.workspace / "d" / "f").stat()
        assert (status.st_uid, status.st_gid) == (os.getuid(), os.getgid())
        assert (sandbox.workspace / "d" / "f").read_text() == "hi\n"
    assert _listed(folder) == before


@CASES.add(33, of_image=False)
def missing_folder(backend: Backend) -> None:
    """A folder that is missing is an error, and is not made."""
    missing = backend.folder() / "missing"
    error = raised(SandboxError, lambda: backend.open(folder=missing))
    assert str(missing) in str(error), error
    assert not missing.exists()


@CASES.add(44, of_image=False)
def link_that_leads_out(backend: Backend) -> None:
    """A link in the folder that leads out of it stays a link, and gives nothing away."""
    folder = backend.folder({"file": "text"})
    outside = backend.folder({"secret": "top secret"})
    (folder / "link").symlink_to(outside)
    (folder / "direct").symlink_to(outside / "secret")
    sandbox = backend.open(folder=folder, permission="READ_WRITE")
    result = sandbox.execute("cat file; readlink direct; rm direct; ln -s /etc/passwd link2")
    assert result.output == f"text{outside}/secret\n", result
    assert sandbox.changes() == [Change("direct", "D"), Change("link2", "A")], sandbox.changes()
    assert "top secret" not in sandbox.diff()
    assert "root:" not in sandbox.diff()
    if "isolation" in backend.environment.capabilities:
        result = sandbox.execute("cat link/secret; echo x >link/secret; ls link/")
        assert result.output == "", result
    assert (outside / "secret").read_text() == "top secret"


@CASES.add(45, of_image=False)
def many_files(backend: Backend) -> None:
    """A folder of very many files is there, and of what changed it is soon told."""
    folder = backend.folder()
    for number in range(backend.many // 1000):
        first = folder / str(number) / "file0"
        first.parent.mkdir()
        first.write_text("text\n")
        for other in range(1, 1000):
            os.link(first, first.with_name(f"file{other}"))  # which is the cheapest way to a file
    sandbox = backend.open(folder=folder, permission="READ_WRITE")
    last = f"{backend.many // 1000 - 1}/file999"
    assert sandbox.execute(f"cat {last}; echo new >{last}; rm 0/file0", SOON).output == "text\n"
    began = time.monotonic()
    assert sandbox.changes() == [Change("0/file0", "D"), Change(last, "M")]
    assert time.monotonic() - began < SOON


@CASES.add(51)
def files_put_and_read(backend: Backend) -> None:
    """Files are put and read byte for byte, with their modes; what is not there is FileNotFoundError."""
    sandbox = backend.open(folder=backend.folder(), permission="READ_WRITE")
    every_byte = bytes(range(256)) * 1000
    sandbox.write_files(
        {
            "/workspace/a/b c/data": (every_byte, 0o644),
            "/workspace/empty": (b"", 0o600),
            "/workspace/run": (b"#!/bin/sh\necho it runs\n", 0o755),
        }
    )
    assert sandbox.read_file("/workspace/a/b c/data") == every_byte
    assert sandbox.read_file("/workspace/a/b c/data", 300) == every_byte[:300]
    assert sandbox.read_file("/workspace/empty") == b""
    assert sandbox.execute("./run; ls -l empty | cut -c1-10").output == "it runs\n-rw-------\n"
    raised(FileNotFoundError, lambda: sandbox.read_file("/workspace/missing"))
    raised(FileNotFoundError, lambda: sandbox.read_file("/workspace/a"))


@CASES.add(52, of_image=False)
def scratch_folder(backend: Backend) -> None:
    """A folder that is READ_ONLY and scratch can be written to, and nothing of that lasts."""
    folder = backend.folder({"file": "text"})
    before = _listed(folder)
    sandbox = backend.open(folder=folder, scratch=True)
    assert sandbox.execute("echo new >file && cat file").output == "new\n"
    assert (sandbox.changes(), sandbox.diff()) == ([], "")
    assert _listed(folder) == before


def _listed(folder: Path) -> list[tuple[str, int, int, bytes]]:
    """All that is in a folder: names, modes, times, contents."""
    found = []
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        contents = path.read_bytes() if path.is_file() else b""
        found.append((str(path.relative_to(folder)), status.st_mode, status.st_mtime_ns, contents))
    return found
