from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.conversation.message import Message, ToolCall
from pytest_convo.prompt.talk import LENGTHS, Talk, shortened, split, spoken, standing
from tests.prompt.conftest import IMAGE, said

ROLES = {"s": "system", "u": "user", "a": "assistant", "t": "tool"}


def messages(letters):
    return [Message(ROLES[letter], letter) for letter in letters]


def letters(pieces):
    return ["".join(message.content for message in piece) for piece in pieces]


@pytest.mark.parametrize(
    ("history", "loop", "turns", "question", "steps"),
    [
        ("u", "", [], "u", []),
        ("uaua", "", ["ua"], "u", ["a"]),
        ("uau", "", ["ua"], "u", []),
        ("auau", "", ["a", "ua"], "u", []),
        ("suasu", "", ["suas"], "u", []),
        ("uauusu", "", ["ua"], "uusu", []),
        ("uatatau", "at", ["uatata"], "u", ["at"]),
        ("u", "attats", [], "u", ["att", "ats"]),
        ("u", "auaua", [], "u", ["au", "au", "a"]),
        ("uauat", "a", ["ua"], "u", ["at", "a"]),
        ("uat", "uau", [], "u", ["atu", "au"]),
        ("", "at", [], "", ["at"]),
        ("a", "", [], "", ["a"]),
        ("s", "", [], "s", []),
        ("", "", [], "", []),
    ],
)
def test_pieces(history, loop, turns, question, steps):
    talk = split(messages(history), messages(loop))

    assert (letters(talk.turns), *letters([talk.question]), letters(talk.steps)) == (turns, question, steps)


def flat(talk):
    return [message for piece in (*talk.turns, talk.question, *talk.steps) for message in piece]


@given(st.lists(st.sampled_from("suat")), st.lists(st.sampled_from("suat")))
def test_every_message_is_in_one_piece_and_in_order(history, loop):
    talk = split(messages(history), messages(loop))

    assert flat(talk) == messages(history) + messages(loop)
    assert all((*talk.turns, *talk.steps))


@given(said())
def test_a_piece_has_the_results_of_its_calls(said):
    talk = split(*said)
    for piece in (*talk.turns, talk.question, *talk.steps):
        calls = sorted(call.id for message in piece for call in message.tool_calls)
        assert calls == sorted(message.tool_call_id for message in piece if message.role == "tool")


@given(said())
def test_what_was_said_later_moves_no_earlier_turn(said):
    before, after = split(said.history), split([*said.history, Message("assistant", "a"), Message("user", "u")])

    assert after.turns[: len(before.turns)] == before.turns


@given(said())
def test_what_stands_and_what_is_spoken_is_all(said):
    stand, spoke = standing(said.history), spoken(said.history)

    assert len(stand) + len(spoke) == len(said.history)
    assert {message.role for message in stand} <= {"system"}
    assert "system" not in {message.role for message in spoke}


def test_a_result_is_cut_in_its_middle_and_says_so():
    (message,) = shortened((Message("tool", "a" * 600 + "b" * 600, tool_call_id="c"),), 300)

    notice = "\n[900 characters were left out here, to fit the token budget]\n"
    assert message == Message("tool", "a" * 200 + notice + "b" * 100, tool_call_id="c")


@pytest.mark.parametrize(
    "message",
    [
        Message("user", "x" * 5000),
        Message("assistant", "x" * 5000, tool_calls=(ToolCall("c", "look"),)),
        Message("tool", None),
        Message("tool", "x" * 1000),
        Message("tool", "x" * 1010),
        Message("tool", [IMAGE]),
    ],
)
def test_other_messages_and_short_results_stay(message):
    assert shortened((message,), 1000) == (message,)


@given(st.text(min_size=240, max_size=3000), st.sampled_from(LENGTHS))
def test_a_result_never_becomes_longer(text, most):
    (message,) = shortened((Message("tool", text),), most)

    assert message.content == text or (len(message.content) < len(text) and "were left out here" in message.content)
    assert len(message.content) <= most + 80


def test_nothing_said_is_nothing_to_send():
    assert split(()) == Talk((), (), ())
