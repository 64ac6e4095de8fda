from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.bot.sse import Decoder, Event


def decoded(*pieces: bytes) -> list[Event]:
    decoder = Decoder()
    return [event for piece in pieces for event in decoder.feed(piece)]


@pytest.mark.parametrize(
    "text, events",
    [
        (b"data: one\n\n", [Event(b"one")]),
        (b"data:one\n\n", [Event(b"one")]),
        (b"data:  one\n\n", [Event(b" one")]),
        (b"data: one\r\n\r\ndata: two\r\n\r\n", [Event(b"one"), Event(b"two")]),
        (b"data: one\r\rdata: two\r\r.", [Event(b"one"), Event(b"two")]),
        (b"data: one\ndata: two\n\n", [Event(b"one\ntwo")]),
        (b"\xef\xbb\xbfdata: one\n\n", [Event(b"one")]),
        (b": a comment\n\ndata: one\n\n", [Event(b"one")]),
        (b"id: 7\nretry: 5\nnothing\ndata: one\n\n", [Event(b"one")]),
        (b"event: error\ndata: {}\n\ndata: one\n\n", [Event(b"{}", b"error"), Event(b"one")]),
        (b'error: {"code": 500}\n\n', [Event(b'{"code": 500}', b"error")]),
        (b"data:\n\ndata: \n\n", []),
        (b"data: not ended\n", []),
        (b" data: a space before the name\n\n", []),
        (b"data: [DONE]\n", [Event(b"[DONE]")]),
        (b"data: [DONE]\n\n", [Event(b"[DONE]")]),
        (b'data: "[DONE]"\n\n', [Event(b'"[DONE]"')]),
        (b"data: a line with \xe2\x80\xa8 a separator\n\n", [Event(b"a line with \xe2\x80\xa8 a separator")]),
    ],
)
def test_events_of_a_stream(text, events):
    assert events == decoded(text)


@pytest.mark.parametrize("rest, done", [(b"data: [DONE]", 1), (b"data:[DONE]\r", 1), (b"data: [DONE", 0), (b"", 0)])
def test_the_end_of_the_bytes_completes_only_the_last_word(rest, done):
    decoder = Decoder()

    assert list(decoder.feed(rest)) == []
    assert bool(done) == decoder.done_at_end


TEXTS = st.lists(st.sampled_from([b"data: x", b"data: [DONE]", b"", b":c", b"event: e", b"\xc3\xa9: 1"]), max_size=12)
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])


@given(TEXTS, ENDS, st.data())
def test_how_the_bytes_are_cut_changes_nothing(lines, end, data):
    whole = end.join([*lines, b"data: last", b"", b"."])
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    pieces = [whole[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(whole)], strict=True)]

    assert decoded(whole) == decoded(*pieces)
