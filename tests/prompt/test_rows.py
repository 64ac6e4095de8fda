from __future__ import annotations

import re
from textwrap import dedent

from hypothesis import given, settings

from pytest_convo.conversation.message import Message, ToolCall
from pytest_convo.prompt.build import build
from pytest_convo.prompt.fit import Summarizing
from pytest_convo.prompt.part import Part
from pytest_convo.prompt.request import ToolSpec
from pytest_convo.prompt.source import Context
from pytest_convo.prompt.table import SENT, Row, lines
from tests.prompt.conftest import CASES, Case, Said, budget, fits, gauge, made, tight


def sent(rows):
    return sum(row.tokens for row in rows if row.status in SENT and row.section != "reserve")


def numbers(rows, word):
    """The turns or steps that rows are of, by their numbers."""
    for row in rows:
        if row.section != "summary" and (found := re.fullmatch(rf"{word}s? (\d+)(?:-(\d+))?", row.name)):
            yield from range(int(found[1]), int(found[2] or found[1]) + 1)


@given(tight())
@settings(deadline=None, max_examples=50)
def test_the_tokens_that_are_sent_add_up_to_the_whole(tight):
    if built := fits(*tight):
        assert sent(built.rows) == built.tokens


@given(tight())
@settings(deadline=None, max_examples=50)
def test_each_piece_has_one_row(tight):
    if built := fits(*tight):
        talk, rows = built.material.talk, built.rows
        assert list(numbers(rows, "turn")) == [*range(1, len(talk.turns) + 1)]
        assert list(numbers(rows, "step")) == [*range(1, len(talk.steps) + 1)]
        assert [row.name for row in rows if row.section == "context"] == [one.name for one in tight[0].context]
        assert [row.name for row in rows if row.section == "system"] == [part.name for part in tight[0].parts]
        assert [row.name for row in rows if row.section == "summary"] == list(map(str, built.texts))


@given(tight())
@settings(deadline=None, max_examples=50)
def test_what_became_of_a_turn_is_what_was_done_with_it(tight):
    if built := fits(*tight):
        gone = len(built.material.talk.turns) - len(built.selection.turns)
        covered = [turn for block in built.selection.summaries for turn in range(block.first, block.last + 1)]
        for row in built.rows:
            for turn in numbers([row], "turn"):
                out = "summarized" if turn in covered else "dropped"
                assert row.status == out if turn <= gone else row.status in ("sent", "shortened")
            assert (row.status == "dropped") <= bool(row.why)


@given(CASES)
@settings(deadline=None, max_examples=50)
def test_without_a_budget_all_is_sent(case):
    rows = build(**case.given(), gauge=gauge()).rows

    assert {row.status for row in rows if row.section != "context"} <= {"sent"}
    assert [row.why for row in rows if row.section == "context"] == [one.dropped for one in case.context]


@given(CASES)
@settings(deadline=None, max_examples=50)
def test_of_messages_the_overhead_is_never_less_than_nothing(case):
    case = case._replace(style="messages")

    assert next(row for row in build(**case.given(), gauge=gauge()).rows if row.section == "overhead").tokens >= 0


def test_a_table():
    call = Message("assistant", None, tool_calls=(ToolCall("c", "look"),))
    history = [
        Message("user", "a" * 300),
        Message("system", "Be fair."),
        Message("assistant", "b" * 300),
        *(Message("user", "c" * 60), Message("assistant", "d" * 60)),
        Message("user", "now"),
    ]
    loop = [call, Message("tool", "x" * 9000, tool_call_id="c")]
    context = (
        Context("facts", "It rains."),
        Context("more", "y" * 9000, required=False),
        Context("news", required=False, dropped="it failed: OSError: no\nnetwork"),
    )
    case = Case(
        (Part("a.md", "Be kind."), Part("b.md", "Be brief.")),
        Said(tuple(history), tuple(loop)),
        context,
        (),
        "messages",
    )
    given = case.given(budget(4500, 100)) | {"tools": [ToolSpec("look")]}

    assert "\n".join(lines(made(given, gauge()).rows)) == dedent("""\
    system    a.md                             8
    system    b.md                             9
    context   facts                            9
    context   more                       (9,000)  dropped: no room was left
    context   news                           (0)  dropped: it failed: OSError: no network
    history   system messages of turn 1       12
    history   turn 1                       (608)  dropped: no room was left
    history   turn 2                         128
    turn      question                         7
    turn      step 1                       4,088  shortened: results of tools were cut
    tools     1 tool                         133
    overhead                                  45
    reserve   for the answer                 100  reserved""")


def test_summaries_have_rows_and_so_has_what_they_stand_for():
    history = [Message(role, "x" * 90) for _ in range(6) for role in ("user", "assistant")]
    case = Case((), Said((*history, Message("user", "now")), ()), (), (), "messages")

    rows = made(case.given(budget(1000, 0, "summarize")), gauge(), Summarizing(2, 50)).rows

    assert [(row.section, row.name, row.tokens, row.status) for row in rows] == [
        ("summary", "turns 1-2", 20, "sent"),
        ("history", "turns 1-2", 376, "summarized"),
        ("history", "turns 3-6", 752, "sent"),
        ("turn", "question", 7, "sent"),
        ("overhead", "", 43, "sent"),
    ]


def test_what_is_told_of_a_row_is_what_there_is():
    assert Row("overhead", "", 3).told() == {"section": "overhead", "tokens": 3, "status": "sent"}
    assert Row("context", "news", 0, "dropped", "it failed").told() == {
        "section": "context",
        "name": "news",
        "tokens": 0,
        "status": "dropped",
        "why": "it failed",
    }


def test_no_rows_are_no_lines():
    assert lines([]) == []


def test_a_row_is_one_line():
    row = Row("context", "two\nlines", 1234, "dropped", "it failed: ValueError: a\n\tb")

    assert lines([row]) == ["context  two lines  (1,234)  dropped: it failed: ValueError: a b"]
