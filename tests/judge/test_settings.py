from __future__ import annotations

from fractions import Fraction

import pytest

from pytest_convo.judge.judge import judge_bot
from pytest_convo.settings.expect import Criterion
from pytest_convo.settings.model import Settings

HERE, THERE = "http://127.0.0.1:1/v1", "http://127.0.0.1:2/v1"
PRICE = {"input": 1, "output": 2}
BOT = {"model": "b", "base_url": HERE, "api_key_env": "B_KEY", "retries": 1, "temperature": 0.7, "price": PRICE}


def settled(bot=None, judge=None, criterion=None):
    settings = Settings.model_validate({"bot": {**BOT, **(bot or {})}, "judge": judge or {}})
    return judge_bot(settings, Criterion(criterion="c", **criterion) if criterion is not None else None)


@pytest.mark.parametrize("key", ["model", "base_url", "api_key_env", "retries"])
def test_server_model_key_and_retries_are_the_bot_s_where_judge_is_silent(key):
    mine = {"model": "j", "base_url": THERE, "api_key_env": "J_KEY", "retries": 0}
    assert getattr(settled(), key) == BOT[key]
    assert getattr(settled(judge={key: mine[key]}), key) == mine[key]
    others = {name: value for name, value in mine.items() if name != key}
    assert getattr(settled(judge=others), key) == BOT[key]


@pytest.mark.parametrize(
    "bot, judge, provider",
    [
        ({}, {}, "openai"),
        ({}, {"provider": "scripted"}, "scripted"),
        ({"provider": "scripted"}, {}, "scripted"),
        ({"provider": "scripted"}, {"model": "j"}, "openai"),
        ({"provider": "scripted"}, {"base_url": THERE}, "openai"),
        ({"provider": "scripted"}, {"retries": 1}, "scripted"),
        ({"provider": "scripted"}, {"provider": "scripted", "model": "j"}, "scripted"),
        ({"provider": "mine"}, {}, "mine"),
        ({"provider": "mine"}, {"provider": "openai", "model": "j"}, "openai"),
    ],
)
def test_the_provider_is_the_bot_s_but_a_script_has_neither_a_model_nor_a_server(bot, judge, provider):
    assert settled(bot, judge).provider == provider


def test_temperature_and_further_fields_are_the_judge_s_alone():
    bot = settled({"request": {"seed": 1}})
    assert (bot.temperature, dict(bot.request), bot.tool_rounds) == (None, {}, 0)
    bot = settled({"request": {"seed": 1}}, {"temperature": 0, "request": {"top_p": 1}})
    assert (bot.temperature, dict(bot.request)) == (0, {"top_p": 1})


@pytest.mark.parametrize(
    "judge, criterion, price",
    [
        ({}, None, 1),
        ({"retries": 0, "temperature": 0}, None, 1),
        ({"model": "b"}, None, 1),
        ({"model": "j"}, None, None),
        ({"base_url": THERE}, None, None),
        ({"provider": "scripted"}, None, None),
        ({}, {"model": "b"}, 1),
        ({}, {"model": "j"}, None),
        ({"price": {"input": 5, "output": 5}}, None, 5),
        ({"model": "j", "price": {"input": 5, "output": 5}}, None, 5),
    ],
)
def test_a_price_is_the_bot_s_where_both_are_one_model(judge, criterion, price):
    found = settled(judge=judge, criterion=criterion).price
    assert (found.input if found else None) == price


def test_a_criterion_may_have_a_model_of_its_own():
    assert settled(judge={"model": "j"}, criterion={}).model == "j"
    assert settled(judge={"model": "j"}, criterion={"model": "k"}).model == "k"
    assert settled({"provider": "scripted"}, criterion={"model": "k"}).provider == "openai"


def test_the_bot_s_own_settings_stay_as_they_are():
    settings = Settings.model_validate({"bot": BOT, "judge": {"model": "j", "temperature": 0}})
    judge_bot(settings)
    assert (settings.bot.model, settings.bot.temperature) == ("b", 0.7)


def test_two_of_three_judgements_must_agree_where_nothing_is_said():
    judge = Settings().judge
    assert (judge.runs, judge.agreement, judge.output) == (1, Fraction(2, 3), "auto")


def test_a_criterion_is_a_text_a_table_or_a_list_of_both():
    tables = {"judge": ["It is polite.", {"criterion": "It is short.", "runs": 3, "agreement": 1, "model": "k"}]}
    first, second = Settings.model_validate({"expect": tables}).expect.last.judge
    assert (first.criterion, first.runs, first.agreement, first.model) == ("It is polite.", None, None, None)
    assert (second.criterion, second.runs, second.agreement, second.model) == ("It is short.", 3, 1, "k")
