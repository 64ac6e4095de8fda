from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.check.approved import MODES, Approved, Mode, NothingApproved, alike, approved
from pytest_convo.conversation.message import Message

if TYPE_CHECKING:
    from .conftest import Judge


@pytest.mark.parametrize(
    ("mode", "text", "said"),
    [
        ("exact", "30 days.", "30 days."),
        ("exact", "30 days.\n", "30 days."),
        ("exact", "30 days.", "30 days.\n"),
        ("normalized", "Within **30** days.", "within 30\ndays."),
        ("json", '{"a": 1, "b": 2}', '{"b": 2.0, "a": 1}'),
        ("json", "[1]", "Gladly:\n```json\n[1]\n```"),
        ("json", "So:\n```\n[1]\n```\n", "[1]"),
        ("similar", "You may return it within 30 days.", "Within 30 days you may return it!"),
        ("similar", "within 30 days", "30 days, within"),
        ("similar", "👍", "👍"),
    ],
)
def test_passes_what_is_like_the_approved_reply(judge: Judge, mode: Mode, text: str, said: str) -> None:
    assert judge.passes(Approved(text, mode), said)
    assert alike(mode, text, said)


@pytest.mark.parametrize(
    ("mode", "text", "said"),
    [
        ("exact", "30 days.", "30 Days."),
        ("exact", "30 days.", "30 days.\n\n"),
        ("exact", "", " "),
        ("normalized", "30 days.", "45 days."),
        ("json", "[1, true]", "[1, 1]"),
        ("json", "[1]", "one"),
        ("similar", "You may return it within 30 days.", "No."),
    ],
)
def test_fails_what_is_not(judge: Judge, mode: Mode, text: str, said: str) -> None:
    reason = judge.why(Approved(text, mode), said)
    assert reason.endswith("\n  --snapshot-update approves the new answer")
    assert "[-approved-] {+said+}" in reason
    assert not alike(mode, text, said)


def test_shows_the_words_that_are_others(judge: Judge) -> None:
    assert judge.why(Approved("You have 30 days to return it."), "You have 45 days to return it.") == (
        "turn 1, approved: the reply is not the approved one: [-approved-] {+said+}\n"
        "    You have [-30-]{+45+} days to return it.\n"
        "  --snapshot-update approves the new answer"
    )


def test_shows_the_places_of_json(judge: Judge) -> None:
    assert judge.why(Approved('{"days": 30}', "json"), '{"days": 45}').split("\n")[:2] == [
        "turn 1, approved: the JSON is not that of the approved reply in one place: [-approved-] {+said+}",
        "    $.days: expected 30, got 45",
    ]


def test_says_how_far_off_the_reply_is(judge: Judge) -> None:
    reason = judge.why(Approved("You may return it within 30 days.", "similar"), "No returns, within reason.")
    assert reason.startswith("turn 1, approved: similarity 0.61 is below 0.8, to the approved reply: ")


@pytest.mark.parametrize("text", ["one", "[" * 100_000])
def test_an_approved_reply_that_is_no_json_is_an_error_not_a_failure(judge: Judge, text: str) -> None:
    reason = judge.error(Approved(text, "json"), "[1]")
    assert reason.startswith("turn 1, approved: the approved reply is no JSON: ")
    assert "--snapshot-update" in reason
    assert not alike("json", text, "[1]")


def test_without_an_approved_reply_it_fails(judge: Judge) -> None:
    assert judge.why(NothingApproved(), "30 days.") == (
        "turn 1, approved: no reply of this turn is approved yet\n"
        "  the reply:\n"
        "    | 30 days.\n"
        "  --snapshot-update approves the new answer"
    )


def test_the_check_is_made_of_the_message_that_stands_there() -> None:
    assert approved(None, "exact") == NothingApproved()
    assert approved(Message("assistant", "Yes."), "similar") == Approved("Yes.", "similar")
    parts = Message("assistant", [{"type": "text", "text": "Yes."}])
    assert approved(parts, "exact") == Approved("Yes.", "exact")


@given(st.text())
@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "json"])
def test_every_text_is_like_itself(mode: Mode, text: str) -> None:
    assert alike(mode, text, text)
