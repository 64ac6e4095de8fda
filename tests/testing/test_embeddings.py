"""Embeddings of the scripted server, held against OpenAI's own client."""

from __future__ import annotations

import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.bot.vectors import cosine
from pytest_convo.testing import ScriptedReply
from pytest_convo.testing.embeddings import embed

HI = [ScriptedReply(text="hi")]


@pytest.mark.parametrize("options", [{}, {"encoding_format": "float"}, {"encoding_format": "base64"}])
def test_numbers_and_base64_are_the_same_vectors(serve, client_of, options):
    server = serve(HI)
    texts = ["green tea", "black tea", "Kaffee ✓"]
    answer = client_of(server).embeddings.create(model="m", input=texts, **options)

    assert [item.index for item in answer.data] == [0, 1, 2]
    if options.get("encoding_format") != "base64":
        for item, text in zip(answer.data, texts, strict=True):
            assert item.embedding == pytest.approx(embed(text))
    assert (answer.model, answer.usage.prompt_tokens, answer.usage.total_tokens) == ("m", 6, 6)
    assert server.requests[0].body["encoding_format"] == options.get("encoding_format", "base64")


def test_one_text_needs_no_list_and_dimensions_are_as_wanted(serve, client_of):
    answer = client_of(serve(HI)).embeddings.create(model="m", input="tea", dimensions=8)

    assert [len(item.embedding) for item in answer.data] == [8]


@pytest.mark.parametrize(
    "body, match",
    [
        ({"input": ""}, "cannot contain an empty text"),
        ({"input": []}, "at least one text"),
        ({"input": [1, 2]}, "at least one text"),
        ({"input": "x", "model": ""}, "a model parameter"),
        ({"input": "x", "encoding_format": "hex"}, "'encoding_format' is unknown"),
        ({"input": "x", "dimensions": 0}, "'dimensions' must be above 0"),
    ],
)
def test_what_the_api_refuses_is_refused(serve, client_of, body, match):
    with pytest.raises(openai.BadRequestError, match=match):
        client_of(serve(HI)).embeddings.create(**{"model": "m", **body})


def test_a_body_that_is_no_json_is_refused(serve, connect):
    client = connect(serve(HI))
    client.send(b"POST /v1/embeddings HTTP/1.1\r\nContent-Length: 1\r\n\r\n{")
    assert client.response()[0] == 400


def test_requests_are_kept_with_their_path_and_a_wrong_key_is_refused(serve, client_of):
    server = serve(HI, api_key="right-key")
    client = client_of(server, api_key="right-key")
    client.embeddings.create(model="m", input="tea")
    client.chat.completions.create(model="m", messages=[{"role": "user", "content": "tea"}])
    with pytest.raises(openai.AuthenticationError):
        client_of(server).embeddings.create(model="m", input="tea")

    paths = ["/v1/embeddings", "/v1/chat/completions", "/v1/embeddings"]
    assert [(request.path, request.status) for request in server.requests] == list(
        zip(paths, (200, 200, 401), strict=True)
    )
    assert server.in_flight == 0


@pytest.mark.parametrize(
    "one, other, least, most",
    [
        ("Green tea!", "tea, green", 1, 1),
        ("You may return it within 30 days.", "Within 30 days you may return it", 1, 1),
        ("You may return it within 30 days.", "You may return it within 14 days.", 0.8, 0.9),
        ("You may return it within 30 days.", "Steep the leaves for two minutes", 0, 0.2),
        ("✓✓", "✓✓", 1, 1),
        ("✓✓", "✗", 0, 0.1),
    ],
)
def test_texts_that_share_words_are_near(one, other, least, most):
    assert least - 1e-9 <= cosine(embed(one), embed(other)) <= most + 1e-9


@given(st.text(), st.integers(1, 64))
def test_every_text_is_a_vector_of_length_one(text, dimensions):
    vector = embed(text, dimensions)

    assert len(vector) == dimensions
    assert sum(number * number for number in vector) == pytest.approx(1)
