"""The example that a newcomer runs first."""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "example_project"
LOCAL = {"noxdist": ["-p", "no:xdist"], "n2": ["-n2"]}

Run = Callable[..., pytest.RunResult]


@pytest.fixture
def example(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a copy of the example, as in a shell in which nothing is set."""
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "PYTEST_ADDOPTS", "CI"):
        monkeypatch.delenv(name, raising=False)
    left = shutil.ignore_patterns(".*", "__pycache__")
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
def test_is_green_and_has_one_dissent(example: Run, mode: str) -> None:
    result = example(*LOCAL[mode], "--convo-json=report.json")
    assert result.ret == 0, result.stdout.str()
    outcomes = result.parseoutcomes()
    assert {name: outcomes[name] for name in outcomes if name != "spared"} == {"passed": 11, "dissent": 1}


@pytest.mark.parametrize("mode", LOCAL)
def test_the_fuzzy_one_passes_four_of_five_and_says_so(example: Run, pytester: pytest.Pytester, mode: str) -> None:
    result = example(*LOCAL[mode], "--convo-json=report.json")
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
    from pytest_convo.testing import ScriptedServer

    with ScriptedServer(EXAMPLE / "script.toml", api_key="of-that-server") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "of-that-server")
        assert example().ret == 0
        assert server.count > 40
