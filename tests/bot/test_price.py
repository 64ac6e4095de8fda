from __future__ import annotations

import subprocess
import sys
from decimal import Decimal
from types import SimpleNamespace

import genai_prices
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.bot.factory import prices_for
from pytest_convo.bot.openai import OpenAIModel
from pytest_convo.bot.price import FREE, Price, Prices, cost_of, list_price
from pytest_convo.bot.script_reply import ScriptedReply
from pytest_convo.bot.scripted import ScriptedModel
from pytest_convo.conversation.reply import Reply, Usage
from pytest_convo.settings.bots import BotSettings

OPENAI = "https://api.openai.com/v1"
MILLION = 1_000_000


@pytest.mark.parametrize(
    "price, usage, usd",
    [
        (Price(0.15, 0.6), Usage(MILLION, 0), 0.15),
        (Price(0.15, 0.6), Usage(0, MILLION), 0.6),
        (Price(0.15, 0.6), Usage(1000, 100, 500), 0.00021),  # what is cached is as dear, if nothing else is said
        (Price(0.15, 0.6, 0.075), Usage(1000, 100, 400), (600 * 0.15 + 400 * 0.075 + 100 * 0.6) / MILLION),
        (Price(1, 1, 0), Usage(10, 0, 20), 0.0),  # a server that counts more cached tokens than it was sent
        (FREE, Usage(MILLION, MILLION), 0.0),
    ],
)
def test_a_price_is_for_a_million_tokens(price, usage, usd):
    assert price.cost(usage) == pytest.approx(usd)


tokens = st.integers(0, 10**7)
usages = st.builds(lambda sent, received, cached: Usage(sent, received, min(sent, cached)), tokens, tokens, tokens)


@given(usages, usages)
def test_two_requests_cost_what_each_costs(one, other):
    price = Price(0.15, 0.6, 0.075)

    assert price.cost(one + other) == pytest.approx(price.cost(one) + price.cost(other))


def test_the_list_knows_a_model_by_the_address_of_its_server():
    prices = Prices(url=OPENAI)

    assert prices.of("gpt-4o-mini").cost(Usage(1000, 100, 400)) == pytest.approx(0.00018)
    assert prices.of("gpt-4o-mini-2024-07-18").cost(Usage(1000, 100)) == pytest.approx(0.00021)


def test_the_list_knows_of_prices_that_rise_with_the_length_of_a_prompt():
    price = Prices(url="https://generativelanguage.googleapis.com/v1beta/openai").of("gemini-2.5-pro")

    assert price.cost(Usage(300_000, 0)) > 3.5 * price.cost(Usage(100_000, 0))


@pytest.mark.parametrize(
    "model, url",
    [
        ("no-such-model", OPENAI),
        ("gpt-4o", "https://models.example.org/v1"),
        ("gpt-4o", "http://localhost:8080/v1"),
    ],
)
def test_a_price_that_is_not_known_is_none_and_not_zero(model, url):
    assert list_price(model, url) is None


@pytest.mark.parametrize("prices", [{}, {"input_mtok": Decimal(1)}, {"output_mtok": Decimal(1)}])
def test_a_model_that_is_in_the_list_without_a_price_is_not_free(monkeypatch, prices):
    found = SimpleNamespace(model_price=genai_prices.types.ModelPrice(**prices))
    monkeypatch.setattr(genai_prices, "calc_price", lambda *_, **__: found)
    list_price.cache_clear()

    assert list_price("listed", OPENAI) is None
    list_price.cache_clear()


def test_the_model_as_reported_comes_before_the_one_asked_for():
    prices = Prices(url=OPENAI)

    assert prices.of("gpt-4o-2024-08-06", "gpt-4o-mini").model == "gpt-4o-2024-08-06"
    assert prices.of("my-deployment", "gpt-4o-mini").model == "gpt-4o-mini"
    assert prices.of(None, "gpt-4o-mini").model == "gpt-4o-mini"
    assert prices.of(None, None) is None


def test_a_cache_of_more_tokens_than_were_sent_is_no_error():
    assert Prices(url=OPENAI).of("gpt-4o").cost(Usage(5, 0, 10)) >= 0


@pytest.mark.parametrize("reply, usd", [(Reply("a", usage=Usage(MILLION, 0)), 2.0), (Reply("a"), None)])
def test_what_a_reply_costs(reply, usd):
    assert cost_of(reply, Prices(Price(2, 4))) == usd
    assert cost_of(reply, Prices()) is None


def test_a_price_of_the_settings_holds_whoever_answers():
    own = {"input": 0.15, "output": 0.6, "cached": 0.075}

    for more in ({}, {"provider": "scripted"}, {"base_url": "http://localhost:1/v1"}):
        assert prices_for(BotSettings(price=own, **more), {}) == Prices(Price(0.15, 0.6, 0.075))
    assert prices_for(BotSettings(price=own), {}, custom=len) == Prices(Price(0.15, 0.6, 0.075))


@pytest.mark.parametrize(
    "settings, environ, prices",
    [
        ({}, {}, Prices(url=OPENAI)),
        ({"base_url": "https://api.groq.com/v1"}, {}, Prices(url="https://api.groq.com/v1")),
        ({}, {"OPENAI_BASE_URL": "https://api.x.ai/v1"}, Prices(url="https://api.x.ai/v1")),
        ({"base_url": "http://localhost:8080/v1"}, {}, Prices()),
        ({"base_url": "http://127.0.0.1:8080/v1"}, {}, Prices()),
        ({}, {"OPENAI_BASE_URL": "http://[::1]:8080/v1"}, Prices()),
        ({"provider": "scripted"}, {}, Prices(FREE)),
    ],
)
def test_whose_price_it_is(settings, environ, prices):
    assert prices_for(BotSettings(model="m", **settings), environ) == prices


def test_what_a_model_of_a_conftest_costs():
    url = "https://api.x.ai/v1"
    assert prices_for(BotSettings(), {}, OpenAIModel(base_url=url)) == Prices(url=url)
    assert prices_for(BotSettings(), {}, ScriptedModel([ScriptedReply(text="a")])) == Prices(FREE)
    assert prices_for(BotSettings(), {}, lambda messages: "an application") == Prices()


def test_the_list_is_not_imported_where_a_price_is_given_or_cannot_be_known():
    code = (
        "import sys\n"
        "from pytest_convo.bot.factory import prices_for\n"
        "from pytest_convo.settings.bots import BotSettings\n"
        "price = {'price': {'input': 1, 'output': 2}}\n"
        "for more in ({'base_url': 'http://localhost:1/v1'}, {'provider': 'scripted'}, price):\n"
        "    prices_for(BotSettings(**more), {}).of('gpt-4o')\n"
        "print('genai_prices' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"
