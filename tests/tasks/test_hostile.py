"""Tasks whose agents, files and scripts mean no good, on a real engine."""

from __future__ import annotations

import os
from pathlib import Path
from shlex import quote

import pytest

from pytest_convo.sandbox.engine import find
from pytest_convo.sandbox.environ import environment

pytestmark = pytest.mark.engine


def behind(script: str) -> str:
    """A command that leaves a process behind."""
    return f"(sh -c {quote(script)} >/dev/null 2>&1 &); true"


PATIENT_FORGERS = {
    "once, when the script comes": behind(
        "while [ ! -e /tests/test.sh ]; do sleep 0.02; done; echo 1 >/logs/verifier/reward.txt"
    ),
    "once, when there is a reward": behind(
        "while [ ! -s /logs/verifier/reward.txt ]; do :; done; echo 1 >/logs/verifier/reward.txt"
    ),
    "with another `test`": behind(
        "while sleep 0.05; do echo 'test() { return 1; }' >>/run/convo/env;"
        " [ ! -e /tests/test.sh ] || echo 1 >/logs/verifier/reward.txt; done"
    ),
}


def test_a_root_who_waits_for_the_verifier_forges_nothing(tasks):
    test = "if grep -q hello out.txt; then echo 1; else echo 0; fi >/logs/verifier/reward.txt; sleep 0.5"
    for number, command in enumerate(PATIENT_FORGERS.values()):
        tasks.write(f"forger{number}", commands=[command], test=test, ours=None)
    assert tasks.run().parseoutcomes() == {"failed": len(PATIENT_FORGERS)}


def test_a_directory_that_has_become_a_link_and_a_file_is_written_back_as_such(tasks):
    commands = ["echo hello >out.txt; rm -r linked filed; ln -s /etc linked; echo x >filed; chmod 4755 in.txt"]
    files = {"in.txt": "tea\n", "linked/hosts": "1\n", "filed/deep/file": "1\n"}
    directory = tasks.write(commands=commands, ours="write_back = true", workspace=files)
    hosts = Path("/etc/hosts").read_bytes()
    assert tasks.run().ret == 0
    workspace = directory / "workspace"
    assert (workspace / "linked").readlink() == Path("/etc")
    assert (workspace / "filed").read_text() == "x\n"
    assert (workspace / "in.txt").stat().st_mode & 0o7777 == 0o755
    assert Path("/etc/hosts").read_bytes() == hosts


def test_no_process_that_still_runs_has_files_of_this_machine_written_back(tasks, tmp_path):
    (secret := tmp_path / "secret").mkdir()
    (secret / "file").write_text("of this machine\n")
    swap = f"while :; do mv d e; ln -s {secret} d; rm d; mv e d; done"
    command = f"echo hello >out.txt; mkdir d; echo mine >d/file; {behind(swap)}"
    directory = tasks.write(commands=[command], ours="write_back = true")
    assert tasks.run().ret == 0
    found = [path.read_text() for path in (directory / "workspace").glob("[de]/file") if not path.parent.is_symlink()]
    assert set(found) <= {"mine\n"}


def test_what_is_written_back_does_not_steer_the_terminal(tasks):
    tasks.write(commands=["echo hello >out.txt; echo x >\"$(printf 'a\\033[31m')\""], ours="write_back = true")
    result = tasks.run()
    assert result.ret == 0
    assert "\x1b[31m" not in result.stdout.str()
    result.stdout.fnmatch_lines([r"*written back: A a\x1b*31m, A out.txt"])


def test_names_that_are_no_utf8_harm_neither_the_workspace_nor_the_verifier(tasks):
    directory = tasks.write(test="grep -q hello out.txt && test -e in.txt")
    for folder in ("workspace", "tests"):
        (directory / folder / os.fsdecode(b"\xff\n -x")).write_text("tea\n")
    assert tasks.run().ret == 0


def test_a_verifier_with_the_line_ends_of_windows_is_an_error_that_says_so(tasks):
    directory = tasks.write()
    (directory / "tests/test.sh").write_bytes(b"#!/bin/sh\r\ngrep -q hello out.txt\r\n")
    result = tasks.run()
    assert result.parseoutcomes() == {"errors": 1}
    result.stdout.fnmatch_lines(["*its lines end as on Windows*"])


def test_a_reward_that_is_almost_1_is_not_called_1(tasks):
    tasks.write(test="echo 0.99999999 >/logs/verifier/reward.txt")
    result = tasks.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*gives 0.99999999 of 1*"])


def test_variables_that_go_meanwhile_harm_no_request(client, monkeypatch):
    def one_has_gone(*args: object, **kwargs: object) -> dict[str, str]:
        raise KeyError("PYTEST_CURRENT_TEST")

    monkeypatch.setattr("requests.sessions.get_environ_proxies", one_has_gone)
    engine = find()
    try:
        assert engine.client.ping()
    finally:
        engine.client.close()


def test_variables_that_go_meanwhile_are_left_out(monkeypatch):
    class Going(dict[str, str]):
        def keys(self):
            return [*super().keys(), *(["GONE"] if "BEFORE" in self and not self.pop("BEFORE") else [])]

        __iter__ = None

    monkeypatch.setattr(os, "environ", Going(PATH="/bin", BEFORE=""))
    assert environment() == {"PATH": "/bin"}
