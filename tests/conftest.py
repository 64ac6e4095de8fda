from __future__ import annotations

import asyncio
import functools
import importlib
import json
import os
import pkgutil
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import pytest_convo
from pytest_convo.agreement.classes import normalise
from pytest_convo.errors import SandboxUnavailable
from pytest_convo.sandbox.engine import find
from pytest_convo.testing import images
from tests import forked

if TYPE_CHECKING:
    from docker import DockerClient

    from pytest_convo.sandbox.engine import Engine

XDIST = ["-p", "xdist.plugin"]
MODES = {
    "noxdist": [],
    "n0": [*XDIST, "-n0"],
    "load": [*XDIST, "-n2"],
    "worksteal": [*XDIST, "-n2", "--dist=worksteal"],
    "loadscope": [*XDIST, "-n2", "--dist=loadscope"],
    "loadfile": [*XDIST, "-n2", "--dist=loadfile"],
    "loadgroup": [*XDIST, "-n2", "--dist=loadgroup"],
}

for _number, _handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_number) == signal.SIG_IGN:  # as `nohup … &` has it, and then so has every session of a test
        signal.signal(_number, _handler)

VOTE = """
import json, os, time
from pathlib import Path

SPEC = json.loads(Path(__file__).with_name("votes.json").read_text())

def vote(reply, transcript):
    time.sleep(SPEC.get("sleep", 0))
    vote = SPEC["votes"][transcript.run - 1]
    if vote == "!":
        os._exit(3)
    if vote == "1" and not os.path.exists("died"):
        Path("died").touch()
        os._exit(3)
    if vote == "e":
        raise RuntimeError("the check is broken")
    assert vote in "y1", f"run {transcript.run} said something else"
"""


