from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from docker import DockerClient
from docker.errors import APIError, NotFound
from docker.types import Mount

from pytest_convo.errors import SandboxError
from pytest_convo.sandbox import sweep
from pytest_convo.sandbox.base import SandboxSpec
from pytest_convo.sandbox.container import Container
from pytest_convo.sandbox.docker import DockerEnvironment
from pytest_convo.sandbox.docker_sandbox import DockerSandbox
from pytest_convo.sandbox.engine import Engine, find
from pytest_convo.sandbox.folder import Folder
from pytest_convo.sandbox.output import HeadTail

pytestmark = pytest.mark.engine

LONG = 60.0
USER = "1000:1000"

Open = Callable[..., DockerSandbox]


@pytest.fixture(scope="module")
def environment() -> Iterator[DockerEnvironment]:
    with closing(DockerEnvironment()) as environment:
        yield environment


@pytest.fixture
def open_sandbox(environment: DockerEnvironment, hostbin: str) -> Iterator[Open]:
    with ExitStack() as stack:

        def open_one(**wanted: object) -> DockerSandbox:
            spec = environment.prepare(SandboxSpec(**{"image": hostbin, **wanted}))
            return stack.enter_context(environment.open(spec))

        yield open_one


@pytest.fixture
def engine() -> Iterator[Engine]:
    found = find()
    yield found
    found.client.close()


