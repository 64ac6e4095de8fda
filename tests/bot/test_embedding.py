from __future__ import annotations

import asyncio
import math
import struct
import subprocess
import sys
from base64 import b64encode
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.bot.embedding import SimilarityModel, comparison, similarity
from pytest_convo.bot.endpoint import Endpoint
from pytest_convo.bot.factory import make_similarity_model
from pytest_convo.bot.metered import ManyAttempts, MeteredModel
from pytest_convo.bot.model import ChatModel
from pytest_convo.bot.price import Price, Prices
from pytest_convo.bot.vectors import Embedding, Vectors, cosine, read_embeddings
from pytest_convo.conversation.message import Message
from pytest_convo.conversation.reply import Reply, Usage
from pytest_convo.errors import CheckError, NoCredentials, NoRecording, ProviderError, SettingsError
from pytest_convo.prompt.request import Request
from pytest_convo.record.digest import body_of, digest
from pytest_convo.record.recording import RunRecording
from pytest_convo.redaction import Redactor
from pytest_convo.settings.model import Settings

# -- the cosine

numbers = st.floats(-1e30, 1e30).filter(lambda number: number == 0 or abs(number) > 1e-30)
vectors = st.lists(numbers, min_size=1, max_size=20).filter(any)


@pytest.mark.parametrize(
    "one, other, expected",
    [
        ([1, 0], [1, 0], 1),
        ([1, 0], [3, 0], 1),
        ([1, 0], [0, 2], 0),
        ([1, 0], [-1, 0], -1),
        ([1, 1], [1, 0], math.sqrt(0.5)),
        ([3, 4], [4, 3], 0.96),
    ],
)
def test_the_cosine_of_an_angle(one, other, expected):
    assert cosine(one, other) == pytest.approx(expected, abs=1e-12)


@given(st.data(), vectors, st.floats(0.01, 100))
def test_the_cosine_is_symmetric_bounded_and_minds_no_lengths(data, one, factor):
    other = data.draw(st.lists(numbers, min_size=len(one), max_size=len(one)).filter(any))
    alike = cosine(one, other)

    assert -1 <= alike <= 1
    assert cosine(other, one) == pytest.approx(alike)
    assert cosine([factor * number for number in one], other) == pytest.approx(alike, abs=1e-9)
    assert cosine(one, one) == pytest.approx(1)
    assert cosine(one, [-number for number in one]) == pytest.approx(-1)


@pytest.mark.parametrize(
    "one, other", [([], []), ([0, 0], [1, 0]), ([1, 0], [0, 0]), ([math.nan], [1]), ([math.inf], [1]), ([1], [1, 2])]
)
def test_what_has_no_angle_has_no_cosine(one, other):
    with pytest.raises(ValueError, match="vector"):
        cosine(one, other)


# -- a server

VECTORS = {"a": [1.0, 0.0, 0.0], "b": [0.6, 0.8, 0.0], "c": [0.0, 1.0, 0.0], "-a": [-1.0, 0.0, 0.0]}
USAGE = {"prompt_tokens": 3, "total_tokens": 3}


def listed(*vectors, usage=USAGE, **more):
    data = [{"object": "embedding", "index": index, "embedding": vector} for index, vector in enumerate(vectors)]
    return {"object": "list", "data": data, "model": "e-1", "usage": usage, **more}


@pytest.fixture
def embeds(server, make):
    """Have the server embed the texts that are in VECTORS."""
    server.answers = [lambda body: make.Answer.json(listed(*(VECTORS[text] for text in body["input"])))]
    return server


@pytest.fixture
def model(server, transport, patience):
    def made(vectors=None, **more):
        endpoint = Endpoint(**{"base_url": server.url, "transport": transport, "table": "embeddings", **more})
        return SimilarityModel(endpoint, vectors=vectors or Vectors(), **patience)

    return made


def ask(model, one, other):
    return model.complete(comparison("e", one, other))