@pytest.fixture(autouse=True)
def _at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a person's machine, also where these tests themselves run in CI: there recordings alone would answer."""
    for variable in ("CI", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(variable, raising=False)


class Convos:
    """A project of conversations in the making."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.path = pytester.path

    def write(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            path = self.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def say(self, name: str, files: dict[str, str] | None = None, *, toml: str = "", answer: str = "Yes.") -> Path:
        """A conversation of one user message, answered by a script with always the same text."""
        written = {
            "0000_user.md": "Hello?\n",
            "convo.toml": toml if "[bot]" in toml else f'{toml}[bot]\nprovider = "scripted"\n',
            "script.toml": f"[[reply]]\ntext = {json.dumps(answer)}\n",
            **(files or {}),
        }
        self.write({f"{name}/{file}": text for file, text in written.items()})
        return self.path / name

    def vote(self, name: str, votes: str, need: int, *, sleep: float = 0) -> Path:
        """A conversation whose runs vote: y pass, n fail, e break, ! kill the process, 1 kill it the first time."""
        spec = json.dumps({"votes": votes, "sleep": sleep})
        toml = (
            f'runs = {len(votes)}\nagreement = "{need}/{len(votes)}"\n'
            '[bot]\nprovider = "scripted"\n[expect]\npython = "checks.py:vote"\n'
        )
        return self.say(name, {"votes.json": spec, "checks.py": VOTE}, toml=toml)

    def run(self, *args: str) -> pytest.RunResult:
        """The result, made in this process and in forked workers; what broke inside pytest fails the test."""
        self.pytester.plugins.clear()
        result = self.pytester.runpytest_inprocess(*args)
        told = result.stdout.str() + result.stderr.str()
        assert "Traceback" not in told
        assert "INTERNALERROR" not in told
        return result

    def report(self, *args: str) -> tuple[pytest.RunResult, dict[str, Any]]:
        """The result of `run`, and the report of it."""
        result = self.run("--convo-json=report.json", *args)
        return result, json.loads((self.path / "report.json").read_text())

    def lastfailed(self) -> dict[str, bool]:
        return json.loads((self.path / ".pytest_cache/v/cache/lastfailed").read_text())


@pytest.fixture(scope="session")
def loaded() -> Iterator[None]:
    """All of ours is imported, and what it imports late: a session in this process then need not do so each time.

    pytester forgets after each session what was imported in it. The workers of such a session are forked from a
    process that has imported the same.
    """
    ours = [module.name for module in pkgutil.walk_packages(pytest_convo.__path__, "pytest_convo.")]
    needed = ["openai.resources.chat", *(name for name in ours if name != "pytest_convo.plugin")]
    for module in needed:
        importlib.import_module(module)
    with forked.workers(["pytest", "xdist.remote", *needed]):
        yield


@pytest.fixture
def convos(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, loaded: None) -> Convos:
    """A fresh project; nothing of this machine's environment reaches it, and no plugin but ours."""
    # Two versions of a file within a second would be one to the cache of compiled files, which knows whole seconds.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_PLUGINS", "pytest_convo.plugin")
    for name in (
        "CI",
        "PYTHONDONTWRITEBYTECODE",
        "OPENAI_BASE_URL",
        "OPENAI_API_KEY",
        "PYTEST_ADDOPTS",
        "GITHUB_STEP_SUMMARY",
        "PYTEST_XDIST_WORKER",  # the tests themselves may run under xdist
    ):
        monkeypatch.delenv(name, raising=False)
    # pytest 9.1 warns of a plugin that an earlier session in the same process has loaded.
    pytester.makeini("[pytest]\nfilterwarnings =\n    ignore::pytest.PytestAssertRewriteWarning\n")
    return Convos(pytester)


class Clock:
    """Time that passes where somebody sleeps; several may sleep at once."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def run(convos: Convos, mode: str) -> Callable[..., pytest.RunResult]:
    """Run pytest in each mode in turn."""
    return lambda *args: convos.run(*MODES[mode], *args)


@pytest.fixture
def run_apart(convos: Convos, mode: str) -> Callable[..., pytest.RunResult]:
    """Run pytest in each mode in turn, with new Pythons: where checks sleep, threads are left when a session ends."""
    convos.pytester.plugins.clear()
    return lambda *args: convos.pytester.runpytest_subprocess(*MODES[mode], *args, timeout=60)


@pytest.fixture(scope="session")
def all_compared() -> Callable[[Sequence[str], Callable[[str, str], bool]], list[list[int]]]:
    """The classes that come of comparing each text with all before it: what ours are held against."""

    def all_compared(answers: Sequence[str], same: Callable[[str, str], bool]) -> list[list[int]]:
        texts = [normalise(answer) for answer in answers]
        firsts = [answers[texts.index(text)] for text in texts]  # of equal texts the first stands for all
        found: list[list[int]] = []
        for new, text in enumerate(texts):
            equal = [members for members in found if text in [texts[member] for member in members]]
            alike = [members for members in found if all(same(firsts[member], firsts[new]) for member in members)]
            if equal or alike:
                (equal or alike)[0].append(new)
            else:
                found.append([new])
        return found

    return all_compared


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("engine") and isinstance(found := engine_or_reason(), str):
        if os.environ.get("CONVO_TEST_ENGINE") == "require":
            pytest.fail(found, pytrace=False)
        pytest.skip(found)


@functools.cache
def engine_or_reason() -> Engine | str:
    try:
        return find()
    except SandboxUnavailable as reason:
        return str(reason)


@pytest.fixture(scope="session")
def client() -> DockerClient:
    """The engine's client, for a test that is marked `engine`."""
    found = engine_or_reason()
    assert not isinstance(found, str), "a test that uses an engine must be marked `engine`"
    return found.client


@pytest.fixture(scope="session")
def hostbin(client: DockerClient) -> str:
    """An image of this machine's programs."""
    return images.hostbin(client)


@pytest.fixture(scope="session")
def busybox(client: DockerClient) -> str:
    """An image of busybox."""
    return images.busybox(client)


@pytest.fixture(scope="session")
def hostpython(client: DockerClient) -> str:
    """An image of this machine's programs and its Python."""
    return images.hostpython(client)


@pytest.fixture(scope="session")
def busybox_1_36(client: DockerClient, busybox: str) -> str:
    """The image of the examples, `busybox:1.36`; without a registry, this machine's own busybox goes by that name."""
    from docker.errors import ImageNotFound

    try:
        client.images.get("busybox:1.36")
    except ImageNotFound:
        client.images.get(busybox).tag("busybox", "1.36")
    return "busybox:1.36"
