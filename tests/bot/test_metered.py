from __future__ import annotations

import asyncio

import pytest

from pytest_convo.bot.factory import make_model
from pytest_convo.bot.metered import MeteredModel, Terms
from pytest_convo.bot.openai import OpenAIModel
from pytest_convo.bot.price import FREE, Price, Prices
from pytest_convo.bot.retry import Retry
from pytest_convo.conversation.message import Message
from pytest_convo.conversation.reply import Reply, Usage
from pytest_convo.errors import CapReached, ContextOverflow, HarnessError, ProviderError
from pytest_convo.prompt.request import Request
from pytest_convo.settings.bots import BotSettings, LimitSettings

ASKED = Request("m", (Message("user", "Hello?"),))


class Meter:
    """Admits so many attempts and notes what it hears."""

    def __init__(self, admits: int = 100) -> None:
        self.admits = admits
        self.heard: list[object] = []
        self.held = 0.0
        self.terms: list[Terms] = []

    def call(self, request, terms):
        self.terms.append(terms)
        return self

    async def wait(self):
        if self.admits == 0:
            msg = "no more"
            raise CapReached(msg)
        self.admits -= 1
        self.heard.append("sent")

    def hold(self, seconds):
        self.held = seconds

    def book(self, usage, reply=None):
        self.heard.append(usage)


class Model:
    def __init__(self, *answers):
        self.answers = list(answers)

    async def complete(self, request, stream=None):
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer


@pytest.mark.parametrize(
    "reply, booked",
    [
        (Reply("a", usage=Usage(3, 4), billed=Usage(3, 4)), Usage(3, 4)),
        (Reply("a", usage=Usage(3, 4), billed=Usage(30, 40)), Usage(30, 40)),
        (Reply("a", usage=Usage(3, 4)), Usage(3, 4)),
        (Reply("a"), None),
    ],
)
def test_a_reply_is_admitted_once_and_booked_as_billed(reply, booked):
    meter = Meter()

    assert asyncio.run(MeteredModel(Model(reply), meter, Terms()).complete(ASKED)) is reply
    assert meter.heard == ["sent", booked]


@pytest.mark.parametrize(
    "error, booked",
    [
        (ProviderError("no", status=500), Usage()),
        (ContextOverflow("too long"), Usage()),
        (ProviderError("broke off"), None),
        (HarnessError("the application crashed"), None),
        (asyncio.CancelledError(), None),
    ],
)
def test_what_ends_in_an_error_is_booked_too(error, booked):
    meter = Meter()

    with pytest.raises(type(error)):
        asyncio.run(MeteredModel(Model(error), meter, Terms()).complete(ASKED))
    assert meter.heard == ["sent", booked]


def test_an_answer_that_is_no_reply_is_left_to_whoever_asked():
    meter = Meter()

    assert asyncio.run(MeteredModel(Model("yes"), meter, Terms()).complete(ASKED)) == "yes"
    assert meter.heard == ["sent", None]


def test_what_is_not_admitted_is_neither_sent_nor_booked():
    meter, model = Meter(0), Model(Reply("a"))

    with pytest.raises(CapReached):
        asyncio.run(MeteredModel(model, meter, Terms()).complete(ASKED))
    assert (meter.heard, len(model.answers)) == ([], 1)


def test_the_wait_at_the_gate_does_not_use_up_a_run_s_time():
    from pytest_convo.bot.deadline import within

    class Slow(Meter):
        async def wait(self):
            await asyncio.sleep(0.2)

    async def ask() -> str:
        async with within(0.1):
            return (await MeteredModel(Model(Reply("a")), Slow(), Terms()).complete(ASKED)).text

    assert asyncio.run(ask()) == "a"


def test_pieces_reach_whoever_listens():
    class Streaming:
        async def complete(self, request, stream=None):
            stream("a")
            return Reply("a")

    heard = []
    asyncio.run(MeteredModel(Streaming(), Meter(), Terms()).complete(ASKED, heard.append))
    assert heard == ["a"]


# -- a server


@pytest.fixture
def ask(server, clock):
    """One question to the server, metered; the errors it answers with are tried again twice."""

    async def asked(meter, *, stream=None):
        inner = OpenAIModel(base_url=server.url, retry=Retry(2, chance=lambda: 0.0, sleep=clock.sleep))
        return await MeteredModel(inner, meter, Terms()).complete(ASKED, stream)

    return asked


USAGE = {"prompt_tokens": 20, "completion_tokens": 5}


