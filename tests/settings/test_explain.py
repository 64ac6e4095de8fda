from __future__ import annotations

import pytest

from pytest_convo.settings.explain import explain
from pytest_convo.settings.resolve import Layer, Resolver, assignments_layer, environment_layer

KEY = "sk-proj-abcdefghijklmnop0123"


def test_each_setting_stands_beside_its_place(write):
    root = write(
        {
            "prompt.md": "x",
            "checks.py": "",
            "convo.toml": "version = 1\nruns = 5\nexpect.python = 'checks.py:f'\n[bot]\nmodel = 'a'\nrequest.seed=7",
            "c/convo.toml": "[[case]]\nid = 'x'\nvars.order = 'A17'\nexpect.1.contains = ['a', 'b']\n",
        }
    )
    nearest = [assignments_layer(["bot.temperature=0"]), environment_layer({"PYTEST_CONVO_MODEL": "gpt-4o-mini"})]
    defaults = [Layer({"agreement": "2/3"}, "pytest ini convo_agreement")]
    resolved = Resolver(root, nearest, defaults).resolve(root / "c", case="x", mark={"timeout": "20s"})
    assert explain(resolved, root / "c").splitlines() == [
        "version            1                    convo.toml:1",
        "runs               5                    convo.toml:2",
        'agreement          "2/3", needs 4 of 5  pytest ini convo_agreement',
        'prompt             "prompt.md"          the nearest of its name',
        'regenerate         "holes"              built-in default',
        'timeout            "20s"                @pytest.mark.convo',
        'bot.model          "gpt-4o-mini"        PYTEST_CONVO_MODEL',
        'bot.provider       "openai"             built-in default',
        "bot.base_url       not set              built-in default",
        'bot.api_key_env    "OPENAI_API_KEY"     built-in default',
        "bot.temperature    0                    command line --convo-set",
        "bot.tool_rounds    10                   built-in default",
        "bot.retries        5                    built-in default",
        "bot.request.seed   7                    convo.toml:6",
        "bot.price          not set              built-in default",
        'vars.order         "A17"                c/convo.toml:3',
        'expect.python      "checks.py:f"        convo.toml:3',
        'expect.1.contains  ["a", "b"]           c/convo.toml:4',
    ]


def test_defaults_are_explained_in_the_words_of_the_format(tmp_path):
    text = explain(Resolver(tmp_path).resolve(tmp_path), tmp_path)
    values = dict(line.split(maxsplit=1) for line in text.splitlines())
    assert values["agreement"].startswith("0.8, needs 1 of 1 ")
    assert values["timeout"].startswith('"120s" ')
    assert values["prompt"].startswith("not set ")
    assert not {"good", "bad"} & set(values)


def test_the_sequential_test_is_explained_with_its_rates(write):
    root = write({"convo.toml": "runs = 20\nagreement = 'sprt'\nbad = 0.6"})
    lines = explain(Resolver(root).resolve(root), root).splitlines()
    assert [" ".join(line.split()) for line in lines if line.startswith(("good", "bad", "agreement"))] == [
        'agreement "sprt", sequential test of 0.95 against 0.6, at most 20 runs convo.toml:2',
        "good 0.95 built-in default",
        "bad 0.6 convo.toml:3",
    ]


@pytest.mark.parametrize(
    "assignment",
    [
        f"bot.request.extra_headers.Authorization=Bearer {KEY}",
        f"bot.base_url=https://me:{KEY}@example.org",
        f"vars.x={KEY}",
        f'vars.x=[1, {{ y = "{KEY}" }}]',
        'bot.request.user_token="abcdefgh"',
        f"expect.contains=the key {KEY}",
        f'bot.request."{KEY}"=1',
    ],
)
def test_no_secret_is_shown(tmp_path, assignment):
    text = explain(Resolver(tmp_path, [assignments_layer([assignment])]).resolve(tmp_path), tmp_path)
    assert "(secret)" in text
    assert "abcdef" not in text
