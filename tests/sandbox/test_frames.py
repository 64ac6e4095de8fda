from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.errors import SandboxError
from pytest_convo.sandbox.frames import STDERR, STDOUT, Frames

FRAMES = st.lists(st.tuples(st.sampled_from([STDOUT, STDERR]), st.binary(max_size=30)), max_size=8)


def wire(frames: list[tuple[int, bytes]]) -> bytes:
    return b"".join(struct.pack(">BxxxL", stream, len(payload)) + payload for stream, payload in frames)


@given(FRAMES, st.data())
def test_however_the_stream_is_cut_each_side_gets_its_own(frames: list[tuple[int, bytes]], data: st.DataObject) -> None:
    whole, parser = wire(frames), Frames()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=12)))
    chunks = [whole[start:end] for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]

    pieces = [piece for chunk in chunks for piece in parser.feed(chunk)]

    for stream in (STDOUT, STDERR):
        assert b"".join(p for s, p in pieces if s == stream) == b"".join(p for s, p in frames if s == stream)
    assert all(payload for _, payload in pieces)


def test_a_large_frame_is_passed_on_before_it_has_come_whole() -> None:
    parser = Frames()

    assert list(parser.feed(struct.pack(">BxxxL", STDERR, 2**32 - 1) + b"begin")) == [(STDERR, b"begin")]
    assert list(parser.feed(b"more")) == [(STDERR, b"more")]


@pytest.mark.parametrize("header", [b"HTTP/1.1", b"\x03\0\0\0\0\0\0\x01", b"\x01\0\0\x01\0\0\0\x01"])
def test_what_is_no_frame_is_an_error_that_shows_it(header: bytes) -> None:
    with pytest.raises(SandboxError, match="header of a frame"):
        list(Frames().feed(header))
