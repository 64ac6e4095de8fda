from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.texts import clip, flat, printable, visible, word_diff


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text, Grüße, 漢字, 👍", "plain text, Grüße, 漢字, 👍"),
        ("30\u00a0days", r"30\xa0days"),
        ("30\u202fdays", r"30\u202fdays"),
        ("\ufeffzero\u200bwidth", r"\ufeffzero\u200bwidth"),
        ("tab\tand\r\nline", "tab\\tand\\r\nline"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("half \ud800 pair", r"half \ud800 pair"),
        ("می\u200cخواهم 👨\u200d👩\u200d👧", "می\u200cخواهم 👨\u200d👩\u200d👧"),
    ],
)
def test_what_cannot_be_seen_is_escaped(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_flat_text_is_one_line() -> None:
    assert flat("one\ntwo") == r"one\ntwo"


def test_a_long_text_keeps_its_head_and_its_tail() -> None:
    assert clip("a" * 50 + "b" * 1000 + "c" * 50, 90) == "a" * 50 + "b" * 10 + " …1,010 more characters… " + "c" * 30


@given(st.text(max_size=300), st.integers(40, 200))
def test_a_clipped_text_is_bounded_and_a_short_one_untouched(text: str, limit: int) -> None:
    clipped = clip(text, limit)
    assert len(clipped) <= limit + 40
    assert clipped == text or len(text) > limit


@pytest.mark.parametrize(
    ("wanted", "text", "diff"),
    [
        ("The answer is 42.", "The answer is 41.", "The answer is [-42-]{+41+}."),
        ("one two three", "one three", "one [-two -]three"),
        ("one three", "one two three", "one {+two +}three"),
        ("a b", "a\u00a0b", r"a[- -]{+\xa0+}b"),
        ("a\nb", "a\nc", "a\n[-b-]{+c+}"),
    ],
)
def test_a_word_diff_shows_both_sides(wanted: str, text: str, diff: str) -> None:
    assert word_diff(wanted, text) == diff


def test_a_word_diff_of_long_texts_starts_shortly_before_the_difference() -> None:
    common = "word " * 5000
    diff = word_diff(common + "here it ends", common + "here it goes on")
    assert diff.startswith("…")
    assert "[-ends-]{+goes on+}" in diff
    assert len(diff) < 100


def test_a_word_diff_of_quite_other_texts_is_bounded() -> None:
    assert len(word_diff("tea " * 50_000, "coffee and milk " * 50_000)) < 20_000


@pytest.mark.parametrize(
    "text, shown",
    [
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("a\x00b\x07", "a\\x00b\\x07"),
        ("\ud83d", "\\ud83d"),
        ("\x9b2J", "\\x9b2J"),
        ("👩\u200d🚀 30\u00a0€", "👩\u200d🚀 30\u00a0€"),
        ("one\r\n\ttwo\rthree", "one\n    two\nthree"),
    ],
)
def test_nothing_that_steers_a_terminal_is_shown(text, shown):
    assert printable(text) == shown


@given(st.text())
def test_what_is_printable_can_be_encoded_and_stays_so(text):
    shown = printable(text)
    shown.encode()
    assert printable(shown) == shown
