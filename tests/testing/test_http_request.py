from __future__ import annotations

from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.testing.http_request import MAX_HEAD, BadRequest, RequestReader

WHOLE = (
    b"POST /a?b=c HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"
    b"POST /d HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\nA\r\n0123456789\r\n0\r\nTrailer: t\r\n\r\n"
    b"\r\nGET /e HTTP/1.0\r\n\r\n"
)


def read(*pieces, max_body=1000):
    continued, requests = [], []
    reader = RequestReader(lambda: continued.append(len(requests)), max_body)
    for piece in pieces:
        reader.feed(piece)
        while (request := reader.next()) is not None:
            requests.append(request)
    return requests


@given(st.lists(st.integers(0, len(WHOLE)), max_size=20))
def test_requests_are_the_same_wherever_the_bytes_are_cut(places):
    edges = [0, *sorted(places), len(WHOLE)]
    requests = read(*(WHOLE[start:end] for start, end in pairwise(edges)))
    assert [(request.method, request.path, request.body, request.last) for request in requests] == [
        ("POST", "/a", b"hello", False),
        ("POST", "/d", b"abc0123456789", False),
        ("GET", "/e", b"", True),
    ]


@given(st.binary(max_size=300))
def test_garbage_is_refused_or_waited_for_and_nothing_else(garbage):
    with suppress(BadRequest):
        read(garbage)


@pytest.mark.parametrize(
    "bytes_, status",
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n", 400),
        (b"GET /\r\n", 400),
        (b"GET  / HTTP/1.1\r\n", 400),
        (b"GET / HTTP/2.0\r\n", 505),
        (b"GET / HTTP/1.1\r\nno colon\r\n", 400),
        (b"GET / HTTP/1.1\r\na : b\r\n", 400),
        (b"GET / HTTP/1.1\r\na: b\r\n folded\r\n", 400),
        (b"GET / HTTP/1.1\r\na: b\0c\r\n", 400),
        (b"GET / HTTP/1.1\na: b\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 1_0\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501),
        (b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 501),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabcd\r\n", 400),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n", 413),
        (b"POST / HTTP/1.1\r\nContent-Length: 1001\r\n\r\n", 413),
        (b"GET /" + b"a" * 2 * MAX_HEAD, 414),
        (b"GET / HTTP/1.1\r\na: " + b"a" * 2 * MAX_HEAD, 431),
        (b"GET / HTTP/1.1\r\n" + b"a: bcdefgh\r\n" * MAX_HEAD, 431),
    ],
)
def test_what_is_no_acceptable_request_is_refused(bytes_, status):
    with pytest.raises(BadRequest) as caught:
        read(bytes_)
    assert caught.value.status == status


def test_a_client_that_waits_is_told_to_go_on_before_its_body_is_read():
    continued = []
    reader = RequestReader(lambda: continued.append(True))
    reader.feed(b"POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
    assert reader.next() is None
    assert continued == [True]
    reader.feed(b"ok")
    assert reader.next().body == b"ok"


def test_equal_headers_are_one_and_others_a_list():
    (request,) = read(b"GET / HTTP/1.1\r\nHost: x\r\nhost: x\r\nAccept: a\r\nAccept: b\r\n\r\n")
    assert request.headers == {"host": "x", "accept": "a, b"}


@pytest.mark.parametrize("header, last", [("close", True), ("keep-alive", False), ("Close, x", True)])
def test_the_client_may_ask_for_the_end_of_the_connection(header, last):
    (request,) = read(f"GET / HTTP/1.1\r\nConnection: {header}\r\n\r\n".encode())
    assert request.last is last