def eventually(holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + LONG
    while not (true := holds()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return true


def gone(client: DockerClient, container: str) -> bool:
    try:
        client.api.inspect_container(container)
    except NotFound:
        return True
    except APIError:  # it is being removed
        return False
    return False


@pytest.mark.parametrize("user", ["0:0", USER])
def test_only_trusted_commands_enter_closed_directories(open_sandbox: Open, user: str) -> None:
    sandbox = open_sandbox(user=user, closed=("/tests", "/logs/verifier"))
    sandbox.write_files({"/tests/secret": (b"answer", 0o644)}, trusted=True)

    for command in ("cat /tests/secret", "ls /tests", "echo 1 >/logs/verifier/reward.txt", "chmod 777 /tests"):
        assert sandbox.execute(command).return_code != 0
    assert sandbox.execute("cat /tests/secret && echo 1 >/logs/verifier/reward.txt", trusted=True).output == "answer"
    with pytest.raises(FileNotFoundError):
        sandbox.read_file("/logs/verifier/reward.txt")
    assert sandbox.read_file("/logs/verifier/reward.txt", trusted=True) == b"1\n"


@pytest.mark.parametrize("user", ["0:0", USER])
def test_a_trusted_command_knows_nothing_of_what_an_agent_has_left(open_sandbox: Open, user: str) -> None:
    sandbox = open_sandbox(user=user)
    sandbox.execute("export PATH=/tmp:$PATH BASH_ENV=/tmp/x; cd /tmp; echo 'touch /tmp/fooled' >/run/convo/env")

    said = sandbox.execute('echo "$PWD $HOME $PATH"; ls /tmp', trusted=True).output

    assert said.split()[:2] == ["/tmp", "/run/convo-trusted"]
    assert "/tmp:" not in said
    assert "fooled" not in said


@pytest.mark.parametrize("closed_by", ["SIGKILL", "SIGTERM"])
def test_a_container_ends_with_the_process_that_made_it(hostbin: str, client: DockerClient, closed_by: str) -> None:
    program = (
        "from pytest_convo.sandbox.docker import DockerEnvironment as E\n"
        "from pytest_convo.sandbox.base import SandboxSpec\n"
        f"e = E(); s = e.open(e.prepare(SandboxSpec(image={hostbin!r})))\n"
        "print(s.container.id, flush=True)\n"
        "s.execute('trap \"\" TERM; sleep 999 & sleep 999', 999)"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    container = process.stdout.readline().strip()
    assert eventually(lambda: len((client.api.top(container) or {}).get("Processes") or ()) > 2)
    process.send_signal(getattr(signal, closed_by))
    process.wait(LONG)
    process.stdout.close()

    assert eventually(lambda: gone(client, container))


def test_a_container_says_whose_it_is(open_sandbox: Open, client: DockerClient) -> None:
    sandbox = open_sandbox(owner="tests/test_x.py::test_y")
    found = client.api.inspect_container(sandbox.container.id)["Config"]["Labels"]

    assert found["pytest-convo"] == "1"
    assert found["pytest-convo.pid"] == str(os.getpid())
    assert found["pytest-convo.owner"] == "tests/test_x.py::test_y"


def test_what_a_process_that_has_gone_left_behind_is_swept_and_nothing_else(
    environment: DockerEnvironment, open_sandbox: Open, client: DockerClient, hostbin: str
) -> None:
    ours = open_sandbox()
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait(LONG)
    whose = {**sweep.labels("", "test_z"), "pytest-convo.pid": str(process.pid)}
    kept = {**whose, sweep.KEPT: "1"}
    left, stays = (client.api.create_container(hostbin, ["true"], labels=labels)["Id"] for labels in (whose, kept))
    try:
        told = environment.sweep()

        assert f"sandbox {left[:12]} of test_z" in told
        assert gone(client, left)
        assert not gone(client, stays)
        assert ours.execute("echo here").output == "here\n"
    finally:
        client.api.remove_container(stays)


def test_an_interrupt_ends_what_was_being_executed(open_sandbox: Open) -> None:
    sandbox = open_sandbox()

    class Interrupted(BaseException):
        pass

    def interrupt(signum: int, frame: object) -> None:
        raise Interrupted

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 1.0)
        with pytest.raises(Interrupted):
            sandbox.execute("setsid sleep 432 >/dev/null & sleep 432")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

    still = "for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline; done 2>/dev/null | grep -c 'sleep [4]32'"
    assert eventually(lambda: sandbox.execute(still).output == "0\n")


def test_it_is_killed_from_another_thread_and_stays_usable(open_sandbox: Open) -> None:
    sandbox = open_sandbox()

    def kill_once_it_runs() -> None:
        eventually(lambda: sandbox.container._stop is not None)
        sandbox.kill()

    killer = threading.Thread(target=kill_once_it_runs)
    killer.start()
    result = sandbox.execute("sleep 999", 500)
    killer.join(LONG)

    assert (result.return_code, result.killed, result.timed_out) == (137, "kill", False)
    assert sandbox.execute("echo here").output == "here\n"


def test_secrets_are_in_no_inspection_and_do_not_last(open_sandbox: Open, client: DockerClient) -> None:
    sandbox = open_sandbox(secrets={"TOKEN": "s3cr3t-value"})

    assert sandbox.execute('echo "$TOKEN"; echo "$EXTRA"', variables={"EXTRA": "m0re"}).output == "s3cr3t-value\nm0re\n"
    assert sandbox.execute('echo "$EXTRA"').output == "\n"
    assert "s3cr3t" not in str(client.api.inspect_container(sandbox.container.id))
    assert sandbox.execute("cat /run/convo/*").output.count("s3cr3t") == 0


NAMES = ["/tmp/plain", "/tmp/a b/c'd\"e$f`g\\h", "/tmp/new\nline\n", "/tmp/-n", "/tmp/\udcff\udcfe", "/tmp/%s é\\0101"]


@pytest.mark.parametrize("image", ["hostbin", "busybox"])
def test_files_go_in_and_come_out_byte_for_byte(open_sandbox: Open, request: pytest.FixtureRequest, image: str) -> None:
    sandbox = open_sandbox(image=request.getfixturevalue(image))
    contents = [b"", b"\n", bytes(range(256)) * 3, b"no newline", b"\0" * 70_000, os.urandom(300_000)]
    files = {name: (content, 0o640) for name, content in zip(NAMES, contents, strict=True)}
    sandbox.write_files(files)

    assert {name: sandbox.read_file(name) for name in files} == {name: content for name, (content, _) in files.items()}
    assert sandbox.read_file(NAMES[2], 10) == contents[2][:10]


def test_modes_links_and_what_cannot_be_written(open_sandbox: Open) -> None:
    sandbox = open_sandbox(user=USER)
    sandbox.execute("echo kept >/tmp/target; ln -s target /tmp/link; ln -s nowhere /tmp/dangling; echo old >/tmp/x")
    sandbox.execute("chmod 400 /tmp/x; mkdir /tmp/folder; mkdir /tmp/d; chmod 0 /tmp/d")
    run, read_only = b"#!/bin/sh\necho ran\n", 0o444
    sandbox.write_files({"/tmp/link": (b"new", 0o600), "/tmp/dangling": (run, 0o755), "/tmp/x": (b"x", read_only)})

    modes = sandbox.execute("cat /tmp/target; ls -l /tmp/link /tmp/x; /tmp/dangling; ls /tmp/nowhere").output
    assert modes.startswith("kept\n-rw-------")
    assert "-r--r--r--" in modes
    assert modes.endswith("ran\n")
    for path in ("/usr/x", "/tmp/folder", "/tmp/x/below", "relative", "/tmp/", "/tmp/nul\0"):
        with pytest.raises(SandboxError):
            sandbox.write_files({path: (b"", 0o644)})
    for path in ("/tmp/nothing", "/tmp/folder", "/tmp/d/x", "/tmp/nul\0"):
        with pytest.raises(FileNotFoundError):
            sandbox.read_file(path)


def test_a_private_copy_is_the_sandboxs_to_write_and_ours_to_read_and_remove(
    open_sandbox: Open, environment: DockerEnvironment, tmp_path: Path
) -> None:
    (tmp_path / "below").mkdir(mode=0o700)
    (tmp_path / "below" / "file").write_text("before\n")
    (tmp_path / "below" / "tool").write_text("#!/bin/sh\n")
    (tmp_path / "below" / "tool").chmod(0o700)
    sandbox = open_sandbox(user=USER, folder=tmp_path, permission="READ_WRITE")
    assert sandbox.workspace is not None
    assert sandbox.changes() == []

    result = sandbox.execute(
        "echo after >below/file; below/tool; mkdir -m 700 own; echo new >own/made; chmod 600 own/made"
    )
    assert result.error == ""
    assert [(change.kind, change.path) for change in sandbox.changes()] == [("M", "below/file"), ("A", "own/made")]
    assert "-before\n+after\n" in sandbox.diff()
    assert (sandbox.workspace / "own" / "made").read_text() == "new\n"
    assert (tmp_path / "below" / "file").read_text() == "before\n"

    sandbox.execute("chmod 0 own below")
    copy = sandbox.workspace
    sandbox.close()
    assert eventually(lambda: not copy.parent.exists())


def test_a_copy_that_is_not_roots_to_hand_over_is_opened(
    engine: Engine, hostbin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "run").write_text("#!/bin/sh\n")
    (tmp_path / "run").chmod(0o700)
    (tmp_path / "data").write_text("")
    (tmp_path / "data").chmod(0o600)
    (tmp_path / "link").symlink_to("/nowhere")
    spec = SandboxSpec(image=hostbin, user=USER, folder=tmp_path, permission="READ_WRITE")
    monkeypatch.setattr(os, "getuid", lambda: 54321)
    folder = Folder.of(spec, shares_files=True)
    assert folder is not None
    try:
        handed = folder.handed_to(1000, 1000)
        assert handed.copy is not None
        assert handed.foreign
        modes = {path.name: stat.S_IMODE(path.lstat().st_mode) for path in handed.copy.iterdir()}
        assert (modes["run"], modes["data"]) == (0o777, 0o666)
        assert handed.changes() == []
        container = Container.start(engine, spec, [handed.mount()], sweep.labels("", "folder"))
        try:
            text = b"mkdir /workspace/d && echo x >/workspace/d/f && chmod 0 /workspace/d/f /workspace/d"
            said = HeadTail(1000)
            assert container.run(text, said, said, user=USER, timeout=LONG).code == 0, said.text()
            handed.open_from_inside(container)
        finally:
            container.remove()
        assert stat.S_IMODE((handed.copy / "d").stat().st_mode) == 0o777
        assert stat.S_IMODE((handed.copy / "d" / "f").stat().st_mode) == 0o666
        assert [change.path for change in handed.changes()] == ["d/f"]
    finally:
        folder.remove()


@pytest.mark.parametrize("scratch", [False, True])
def test_a_read_only_folder_is_as_it_was(open_sandbox: Open, tmp_path: Path, scratch: bool) -> None:
    (tmp_path / "file").write_text("text")
    sandbox = open_sandbox(folder=tmp_path, scratch=scratch)

    assert sandbox.execute("cat file && echo more >>file").return_code == (0 if scratch else 1)
    assert (sandbox.changes(), sandbox.diff()) == ([], "")
    assert (tmp_path / "file").read_text() == "text"


def test_a_folder_is_bound_read_only_and_without_what_is_mounted_below_it(tmp_path: Path) -> None:
    mount = Folder(tmp_path / "missing").mount()

    assert isinstance(mount, Mount)
    assert (mount["ReadOnly"], mount["Type"], mount["BindOptions"]) == (True, "bind", {"NonRecursive": True})


def test_one_that_is_left_stays_with_its_folder_and_others_do_not(
    environment: DockerEnvironment, hostbin: str, client: DockerClient, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("text")
    spec = SandboxSpec(image=hostbin, folder=tmp_path, permission="READ_WRITE", keep=True)
    left, unwanted = (environment.open(environment.prepare(spec)) for _ in range(2))
    try:
        how = left.leave()
        left.close()
        unwanted.close()

        assert f"docker exec -it -w /workspace {left.container.id[:12]} " in how
        assert eventually(lambda: gone(client, unwanted.container.id))
        assert client.api.inspect_container(left.container.id)["State"]["Running"]
        assert left.workspace is not None
        assert (left.workspace / "file").read_text() == "text"
    finally:
        client.api.remove_container(left.container.id, force=True)
        left._folder.remove()
