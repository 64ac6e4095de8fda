"""The scripted server on bare sockets: framing, garbage, and its end."""

from __future__ import annotations

import gc
import json
import re
import socket
import sys
import threading
import time
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_convo.errors import ConvoError
from pytest_convo.testing import ScriptedReply, ScriptedServer

HI = [ScriptedReply(text="hi")]


def test_a_connection_serves_one_request_after_the_other(serve, connect):
    client = connect(serve(HI))
    for _ in range(3):
        client.chat()
        status, body = client.response()
        assert (status, body["choices"][0]["message"]["content"]) == (200, "hi")


def test_requests_sent_ahead_are_answered_in_their_order(serve, connect):
    client = connect(serve(lambda request: ScriptedReply(text=request.messages[-1].text, latency=0.01)))
    for text in "abc":
        client.chat(text)
    client.chat("d", "Connection: close")
    texts = [client.response()[1]["choices"][0]["message"]["content"] for _ in range(4)]
    assert texts == list("abcd")
    assert client.rest() == b""


def test_much_that_is_sent_ahead_waits_its_turn(serve, connect):
    client = connect(serve([ScriptedReply(text="hi", latency=0.05)]))
    text = "x" * 50_000
    for _ in range(4):
        client.chat(text)
    assert [client.response()[0] for _ in range(4)] == [200] * 4


def test_a_chunked_body_is_read(serve, connect):
    server = serve(HI)
    client = connect(server)
    raw = json.dumps({"model": "m", "messages": [{"role": "user", "content": "ü"}]}, ensure_ascii=False).encode()
    client.send(b"POST /v1/chat/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n")
    for byte in raw:
        client.send(b"1\r\n%c\r\n" % byte)
    client.send(b"0\r\n\r\n")
    assert client.response()[0] == 200
    assert server.requests[0].raw == raw


