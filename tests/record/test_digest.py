from __future__ import annotations

import copy
import enum
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.conversation.message import Message, ToolCall
from pytest_convo.prompt.request import Request, ToolSpec
from pytest_convo.record.digest import body_of, digest, digest_of, message_text, outline, plain

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)
CALL = ToolCall("c1", "look", '{"id": "A17"}')
MESSAGES = (
    Message("system", "Be kind."),
    Message("user", "Where is A17?", name="ada"),
    Message("assistant", None, tool_calls=(CALL,)),
    Message("tool", "on its way", tool_call_id="c1"),
    Message("user", [{"type": "text", "text": "And this?"}]),
)
TOOL = ToolSpec("look", "Looks.", {"type": "object", "properties": {"id": {"type": "string"}}})
WHOLE = Request("m", MESSAGES, (TOOL,), {"temperature": 0, "stop": ["\n"]})


def turned(value):
    """The same value with its keys in the opposite order."""
    if isinstance(value, dict):
        return {key: turned(value[key]) for key in reversed(value)}
    return [turned(inner) for inner in value] if isinstance(value, list) else value


def places(value, way=()):
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*way, key))
    else:
        yield way


def changed(body, way):
    copied = copy.deepcopy(body)
    within = copied
    for key in way[:-1]:
        within = within[key]
    within[way[-1]] = "another"
    return copied


def test_a_digest_has_32_hexadecimal_digits():
    assert re.fullmatch("[0-9a-f]{32}", digest(body_of(WHOLE)))


@given(st.dictionaries(st.text(), JSON))
def test_the_order_of_keys_does_not_matter(parameters):
    request, other = (Request("m", MESSAGES, (), given) for given in (parameters, turned(parameters)))
    assert digest(body_of(request)) == digest(body_of(other))


@pytest.mark.parametrize("way", list(places(body_of(WHOLE))), ids=lambda way: ".".join(map(str, way)))
def test_every_value_in_a_request_matters(way):
    body = body_of(WHOLE)
    assert digest(changed(body, way)) != digest(body)


@pytest.mark.parametrize(
    "other",
    [
        Request("m", MESSAGES[:-1], (TOOL,), WHOLE.parameters),
        Request("m", MESSAGES[::-1], (TOOL,), WHOLE.parameters),
        Request("m", MESSAGES, (), WHOLE.parameters),
        Request("m", MESSAGES, (TOOL, TOOL), WHOLE.parameters),
        Request("m", MESSAGES, (TOOL,), {"temperature": 0}),
        Request("m", MESSAGES, (TOOL,), {**WHOLE.parameters, "seed": 7}),
        Request("m", MESSAGES, (TOOL,), {**WHOLE.parameters, "temperature": False}),
        Request(None, MESSAGES, (TOOL,), WHOLE.parameters),
    ],
    ids=["a message less", "order", "no tool", "a tool more", "a parameter less", "a parameter more", "kind", "model"],
)
def test_everything_that_is_more_or_less_matters(other):
    assert digest(body_of(other)) != digest(body_of(WHOLE))


def test_what_a_provider_added_to_a_reply_is_not_sent_and_does_not_matter():
    replies = [Message("assistant", "Soon.", extra=extra) for extra in ({}, {"reasoning": "Hm."})]
    assert len({digest(body_of(Request("m", (reply,)))) for reply in replies}) == 1


def test_an_outline_has_digests_for_texts():
    found, texts = outline(body_of(WHOLE))

    assert [(entry.role, entry.name, entry.tool_call_id) for entry in found.messages] == [
        ("system", None, None),
        ("user", "ada", None),
        ("assistant", None, None),
        ("tool", None, "c1"),
        ("user", None, None),
    ]
    said = [texts[entry.part] for entry in found.messages]
    assert said[:2] == ["Be kind.", "Where is A17?"]
    assert json.loads(said[2])["tool_calls"] == [CALL.to_api()]
    assert json.loads(said[4]) == [{"type": "text", "text": "And this?"}]
    assert json.loads(texts[found.tools["look"]])["description"] == "Looks."
    assert all(digest_of(text) == key for key, text in texts.items())


@given(st.text(st.characters(exclude_categories=())))
def test_a_text_is_its_message_s_part_verbatim(text):
    assert message_text({"role": "user", "content": text}) == text
    assert len(digest_of(text)) == 32


def test_what_json_does_not_have_is_made_plain():
    class Schema:
        def __str__(self):
            return "Schema"

    class Effort(str, enum.Enum):  # noqa: UP042 its str() is not its value
        LOW = "low"

    value = {"format": Schema(), 7: (1, None, True), "seen": {"b", "a"}, "effort": Effort.LOW}
    made = plain(value)
    assert made == {"format": "Schema", "7": [1, None, True], "seen": ["a", "b"], "effort": "low"}
    assert (type(made["effort"]), type(made["7"][2])) == (str, bool)
