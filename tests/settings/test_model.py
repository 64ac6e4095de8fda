from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from pydantic import ValidationError

from pytest_convo.settings.bots import BotSettings, LimitSettings, PriceSettings
from pytest_convo.settings.expect import Expect, ExpectTable
from pytest_convo.settings.model import Case, Settings
from pytest_convo.settings.resolve import Resolver


def test_the_defaults_are_those_of_the_format():
    settings = Settings()
    assert (settings.runs, settings.agreement, settings.timeout) == (1, Fraction(4, 5), 120)
    assert (settings.prompt.files, settings.regenerate, settings.vars, settings.case) == (None, "holes", {}, ())
    assert settings.bot == BotSettings(
        model=None, provider="openai", base_url=None, api_key_env="OPENAI_API_KEY", temperature=None, tool_rounds=10
    )
    assert settings.expect == Expect()


def test_checks_of_the_last_reply_and_of_given_turns_stand_side_by_side():
    expect = Expect.model_validate({"contains": "a", "1": {"excludes": ["b"]}, "12": {}})
    assert expect.last == ExpectTable(contains="a")
    assert expect.turns == {1: ExpectTable(excludes=["b"]), 12: ExpectTable()}


def test_python_can_build_what_a_file_says():
    expect = Expect(last=ExpectTable(contains="a"), turns={1: ExpectTable(equals="b")})
    assert expect == Expect.model_validate({"contains": "a", "1": {"equals": "b"}})
    assert Settings(expect=expect, agreement=Fraction(2, 3)).agreement == Fraction(2, 3)


@pytest.mark.parametrize(
    "value, expected",
    [(0.8, Fraction(4, 5)), ("2/3", Fraction(2, 3)), (1, Fraction(1)), ("sprt", "sprt"), ("0.5", Fraction(1, 2))],
)
def test_agreement_is_an_exact_share_or_the_sequential_test(value, expected):
    assert Settings(agreement=value).agreement == expected


@pytest.mark.parametrize(
    "value, seconds",
    [("120s", 120), ("500ms", 0.5), ("2m", 120), ("1h", 3600), ("1.5 s", 1.5), (".5s", 0.5), (7, 7), (0.25, 0.25)],
)
def test_durations_are_in_seconds(value, seconds):
    assert Settings(timeout=value).timeout == seconds
    assert ExpectTable(max_seconds=value).max_seconds == seconds


@pytest.mark.parametrize(
    "value", ["120", "-1s", "0s", "", "1m30s", "2 minutes", "1e3s", "9" * 400 + "s", 0, -1, True, float("nan"), 10**400]
)
def test_a_duration_that_is_none_is_refused(value):
    with pytest.raises(ValidationError):
        Settings(timeout=value)


@pytest.mark.parametrize("temperature", [0, 0.0, 0.7, -1, 2])
def test_the_temperature_is_kept_exactly_as_it_is_given(temperature):
    kept = BotSettings(temperature=temperature).temperature
    assert (kept, type(kept)) == (temperature, type(temperature))


@pytest.mark.parametrize("key", ["equals", "contains", "contains_any", "excludes", "matches", "finish_reason"])
def test_one_text_is_a_list_of_one(key):
    assert getattr(ExpectTable.model_validate({key: "a"}), key) == ("a",)
    assert getattr(ExpectTable.model_validate({key: ["a", "b"]}), key) == ("a", "b")


def test_a_reply_can_be_expected_to_be_empty():
    assert ExpectTable(equals="").equals == ("",)


def test_calls_and_limits_and_numbers_are_read():
    table = ExpectTable.model_validate(
        {
            "calls": [{"name": "lookup", "arguments": {"model": "A17"}}, {"name": "reply"}],
            "calls_order": "superset",
            "number": {"value": 42},
            "similar": {"to": "a"},
            "max_usd": 0.01,
            "json_schema": {"type": "object"},
            "json_equals": [1, {"a": None}],
            "json_contains": False,
            "python": "checks.py:polite",
        }
    )
    assert [(call.name, call.arguments) for call in table.calls] == [("lookup", {"model": "A17"}), ("reply", None)]
    assert (table.number.value, table.number.within, table.similar.at_least) == (42, 0, 0.8)
    assert (table.json_equals, table.json_contains) == ([1, {"a": None}], False)
    assert ExpectTable(json_schema="a.json").json_schema == Path("a.json")


