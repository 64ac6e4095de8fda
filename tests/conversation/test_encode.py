from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.conversation.encode import Unwritable, encode
from pytest_convo.conversation.text import read_text

TEXTS = st.lists(
    st.one_of(st.text(max_size=8), st.sampled_from(["\n", "\r", "\r\n", "\ufeff", " ", "\x85", "é"])), max_size=6
).map("".join)


@given(TEXTS)
def test_it_is_read_as_exactly_the_text(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.getbasetemp() / "0001_assistant.md"
    try:
        path.write_bytes(encode(text))
    except Unwritable:
        assert "\0" in text
    else:
        assert read_text(path) == text


@pytest.mark.parametrize(("answer", "why"), [("a\0", "a NUL"), ("\udc80", "half of a surrogate pair")])
def test_what_it_cannot_is_refused_in_words(answer: str, why: str) -> None:
    with pytest.raises(Unwritable, match=why):
        encode(answer)


def test_an_ordinary_answer_ends_in_one_newline() -> None:
    assert encode("Yes.") == b"Yes.\n"