@pytest.mark.asyncio
async def test_two_texts_are_embedded_at_once_and_compared(embeds, model):
    one = model()
    reply = await ask(one, "b", "a")

    assert isinstance(one, ChatModel)
    assert isinstance(one, ManyAttempts)
    assert (reply.text, reply.model, reply.attempts) == ("0.600000", "e-1", 1)
    assert reply.usage == reply.billed == Usage(3, 0)
    assert 0 < reply.seconds < 10
    assert embeds.requests == [{"model": "e", "input": ["a", "b"]}]
    assert embeds.paths == ["/v1/embeddings"]


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "one, other, text",
    [("a", "a", "1.000000"), ("a", "c", "0.000000"), ("c", "-a", "0.000000"), ("a", "-a", "-1.000000")],
)
async def test_the_figure_has_six_digits(embeds, model, one, other, text):
    pieces = []
    reply = await model().complete(comparison("e", one, other), pieces.append)

    assert reply.text == text
    assert pieces == [text]


@pytest.mark.asyncio
async def test_a_text_is_embedded_once(embeds, model):
    shared = Vectors()
    replies = [await ask(model(shared), *texts) for texts in ("ab", "bc", "ca", "cb")]

    assert [request["input"] for request in embeds.requests] == [["a", "b"], ["c"]]
    assert [reply.text for reply in replies] == ["0.600000", "0.800000", "0.000000", "0.800000"]
    assert [(reply.attempts, reply.usage, reply.model) for reply in replies[1:]] == [
        (1, Usage(3, 0), "e-1"),
        (0, Usage(), "e-1"),
        (0, Usage(), "e-1"),
    ]


@pytest.mark.asyncio
async def test_a_text_is_embedded_once_for_all_who_ask_at_once(embeds, model):
    one = model()
    await asyncio.gather(*(ask(one, first, second) for first in VECTORS for second in VECTORS))

    texts = [text for request in embeds.requests for text in request["input"]]
    assert sorted(texts) == sorted(VECTORS)


@pytest.mark.asyncio
async def test_who_waits_for_another_s_vector_asks_itself_where_that_one_gives_up(server, make, model):
    server.answers = [make.Answer([], hang=1), make.Answer.json(listed(VECTORS["a"], VECTORS["b"]))]
    one = model()
    first, second = asyncio.create_task(ask(one, "a", "b")), asyncio.create_task(ask(one, "b", "a"))
    while not server.requests:
        await asyncio.sleep(0.001)
    first.cancel()

    assert (await second).text == "0.600000"
    assert len(server.requests) == 2


@pytest.mark.asyncio
async def test_models_and_servers_have_vectors_of_their_own(embeds, model):
    shared = Vectors()
    await ask(model(shared), "a", "a")
    await model(shared).complete(comparison("other", "a", "a"))
    await ask(model(shared, base_url=embeds.url.replace("127.0.0.1", "localhost")), "a", "a")

    assert len(embeds.requests) == 3


def test_vectors_are_kept_as_long_as_there_is_room():
    kept, one = Vectors(2), Embedding(VECTORS["a"])
    a, b, c = (("http://x", "e", text) for text in "abc")
    kept.keep({a: one, b: one})
    assert set(kept.find([a])) == {a}
    kept.keep({c: one})

    assert set(kept.find([a, b, c])) == {a, c}


@pytest.mark.asyncio
async def test_room_for_one_vector_is_enough(embeds, model):
    assert (await ask(model(Vectors(1)), "a", "b")).text == "0.600000"


# -- what servers send


def packed(*numbers):
    return b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode()


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "answer",
    [
        listed([1, 0], [0.6, 0.8]),
        listed(packed(1, 0), packed(0.6, 0.8)),
        {**listed(), "data": [{"embedding": [1, 0]}, {"embedding": [0.6, 0.8]}]},
        {**listed(), "data": [{"index": 1, "embedding": [0.6, 0.8]}, {"index": 0, "embedding": [1, 0]}]},
        {"data": listed([1, 0], [0.6, 0.8])["data"]},
        listed([1e30, 0], [0.6e30, 0.8e30]),
    ],
)
async def test_what_can_be_compared_is(server, make, model, answer):
    server.answers = [make.Answer.json(answer)]

    reply = await ask(model(), "a", "b")
    assert reply.text == "0.600000"
    assert (reply.model, reply.usage) == (("e-1", Usage(3, 0)) if "usage" in answer else (None, None))


