from __future__ import annotations

import asyncio
import os
import subprocess
import sys

import pytest

from pytest_convo.bot.callable import CallableModel
from pytest_convo.bot.factory import make_model
from pytest_convo.bot.openai import OpenAIModel
from pytest_convo.conversation.message import Message
from pytest_convo.conversation.reply import Reply
from pytest_convo.errors import FormatError, NoCredentials, SettingsError
from pytest_convo.prompt.request import Request
from pytest_convo.settings.bots import BotSettings

ASKED = Request("m", (Message("user", "Hello?"),))
WEIGHED = '[[reply]]\ntext = "often"\nweight = 4\n[[reply]]\ntext = "seldom"\nweight = 1\n'


def made(tmp_path, *, environ=None, directory=None, **settings):
    keys = ("case", "run", "custom", "root", "meter", "limits")
    others = {key: settings.pop(key) for key in keys if key in settings}
    return make_model(BotSettings(**settings), directory=directory or tmp_path, environ=environ or {}, **others)


def said(model):
    return asyncio.run(model.complete(ASKED)).text


def test_a_model_behind_a_server(tmp_path):
    model = made(tmp_path, model="m", base_url="http://localhost:8080/v1")

    assert isinstance(model, OpenAIModel)
    assert model.base_url == "http://localhost:8080/v1"


@pytest.mark.parametrize(
    "settings, environ, base_url",
    [
        ({"base_url": "http://a/v1"}, {"OPENAI_BASE_URL": "http://b/v1"}, "http://a/v1"),
        ({}, {"OPENAI_BASE_URL": "http://b/v1"}, "http://b/v1"),
        ({}, {"OPENAI_BASE_URL": ""}, None),
        ({}, {}, None),
    ],
)
def test_where_the_server_is(tmp_path, settings, environ, base_url):
    assert made(tmp_path, model="m", environ=environ, **settings).base_url == base_url


def test_no_model_is_an_error_that_says_where_to_set_one(tmp_path):
    with pytest.raises(SettingsError, match="no model is set") as raised:
        made(tmp_path)

    assert "[bot] of a convo.toml, --convo-model or PYTEST_CONVO_MODEL" in raised.value.hint


@pytest.mark.parametrize("provider, near", [("opnai", 'did you mean "openai"? '), ("acme", "")])
def test_an_unknown_provider_is_an_error_that_lists_the_known(tmp_path, provider, near):
    with pytest.raises(SettingsError) as raised:
        made(tmp_path, model="m", provider=provider)

    hint = f'{near}known are "openai" and "scripted", and what a conftest gives by pytest_convo_model'
    assert (raised.value.what, raised.value.hint) == (f"unknown provider '{provider}'", hint)


@pytest.mark.parametrize("environ", [{}, {"MY_KEY": ""}, {"OPENAI_API_KEY": "another's"}])
def test_a_missing_key_is_an_error_of_the_first_call_and_names_the_variable(tmp_path, environ):
    model = made(tmp_path, model="m", api_key_env="MY_KEY", environ=environ)

    with pytest.raises(NoCredentials, match="MY_KEY is not set"):
        said(model)


class Own:
    async def complete(self, request, stream=None):
        return Reply("own")


def test_what_a_conftest_gives_comes_first(tmp_path):
    own = Own()

    assert made(tmp_path, custom=own) is own
    assert made(tmp_path, provider="acme", custom=own) is own
    assert isinstance(made(tmp_path, custom=lambda messages: "hi"), CallableModel)


@pytest.mark.parametrize("custom", [Own, str, "gpt", 5])
def test_what_is_no_model_is_an_error(tmp_path, custom):
    with pytest.raises(SettingsError, match="which is no model"):
        made(tmp_path, custom=custom)


def test_a_script_is_looked_for_here_and_above(tmp_path):
    below = tmp_path / "convos" / "refund"
    below.mkdir(parents=True)
    (tmp_path / "script.toml").write_text('[[reply]]\ntext = "above"\n')

    assert said(made(tmp_path, directory=below, provider="scripted", root=tmp_path)) == "above"
    (below / "script.toml").write_text('[[reply]]\ntext = "here"\n')
    assert said(made(tmp_path, directory=below, provider="scripted", root=tmp_path)) == "here"


def test_a_script_above_the_root_is_none_of_ours(tmp_path):
    (tmp_path / "script.toml").write_text('[[reply]]\ntext = "above"\n')
    (tmp_path / "project").mkdir()

    with pytest.raises(SettingsError, match=r"needs a script.toml, and there is none"):
        made(tmp_path, directory=tmp_path / "project", provider="scripted", root=tmp_path / "project")


def test_a_conversation_outside_the_root_has_its_script_too(tmp_path):
    (tmp_path / "script.toml").write_text('[[reply]]\ntext = "here"\n')

    assert said(made(tmp_path, provider="scripted", root=tmp_path / "elsewhere")) == "here"


def test_a_script_that_has_changed_is_read_again(tmp_path):
    for number, text in enumerate(("one", "two")):
        script = tmp_path / "script.toml"
        script.write_text(f'[[reply]]\ntext = "{text}"\n')
        os.utime(script, (number, number))
        assert said(made(tmp_path, provider="scripted")) == text


def test_a_bad_script_is_an_error_of_the_script(tmp_path):
    (tmp_path / "script.toml").write_text("[[reply]]\ntext = 5\n")

    with pytest.raises(FormatError) as raised:
        made(tmp_path, provider="scripted")

    assert raised.value.path == tmp_path / "script.toml"


def test_runs_share_a_deck_and_cases_have_their_own(tmp_path):
    (tmp_path / "script.toml").write_text(WEIGHED)

    def answers(case):
        runs = range(1, 41)
        return [said(made(tmp_path, provider="scripted", case=case, run=run, root=tmp_path)) for run in runs]

    assert answers("a") == answers("a")
    assert answers("a") != answers("b")
    assert [answers("a")[start : start + 5].count("seldom") for start in range(0, 40, 5)] == [1] * 8


def test_making_a_model_imports_no_sdk():
    program = """
import sys
from pathlib import Path
from pytest_convo.bot.factory import make_model
from pytest_convo.settings.bots import BotSettings
make_model(BotSettings(model="m"), directory=Path("."))
assert not {"openai", "httpx2", "jinja2", "yaml"} & sys.modules.keys()
"""
    subprocess.run([sys.executable, "-c", program], timeout=20, check=True)
