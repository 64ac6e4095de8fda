from __future__ import annotations

import asyncio

import pytest

from pytest_convo.bot.events import observed
from pytest_convo.bot.metered import Terms
from pytest_convo.bot.price import Price, Prices
from pytest_convo.conversation.message import Message
from pytest_convo.conversation.reply import Reply, Usage
from pytest_convo.errors import CapReached
from pytest_convo.prompt.request import Request
from pytest_convo.run.meter import Meter
from pytest_convo.run.notebook import Notebook
from pytest_convo.run.shared import SharedLedger
from pytest_convo.run.spending import Caps, Spent

ASKED = Request("llama", (Message("user", "x" * 400),))
DEAR = Prices(Price(1000.0, 2000.0))
"""A tenth of a cent for a token of a prompt, two for one of an answer."""


@pytest.fixture
def ledger():
    ledger = Notebook()
    yield ledger
    ledger.close()


@pytest.fixture
def meter(ledger, clock):
    return lambda **caps: Meter(ledger, Caps(**caps), clock=clock, sleep=clock.sleep)


def sent(meter, terms=None, request=ASKED):
    call = meter.call(request, terms or Terms())
    asyncio.run(call.wait())
    return call


def test_a_reply_is_accepted_and_billed(meter):
    one = meter()
    heard = []
    with observed(heard.append):
        sent(one, Terms(prices=DEAR)).book(Usage(10, 2), Reply("a", usage=Usage(10, 2), model="llama-3"))

    assert one.spending.spent() == Spent(1, Usage(10, 2), Usage(10, 2), usd=pytest.approx(0.014))
    usage = {"prompt_tokens": 10, "completion_tokens": 2, "cached_tokens": 0}
    assert heard == [{"kind": "spent", "model": "llama", "usage": usage, "usd": 0.014}]


def test_an_attempt_that_came_to_nothing_is_billed_and_not_accepted(meter):
    one = meter()
    call = sent(one, Terms(prices=DEAR))
    call.book(Usage(10, 2))
    asyncio.run(call.wait())
    call.book(Usage(10, 3), Reply("a", usage=Usage(10, 3)))

    assert one.spending.spent() == Spent(2, Usage(20, 5), Usage(10, 3), usd=pytest.approx(0.030))


def test_a_price_that_is_not_known_is_said_by_the_name_that_was_asked_for(meter):
    one = meter()
    heard = []
    with observed(heard.append):
        sent(one).book(Usage(10, 2), Reply("a", usage=Usage(10, 2), model="llama-3-70b"))
        sent(one, request=Request(None, ())).book(Usage(1, 1), Reply("a", usage=Usage(1, 1), model="an app"))
        sent(one, request=Request(None, ())).book(Usage(1, 1))

    assert one.spending.spent().unpriced == {"llama": 1, "an app": 1, "a model without a name": 1}
    assert one.spending.spent().usd == 0
    assert [event["usd"] for event in heard] == [None] * 3


def test_a_refusal_costs_nothing_whatever_the_price(meter):
    one = meter()
    sent(one).book(Usage())

    assert one.spending.spent() == Spent(1)


def test_what_nobody_counted_is_said(meter):
    one = meter()
    heard = []
    with observed(heard.append):
        sent(one, Terms(prices=DEAR)).book(None, Reply("a"))

    assert one.spending.spent() == Spent(1, uncounted=1)
    assert heard == [{"kind": "spent", "model": "llama", "usage": None, "usd": None}]


def test_what_nobody_counted_is_guessed_for_the_caps(meter):
    one = meter(tokens=150)
    for _ in range(2):
        sent(one, Terms(prices=DEAR)).book(None)

    spent = one.spending.spent()
    assert (spent.uncounted, spent.billed, spent.usd) == (2, Usage(), 0)
    assert 200 <= spent.guessed_tokens <= 210
    assert spent.guessed_usd == pytest.approx(spent.guessed_tokens / 1000)
    with pytest.raises(CapReached, match="may use 150 tokens"):
        sent(one)


