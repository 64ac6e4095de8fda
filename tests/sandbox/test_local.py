from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from pytest_convo.errors import SandboxDied, SandboxError, SandboxUnavailable
from pytest_convo.sandbox.base import Environment, Sandbox, SandboxSpec
from pytest_convo.sandbox.local import LocalEnvironment, LocalSandbox
from pytest_convo.sandbox.tool import AgentTool
from pytest_convo.sandbox.workspace import remove, sweep


@pytest.fixture
def environment() -> Iterator[LocalEnvironment]:
    environment = LocalEnvironment()
    yield environment
    environment.close()


@pytest.fixture
def sandbox(environment: LocalEnvironment) -> LocalSandbox:
    return environment.open(SandboxSpec())


def test_it_is_an_environment_that_can_nothing_and_says_so(
    environment: LocalEnvironment, sandbox: LocalSandbox
) -> None:
    assert isinstance(environment, Environment)
    assert isinstance(sandbox, Sandbox)
    assert environment.available() is None
    assert not environment.capabilities
    assert "no isolation" in sandbox.info.notes[0]
    assert not sandbox.info.limits


@pytest.mark.parametrize(
    "asked, lacks",
    [
        ({"image": "python:3.12-slim"}, "image"),
        ({"build": Path("environment")}, "image"),
        ({"tools": (AgentTool("rg", install=("apt-get install ripgrep",)),)}, "tools that are installed"),
        ({"closed": ("/tests",)}, "closed directories"),
        ({"user": "1000:1000", "runtime": "runsc"}, "other users, no other runtimes"),
    ],
)
def test_what_it_does_not_have_is_refused(environment: LocalEnvironment, asked: dict[str, object], lacks: str) -> None:
    for make in (environment.prepare, environment.open):
        with pytest.raises(SandboxUnavailable, match=lacks):
            make(SandboxSpec(**asked))


def test_a_tool_that_only_has_instructions_is_taken(environment: LocalEnvironment) -> None:
    spec = SandboxSpec(tools=(AgentTool("notes", usage="write notes"),))

    assert environment.prepare(spec) == spec


def test_commands_do_not_see_the_variables_of_the_process(
    environment: LocalEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sesame")
    sandbox = environment.open(SandboxSpec())

    assert "sesame" not in sandbox.execute("env").output


def test_a_commands_place_is_told_to_it_and_paths_of_a_sandbox_are_below_it(sandbox: LocalSandbox) -> None:
    sandbox.write_files({"/tests/test.sh": (b"echo verified", 0o755), "/workspace/file": (b"text", 0o644)})

    result = sandbox.execute('cat file; echo; pwd; "$CONVO_ROOT/tests/test.sh"; cd ..; echo more >tests/more')

    assert result.output == f"text\n{sandbox.workspace}\nverified\n"
    assert sandbox.read_file("/tests/more") == sandbox.read_file(f"{sandbox.workspace}/../tests/more") == b"more\n"
    assert sandbox.info.enter == f"cd {sandbox.workspace}"


def test_a_working_directory_is_below_it_too(environment: LocalEnvironment) -> None:
    sandbox = environment.open(SandboxSpec(workdir="/app/deeper"))

    assert sandbox.execute('echo "${PWD#"$CONVO_ROOT"}"').output == "/app/deeper\n"


def test_nothing_outside_of_it_is_read_or_written_by_path(tmp_path: Path, sandbox: LocalSandbox) -> None:
    (tmp_path / "file").write_text("text")
    sandbox.execute(f"ln -s {tmp_path} out")

    for path in ("/workspace/out/file", "/workspace/../../file"):
        with pytest.raises(FileNotFoundError):
            sandbox.read_file(path)
        with pytest.raises(SandboxError, match="cannot be written"):
            sandbox.write_files({path: (b"other", 0o644)})
    assert (tmp_path / "file").read_text() == "text"


def test_another_user_is_refused(sandbox: LocalSandbox) -> None:
    with pytest.raises(SandboxError, match="as the user nobody"):
        sandbox.execute("true", user="nobody")


def test_a_read_only_folder_is_a_copy_of_which_nothing_lasts(tmp_path: Path, environment: LocalEnvironment) -> None:
    (tmp_path / "file").write_text("text")
    sandbox = environment.open(SandboxSpec(folder=tmp_path))

    assert sandbox.execute("echo new >file; cat file").output == "new\n"

    assert (sandbox.changes(), sandbox.diff()) == ([], "")
    assert (tmp_path / "file").read_text() == "text"


def test_closing_removes_the_directory_and_ends_what_runs_in_the_background(sandbox: LocalSandbox) -> None:
    pid = int(sandbox.execute("setsid sleep 600 >/dev/null 2>&1 & echo $!").output)
    assert sandbox.workspace is not None
    assert sandbox.workspace.exists()

    sandbox.close()

    assert not sandbox.workspace.parent.exists()
    with suppress(FileNotFoundError):
        assert not Path(f"/proc/{pid}/cmdline").read_bytes(), "it runs, and is not only waiting for its parent"


def test_closing_from_another_thread_ends_the_command_that_runs(sandbox: LocalSandbox) -> None:
    closing = threading.Timer(0.5, sandbox.close)
    closing.start()

    with pytest.raises(SandboxError, match="is closed"):
        sandbox.execute("sleep 600", 60)
    closing.join()


def test_a_directory_is_left_for_somebody_to_look_into(
    environment: LocalEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    sandbox = environment.open(SandboxSpec(keep=True))
    sandbox.execute("echo text >file")
    assert sandbox.workspace is not None

    assert sandbox.leave() == f"cd {sandbox.workspace}"
    sandbox.close()
    monkeypatch.setattr("pytest_convo.sandbox.workspace.started", lambda pid: None)
    sweep()  # as a later session would

    assert (sandbox.workspace / "file").read_text() == "text\n"
    remove(sandbox.workspace.parent)
    assert environment.open(SandboxSpec()).leave() == ""  # it was not made to be kept


def test_the_environment_closes_what_is_open(environment: LocalEnvironment, sandbox: LocalSandbox) -> None:
    environment.close()

    with pytest.raises(SandboxError, match="is closed"):
        sandbox.execute("true")


def test_a_sandbox_whose_directory_has_gone_has_died(sandbox: LocalSandbox) -> None:
    assert sandbox.workspace is not None
    remove(sandbox.workspace.parent)

    with pytest.raises(SandboxDied, match="directory has gone"):
        sandbox.execute("true")


def test_a_server_in_the_background_goes_on_when_it_writes_to_the_output_that_nobody_reads(
    sandbox: LocalSandbox,
) -> None:
    sandbox.execute("(sleep 2; echo late; echo later >done) &")

    assert sandbox.execute("while ! [ -e done ]; do sleep 0.1; done; cat done", 60).output == "later\n"


def test_a_sandbox_that_could_not_be_made_leaves_nothing(
    tmp_path: Path, environment: LocalEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    with pytest.raises(SandboxError, match="does not exist"):
        environment.open(SandboxSpec(folder=tmp_path / "missing"))

    assert not list(tmp_path.iterdir())