def test_a_client_that_waits_for_leave_to_send_gets_it(serve, connect):
    client = connect(serve(HI))
    raw = b'{"model": "m", "messages": [{"role": "user", "content": "x"}]}'
    client.send(b"POST /v1/chat/completions HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(raw))
    assert client.until(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
    client.send(raw)
    assert client.response()[0] == 200


def test_http_1_0_gets_its_stream_up_to_the_end_of_the_connection(serve, connect):
    client = connect(serve(HI))
    raw = b'{"model": "m", "stream": true, "messages": [{"role": "user", "content": "x"}]}'
    client.send(b"POST /v1/chat/completions HTTP/1.0\r\nContent-Length: %d\r\n\r\n" % len(raw) + raw)
    head, body = client.rest().split(b"\r\n\r\n", 1)
    assert b"transfer-encoding" not in head
    assert body.startswith(b"data: {")
    assert body.endswith(b"data: [DONE]\n\n")


@pytest.mark.parametrize(
    "method, path, status",
    [
        ("GET", "/", 404),
        ("POST", "/chat/completions", 404),
        ("POST", "/v1/completions", 404),
        ("GET", "/v1/chat/completions", 405),
        ("GET", "/v1/embeddings", 405),
        ("POST", "/v1/models", 405),
        ("GET", "/v1/models?limit=3", 200),
    ],
)
def test_other_paths_and_methods_are_told_so(serve, connect, method, path, status):
    server = serve(HI)
    client = connect(server)
    client.send(f"{method} {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    answered, body = client.response()
    assert answered == status
    assert ("error" in body) is (status != 200)
    assert server.count == 0


def test_head_gets_no_body(serve, connect):
    client = connect(serve(HI))
    client.send(b"HEAD /v1/models HTTP/1.1\r\n\r\nGET /v1/models HTTP/1.1\r\nConnection: close\r\n\r\n")
    statuses = re.findall(rb"^HTTP/1.1 (\d+)", client.rest(), re.MULTILINE)
    assert statuses == [b"405", b"200"]


@pytest.mark.parametrize(
    "raw, param",
    [
        (b"", None),
        (b"not json", None),
        (b"\xff\xfe", None),
        (b"[1, 2]", None),
        (b"[" * 100_000, None),
        (b"{}", "model"),
        (b'{"model": "m", "messages": [{"role": "user"}]}', "messages[0].content"),
    ],
)
def test_a_body_that_is_no_chat_is_refused_in_the_apis_shape(serve, connect, raw, param):
    server = serve(HI)
    client = connect(server)
    client.post(raw)
    status, body = client.response()
    assert (status, body["error"]["param"], body["error"]["type"]) == (400, param, "invalid_request_error")
    assert [request.status for request in server.requests] == [400]
    client.chat()
    assert client.response()[0] == 200


def test_a_body_that_is_too_large_is_refused_before_it_is_sent(serve, connect):
    client = connect(serve(HI))
    client.send(b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n")
    assert client.response()[0] == 413
    assert client.rest() == b""


def test_half_a_surrogate_pair_comes_back_as_it_went(serve, connect):
    client = connect(serve(lambda request: request.messages[-1].text))
    client.chat("\ud83d!")
    assert client.response()[1]["choices"][0]["message"]["content"] == "\ud83d!"


@pytest.fixture(scope="module")
def garbled():
    with ScriptedServer(HI) as server:
        yield server


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200))
def test_garbage_is_refused_and_the_server_goes_on(garbled, garbage):
    port = int(garbled.url.split(":")[2].split("/")[0])
    with socket.create_connection(("127.0.0.1", port), timeout=5) as client:
        client.sendall(garbage + b"\r\n\r\n\r\n")
        client.shutdown(socket.SHUT_WR)
        answer = client.recv(65536)
        assert not answer or answer.startswith(b"HTTP/1.1 ")
    with socket.create_connection(("127.0.0.1", port), timeout=5) as client:
        client.sendall(b"GET /v1/models HTTP/1.1\r\n\r\n")
        assert client.recv(65536).startswith(b"HTTP/1.1 200")


def test_the_pieces_of_a_stream_come_one_after_the_other(serve, connect):
    client = connect(serve([ScriptedReply(pieces=["a", "b", "c"], pause=0.02)]))
    started = time.perf_counter()
    client.chat(stream=True)
    client.until(b'"content": "a"')
    assert client.until(b'"content": "c"').count(b"data: ") == 2
    assert time.perf_counter() - started >= 0.04
    client.until(b"data: [DONE]\n\n\r\n0\r\n\r\n")


def test_what_was_asked_is_kept_without_the_values_of_headers(serve, connect):
    server = serve(HI)
    client = connect(server)
    client.chat("hello", "Authorization: Bearer secret-value", "X-Mine: 1", temperature=0)
    client.response()
    (request,) = server.requests
    assert request.body == {"model": "m", "messages": [{"role": "user", "content": "hello"}], "temperature": 0}
    assert request.header_names == ("host", "content-length", "authorization", "x-mine")
    assert "secret-value" not in repr(request)


def test_no_more_requests_are_kept_than_asked_for(serve, connect):
    server = serve(lambda request: "hi", keep=2)
    client = connect(server)
    for text in "abc":
        client.chat(text)
        client.response()
    assert server.count == 3
    assert [request.body["messages"][0]["content"] for request in server.requests] == ["b", "c"]


def test_reset_starts_anew(serve, connect):
    server = serve([ScriptedReply(text="once", times=1)])
    client = connect(server)
    statuses = []
    for turn in range(3):
        client.chat()
        statuses.append(client.response()[0])
        if turn == 1:
            server.reset()
            assert (server.count, server.requests, server.in_flight_max) == (0, [], 0)
    assert statuses == [200, 410, 200]
    assert server.count == 1


@pytest.mark.parametrize("stream", [False, True])
def test_stopping_breaks_off_what_hangs_and_leaves_no_thread(connect, stream):
    before = threading.active_count()
    server = ScriptedServer([ScriptedReply(pieces=["a", "b"], latency=0 if stream else 60, pause=60)]).start()
    clients = [connect(server) for _ in range(100)]
    for client in clients:
        client.chat(stream=stream)
    if stream:
        for client in clients:
            client.until(b"\r\n\r\n")
    deadline = time.monotonic() + 5
    while server.in_flight < 100 and time.monotonic() < deadline:
        time.sleep(0.005)
    assert server.in_flight_max == 100
    started = time.perf_counter()
    server.stop()
    assert time.perf_counter() - started < 4
    assert threading.active_count() == before
    assert server.in_flight == 0
    for client in clients:
        assert b"DONE" not in client.rest()
    server.stop()


def test_stopping_while_clients_connect_leaves_no_socket_open():
    def connect(port, opened):
        with suppress(ConnectionError):
            opened.extend(socket.create_connection(("127.0.0.1", port), timeout=5) for _ in range(3))

    opened = []
    for _ in range(30):
        server = ScriptedServer(HI).start()
        thread = threading.Thread(target=connect, args=(int(server.url.split(":")[2].split("/")[0]), opened))
        thread.start()
        server.stop()
        thread.join()
    for client in opened:
        client.close()
    with pytest.MonkeyPatch.context() as patch:
        leaked = []
        patch.setattr(sys, "unraisablehook", leaked.append)
        gc.collect()
    assert leaked == []


def test_a_stopped_server_refuses_connections_and_may_start_again(connect):
    server = ScriptedServer(HI).start()
    client = connect(server)
    port = client.socket.getpeername()[1]
    server.stop()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=1)
    with server:
        again = connect(server)
        again.chat()
        assert again.response()[0] == 200


def test_a_server_that_does_not_run_has_no_url_and_cannot_run_twice(serve):
    with pytest.raises(RuntimeError, match=r"call start\(\)"):
        _ = ScriptedServer(HI).url
    with pytest.raises(RuntimeError, match="already running"):
        serve(HI).start()


def test_a_port_that_is_taken_is_an_os_error(serve):
    taken = int(serve(HI).url.split(":")[2].split("/")[0])
    with pytest.raises(OSError, match="in use"):
        ScriptedServer(HI, port=taken).start()


def test_a_chunk_without_bytes_is_a_mistake():
    with pytest.raises(ValueError, match="chunk_size must be at least 1"):
        ScriptedServer(HI, chunk_size=0)


def test_a_bad_script_is_told_before_anything_listens(tmp_path):
    with pytest.raises(ConvoError, match="there is no script"):
        ScriptedServer(tmp_path / "script.toml")
