"""Bots that are used by name, as a user meets them: where they come from, and what is wrong with them."""

from __future__ import annotations

import pytest

BOTS = {
    "pytest.ini": "[pytest]\n",
    "bots/support.toml": 'prompt = "support.md"\n\n[bot]\nprovider = "scripted"\nmodel = "tea-expert"\n',
    "bots/support.md": "You sell tea.",
    "script.toml": '[[reply]]\ntext = "Two minutes."\n',
    "convos/tea/0000_user.md": "How long?",
    "convos/tea/convo.toml": 'bot.use = "support"\nbot.temperature = 0\nexpect.contains = "minutes"\n',
}


def says(pytester: pytest.Pytester, *args: str) -> str:
    """What a session says, with blanks in a row as one."""
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", *args)
    return "\n".join(" ".join(line.split()) for line in [*result.outlines, *result.errlines])


@pytest.fixture
def write(convos):
    convos.write(BOTS)
    return convos.write


def test_it_is_explained_where_each_value_comes_from(pytester, write):
    said = says(pytester, "--convo-explain", "convos/tea")
    for row in (
        'prompt "bots/support.md" bots/support.toml:1',
        'bot.use "support" convos/tea/convo.toml:1',
        'bot.model "tea-expert" bots/support.toml:5',
        "bot.temperature 0 convos/tea/convo.toml:2",
    ):
        assert row in said


def test_a_name_that_no_bot_has_is_told_with_those_that_are_like_it(pytester, write):
    write({"convos/tea/convo.toml": '\nbot.use = "suport"\n'})
    said = says(pytester, "convos")
    assert 'convos/tea/convo.toml:2: there is no bot "suport": no bots/suport.toml in convos/tea or above it' in said
    assert "did you mean support? there are support" in said


def test_bots_that_use_each_other_are_told(pytester, write):
    write({"bots/support.toml": 'bot.use = "base"', "bots/base.toml": '\n[bot]\nuse = "support"'})
    assert "bots/base.toml:3: bots use each other: support → base → support" in says(pytester, "convos")


def test_what_makes_no_bot_is_told_with_its_line(pytester, write):
    write({"bots/support.toml": '[bot]\nmodel = "x"\n[expect]\ncontains = "y"'})
    said = says(pytester, "convos")
    assert 'bots/support.toml:3: "expect" is no part of a bot' in said
    assert "a bot has version, prompt, bot, limits, summarize, vars; as an agent also kind," in said


def test_a_key_in_its_file_is_an_error(pytester, write):
    write({"bots/support.toml": '[bot]\napi_key = "sk-proj-abcdefghijklmnop0123"'})
    said = says(pytester, "convos")
    assert "bots/support.toml:2: bot.api_key holds a secret" in said
    assert "abcdefgh" not in said


def test_the_command_line_may_name_one(pytester, write):
    write({"bots/other.toml": 'bot.model = "other"', "convos/tea/convo.toml": 'bot.model = "own"'})
    said = says(pytester, "--convo-set", "bot.use=other", "--convo-explain", "convos/tea")
    assert 'bot.model "other" bots/other.toml:1' in said
    said = says(pytester, "--convo-set", "bot.use=other", "--convo-model", "said", "--convo-explain", "convos/tea")
    assert 'bot.model "said" command line --convo-model' in said


CONFTEST = """
def lookup_order(order: str) -> str:
    return order

def pytest_convo_bots(path):
    prompt = "bots/support.md"
    bot = {"use": "support", "functions": [lookup_order]}
    return {"clerk": {"prompt": prompt, "bot": bot, "vars": {"at": path.name}}}
"""


def test_a_conftest_defines_bots(pytester, write):
    write({"conftest.py": CONFTEST, "convos/tea/convo.toml": 'bot.use = "clerk"'})
    said = says(pytester, "--convo-explain", "convos/tea")
    assert 'prompt "bots/support.md" pytest_convo_bots clerk' in said
    assert 'bot.functions ["conftest:lookup_order"] pytest_convo_bots clerk' in said
    assert 'vars.at "tea" pytest_convo_bots clerk' in said
    assert 'bot.model "tea-expert" bots/support.toml:5' in said


def test_of_two_conftests_the_nearer_one_s_bot_is_used(pytester, write):
    conftest = "def pytest_convo_bots(path): return {{'clerk': {{'bot': {{'provider': 'scripted', 'model': '{}'}}}}}}"
    near = "def pytest_convo_bots(path): return {'clerk': {'runs': 3}}"
    write({"conftest.py": conftest.format("far"), "convos/tea/convo.toml": 'bot.use = "clerk"'})
    assert 'bot.model "far" pytest_convo_bots clerk' in says(pytester, "--convo-explain", "convos/tea")
    write({"convos/conftest.py": near})
    assert 'pytest_convo_bots clerk: "runs" is no part of a bot' in says(pytester, "convos")


@pytest.mark.parametrize(
    "returned, told",
    [
        ("['x']", "pytest_convo_bots returned ['x'], which is no mapping from names to definitions"),
        ("{'clerk': 3}", 'pytest_convo_bots returned "clerk" with 3'),
        ("{'support': {}}", "bots/support.toml: pytest_convo_bots of a conftest defines a bot of this name, too"),
    ],
)
def test_a_conftest_that_defines_no_bot_is_told(pytester, write, returned, told):
    write({"conftest.py": f"def pytest_convo_bots(path): return {returned}"})
    assert told in says(pytester, "convos")


def test_the_hook_is_called_where_a_bot_is_used_by_name_and_there_alone(pytester, write):
    write(
        {
            "conftest.py": "def pytest_convo_bots(path): print('asked for', path.name)",
            "convos/milk/0000_user.md": "Milk?",
        }
    )
    said = says(pytester, "-s", "--collect-only", "convos")
    assert "asked for tea" in said
    assert "asked for milk" not in said


def test_both_ways_to_write_the_prompt_in_one_file_get_a_hint(pytester, write):
    write({"convos/tea/convo.toml": 'prompt = "../../bots/support.md"\n[prompt]\nbudget = 5\n'})
    said = says(pytester, "convos")
    assert "convos/tea/convo.toml:2: is not TOML: Cannot overwrite a value" in said
    assert "in the table they stand as files = ..." in said
