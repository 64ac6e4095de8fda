import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.conversation.message import Message, ToolCall
from pytest_convo.conversation.names import parse
from pytest_convo.conversation.records import message_of, read_records
from pytest_convo.errors import FormatErrors

PNG = b"\x89PNG\r\n\x1a\nrest"

CALLS = """\
tool_calls:
  - id: call_1
    name: lookup
    arguments: {order: A17, late: true, note: ü}
  - {id: call_2, type: function, function: {name: lookup, arguments: '{"order" : 1}'}}
  - {id: call_3, name: now}
"""


@pytest.fixture
def record(make):
    def record(name, text, variables=None, **others):
        files = {name: text} | {key.replace("_", "."): content for key, content in others.items()}
        path = make(files) / name
        return [Message(one.role, **one.fields) for one in read_records(str(path), parse(name), variables or {})]

    return record


def test_a_call_is_read_in_the_short_form_and_in_the_apis(record):
    (message,) = record("0001_assistant.yaml", CALLS)

    assert message.tool_calls == (
        ToolCall("call_1", "lookup", '{"order": "A17", "late": true, "note": "ü"}'),
        ToolCall("call_2", "lookup", '{"order" : 1}'),
        ToolCall("call_3", "now", "{}"),
    )
    assert message.content is None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("0002_tool.yaml", "content: 20 °C\nname: weather\ntool_call_id: call_1\n"),
        ("0002_tool.yml", "{content: 20 °C, name: weather, tool_call_id: call_1, role: tool, tool_calls: null}"),
        ("0002_tool.json", '{"content": "20 °C", "name": "weather", "tool_call_id": "call_1"}'),
        ("0002_tool.toml", 'content = "20 °C"\nname = "weather"\ntool_call_id = "call_1"\nrole = "tool"'),
    ],
)
def test_each_format_gives_the_same_message(record, name, text):
    assert record(name, text) == [Message("tool", "20 °C", name="weather", tool_call_id="call_1")]


def test_what_a_provider_added_is_kept_and_not_sent(record):
    (message,) = record("0001_assistant.yaml", "content: hi\nextra: {reasoning: because}\n")

    assert message.extra == {"reasoning": "because"}
    assert message.to_api() == {"role": "assistant", "content": "hi"}


def test_a_template_is_rendered_before_it_is_read(record):
    assert record("0000_user.yaml.j2", "content: {{ word | tojson }}", {"word": "a: {{ b }}"}) == [
        Message("user", "a: {{ b }}")
    ]


def test_steps_are_messages_of_the_bot_and_of_tools(record):
    steps = """\
- role: assistant
  content: I look it up.
  tool_calls: [{id: a, name: lookup}]
- {role: tool, tool_call_id: a, content: '{"ok": true}'}
"""
    first, second = record("0001_assistant_steps.yaml", steps)

    assert first == Message("assistant", "I look it up.", tool_calls=(ToolCall("a", "lookup"),))
    assert second == Message("tool", '{"ok": true}', tool_call_id="a")


def test_parts_are_read_in_short_forms_and_in_the_apis(record):
    text = """\
content:
  - Look at these.
  - text: and this
  - image: photo.png
    detail: low
  - image: https://example.org/x.png
  - file: terms.pdf
  - {type: text, text: done}
  - {type: image_url, image_url: {url: photo.png}}
  - {type: image_url, image_url: {url: "data:image/png;base64,AA=="}}
  - {type: file, file: {file_id: file-1}}
  - {type: input_audio, input_audio: {data: AA==, format: wav}}
"""
    (message,) = record("0000_user.yaml", text, photo_png=PNG, terms_pdf=b"%PDF")
    photo = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
    terms = {"filename": "terms.pdf", "file_data": "data:application/pdf;base64,JVBERg=="}

    assert message.content == [
        {"type": "text", "text": "Look at these."},
        {"type": "text", "text": "and this"},
        {"type": "image_url", "image_url": {"url": photo, "detail": "low"}},
        {"type": "image_url", "image_url": {"url": "https://example.org/x.png"}},
        {"type": "file", "file": terms},
        {"type": "text", "text": "done"},
        {"type": "image_url", "image_url": {"url": photo}},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
        {"type": "file", "file": {"file_id": "file-1"}},
        {"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}},
    ]
    assert message.text == "Look at these.\nand this\ndone"


@pytest.mark.parametrize(
    ("data", "mime"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
    ],
)
def test_the_kind_of_an_image_is_told_by_its_bytes(record, data, mime):
    (message,) = record("0000_user.yaml", "content: [{image: photo.png}]", photo_png=data)

    assert message.content[0]["image_url"]["url"].startswith(f"data:{mime};base64,")


ARGUMENTS = st.dictionaries(
    st.text(max_size=5), st.none() | st.booleans() | st.integers() | st.text(max_size=5), max_size=3
)


@given(ARGUMENTS)
def test_arguments_keep_their_value_in_each_form(arguments):
    text = json.dumps(arguments)
    forms = [
        {"id": "a", "name": "f", "arguments": arguments},
        {"id": "a", "name": "f", "arguments": text},
        {"id": "a", "type": "function", "function": {"name": "f", "arguments": text}},
    ]
    for form in forms:
        message = message_of({"role": "assistant", "tool_calls": [form]})

        assert message.tool_calls[0].parsed() == arguments


def test_a_message_in_the_apis_form_is_a_fixed_point():
    message = Message("assistant", "hi", name="bot", tool_calls=(ToolCall("a", "f", '{"x": 1}'),))

    assert message_of(message.to_api()) == message


def test_a_message_from_python_needs_a_known_role():
    with pytest.raises(Exception, match="the record has no role\n  known: system, user, assistant, tool"):
        message_of({"content": "hi"})
    with pytest.raises(Exception, match="unknown role 'usr'\n  did you mean 'user'"):
        message_of({"role": "usr", "content": "hi"})


def test_everything_that_is_wrong_with_a_record_is_told_at_once(record):
    with pytest.raises(FormatErrors) as caught:
        record("0001_assistant.yaml", "contents: x\nname: 5\ntool_calls:\n  - {id: 1, name: f}\n  - {id: a}\n")

    assert [(error.line, error.what) for error in caught.value.errors] == [
        (1, "unknown key 'contents' in a message record"),
        (2, "name must be text, not a number"),
        (4, "the id of a call must be text, not a number"),
        (5, "a call lacks its name"),
    ]