WRONG = [
    ({}, "no list of data"),
    ([], "it is not an object"),
    ({"data": "x"}, "no list of data"),
    (listed(), "0 for 2 texts"),
    (listed([1.0]), "1 for 2 texts"),
    (listed([1.0], [1.0], [1.0]), "3 for 2 texts"),
    ({"data": [1, 2]}, "0 for 2 texts"),
    ({"data": [{"index": 0, "embedding": [1]}] * 2}, "indexes are not those of the texts"),
    ({"data": [{"index": 1, "embedding": [1]}, {"index": 2, "embedding": [1]}]}, "indexes are not those of the texts"),
    ({"data": [{"index": [], "embedding": [1]}, {"index": 1, "embedding": [1]}]}, "unhashable"),
    ({"data": [{}, {}]}, "no vector"),
    (listed([], []), "an empty vector"),
    (listed("", ""), "an empty vector"),
    (listed(5, 5), "a vector of no numbers"),
    (listed([1.0, 0.0], [1.0]), "vectors of different lengths"),
    (listed([1.0, 0.0], [0.0, 0.0]), "a vector of zeros"),
    (listed([1.0, 0.0], [math.nan, 0.0]), "infinite or none"),
    (listed([1.0, 0.0], [1e300, 0.0]), "infinite or none"),
    (listed([10**400], [1.0]), "too large"),
    (listed(packed(1.0), packed(math.inf)), "infinite or none"),
    (listed(["x"], ["x"]), "must be real number, not str"),
    (listed([None], [None]), "must be real number, not NoneType"),
    (listed([[1.0]], [[1.0]]), "must be real number, not list"),
    (listed("AAA=", "AAA="), "bytes length not a multiple"),
    (listed("!", "!"), "no base64"),
]


@pytest.mark.asyncio
@pytest.mark.parametrize("answer, why", WRONG)
async def test_vectors_that_cannot_be_compared_are_an_error_and_kept_nowhere(server, make, model, answer, why):
    server.answers = [make.Answer.json(answer)]
    shared = Vectors()

    with pytest.raises(ProviderError, match=f"sent no embeddings .*{why}") as raised:
        await ask(model(shared), "a", "b")
    assert (raised.value.transient, len(server.requests)) == (False, 1)
    assert raised.value.hint == "check base_url in [embeddings]; it ends in /v1 as a rule"
    assert len(str(raised.value)) < 600
    server.answers = [make.Answer.json(listed(VECTORS["a"], VECTORS["b"]))]
    assert (await ask(model(shared), "a", "b")).text == "0.600000"


@pytest.mark.asyncio
async def test_a_model_that_was_exchanged_behind_its_name_is_an_error(server, make, model):
    server.answers = [make.Answer.json(listed([1.0])), make.Answer.json(listed([1.0, 0.0]))]
    one = model()
    await ask(one, "a", "a")

    with pytest.raises(ProviderError, match="embeds texts otherwise than before: vectors of 1 and of 2 numbers"):
        await ask(one, "a", "b")


@given(st.binary())
def test_bytes_are_embeddings_or_an_error(body):
    with pytest.raises(ProviderError):
        read_embeddings(body, 2, Endpoint().server)


# -- what goes wrong


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "status, body",
    [
        (400, {"error": {"code": "context_length_exceeded", "message": "too long"}}),
        (400, {"error": {"code": "content_filter", "message": "filtered"}}),
    ],
)
async def test_a_text_that_is_refused_says_nothing_about_the_bot(server, make, model, status, body):
    server.answers = [make.Answer.json(body, status)]

    with pytest.raises(ProviderError, match="answered 400") as raised:
        await ask(model(), "a", "b")
    assert "does not take a text" in raised.value.hint
    assert len(server.requests) == 1


@pytest.mark.asyncio
async def test_a_model_that_is_not_there_is_looked_for_in_embeddings(server, make, model):
    server.answers = [make.Answer.json({"error": {"message": "no such model"}}, 404)]

    with pytest.raises(ProviderError, match="no such model") as raised:
        await ask(model(), "a", "b")
    assert raised.value.hint == "check model and base_url in [embeddings]; a base_url ends in /v1 as a rule"


