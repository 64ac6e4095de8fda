"""Bots that are defined once and used by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_convo.errors import ConvoError
from pytest_convo.settings.named_bots import NamedBots
from pytest_convo.settings.resolve import Layer, Resolver, assignments_layer, environment_layer
from pytest_convo.settings.use import Uses

SUPPORT = """
prompt = "support.md"
vars.shop = "tea"
max_iterations = 3
[bot]
use = "base"
model = "large"
temperature = 0
[limits]
requests_per_minute = 3
[summarize]
use = "cheap"
turns = 2
"""
BOTS = {
    "bots/support.toml": SUPPORT,
    "bots/support.md": "You help.",
    "bots/base.toml": "bot.model = 'small'\nbot.base_url = 'http://localhost'\n[prompt]\nbudget = 900\nreserve = 90",
    "bots/cheap.toml": "bot.model = 'cheap'\nbot.request.seed = 1\nprompt = 'support.md'\nbot.tool_rounds = 1",
}


def given_there(resolved) -> dict[str, str]:
    """The settings that somebody has set, and where."""
    return {key: place for key, place in resolved.origins.items() if place != "built-in default"}


def told(root: Path, **how: Any) -> str:
    with pytest.raises(ConvoError) as caught:
        Resolver(root, **how).resolve(root / "c")
    return str(caught.value).replace(str(root), "ROOT")


def test_a_definition_lies_right_below_the_place_that_uses_it(write):
    above = "[bot]\nmodel = 'above'\nretries = 1\n[vars]\nshop = 'above'\nx = 1"
    root = write({**BOTS, "convo.toml": above, "c/convo.toml": "[bot]\nuse = 'support'\ntemperature = 1"})
    resolved = Resolver(root).resolve(root / "c")
    bot = resolved.settings.bot
    assert (bot.use, bot.model, bot.temperature, bot.retries, bot.base_url) == (
        "support",
        "large",
        1,
        1,
        "http://localhost",
    )
    assert resolved.settings.prompt.files == (root / "bots/support.md",)
    assert given_there(resolved) == {
        "prompt": "bots/support.toml:2",
        "prompt.budget": "bots/base.toml:4",
        "prompt.reserve": "bots/base.toml:5",
        "bot.use": "c/convo.toml:2",
        "bot.model": "bots/support.toml:7",
        "bot.temperature": "c/convo.toml:3",
        "bot.retries": "convo.toml:3",
        "bot.base_url": "bots/base.toml:2",
        "limits.requests_per_minute": "bots/support.toml:10",
        "vars.shop": "bots/support.toml:3",
        "vars.x": "convo.toml:6",
        "max_iterations": "bots/support.toml:4",
        "summarize.use": "bots/support.toml:12",
        "summarize.turns": "bots/support.toml:13",
        "summarize.model": "bots/cheap.toml:1",
        "summarize.request": "bots/cheap.toml:2",
        "summarize.system": "bots/cheap.toml:3",
    }


@pytest.mark.parametrize("table", ["judge", "refine", "summarize"])
def test_who_is_asked_beside_the_bot_takes_what_it_can(write, table):
    root = write({**BOTS, "c/convo.toml": f"[{table}]\nuse = 'support'\ntemperature = 1"})
    resolved = Resolver(root).resolve(root / "c")
    other = getattr(resolved.settings, table)
    assert (other.model, other.temperature, other.base_url) == ("large", 1, "http://localhost")
    assert (other.system, other.budget, other.reserve) == ((root / "bots/support.md",), 900, 90)
    assert (resolved.settings.bot.model, resolved.settings.vars, resolved.settings.prompt.files) == (None, {}, None)
    assert resolved.origins[f"{table}.system"] == "bots/support.toml:2"
    assert resolved.origins[f"{table}.budget"] == "bots/base.toml:4"
    asked = other.of(resolved.settings.bot)
    assert (asked.model, asked.functions, asked.tool_rounds) == ("large", (), 0)


def test_the_nearest_file_of_its_name_holds_as_the_conversation_sees_it(write):
    near = {"c/bots/base.toml": "bot.model = 'near'", "d/convo.toml": "", "convo.toml": "bot.use = 'base'"}
    root = write({**BOTS, **near})
    resolver = Resolver(root)
    models = [resolver.resolve(root / place).settings.bot.model for place in ("c", "c/e", "d", "c")]
    assert models == ["near", "near", "small", "near"]


def test_every_place_may_use_one(write):
    task = "version = '1.0'\n[convo.bot]\nuse = 'base'"
    root = write({**BOTS, "c/convo.toml": "[[case]]\nid = 'x'\nbot.use = 'base'", "t/task.toml": task})
    resolver = Resolver(root)
    assert resolver.resolve(root / "c").settings.bot.model is None
    assert resolver.resolve(root / "c", case="x").settings.bot.model == "small"
    assert resolver.resolve(root / "t").settings.bot.model == "small"
    assert resolver.resolve(root, mark={"bot": {"use": "base"}}).settings.bot.model == "small"
    for layer in (assignments_layer(["bot.use=base"]), environment_layer({"PYTEST_CONVO_BOT__USE": "base"})):
        assert Resolver(root, [layer]).resolve(root / "c").settings.bot.model == "small"


def test_options_of_one_command_line_stand_beside_each_other(write):
    root = write(BOTS)
    line = [assignments_layer(["bot.use=support"]), Layer({"bot": {"model": "said"}}, "command line --convo-model")]
    environment = environment_layer({"PYTEST_CONVO_BOT__TEMPERATURE": "1", "PYTEST_CONVO_BOT__RETRIES": "2"})
    bot = Resolver(root, [*line, environment]).resolve(root).settings.bot
    assert (bot.model, bot.temperature, bot.retries) == ("said", 0, 2)


def test_conftests_define_bots_and_give_functions_themselves(write):
    def lookup(order: str) -> str:
        return order

    coded = {"coded": {"prompt": "bots/support.md", "bot": {"use": "base", "functions": (lookup, "tools.py:f")}}}
    root = write({**BOTS, "tools.py": "", "c/convo.toml": "bot.use = 'coded'", "d/convo.toml": "bot.use = 'coded'"})
    asked: list[Path] = []
    resolver = Resolver(root, extra_bots=lambda path: asked.append(path) or coded)
    resolved = resolver.resolve(root / "c")
    assert resolved.settings.bot.functions == (lookup, f"{root}/tools.py:f")
    assert resolved.settings.prompt.files == (root / "bots/support.md",)
    assert (resolved.origins["prompt"], resolved.origins["bot.model"]) == (
        "pytest_convo_bots coded",
        "bots/base.toml:1",
    )
    written = json.loads(resolved.settings.model_dump_json(warnings=False))["bot"]["functions"]
    assert written[0].endswith(":test_conftests_define_bots_and_give_functions_themselves.<locals>.lookup")
    resolver.resolve(root / "c")
    resolver.resolve(root / "d")
    assert asked == [root / "c", root / "d"]


@pytest.mark.parametrize(
    "files, message",
    [
        (
            {"c/convo.toml": "\nbot.use = 'suport'"},
            'ROOT/c/convo.toml:2: there is no bot "suport": no bots/suport.toml in c or above it, and no conftest '
            "defines it\n  did you mean support? there are base, cheap, support",
        ),
        (
            {"c/convo.toml": "judge.use = 'x'", "c/bots/nearer.toml": ""},
            'ROOT/c/convo.toml:1: there is no bot "x": no bots/x.toml in c or above it, and no conftest defines it\n'
            "  there are base, cheap, nearer, support",
        ),
        (
            {"c/convo.toml": "bot.use = 'support'", "bots/base.toml": "bot.use = 'gone'"},
            'ROOT/bots/base.toml:1: there is no bot "gone": no bots/gone.toml in c or above it, and no conftest '
            "defines it\n  there are base, cheap, support",
        ),
        (
            {"c/convo.toml": "bot.use = 'support'", "bots/base.toml": "\nbot.use = 'support'"},
            "ROOT/bots/base.toml:2: bots use each other: support → base → support\n  take one `use` out",
        ),
        (
            {"c/convo.toml": "refine.use = 'base'", "bots/base.toml": "bot.use = 'base'"},
            "ROOT/bots/base.toml:1: the bot uses itself: base → base\n  take one `use` out",
        ),
        (
            {"c/convo.toml": "bot.use = '../x'"},
            "ROOT/c/convo.toml:1: bot.use must be the name of a bot: letters, digits, `.`, `_` and `-`, at most 100, "
            'no `.` first, not "../x"',
        ),
        (
            {"c/convo.toml": "bot.use = 'base'", "bots/base.toml": "[bot]\napi_key = 'sk-proj-abcdefghijklmnop0123'"},
            "ROOT/bots/base.toml:2: bot.api_key holds a secret, which has no place in a file\n  put it into an "
            "environment variable and name that in api_key_env; a key that was committed is to be revoked",
        ),
        (
            {"c/convo.toml": "bot.use = 'base'\njudge.use = 'base'", "bots/base.toml": "bot.functions = 'no.py:f'"},
            'ROOT/bots/base.toml:1: bot.functions names a file that is not there: "ROOT/bots/no.py"\n'
            "  a relative path starts at the place that sets it",
        ),
        (
            {"c/convo.toml": "judge.use = 'base'", "bots/base.toml": "[bot"},
            "ROOT/bots/base.toml:1: is not TOML: Expected ']' at the end of a table declaration",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_place(write, files, message):
    assert told(write({**BOTS, **files})) == message


@pytest.mark.parametrize(
    "text", ["runs = 3", "agreement = 1", "[expect]", "[[case]]\nid = 'a'", "[judge]", "timeout = 3"]
)
def test_what_makes_no_bot_does_not_belong_there(write, text):
    root = write({"c/convo.toml": "bot.use = 'x'", "bots/x.toml": f"version = 1\n{text}"})
    assert "bots/x.toml:2: " in told(root)
    assert "is no part of a bot\n  a bot has version, prompt, bot, limits, summarize, vars; as an agent" in told(root)


def test_no_bot_at_all_is_said_so(write):
    root = write({"c/convo.toml": "bot.use = 'x'"})
    assert told(root).endswith("\n  no bot is defined yet: write bots/x.toml, as convo.toml is written")


def test_a_name_for_two_bots_is_an_error(write):
    root = write({**BOTS, "c/convo.toml": "bot.use = 'base'"})
    assert told(root, extra_bots=lambda path: {"base": {}}) == (
        "ROOT/bots/base.toml: pytest_convo_bots of a conftest defines a bot of this name, too: base\n"
        "  give one of the two another name"
    )


@pytest.mark.parametrize("defined", [{"x": 5}, {".x": {}}, {3: {}}])
def test_what_a_conftest_defines_must_be_tables_by_names(write, defined):
    root = write({"c/convo.toml": "bot.use = 'x'"})
    assert told(root, extra_bots=lambda path: defined).startswith("pytest_convo_bots returned ")


def test_a_mistake_of_a_conftest_is_told_with_the_name(write):
    root = write({"c/convo.toml": "bot.use = 'x'"})
    message = told(root, extra_bots=lambda path: {"x": {"bot": {"functions": [4]}}})
    assert message.startswith("pytest_convo_bots x: bot.functions must be a Python file and a function in it, not 4")


def test_where_nobody_uses_one_nothing_is_looked_up(write, monkeypatch):
    root = write({**BOTS, "convo.toml": "bot.model = 'x'"})

    def never(*_: object) -> None:
        raise AssertionError

    for name in ("find", "_path", "_defined"):
        monkeypatch.setattr(NamedBots, name, never)
    monkeypatch.setattr(Uses, "_with", never)
    Resolver(root, extra_bots=never).resolve(root / "c")


def test_the_files_that_count_are_known_be_they_there_or_not(write):
    root = write(
        {**BOTS, "c/bots/base.toml": "", "c/convo.toml": "bot.use = 'support'", "d/convo.toml": "bot.use = 'y'"}
    )
    resolver = Resolver(root)

    def files(place: str) -> set[str]:
        return {path.relative_to(root).as_posix() for path in resolver.bot_files(root / place)}

    cheap, support = {"c/bots/cheap.toml", "bots/cheap.toml"}, {"c/bots/support.toml", "bots/support.toml"}
    assert files("c") == {"c/bots/base.toml", *cheap, *support}
    assert files("d") == {"d/bots/y.toml", "bots/y.toml"}
    assert files("e") == set()


KEYS = ("model", "provider", "base_url", "api_key_env")
SAID = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(["http://a", "http://b"]), max_size=4)
NAMES = ("one", "two")


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    places=st.lists(st.tuples(SAID, st.sampled_from([None, *NAMES])), min_size=1, max_size=4),
    bots=st.fixed_dictionaries(dict.fromkeys(NAMES, SAID)),
    further=st.booleans(),
)
def test_each_key_is_that_of_the_nearest_place_or_of_what_the_nearest_use_means(write, places, bots, further):
    # api_key_env takes no address, so every value is made one that its key can have
    fit = {
        name: {key: value if key == "base_url" else value[-1] for key, value in said.items()}
        for name, said in (*bots.items(), *((str(number), said) for number, (said, _) in enumerate(places)))
    }
    defined = {name: {"bot": {**fit[name], **({"use": "two"} if further and name == "one" else {})}} for name in NAMES}
    layers, expected = [], []
    used = False
    for number, (_, use) in enumerate(places):
        said = {**fit[str(number)], **({"use": use} if use else {})}
        layers.append(Layer({"bot": said}, f"place {number}"))
        expected.append(said)
        if use and not used:
            used = True
            expected.append(fit[use])
            if further and use == "one":
                expected.append(fit["two"])
    bot = Resolver(write({}), layers, extra_bots=lambda path: defined).resolve(write({})).settings.bot
    for key in KEYS:
        default = {"provider": "openai", "api_key_env": "OPENAI_API_KEY"}.get(key)
        assert getattr(bot, key) == next((said[key] for said in expected if key in said), default)
