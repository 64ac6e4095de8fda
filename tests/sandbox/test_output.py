from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.sandbox.output import HeadTail


@given(st.lists(st.binary(max_size=40), max_size=20), st.integers(0, 60))
def test_head_and_tail_are_kept_and_what_is_between_is_counted(chunks: list[bytes], kept: int) -> None:
    sink = HeadTail(kept)
    for chunk in chunks:
        sink.add(chunk)
    whole, half = b"".join(chunks), kept // 2

    assert sink.total == len(whole)
    assert sink.omitted == max(len(whole) - 2 * half, 0)
    if sink.omitted:
        between = f"\n[... {sink.omitted} bytes omitted ...]\n".encode()
        whole = whole[:half] + between + whole[len(whole) - half :]
    assert sink.text() == whole.decode("utf-8", "replace")


@given(st.text(max_size=50), st.integers(1, 7))
def test_a_character_that_comes_in_pieces_is_whole(text: str, size: int) -> None:
    data, sink = text.encode(), HeadTail(1000)
    for start in range(0, len(data), size):
        sink.add(data[start : start + size])

    assert sink.text() == text


def test_it_can_be_read_before_the_end() -> None:
    sink = HeadTail(4)
    sink.add(b"abcdef")

    assert sink.text() == "ab\n[... 2 bytes omitted ...]\nef"

    sink.add(b"gh")

    assert sink.text() == "ab\n[... 4 bytes omitted ...]\ngh"
