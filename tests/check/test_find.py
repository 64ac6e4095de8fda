from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.check.find import closest, most_like, spans


def test_every_place_is_found_without_overlap() -> None:
    assert list(spans("aa", "aaa aa")) == [(0, 2), (4, 6)]


@pytest.mark.parametrize(
    ("wanted", "text", "found"),
    [
        ("STRASSE", "die Straße hier", "Straße"),
        ("straße", "DIE STRASSE HIER", "STRASSE"),
        ("ΣΊΣΥΦΟΣ", "ο σίσυφος", "σίσυφος"),
        ("ffi", "e\ufb03cient", "\ufb03"),
    ],
)
def test_places_in_another_case_are_those_of_the_text_itself(wanted: str, text: str, found: str) -> None:
    [(start, end)] = spans(wanted, text, ignore_case=True)
    assert text[start:end] == found


@given(st.text("aAbBßſ", min_size=1, max_size=4), st.text("aAbBßſ", max_size=20))
def test_a_place_is_found_whenever_the_folded_text_is_in_the_other(wanted: str, text: str) -> None:
    places = list(spans(wanted, text, ignore_case=True))
    assert bool(places) is (wanted.casefold() in text.casefold())
    assert all(wanted.casefold() in text[start:end].casefold() for start, end in places)


def test_the_closest_passage_has_whole_words() -> None:
    text = "Please return it within thirty dayz of delivery."
    place = closest("within thirty days", text)
    assert place is not None
    assert text[slice(*place)] == "within thirty dayz"


@pytest.mark.parametrize(("wanted", "text"), [("zebra", "quick foul"), ("zebra", ""), ("x" * 50, "y")])
def test_nothing_is_close_to_what_is_quite_other(wanted: str, text: str) -> None:
    assert closest(wanted, text) is None


def test_a_text_longer_than_the_reply_can_be_close_to_it() -> None:
    assert closest("within thirty days of delivery", "thirty days") == (0, 11)


def test_the_search_in_a_huge_reply_is_bounded() -> None:
    assert closest("needle in a haystack", "hay " * 1_000_000 + "needle in a haystack!") is None


def test_the_most_like_of_several_texts() -> None:
    assert most_like("It is 41.", ["Certainly not.", "It is 42.", "It was so."]) == "It is 42."
