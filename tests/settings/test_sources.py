from __future__ import annotations

from pathlib import Path

import pytest

from pytest_convo.errors import SettingsError
from pytest_convo.settings.sources import assignments_layer, environment_layer


def test_a_variable_is_the_key_in_upper_case_with_two_underscores_for_a_dot():
    layer = environment_layer(
        {
            "PYTEST_CONVO_RUNS": "5",
            "PYTEST_CONVO_AGREEMENT": "2/3",
            "PYTEST_CONVO_MODEL": "gpt-4o-mini",
            "PYTEST_CONVO_BOT__TEMPERATURE": "0",
            "PYTEST_CONVO_BOT__REQUEST__TOP_P": "0.5",
            "PYTEST_CONVO_EXPECT__1__CONTAINS": '["a", "b"]',
            "PYTEST_CONVO_TIMEOUT": "",
            "HOME": "/root",
        }
    )
    assert layer.values == {
        "runs": 5,
        "agreement": "2/3",
        "bot": {"model": "gpt-4o-mini", "temperature": 0, "request": {"top_p": 0.5}},
        "expect": {"1": {"contains": ["a", "b"]}},
    }
    assert layer.place(("bot", "model"), Path("/")) == "PYTEST_CONVO_MODEL"
    assert layer.place(("bot", "request", "top_p"), Path("/")) == "PYTEST_CONVO_BOT__REQUEST__TOP_P"


@pytest.mark.parametrize("name", ["CONCURRENCY", "EAGER", "INCONCLUSIVE"])
def test_the_options_of_a_session_are_no_settings(name):
    assert environment_layer({f"PYTEST_CONVO_{name}": "1"}).values == {}


def test_a_setting_that_has_two_variables_is_an_error():
    with pytest.raises(SettingsError) as caught:
        environment_layer({"PYTEST_CONVO_MODEL": "a", "PYTEST_CONVO_BOT__MODEL": "b"})
    assert str(caught.value) == (
        "PYTEST_CONVO_MODEL and PYTEST_CONVO_BOT__MODEL set the same, bot.model\n  unset one of them"
    )


@pytest.mark.parametrize(
    "assignment, values",
    [
        ("runs=3", {"runs": 3}),
        (" runs = 3", {"runs": 3}),
        ("bot.temperature=0", {"bot": {"temperature": 0}}),
        ("bot.temperature=0.0", {"bot": {"temperature": 0.0}}),
        ("expect.ignore_case=true", {"expect": {"ignore_case": True}}),
        ("expect.contains=30 days", {"expect": {"contains": "30 days"}}),
        ('expect.contains="30"', {"expect": {"contains": "30"}}),
        ("expect.contains=", {"expect": {"contains": ""}}),
        ("expect.1.contains=a=b", {"expect": {"1": {"contains": "a=b"}}}),
        ("bot.base_url=http://localhost:8080/v1", {"bot": {"base_url": "http://localhost:8080/v1"}}),
        ("vars.when=2026-01-01", {"vars": {"when": "2026-01-01"}}),
        ("regenerate=[3, 5]", {"regenerate": [3, 5]}),
        ("vars={ a = 1 }", {"vars": {"a": 1}}),
        ('vars."a b"=x', {"vars": {"a b": "x"}}),
        ("vars.a=1\nb = 2", {"vars": {"a": "1\nb = 2"}}),
        ("vars.a=" + "[" * 5000, {"vars": {"a": "[" * 5000}}),
        ("vars.a=" + "9" * 5000, {"vars": {"a": "9" * 5000}}),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_value_is_toml_where_it_can_be_and_else_a_text(assignment, values):
    layer = assignments_layer([assignment])
    assert layer.values == values
    assert repr(layer.values) == repr(values)


def test_the_later_of_two_assignments_holds():
    layer = assignments_layer(["runs=3", "bot.model=a", "runs=4", "bot.temperature=0"])
    assert layer.values == {"runs": 4, "bot": {"model": "a", "temperature": 0}}


@pytest.mark.parametrize(
    "assignment, shown", [("runs", "runs"), ("=3", "nothing"), ("", "nothing"), ("[bot]=3", "[bot]"), ("a b=3", "a b")]
)
def test_what_is_no_assignment_is_an_error(assignment, shown):
    with pytest.raises(SettingsError) as caught:
        assignments_layer([assignment])
    assert str(caught.value) == (
        f"command line --convo-set: KEY=VALUE is needed, not {shown}\n  for instance bot.temperature=0"
    )


def test_a_key_that_is_given_alone_is_not_told():
    with pytest.raises(SettingsError) as caught:
        assignments_layer(["sk-abcdefghijklmnopqrstuvwx"])
    assert "abcdef" not in str(caught.value)


def test_relative_paths_start_at_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert assignments_layer([]).base == environment_layer({}).base == tmp_path
    assert assignments_layer([], base=Path("/x")).base == Path("/x")


def test_several_assignments_may_fill_one_table():
    layer = assignments_layer(["bot.price.input=1", "bot.price.output=2", "bot.price.input=3"])
    assert layer.values == {"bot": {"price": {"input": 3, "output": 2}}}
    layer = environment_layer({"PYTEST_CONVO_BOT__PRICE__INPUT": "1", "PYTEST_CONVO_BOT__PRICE__OUTPUT": "2"})
    assert layer.values == {"bot": {"price": {"input": 1, "output": 2}}}
