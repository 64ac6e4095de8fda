from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.collect.portrait import equivalence, matches, portrait, read, write
from pytest_convo.conversation.message import Message, ToolCall
from pytest_convo.conversation.reply import Reply, Usage
from pytest_convo.conversation.transcript import Transcript, Turn
from pytest_convo.errors import ConvoError


def transcript(first: str = "call_1", second: str = "call_2", **reply: object) -> Transcript:
    """Two tools called at once, and the answer."""
    calls = (
        ToolCall(first, "lookup", '{"order": "A17", "deep": {"b": 1, "a": [2.5, null]}}'),
        ToolCall(second, "rest", "not json"),
    )
    messages = (
        Message("user", "Where is\nmy order?"),
        Message("assistant", None, tool_calls=calls),
        Message("tool", "late", tool_call_id=second),
        Message("tool", "on its way", tool_call_id=first),
        Message("assistant", "It is on its way.", extra={"reasoning": "hm"}),
    )
    return Transcript(messages, (Turn(4, Reply("It is on its way.", **reply), messages[1:]),), run=2)


def test_a_transcript_reads_as_it_was_spoken() -> None:
    assert write(portrait(transcript())) == (
        "- role: user\n"
        "  text: |-\n"
        "    Where is\n"
        "    my order?\n"
        "- role: assistant\n"
        "  calls:\n"
        "    - name: lookup\n"
        "      arguments:\n"
        "        deep:\n"
        "          a:\n"
        "            - 2.5\n"
        "            - null\n"
        "          b: 1\n"
        '        order: "A17"\n'.replace('"', "")
        + "    - name: rest\n"
        "      arguments: |-\n"
        "        not json\n"
        "- role: tool\n"
        "  call: 2\n"
        "  text: late\n"
        "- role: tool\n"
        "  call: 1\n"
        "  text: |-\n"
        "    on its way\n"
        "- role: assistant\n"
        "  text: |-\n"
        "    It is on its way.\n"
    )


def test_ids_figures_and_models_do_not_count() -> None:
    other = transcript("x", "y", seconds=3.0, usage=Usage(1, 2), model="other", attempts=2, replayed=True)
    assert portrait(transcript()) == portrait(other)


def test_ids_that_come_again_belong_to_the_last_call() -> None:
    call, result = Message("assistant", "", tool_calls=(ToolCall("0", "f"),)), Message("tool", "1", tool_call_id="0")
    kept = portrait([call, result, call, result, Message("tool", "2", tool_call_id="unknown")])
    assert [message["call"] for message in kept if "call" in message] == [1, 2, None]


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("Yes.", {"text": "Yes."}),
        ("\ud800", {"text": "\\ud800"}),
        (Reply("Yes."), {"role": "assistant", "text": "Yes."}),
        (Message("user", "Hi", name="Ann"), {"role": "user", "name": "Ann", "text": "Hi"}),
        ({"role": "user", "content": "Hi"}, {"role": "user", "text": "Hi"}),
        ([], []),
        ((Reply("", (ToolCall("1", "f", ""),)),), [{"role": "assistant", "calls": [{"name": "f", "arguments": {}}]}]),
        (
            Message("user", [{"type": "text", "text": "Hi"}]),
            {"role": "user", "parts": [{"type": "text", "text": "Hi"}]},
        ),
    ],
)
def test_what_else_was_said(said: object, kept: object) -> None:
    assert portrait(said) == kept
    assert read(write(portrait(said))) == kept


@pytest.mark.parametrize("arguments", ['{"a": NaN}', '{"a": "\\ud800"}', "[" * 100_000, "[" * 60 + "]" * 60])
def test_arguments_that_yaml_does_not_have_are_kept_as_text(arguments: str) -> None:
    said = Message("assistant", None, tool_calls=(ToolCall("1", "f", arguments),))
    assert portrait(said)["calls"][0]["arguments"] == arguments
    assert read(write(portrait(said))) == portrait(said)


@pytest.mark.parametrize("said", [None, 1, b"Yes.", ["Yes."], [1], {1, 2}])
def test_of_anything_else_there_is_no_snapshot(said: object) -> None:
    with pytest.raises(ConvoError, match="a snapshot is taken of what was said, not of"):
        portrait(said)


def test_what_no_snapshot_can_hold_is_told_in_words() -> None:
    with pytest.raises(ConvoError, match="a message holds what no snapshot can"):
        write(portrait(Message("user", [{"type": "x", "x": float("nan")}])))


@pytest.mark.parametrize("text", ["- role: [", "a: 1\na: 2", "\x01"])
def test_what_is_no_snapshot_is_like_none(text: str) -> None:
    assert read(text) is None
    assert not matches(read(text), portrait("Yes."))


@given(st.text(), st.text())
def test_every_text_is_kept_as_it_is_and_two_never_as_one(text: str, other: str) -> None:
    kept = read(write(portrait([Message("user", text)])))
    assert matches(kept, portrait([Message("user", text)]))
    assert matches(kept, portrait([Message("user", other)])) is (text == other)


def test_equality_is_jsons() -> None:
    def called(arguments: str) -> object:
        return portrait(Message("assistant", None, tool_calls=(ToolCall("1", "f", arguments),)))

    assert matches(called('{"a": 1, "b": 2}'), called('{"b": 2.0, "a": 1}'))
    assert not matches(called('{"a": 1}'), called('{"a": true}'))


def test_an_equivalence_is_of_texts_alone() -> None:
    def anything(text: str, other: str) -> bool:
        return True

    kept = portrait([Message("user", "Hi"), Message("assistant", "Yes.")])
    assert matches(kept, portrait([Message("user", "Hello"), Message("assistant", "No.")]), anything)
    assert not matches(kept, portrait([Message("user", "Hi")]), anything)
    assert not matches(kept, portrait([Message("user", "Hi"), Message("tool", "Yes.")]), anything)
    assert not matches(kept, portrait("Hi"), anything)
    assert not matches(portrait(transcript()), portrait([*transcript().messages[:-1], Message("user", "")]), anything)
    assert not matches(None, kept, anything)


def test_texts_that_are_equal_need_no_equivalence() -> None:
    assert matches(portrait("no JSON"), portrait("no JSON"), equivalence("json"))
    assert not matches(portrait("no JSON"), portrait("no json"), equivalence("json"))
    assert matches(portrait("no JSON"), portrait("no json"), equivalence("normalized"))
