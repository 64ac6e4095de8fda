from __future__ import annotations

import pytest

from pytest_convo.bot.script_answer import answer_with, last_asked
from pytest_convo.bot.script_reply import ReplyError, ScriptedReply
from pytest_convo.conversation.reply import Usage

ASKED = [{"role": "system", "content": "You sell tea."}, {"role": "user", "content": "Where is order A17?"}]


def answered(reply, messages=ASKED):
    return answer_with(reply, reply.pattern and reply.pattern.search(last_asked(messages)), messages)


@pytest.mark.parametrize(
    "fields, what",
    [
        ({}, "needs text, pieces, calls or error"),
        ({"text": 5}, "text must be a text"),
        ({"text": "a", "when": "("}, "not a regular expression"),
        ({"text": "a", "when": "a{99999999999999}"}, "not a regular expression"),
        ({"text": "a", "when": 3}, "when must be"),
        ({"text": "a", "weight": 0}, "weight must be a number above 0"),
        ({"text": "a", "weight": -1}, "weight must be"),
        ({"text": "a", "weight": True}, "weight must be"),
        ({"text": "a", "weight": float("nan")}, "weight must be"),
        ({"text": "a", "times": 0}, "times must be a whole number above 0"),
        ({"text": "a", "times": 1.5}, "times must be"),
        ({"error": 200}, "error must be an HTTP status"),
        ({"error": "429"}, "error must be"),
        ({"text": "a", "latency": -1}, "latency must be"),
        ({"text": "a", "latency": float("inf")}, "latency must be"),
        ({"text": "a", "finish_reason": ""}, "finish_reason must be"),
        ({"pieces": [""]}, "pieces must be"),
        ({"text": "a", "pieces": 0}, "pieces must be"),
        ({"text": "a", "cut": -1}, "cut must be"),
        ({"text": "a", "malformed": "yes"}, "malformed must be"),
        ({"text": "a", "usage": 3}, "usage must be"),
        ({"text": "a", "usage": Usage(-1, 2)}, "usage must be"),
        ({"calls": [{"arguments": {}}]}, "calls must be"),
        ({"calls": [{"name": "f", "args": {}}]}, "calls must be"),
        ({"calls": "f"}, "calls must be"),
        ({"text": "a", "pieces": ["a"]}, "exclude each other"),
        ({"text": "a", "times": 1, "weight": 1}, "exclude each other"),
        ({"text": "a", "cut": 1, "malformed": True}, "exclude each other"),
        ({"error": 500, "calls": [{"name": "f"}]}, "no place beside error"),
        ({"error": 500, "cut": 0}, "no place beside error"),
        ({"text": "a", "retry_after": 1}, "needs error beside it"),
        ({"text": "a", "code": "x"}, "needs error beside it"),
        ({"text": r"\2", "when": "(a)"}, "no such group"),
        ({"when": "(a)", "calls": [{"name": "f", "arguments": {"x": [r"\g<b>"]}}]}, "no such group"),
    ],
)
def test_what_no_reply_can_be_is_refused(fields, what):
    with pytest.raises(ReplyError, match=what):
        ScriptedReply(**fields)


def test_an_error_may_come_late_and_with_its_wishes():
    reply = ScriptedReply(error=429, text="slow down", retry_after=0, latency=1, code="busy", times=2)
    assert answered(reply).error == {
        "error": {"message": "slow down", "type": "rate_limit_error", "param": None, "code": "busy"}
    }
    assert answered(reply).error_headers == {"retry-after": "0"}


@pytest.mark.parametrize(
    "when, text, filled",
    [
        (r"order (\w+)", r"Your \1.", "Your A17."),
        (r"order (?P<id>\w+)", r"Your \g<id>, \g<1>.", "Your A17, A17."),
        (r"order (\w+)", r"C:\new\1", r"C:\newA17"),
        (r"(invoice)|order", r"[\1]", "[]"),
        (r"order", r"\1 stays", r"\1 stays"),
        (None, r"\1 stays", r"\1 stays"),
    ],
)
def test_references_stand_for_the_groups_of_when_and_nothing_else_is_touched(when, text, filled):
    assert answered(ScriptedReply(when=when, text=text)).text == filled


def test_references_are_filled_in_arguments_and_pieces_too():
    call = {"name": "look", "arguments": {"id": r"\1", "deep": [{"x": r"<\1>"}], "n": 3}}
    reply = ScriptedReply(when=r"order (\w+)", pieces=[r"\1", "!"], calls=[call])
    assert answered(reply).pieces == ("A17", "!")
    assert answered(reply).calls[0].parsed() == {"id": "A17", "deep": [{"x": "<A17>"}], "n": 3}


@pytest.mark.parametrize(
    "pieces, expected",
    [(None, ("Tea ", "is\n", "warm.")), (4, ("Tea ", "is\nw", "arm.")), (100, ("Tea is\nwarm.",))],
)
def test_the_pieces_are_the_text(pieces, expected):
    assert answered(ScriptedReply(text="Tea is\nwarm.", pieces=pieces)).pieces == expected


def test_an_empty_text_has_no_pieces():
    assert answered(ScriptedReply(text="")).pieces == ()


def test_calls_are_numbered_through_the_conversation():
    reply = ScriptedReply(calls=[{"name": "f"}, {"name": "g", "arguments": "{not json", "id": "mine"}])
    before = [*ASKED, {"role": "assistant", "tool_calls": [{}, {}]}, {"role": "tool", "content": "x"}]
    calls = answered(reply, before).calls
    assert [(call.id, call.name, call.arguments) for call in calls] == [
        ("call_3", "f", "{}"),
        ("mine", "g", "{not json"),
    ]


@pytest.mark.parametrize(
    "fields, reason",
    [
        ({"text": "a"}, "stop"),
        ({"calls": [{"name": "f"}]}, "tool_calls"),
        ({"text": "a", "finish_reason": "length"}, "length"),
    ],
)
def test_the_finish_reason_is_the_one_that_fits(fields, reason):
    assert answered(ScriptedReply(**fields)).finish_reason == reason


def test_tokens_are_words_unless_the_script_says_otherwise():
    assert answered(ScriptedReply(text="on its way")).usage == Usage(7, 3)
    assert answered(ScriptedReply(text="on its way", usage=Usage(100, 20, 50))).usage == Usage(100, 20, 50)


def test_the_message_asked_is_the_last_of_the_user_or_a_tool_and_of_parts_the_text():
    parts = [{"type": "text", "text": "a"}, {"type": "image_url"}, {"type": "text", "text": "b"}]
    assert last_asked([{"role": "user", "content": parts}, {"role": "assistant", "content": "c"}]) == "a\nb"
    assert last_asked([{"role": "user", "content": "a"}, {"role": "tool", "content": "t"}]) == "t"
    assert last_asked([{"role": "system", "content": "a"}]) == ""