@pytest.mark.asyncio
async def test_what_may_pass_is_tried_again(embeds, make, model, clock):
    [whole] = embeds.answers
    embeds.answers = [make.Answer.json({}, 503, headers={"retry-after": "3"}), make.Answer([], raw=b""), whole]

    reply = await ask(model(), "a", "b")
    assert (reply.text, reply.attempts) == ("0.600000", 3)
    assert clock.slept[0] == 3.0


@pytest.mark.asyncio
async def test_without_an_address_and_a_key_nothing_is_sent(model):
    with pytest.raises(NoCredentials, match="MY_KEY is not set") as raised:
        await ask(model(base_url=None, variable="MY_KEY"), "a", "b")
    assert raised.value.hint == "export MY_KEY, or set base_url in [embeddings] for a local server"


class Meter:
    """Notes what it hears."""

    def __init__(self):
        self.heard = []
        self.terms = []

    def call(self, request, terms):
        self.terms.append(terms)
        return self

    async def wait(self):
        self.heard.append("sent")

    def hold(self, seconds):
        self.heard.append(seconds)

    def book(self, usage, reply=None):
        self.heard.append((usage, reply and reply.model))


@pytest.mark.asyncio
async def test_every_attempt_is_admitted_and_booked_and_none_that_was_not_made(embeds, make, model):
    from pytest_convo.bot.metered import Terms

    [whole] = embeds.answers
    embeds.answers = [make.Answer.json({}, 429, headers={"retry-after": "7"}), make.Answer.json({}), whole]
    meter = Meter()
    one = MeteredModel(model(), meter, Terms())

    with pytest.raises(ProviderError, match="no list of data"):
        await ask(one, "a", "b")
    await ask(one, "a", "b")
    await ask(one, "b", "a")
    assert meter.heard == ["sent", (Usage(), None), 7.0, "sent", (Usage(), None), "sent", (Usage(3, 0), "e-1")]


@pytest.mark.asyncio
async def test_who_waits_for_another_s_vector_does_not_use_up_its_time(server, make, model):
    from pytest_convo.bot.deadline import within

    go_on = asyncio.Event()

    class Gate(Meter):
        async def wait(self):
            await go_on.wait()

    async def limited():
        async with within(0.05):
            return await ask(one, "a", "b")

    server.answers = [make.Answer.json(listed(VECTORS["a"], VECTORS["b"]))]
    one = model()
    first = asyncio.create_task(one.complete_through(comparison("e", "a", "b"), None, Gate()))
    await asyncio.sleep(0)
    second = asyncio.create_task(limited())
    await asyncio.sleep(0.1)
    go_on.set()

    assert (await first).text == (await second).text == "0.600000"


# -- comparisons


class Says:
    def __init__(self, text):
        self.text = text
        self.asked = []

    async def complete(self, request, stream=None):
        self.asked.append(request)
        return Reply(self.text)


def test_a_comparison_is_no_question_to_a_bot():
    asked = comparison("e", "one", "other")

    assert [(message.role, message.text) for message in asked.messages] == [("user", "one"), ("user", "other")]
    chat = Request("e", (Message("user", "one"), Message("user", "other")))
    digests = {digest(body_of(request)) for request in (asked, chat, comparison("e", "other", "one"))}
    assert len(digests) == 3


@pytest.mark.parametrize("text, figure", [("0.834213", 0.834213), ("1.000000", 1.0), ("-0.5", -0.5), ("0", 0.0)])
def test_a_figure_is_read_back(text, figure):
    model = Says(text)

    assert asyncio.run(similarity(model, "e", "one", "other")) == figure
    assert model.asked == [comparison("e", "one", "other")]


@pytest.mark.parametrize("text", ["", "alike", "nan", "inf", "1.1", "-2", "0.5 or so", "x" * 1000])
def test_a_reply_that_is_no_similarity_is_an_error(text):
    with pytest.raises(CheckError, match="a number from -1 to 1, not '") as raised:
        asyncio.run(similarity(Says(text), "e", "one", "other"))
    assert len(str(raised.value)) < 300


