import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.conversation.document import Document
from pytest_convo.conversation.lint import lint
from pytest_convo.conversation.load import Placed
from pytest_convo.conversation.message import Message, ToolCall


def placed(*messages):
    return [
        Placed(index, message, Document(f"d/{index:04}_{message.role}.yaml", None))
        for index, message in enumerate(messages)
    ]


def calls(*ids):
    return Message("assistant", tool_calls=tuple(ToolCall(id_, f"f_{id_}") for id_ in ids))


def result(id_, name=None):
    return Message("tool", "ok", tool_call_id=id_, name=name)


USER, ANSWER = Message("user", "hi"), Message("assistant", "done")


@pytest.mark.parametrize(
    "messages",
    [
        (),
        (USER, ANSWER, USER),
        (USER, calls("a"), result("a"), ANSWER),
        (USER, calls("a", "b"), result("b"), result("a", "f_a"), calls("c"), result("c")),
    ],
)
def test_calls_with_their_results_are_sound(messages):
    assert list(lint(placed(*messages))) == []


@pytest.mark.parametrize(
    ("messages", "path", "what", "hint"),
    [
        (
            (USER, calls("a")),
            "d/0001_assistant.yaml",
            "the call 'a' of 'f_a' is not answered by the messages right after it",
            "add a tool message with `tool_call_id: a` there, or take the call out",
        ),
        (
            (calls("a", "b"), result("a"), USER),
            "d/0000_assistant.yaml",
            "the call 'b' of 'f_b' is not answered",
            "`tool_call_id: b`",
        ),
        (
            (calls("a"), USER, result("a")),
            "d/0000_assistant.yaml",
            "the call 'a' of 'f_a' is not answered by the messages right after it",
            "there",
        ),
        (
            (USER, result("a")),
            "d/0001_tool.yaml",
            "no call before this result has the id 'a'",
            "calls that wait for a result: none",
        ),
        (
            (calls("call_1"), result("call_1"), result("call_1")),
            "d/0002_tool.yaml",
            "the call 'call_1' is answered twice",
            "keep one result; calls that wait for a result: none",
        ),
        (
            (calls("a"), result("a"), calls("a"), USER),
            "d/0002_assistant.yaml",
            "the call id 'a' is used twice, first in 0000_assistant.yaml",
            "an id of its own",
        ),
        (
            (calls("a", "a"), result("a")),
            "d/0000_assistant.yaml",
            "the call id 'a' is used twice, first in 0000_assistant.yaml",
            "an id of its own",
        ),
        (
            (calls("a"), result("a", "other")),
            "d/0001_tool.yaml",
            "this result is named 'other', but the call 'a' is one of 'f_a'",
            "leave the name out",
        ),
    ],
)
def test_a_call_or_a_result_without_its_other_half_is_one_error(messages, path, what, hint):
    (error,) = lint(placed(*messages))

    assert error.path == path
    assert what in error.what
    assert hint in error.hint


def test_a_mistyped_id_is_told_with_the_one_that_waits():
    unanswered, unknown = sorted(lint(placed(calls("call_1"), result("call_l"))), key=lambda error: error.path)

    assert "the call 'call_1' of 'f_call_1' is not answered" in unanswered.what
    assert unknown.what == "no call before this result has the id 'call_l'"
    assert unknown.hint == "did you mean 'call_1'? known: call_1"


def test_a_result_that_names_no_call_is_told_which_calls_wait():
    error = next(lint(placed(calls("a", "b"), result("a"), result(None))))

    assert error.what == "this result has no tool_call_id"
    assert error.hint == "say which call it answers, in 0002_tool.yaml; calls that wait for a result: b"


ROUNDS = st.lists(st.lists(st.booleans(), min_size=1, max_size=4), max_size=5)


@given(ROUNDS, st.randoms())
def test_every_result_that_is_taken_away_is_missed_once(rounds, shuffle):
    messages, gone, number = [], 0, 0
    for kept in rounds:
        ids = [f"call_{number + n}" for n in range(len(kept))]
        number += len(kept)
        results = [result(id_) for id_, keep in zip(ids, kept, strict=True) if keep]
        shuffle.shuffle(results)
        gone += kept.count(False)
        messages += [USER, calls(*ids), *results, ANSWER]

    assert sum("is not answered" in error.what for error in lint(placed(*messages))) == gone
