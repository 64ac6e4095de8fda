"""The store of answers that a watcher hands from session to session."""

from __future__ import annotations

import pytest

from pytest_convo.testing import ScriptedServer

CONFTEST = """
from pathlib import Path

from pytest_convo.collect.state import STORE

def pytest_configure(config):
    config.stash[STORE] = Path("store").absolute()
"""


@pytest.fixture
def server(convos):
    with ScriptedServer(lambda request: f"To {request.messages[-1].text}") as server:
        toml = f'[bot]\nmodel = "test"\nbase_url = "{server.url}"\n'
        convos.write({"conftest.py": CONFTEST, "convo.toml": toml})
        convos.write({f"tea/{index:04}_user.md": f"{index}?\n" for index in (0, 2, 4)})
        yield server


def asked(convos, server, *args) -> list[str]:
    """What reaches the server in a session."""
    before = len(server.requests)
    result = convos.pytester.runpytest_inprocess(*args, "tea")
    result.assert_outcomes(passed=1)
    return [request.body["messages"][-1]["content"] for request in server.requests[before:]]


def test_only_what_comes_after_an_edit_is_asked_again(convos, server) -> None:
    assert asked(convos, server) == ["0?", "2?", "4?"]
    assert asked(convos, server) == []
    convos.write({"tea/0002_user.md": "two?\n"})
    assert asked(convos, server) == ["two?", "4?"]
    convos.write({"tea/0002_user.md": "2?\n"})
    assert asked(convos, server) == []


@pytest.mark.parametrize("mode", ["new", "all"])
def test_what_is_to_be_recorded_is_asked_anew(convos, server, mode) -> None:
    asked(convos, server)
    assert asked(convos, server, f"--convo-record={mode}") == ["0?", "2?", "4?"]


def test_each_run_has_answers_of_its_own(convos, server) -> None:
    asked(convos, server)
    result = convos.pytester.runpytest_inprocess("--convo-runs=2", "tea")
    assert result.ret == 0
    assert len(server.requests) == 6


def test_another_server_is_asked_anew(convos, server) -> None:
    asked(convos, server)
    with ScriptedServer(lambda request: "Yes.") as other:
        convos.write({"convo.toml": f'[bot]\nmodel = "test"\nbase_url = "{other.url}"\n'})
        assert asked(convos, server) == []
        assert len(other.requests) == 3


def test_an_application_under_test_is_asked_anew(convos, server) -> None:
    app = "def pytest_convo_model(settings):\n    return lambda messages: {}\n"
    said = []
    for answer in ("'one'", "'two'"):
        convos.write({"tea/conftest.py": app.format(answer), "tea/convo.toml": f"[expect]\nequals = {answer}\n"})
        said += asked(convos, server)
    assert said == []


def test_a_bot_that_is_wrong_is_told_of_at_collection(convos, server) -> None:
    convos.write({"tea/convo.toml": '[bot]\nprovider = "nobody"\n'})
    result = convos.pytester.runpytest_inprocess("tea")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*unknown provider 'nobody'*"])