@pytest.mark.parametrize("one, other, figure", [("", "tea", 0.0), ("tea", " \n", 0.0), ("", " ", 1.0)])
def test_nobody_is_asked_about_nothing(one, other, figure):
    model = Says("0.5")

    assert asyncio.run(similarity(model, "e", one, other)) == figure
    assert model.asked == []


@pytest.mark.asyncio
async def test_a_comparison_is_recorded_so_that_people_can_read_it_and_replayed(embeds, model, tmp_path):
    root = tmp_path / "__recordings__"

    def recording(mode):
        return RunRecording(root / "run-1.yaml", root, mode, Redactor())

    new = recording("new")
    alike = await similarity(new.around(model), "e", "a", "b")
    new.save()

    written = (root / "run-1.yaml").read_text()
    assert "0.600000" in written
    assert "compare: embedding" in written
    nobody = lambda: pytest.fail("asked though it is recorded")  # noqa: E731
    assert await similarity(recording("none").around(nobody), "e", "a", "b") == alike == 0.6
    with pytest.raises(NoRecording, match=r"e → other"):
        await similarity(recording("none").around(nobody), "other", "a", "b")


# -- as the settings have it


def made(environ=None, meter=None, **tables):
    return make_similarity_model(Settings(**tables), environ=environ or {}, meter=meter)


def endpoint(**tables):
    return made(**tables)._endpoint


def test_the_bot_s_server_and_key_are_those_of_embeddings_unless_they_say_otherwise():
    bot = {"base_url": "http://bot/v1", "api_key_env": "BOT_KEY", "retries": 2}
    environ = {"BOT_KEY": "bot's", "OWN_KEY": "own", "OPENAI_BASE_URL": "http://environment/v1"}
    as_bot = endpoint(environ=environ, bot=bot, embeddings={"model": "e"})
    own = {"model": "e", "base_url": "http://own/v1", "api_key_env": "OWN_KEY", "retries": 1}
    of_own = endpoint(environ=environ, bot=bot, embeddings=own)

    assert (as_bot.base_url, as_bot.server.key, as_bot.server.variable) == ("http://bot/v1", "bot's", "BOT_KEY")
    assert (of_own.base_url, of_own.server.key, of_own.server.variable) == ("http://own/v1", "own", "OWN_KEY")
    assert endpoint(environ=environ, embeddings={"model": "e"}).base_url == "http://environment/v1"
    retries = [made(bot=bot, embeddings=table)._retry.retries for table in ({"model": "e"}, own)]
    assert retries == [2, 1]


def test_a_scripted_bot_is_not_who_embeds():
    assert endpoint(bot={"provider": "scripted"}, embeddings={"model": "e"}).base_url is None


def test_without_a_model_there_is_none():
    with pytest.raises(SettingsError, match="no model is set to embed texts with") as raised:
        made(bot={"model": "gpt-4o"})
    assert "[embeddings]" in raised.value.hint


def test_what_embeds_has_prices_and_limits_of_its_own():
    meter = Meter()
    price = {"input": 1, "output": 0}
    bot = {"price": {"input": 5, "output": 9}}
    limits = {"requests_per_minute": 30}
    own = made(meter=meter, bot=bot, limits=limits, embeddings={"model": "e", "price": price})
    listed = made(meter=meter, bot=bot, embeddings={"model": "text-embedding-3-small"})
    here = made(meter=meter, embeddings={"model": "e", "base_url": "http://localhost:8080/v1"})

    assert own.terms.prices == Prices(Price(1, 0), embeds=True)
    assert own.terms.requests_per_minute == 30
    tariff = listed.terms.prices.of("text-embedding-3-small")
    assert tariff.cost(Usage(1_000_000, 0)) == pytest.approx(0.02)
    assert Prices(url="https://api.openai.com/v1").of("text-embedding-3-small") is None
    assert here.terms.prices.of("e") is None


def test_making_it_imports_no_sdk():
    program = """
import sys
from pytest_convo.bot.factory import make_similarity_model
from pytest_convo.settings.model import Settings
make_similarity_model(Settings(embeddings={"model": "e"}))
assert not {"openai", "httpx2", "jinja2", "yaml", "asyncio"} & sys.modules.keys()
"""
    subprocess.run([sys.executable, "-c", program], timeout=20, check=True, cwd=Path.cwd())