def test_a_price_and_limits_are_read_and_otherwise_there_are_none():
    settings = Settings.model_validate(
        {"bot": {"price": {"input": 0.15, "output": 1}}, "limits": {"requests_per_minute": 30}}
    )
    assert settings.bot.price == PriceSettings(input=0.15, output=1, cached=None)
    assert settings.limits == LimitSettings(requests_per_minute=30, tokens_per_minute=None)
    assert (Settings().bot.price, Settings().limits) == (None, LimitSettings())


def test_no_call_at_all_can_be_expected():
    assert ExpectTable(calls=[]).calls == ()


def test_a_check_that_a_conftest_adds_is_set_apart():
    context = {"extra_checks": {"polite", "runs"}}
    expect = Expect.model_validate({"polite": [1], "1": {"polite": True, "contains": "a"}}, context=context)
    assert (expect.last.checks, expect.turns[1].checks) == ({"polite": [1]}, {"polite": True})
    assert expect.turns[1].contains == ("a",)


def test_nobody_else_adds_a_check():
    for table in ({"polite": True}, {"checks": {"polite": True}}):
        with pytest.raises(ValidationError, match="extra_forbidden"):
            Expect.model_validate(table, context={"extra_checks": {"kind"}})


def test_an_added_check_does_not_replace_one_of_ours():
    context = {"extra_checks": {"contains"}}
    table = ExpectTable.model_validate({"contains": "a"}, context=context)
    assert (table.contains, table.checks) == (("a",), {})


def test_a_case_says_what_it_sets():
    case = Case.model_validate({"id": "late-order_1.a", "vars": {"order": "A17"}, "runs": 3})
    assert case.model_fields_set == {"id", "vars", "runs"}


def test_settings_do_not_change():
    with pytest.raises(ValidationError, match="frozen"):
        Settings().runs = 3


def test_two_settings_share_no_table():
    assert Settings().bot.request is not Settings().bot.request


@pytest.mark.parametrize(
    "written, read",
    [
        ("polite", [{"criterion": "polite"}]),
        ({"criterion": "polite", "runs": 3}, [{"criterion": "polite", "runs": 3}]),
        (
            ["polite", {"criterion": "short", "model": "m"}],
            [{"criterion": "polite"}, {"criterion": "short", "model": "m"}],
        ),
    ],
)
def test_a_judge_has_one_criterion_or_several(written, read):
    criteria = ExpectTable.model_validate({"judge": written}).judge
    assert [criterion.model_dump(exclude_unset=True) for criterion in criteria] == read


def test_files_of_judge_and_agreement_start_at_the_place_that_names_them(write):
    root = write(
        {
            "a/judge.md.j2": "",
            "a/probes.toml": "",
            "a/same.py": "",
            "a/arguments.json": "{}",
            "a/convo.toml": "[judge]\nprompt = 'judge.md.j2'\nprobes = 'probes.toml'\n"
            "[agree]\nby = 'python:same.py:same'\n"
            "[[case]]\nid = 'x'\nagree.by = 'python:same.py:alike'\n"
            "expect.1.calls = [{ name = 'a', arguments_schema = 'arguments.json' }]\n",
            "a/b/convo.toml": "",
        }
    )
    below = Resolver(root).resolve(root / "a" / "b").settings
    assert (below.judge.prompt, below.judge.probes) == (root / "a/judge.md.j2", root / "a/probes.toml")
    assert below.agree.by == f"python:{root}/a/same.py:same"
    case = Resolver(root).resolve(root / "a", case="x").settings
    assert case.agree.by == f"python:{root}/a/same.py:alike"
    assert case.expect.turns[1].calls[0].arguments_schema == root / "a/arguments.json"