@pytest.mark.asyncio
async def test_every_attempt_is_admitted_and_booked(server, make, ask):
    meter = Meter()
    whole = make.Answer.json(make.completion({"content": "a"}, usage=USAGE))
    server.answers = [make.Answer.json({}, 503), make.Answer([], raw=b""), whole]

    assert (await ask(meter)).attempts == 3
    assert meter.heard == ["sent", Usage(), "sent", None, "sent", Usage(20, 5)]


@pytest.mark.asyncio
async def test_attempts_are_booked_when_none_succeeds(server, make, ask):
    meter = Meter()
    server.answers = [make.Answer.json({}, 503)]

    with pytest.raises(ProviderError, match="503"):
        await ask(meter)
    assert meter.heard == ["sent", Usage()] * 3


@pytest.mark.asyncio
async def test_a_cap_that_is_reached_between_attempts_ends_them(server, make, ask):
    meter = Meter(2)
    server.answers = [make.Answer.json({}, 503)]

    with pytest.raises(CapReached):
        await ask(meter)
    assert len(server.requests) == 2


@pytest.mark.asyncio
async def test_a_429_is_told_to_all_who_pass_the_meter(server, make, ask):
    meter = Meter()
    server.answers = [make.Answer.json({}, 429, headers={"retry-after": "7"}), make.Answer.text("a")]

    await ask(meter)
    assert meter.held == 7.0


@pytest.mark.asyncio
async def test_a_stream_that_breaks_off_is_booked_as_far_as_it_was_counted(server, make, ask):
    meter = Meter()
    broken = make.Answer.events(make.chunk({"content": "half"}, usage=USAGE), cut=True)
    uncounted = make.Answer.events(make.chunk({"content": "half"}), cut=True)
    whole = make.Answer.events(make.chunk({"content": "a"}, "stop", usage=USAGE), "[DONE]")
    server.answers = [broken, uncounted, whole]

    reply = await ask(meter, stream=[].append)
    assert meter.heard == ["sent", Usage(20, 5), "sent", None, "sent", Usage(20, 5)]
    assert (reply.usage, reply.billed) == (Usage(20, 5), Usage(40, 10))


@pytest.mark.asyncio
async def test_a_stream_that_is_asked_for_again_without_a_count_is_another_call(server, make, ask):
    meter = Meter()
    refusal = make.Answer.json({"error": {"message": "Unknown parameter: 'stream_options'"}}, 400)
    server.answers = [refusal, make.Answer.events(make.chunk({"content": "a"}, "stop"), "[DONE]")]

    await ask(meter, stream=[].append)
    assert meter.heard == ["sent", Usage(), "sent", None]

    meter = Meter(1)
    server.requests.clear()
    with pytest.raises(CapReached):
        await ask(meter, stream=[].append)
    assert len(server.requests) == 1


@pytest.mark.asyncio
async def test_a_call_that_is_cancelled_is_booked(server, make, ask):
    meter = Meter()
    counted = make.Answer.events(make.chunk({"content": "half"}, usage=USAGE), hang=1)
    server.answers = [make.Answer([], hang=1), counted]
    for pieces in (None, asyncio.Queue()):
        task = asyncio.create_task(ask(meter, stream=pieces and pieces.put_nowait))
        if pieces is not None:
            await pieces.get()
        while len(server.requests) < 1:
            await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert meter.heard == ["sent", None, "sent", Usage(20, 5)]


# -- on which terms


def terms(tmp_path, *, custom=None, limits=None, **settings):
    model = make_model(
        BotSettings(**settings), directory=tmp_path, environ={}, custom=custom, meter=Meter(), limits=limits
    )
    assert isinstance(model, MeteredModel)
    return model.terms


def test_models_come_metered_where_there_is_a_meter(tmp_path):
    assert isinstance(make_model(BotSettings(model="m"), directory=tmp_path, environ={}), OpenAIModel)
    (tmp_path / "script.toml").write_text('[[reply]]\ntext = "a"\n')

    assert terms(tmp_path, model="m").prices == Prices(url="https://api.openai.com/v1")
    assert terms(tmp_path, provider="scripted").prices == Prices(FREE)
    assert terms(tmp_path, custom=len).prices == Prices()
    assert terms(tmp_path, model="m", price={"input": 1, "output": 2}).prices == Prices(Price(1, 2))


def test_limits_are_those_of_a_server_and_a_key(tmp_path):
    limits = LimitSettings(requests_per_minute=30, tokens_per_minute=1000)
    found = [
        terms(tmp_path, model="m", limits=limits),
        terms(tmp_path, model="m", limits=limits, base_url="http://localhost:1/v1"),
        terms(tmp_path, model="m", limits=limits, api_key_env="OTHER_KEY"),
    ]
    assert {(one.requests_per_minute, one.tokens_per_minute) for one in found} == {(30, 1000)}
    assert len({one.server for one in found}) == 3
