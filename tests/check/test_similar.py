from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_convo.check.similar import Similar, similarity

if TYPE_CHECKING:
    from .conftest import Judge


@pytest.mark.parametrize(
    ("one", "other", "ratio"),
    [
        ("Return it within 30 days.", "return it WITHIN 30 days", 1.0),
        ("days 30 within", "within 30 days", 1.0),
        ("within 30 days", "You may return it within 30 days of delivery", 1.0),
        ("tea", "coffee", 0.22),
        ("", "coffee", 0.0),
    ],
)
def test_similarity_is_the_token_set_ratio(one: str, other: str, ratio: float) -> None:
    assert similarity(one, other) == pytest.approx(ratio, abs=0.005)


def test_the_least_similarity_itself_is_enough(judge: Judge) -> None:
    ratio = similarity("within 30 days", "within 20 days")
    assert judge.passes(Similar("within 30 days", ratio), "within 20 days")
    assert not judge.passes(Similar("within 30 days", ratio + 0.001), "within 20 days")


def test_what_is_too_far_off_names_the_words_that_are_missing(judge: Judge) -> None:
    assert judge.why(Similar("You may return it within 30 days."), "No returns, within reason.") == (
        "turn 1, similar: similarity 0.61 is below 0.8\n"
        '  the text: "You may return it within 30 days."\n'
        "  not in the reply: you may return it 30 days\n"
        "  the reply:\n"
        "    | No returns, within reason."
    )


def test_a_similarity_just_below_is_not_rounded_up_to_the_limit(judge: Judge) -> None:
    ratio = similarity("within 30 days", "within 20 days")
    assert f"{ratio:.6f} is below" in judge.why(Similar("within 30 days", ratio + 1e-5), "within 20 days")
