from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from pytest_convo.conversation.conversation import read
from pytest_convo.conversation.message import Message, ToolCall
from pytest_convo.redaction import Redactor
from pytest_convo.secrets.looks import looks_secret
from pytest_convo.write.pages import Pages, Unkept, cleaned, pages

REDACTOR = Redactor()
TEXTS = st.lists(
    st.text(max_size=8)
    | st.sampled_from(
        ["\n", "\r", "\r\n", "\ufeff", "\0", "\ud800", " ", "\t", "\x85", "\u2028", "- a: b", "#", "|", "é"]
    ),
    max_size=6,
).map("".join)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
ARGUMENTS = st.dictionaries(TEXTS, VALUES, max_size=3).map(json.dumps) | st.dictionaries(TEXTS, VALUES, max_size=3).map(
    lambda value: json.dumps(value, ensure_ascii=False, indent=1)
)
NAMES = st.from_regex(r"[a-z_]{1,8}", fullmatch=True)
EXTRA = st.dictionaries(NAMES, VALUES, max_size=2)


@st.composite
def rounds(draw) -> list[Message]:
    """The steps of a turn: calls, and their results."""
    messages = []
    for number in range(draw(st.integers(0, 2))):
        calls = tuple(
            ToolCall(f"c{number}-{one}", draw(NAMES), draw(ARGUMENTS | st.sampled_from(["", "{}", " "])))
            for one in range(draw(st.integers(1, 2)))
        )
        messages.append(Message("assistant", draw(st.none() | TEXTS), tool_calls=calls, extra=draw(EXTRA)))
        messages += [Message("tool", draw(TEXTS), tool_call_id=call.id) for call in calls]
    return messages


def put(directory, written: Pages) -> None:
    (directory / "0000_user.md").write_text("Hello?\n")
    (directory / f"0001_assistant.{written.ext}").write_bytes(written.answer)
    if written.steps is not None:
        (directory / "0001_assistant_steps.yaml").write_bytes(written.steps)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # long texts are drawn on busy machines, too
@given(rounds(), TEXTS.filter(lambda text: text.strip() != ""), EXTRA | st.just({}))
def test_what_is_written_is_read_back_as_exactly_what_was_said(tmp_path_factory, steps, text, extra):
    said = [*steps, Message("assistant", text, extra=extra)]
    assume(not any(looks_secret(call.arguments) for step in steps for call in step.tool_calls))
    directory = tmp_path_factory.mktemp("turn")
    written = pages(said, REDACTOR)
    assert not written.unkept
    put(directory, written)
    assert read(directory, variables={}).messages[1] == tuple(cleaned(message, REDACTOR) for message in said)


@pytest.mark.parametrize("text", ["a", "a\n", "a\n\n", "\na", "a\r", "a\r\n", "\ufeffa", "  a", "a\x85b"])
def test_a_text_is_a_text_file(tmp_path, text):
    written = pages([Message("assistant", text)], REDACTOR)
    assert (written.ext, written.steps, written.text) == ("md", None, text)
    put(tmp_path, written)
    assert read(tmp_path, variables={}).messages[1] == (Message("assistant", text),)


def test_a_person_can_read_the_steps():
    steps = [
        Message("assistant", "One moment.", tool_calls=(ToolCall("c1", "lookup", '{"order": "A17", "days": [1, 2]}'),)),
        Message("tool", "It is late.\nBy two days.\n", tool_call_id="c1"),
    ]
    written = pages([*steps, Message("assistant", "Late.")], REDACTOR)
    assert written.steps is not None
    assert written.steps.decode() == (
        "- role: assistant\n"
        "  content: |-\n"
        "    One moment.\n"
        "  tool_calls:\n"
        "    - id: c1\n"
        "      name: lookup\n"
        "      arguments:\n"
        "        order: A17\n"
        "        days:\n"
        "          - 1\n"
        "          - 2\n"
        "- role: tool\n"
        "  content: |\n"
        "    It is late.\n"
        "    By two days.\n"
        "  tool_call_id: c1\n"
    )


def test_what_is_more_than_a_text_is_a_record():
    written = pages([Message("assistant", "Late.", extra={"reasoning": "Two days\nare late.\n"})], REDACTOR)
    assert written.ext == "yaml"
    assert written.answer.decode() == "content: Late.\nextra:\n  reasoning: |\n    Two days\n    are late.\n\n"


def test_calls_that_end_the_turn_are_a_record():
    calls = (ToolCall("c1", "lookup", '{"order": "A17"}'),)
    written = pages([Message("assistant", tool_calls=calls)], REDACTOR)
    assert written.ext == "yaml"
    assert written.answer == b"tool_calls:\n  - id: c1\n    name: lookup\n    arguments:\n      order: A17\n"


def test_a_text_with_a_nul_is_a_record(tmp_path):
    written = pages([Message("assistant", "a\0b")], REDACTOR)
    put(tmp_path, written)
    assert written.ext == "yaml"
    assert read(tmp_path, variables={}).messages[1] == (Message("assistant", "a\0b"),)


def test_nothing_in_them_is_secret():
    redactor = Redactor({"hunter2hunter2": "PASSWORD"})
    secret = "hunter2hunter2"
    said = [
        Message(
            "assistant", secret, tool_calls=(ToolCall("c1", "say", json.dumps({"text": secret})),), extra={"r": secret}
        ),
        Message("tool", secret, tool_call_id="c1"),
        Message("assistant", f"It is {secret}."),
    ]
    written = pages(said, redactor)
    assert written.steps is not None
    assert secret.encode() not in written.steps + written.answer
    assert written.text == "It is [secret PASSWORD]."


def test_arguments_stay_json_where_a_number_in_them_is_secret():
    calls = (ToolCall("c1", "say", '{"pin": 1234567890, "last": [1234567890]}'),)
    (message,) = (cleaned(one, Redactor({"1234567890": "PIN"})) for one in [Message("assistant", tool_calls=calls)])
    assert message.tool_calls[0].parsed() == {"pin": "[secret PIN]", "last": ["[secret PIN]"]}


def test_steps_that_no_file_can_hold_keep_the_answer():
    steps = [
        Message("assistant", tool_calls=(ToolCall("c1", "look", '{"order'),)),
        Message("tool", "?", tool_call_id="c1"),
    ]
    written = pages([*steps, Message("assistant", "Late.")], REDACTOR)
    assert (written.answer, written.steps) == (b"Late.\n", None)
    assert written.unkept == "the arguments of a call are not a JSON object: '{\"order'"


def test_an_answer_that_no_file_can_hold_is_told():
    with pytest.raises(Unkept, match="not a JSON object"):
        pages([Message("assistant", tool_calls=(ToolCall("c1", "look", '{"order'),))], REDACTOR)
