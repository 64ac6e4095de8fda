from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.prompt.estimate import Estimator

count = Estimator().count

# Characters of every kind of pieces, so that joining them meets all of their borders.
TEXTS = st.text(st.sampled_from("abcXYZéß 01 \t\r\n.,=-_\"'{}я中かऐ한ع—→😀\ud83d\x00")) | st.text()


def test_nothing_is_no_token():
    assert count("") == 0


@pytest.mark.parametrize(
    ("text", "tokens"),  # what the dearest of cl100k, o200k, Qwen's and Tekken's count
    [
        ("The quick brown fox jumps over the lazy dog.", 10),
        ("def count(self, text: str) -> int:\n    return len(text)\n", 16),
        ('{"name": "get_weather", "parameters": {"type": "object"}}', 17),
        ("2026-11-22 03:42:17", 19),
        ("请根据以下对话内容，为客户写一封简短而礼貌的回复。", 29),
    ],
)
def test_it_errs_on_the_high_side(text, tokens):
    assert tokens <= count(text) <= 1.6 * tokens


@pytest.mark.parametrize("char", "=-# ")
def test_a_line_of_one_sign_is_not_a_token_for_each(char):
    assert count(char * 80) < 8


def test_half_a_surrogate_pair_is_counted():
    assert count("a\ud83db") >= 3


def test_every_character_but_a_blank_costs_something():
    assert [char for char in map(chr, range(0x11000)) if count(char) == 0] == [" "]


@given(TEXTS, TEXTS)
def test_a_blank_line_between_texts_costs_two_at_most(one, other):
    assert count(one + "\n\n" + other) <= count(one) + count(other) + 2


@given(TEXTS, TEXTS)
def test_a_longer_text_has_no_fewer_tokens(one, other):
    assert count(one + "\n\n" + other) >= max(count(one), count(other)) - 1


@given(TEXTS)
def test_another_estimator_says_the_same(text):
    assert Estimator().count(text) == count(text)


@pytest.mark.parametrize("unit", ["a", "A", " ", "\n", "=", "aB1", "é", "中", "😀", "=-", " \n", "0"])
def test_a_million_characters_take_no_longer_than_a_million_of_prose(unit):
    text = unit * (1_000_000 // len(unit))
    begin = time.perf_counter()
    count(text)

    assert time.perf_counter() - begin < 5
