from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.agreement.excerpt import excerpts
from pytest_convo.texts import one_line

BEGINNING = "Thank you for asking. Our policy is simple: every unopened tea can be sent back within "
texts = st.lists(st.text(alphabet="ab \n", max_size=300), max_size=5)


def test_a_short_text_is_shown_whole_on_one_line():
    assert excerpts(["  30\n days\tfrom\r\nnow "], 60) == ["30 days from now"]


def test_a_long_text_is_cut_between_words():
    assert excerpts([BEGINNING], 60) == ["Thank you for asking. Our policy is simple: every unopened…"]


def test_a_text_without_blanks_is_cut_anywhere():
    assert excerpts(["a" * 61], 60) == ["a" * 59 + "…"]


def test_long_texts_that_begin_alike_show_where_they_differ():
    assert excerpts([BEGINNING + "30 days.", BEGINNING + "45 days.", "No."], 60) == [
        "…sent back within 30 days.",
        "…sent back within 45 days.",
        "No.",
    ]


def test_a_text_that_only_goes_on_shows_its_end():
    assert excerpts([BEGINNING, BEGINNING + "30 days."], 60)[1] == "…be sent back within 30 days."


def test_texts_without_blanks_show_where_they_differ():
    assert excerpts(["a" * 80 + "b", "a" * 80 + "c"], 60) == ["…" + "a" * 20 + "b", "…" + "a" * 20 + "c"]


def test_nothing_makes_nothing():
    assert excerpts([], 60) == []
    assert excerpts([""], 60) == [""]


@given(texts, st.integers(12, 100))
def test_no_excerpt_is_wider_than_asked_and_each_stands_in_its_text(several, width):
    for text, excerpt in zip(several, excerpts(several, width), strict=True):
        assert len(excerpt) <= width
        assert excerpt.strip("…") in one_line(text)


@given(st.text("ab ", max_size=200), st.text("ab ", max_size=200), st.text("ab ", max_size=200), st.integers(12, 100))
def test_two_texts_that_differ_are_seen_to(beginning, one, other, width):
    pair = [beginning + one, beginning + other]
    shown = excerpts(pair, width)
    assert (shown[0] == shown[1]) == (one_line(pair[0]) == one_line(pair[1]))


def test_a_difference_near_the_beginning_is_seen_where_there_is_little_room():
    pair = ["Within 30 days, if it is unopened.", "Within 45 days, if it is unopened."]
    assert excerpts(pair, 24) == ["Within 30 days, if it…", "Within 45 days, if it…"]
