"""Draws by weight over HTTP: the server does not know the run, and the answers are fixed all the same."""

from __future__ import annotations

import http.client
import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_convo.testing import ScriptedReply, ScriptedServer

FUZZY = [ScriptedReply(text="good", weight=4), ScriptedReply(text="bad", weight=1)]


def asker(server):
    """A function that asks over a connection of its own and gives the text."""
    connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=5)

    def ask(text, **parameters):
        body = {"model": "m", "messages": [{"role": "user", "content": text}], **parameters}
        connection.request("POST", "/v1/chat/completions", json.dumps(body))
        response = json.loads(connection.getresponse().read())
        return response["choices"][0]["message"]["content"]

    ask.close = connection.close
    return ask


def ask_all(server, questions):
    ask = asker(server)
    answers = [(question, ask(question)) for question in questions]
    ask.close()
    return Counter(answers)


@settings(max_examples=15, deadline=None)
@given(st.integers(), st.permutations(["a"] * 5 + ["b"] * 7 + ["c"]))
def test_the_answers_to_equal_questions_are_fixed_whatever_the_order_of_arrival(seed, order):
    with ScriptedServer(FUZZY, seed=seed) as server:
        mixed = ask_all(server, order)
        server.reset()
        assert ask_all(server, sorted(order)) == mixed
    assert (mixed["a", "good"], mixed["a", "bad"]) == (4, 1)


def test_five_clients_at_once_get_exactly_four_good_answers(serve):
    server = serve(FUZZY, latency=0.01)
    askers = [asker(server) for _ in range(5)]
    with ThreadPoolExecutor(5) as pool:
        for question in map(str, range(20)):
            answers = Counter(pool.map(lambda ask, question=question: ask(question), askers))
            assert answers == {"good": 4, "bad": 1}
    for ask in askers:
        ask.close()


def test_the_seed_decides_which_of_them_is_the_rare_one(serve):
    def place(seed):
        with ScriptedServer(FUZZY, seed=seed) as server:
            ask = asker(server)
            answers = [ask("x") for _ in range(5)]
            ask.close()
            return answers.index("bad")

    assert len({place(seed) for seed in range(20)}) > 1
    assert place(7) == place(7)


@pytest.mark.parametrize("other", [{"temperature": 1}, {"model": "n"}])
def test_a_request_that_differs_in_anything_has_a_deck_of_its_own(serve, other):
    ask = asker(serve(FUZZY))
    for parameters in ({}, other):
        assert Counter(ask("x", **parameters) for _ in range(5)) == {"good": 4, "bad": 1}
    ask.close()


def test_whether_the_answer_is_streamed_makes_no_other_question(serve):
    ask = asker(serve(FUZZY))
    answers = [ask("x", stream=False) if number % 2 else ask("x") for number in range(5)]
    assert Counter(answers) == {"good": 4, "bad": 1}
    ask.close()
