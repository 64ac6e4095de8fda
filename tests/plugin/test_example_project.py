"""The example that a newcomer runs first."""

from __future__ import annotations

import json
import shlex
import shutil
import socket
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_convo.testing import ScriptedServer

EXAMPLE = Path(__file__).parents[2] / "example_project"
LOCAL = {"noxdist": ["-p", "no:xdist"], "n2": ["-n2"]}

Run = Callable[..., pytest.RunResult]


@pytest.fixture
def example(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a copy of the example, as in a shell in which nothing is set."""
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "PYTEST_ADDOPTS", "CI", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    left = shutil.ignore_patterns(".convo", ".pytest_cache", "__pycache__")
    shutil.copytree(EXAMPLE, pytester.path / "example_project", ignore=left)
    return lambda *args: pytester.runpytest_subprocess("example_project", *args, timeout=60)


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """Whoever asks a server on the internet, by way of https, comes here."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        address = "http://{}:{}".format(*listening.getsockname())
        for name in ("HTTPS_PROXY", "https_proxy"):
            monkeypatch.setenv(name, address)
        yield listening


@pytest.mark.parametrize("mode", LOCAL)
def test_is_green_and_the_fuzzy_one_passes_four_of_five_and_says_so(
    example: Run, pytester: pytest.Pytester, mode: str
) -> None:
    result = example(*LOCAL[mode], "--convo-json=report.json")
    assert result.ret == 0, result.stdout.str()
    outcomes = result.parseoutcomes()
    assert {name: outcomes[name] for name in outcomes if name != "spared"} == {"passed": 14, "dissent": 1}
    result.stdout.fnmatch_lines(["*evening_tea*"])
    groups = {group["id"]: group for group in json.loads((pytester.path / "report.json").read_text())["groups"]}
    fuzzy = groups.pop("evening_tea/convo.toml")
    assert (fuzzy["label"], fuzzy["passes"], fuzzy["fails"], fuzzy["spared"]) == ("flaky pass", 4, 1, 0)
    assert {group["label"] for group in groups.values()} == {"stable pass"}


@pytest.mark.parametrize("mode", LOCAL)
def test_a_key_that_happens_to_be_exported_is_not_sent(
    example: Run, monkeypatch: pytest.MonkeyPatch, proxy: socket.socket, mode: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-somebody-who-would-pay")
    monkeypatch.setenv("OPENAI_BASE_URL", "")
    result = example(*LOCAL[mode])
    assert result.ret == 0, result.stdout.str()  # the example's server answers 401 to any key but its own
    with pytest.raises(BlockingIOError):
        proxy.accept()


def test_a_server_that_is_named_is_asked(example: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedServer(EXAMPLE / "script.toml", api_key="of-that-server") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "of-that-server")
        assert example().ret == 0
        assert server.count > 40


def test_is_green_in_ci_too(example: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    result = example()
    assert (result.ret, result.parseoutcomes()["passed"]) == (0, 14), result.stdout.str()


def test_returns_is_recorded_and_asks_nobody(example: Run, pytester: pytest.Pytester) -> None:
    result = example("--convo-record=none", "-k", "returns", "--convo-json=report.json")
    assert result.ret == 0, result.stdout.str()
    (group,) = json.loads((pytester.path / "report.json").read_text())["groups"]
    assert group["id"] == "returns/convo.toml"


WORKFLOW = yaml.safe_load((EXAMPLE / ".github/workflows/conversations.yml").read_text())


def steps(job: str) -> list[Mapping[str, Any]]:
    """The steps of a job of the workflow that run pytest."""
    return [step for step in WORKFLOW["jobs"][job]["steps"] if step.get("run", "").startswith("pytest ")]


@pytest.fixture
def workflow(example: Run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Do a step as GitHub does, in the example's own directory."""
    monkeypatch.setenv("CI", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(pytester.path / "summary.md"))
    monkeypatch.chdir(pytester.path / "example_project")

    def run(step: Mapping[str, Any]) -> None:
        program, *arguments = shlex.split(step["run"])
        assert program == "pytest"
        result = pytester.runpytest_subprocess(*arguments, timeout=60)
        assert result.ret == 0, result.stdout.str()

    return run


@pytest.mark.parametrize("step", steps("replay"), ids=lambda step: step["if"])
def test_the_steps_of_the_workflow_for_every_change_are_green(workflow, step, pytester: pytest.Pytester) -> None:
    workflow(step)
    directory = pytester.path / "example_project"
    assert {"junit.xml", "convo.json"} <= {path.name for path in directory.iterdir()}
    gate = "Regression gate**: NOT SHOWN" in (pytester.path / "summary.md").read_text()
    assert gate == ("pull_request" in step["if"])


def test_the_steps_of_the_workflow_that_record_are_green_under_their_cap(
    workflow, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    record, update = steps("record")
    assert set(record["env"]) == {"OPENAI_BASE_URL", "OPENAI_API_KEY"}
    with ScriptedServer("script.toml", api_key="not-a-real-key") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "not-a-real-key")
        for who in ("BOT", "JUDGE"):  # no list has the prices of this machine
            monkeypatch.setenv(f"PYTEST_CONVO_{who}__PRICE", "{ input = 0.15, output = 0.6 }")
        workflow(record)
        asked = server.count
        assert asked > 60
        before = json.loads(Path("convo-baseline.json").read_text())
        workflow(update)
        assert server.count == asked
    after = json.loads(Path("convo-baseline.json").read_text())
    assert after["cases"].keys() == before["cases"].keys()
    assert after["cases"]["returns/convo.toml"]["samples"] != before["cases"]["returns/convo.toml"]["samples"]