def test_an_image_is_not_guessed_by_the_bytes_of_its_address(meter):
    one = meter(tokens=10_000)
    parts = [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{'A' * 10**6}"}}]
    sent(one, request=Request("m", (Message("user", parts),))).book(None)

    assert one.spending.spent().guessed_tokens < 1100


def test_what_was_not_sent_is_not_booked(meter):
    one = meter(calls=1)
    call = sent(one)
    call.book(Usage(1, 1))
    call.book(Usage(1, 1))
    with pytest.raises(CapReached):
        asyncio.run(call.wait())
    call.book(None)

    assert one.spending.spent() == Spent(1, Usage(1, 1), unpriced={"llama": 1})


def test_a_cap_in_dollars_needs_a_price(meter):
    one = meter(usd=1.0)

    with pytest.raises(CapReached) as raised:
        sent(one)
    assert str(raised.value) == (
        "no price is known for llama, and --convo-max-usd cannot hold without\n"
        "  set input and output in [bot.price], or [judge.price], in US dollars per million tokens"
    )
    assert one.spending.spent() == Spent()
    assert sent(one, Terms(prices=DEAR))


def test_a_cap_in_dollars_is_passed_by_what_is_in_flight_at_most(meter):
    one = meter(usd=0.02)
    in_flight = [sent(one, Terms(prices=DEAR)) for _ in range(3)]
    for call in in_flight:
        call.book(Usage(10, 2))

    with pytest.raises(CapReached, match=r"may spend \$0.02 and has spent \$0.042"):
        sent(one, Terms(prices=DEAR))


# -- limits


def test_requests_wait_for_their_turn(meter, clock):
    one, moments = meter(), []

    async def ask() -> None:
        await one.call(ASKED, Terms("a", requests_per_minute=60)).wait()
        moments.append(clock.now)

    async def session() -> None:
        await asyncio.gather(*(ask() for _ in range(5)))

    asyncio.run(session())
    assert moments == [100.0, 101.0, 102.0, 103.0, 104.0]


def test_servers_models_and_limits_do_not_wait_for_one_another(meter, clock):
    one = meter()
    slow = {"requests_per_minute": 1}
    sent(one, Terms("a", **slow))
    sent(one, Terms("b", **slow))
    sent(one, Terms("a", **slow), Request("mistral", ()))
    sent(one, Terms("a"))

    assert clock.now == 100.0


def test_the_password_of_an_address_is_written_nowhere(tmp_path, clock):
    ledger = SharedLedger(tmp_path / "shared")
    one = Meter(ledger, clock=clock, sleep=clock.sleep)
    sent(one, Terms("https://user:hunter2hunter2@host/v1 KEY", requests_per_minute=60)).book(Usage(1, 1))

    assert not any(b"hunter2" in file.read_bytes() for file in (tmp_path / "shared").iterdir())
    ledger.close()


def test_two_meters_of_one_session_share_the_limits(meter, clock):
    sent(meter(), Terms("a", requests_per_minute=60))
    sent(meter(), Terms("a", requests_per_minute=60))

    assert clock.now == 101.0


def test_tokens_are_guessed_first_and_then_counted(meter, clock):
    one, terms = meter(), Terms("a", tokens_per_minute=6000)
    sent(one, terms)  # 400 bytes and a few: about a hundred tokens, which is a second
    sent(one, terms)
    assert 101.0 <= clock.now < 101.2

    before = clock.now
    call = sent(one, terms)
    call.book(Usage(900, 100), Reply("a"))
    sent(one, terms)
    assert clock.now - before == pytest.approx(1.0 + 10.0, abs=0.2)


def test_one_who_is_cancelled_leaves_no_gap(meter, clock):
    one, terms = meter(), Terms("a", requests_per_minute=1)

    async def session() -> None:
        await one.call(ASKED, terms).wait()
        waiting = [asyncio.create_task(one.call(ASKED, terms).wait()) for _ in range(3)]
        for _ in range(5):
            await asyncio.sleep(0)
        for task in waiting[:2]:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

    asyncio.run(session())
    assert one.spending.spent().calls == 2
    assert clock.now == 160.0


def test_the_first_who_waits_is_the_first_who_is_sent(meter):
    one, order = meter(), []

    async def ask(number: int) -> None:
        await one.call(ASKED, Terms("a", requests_per_minute=60)).wait()
        order.append(number)

    async def session() -> None:
        await asyncio.gather(*map(ask, range(8)))

    asyncio.run(session())
    assert order == list(range(8))


def test_a_cap_that_is_reached_while_one_waits_ends_the_wait(meter, clock):
    one, terms = meter(calls=2), Terms("a", requests_per_minute=60)
    sent(one, terms)

    async def session() -> list[object]:
        return await asyncio.gather(*(one.call(ASKED, terms).wait() for _ in range(3)), return_exceptions=True)

    found = asyncio.run(session())
    assert [type(error) for error in found] == [type(None), CapReached, CapReached]
    assert clock.now == 101.0


def test_a_pause_of_the_session_holds_up_every_call(ledger, meter, monkeypatch):
    one = meter()
    waited = []

    async def wait() -> None:
        waited.append(True)

    monkeypatch.setattr(ledger, "wait", wait)
    sent(one)
    assert waited == [True]

    one.call(ASKED, Terms()).hold(60)
    assert ledger._pause_left() > 50
