import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.conversation.conversation import ANSWERED, read
from pytest_convo.conversation.message import Message, ToolCall
from pytest_convo.conversation.names import DATA, TEXT, message_name
from pytest_convo.conversation.scan import scan
from pytest_convo.errors import FormatErrors

STEPS = "- {role: assistant, tool_calls: [{id: a, name: f}]}\n- {role: tool, tool_call_id: a, content: ok}\n"
COMPLETE = {"0000_user.md": "u0", "0001_assistant.md": "a1", "0002_user.md": "u2", "0003_assistant.md": "a3"}


def said(*texts):
    return tuple(Message("assistant", text) for text in texts)


def texts(messages):
    return [message.text for message in messages]


def test_a_script_is_answered_turn_by_turn_each_in_the_context_of_all_before(make):
    directory = make({"0000_user.md": "u0", "0002_user.md": "u2", "0004_user.md": "u4", "prompt.md": "x"})
    conversation = read(directory, variables={})

    assert conversation.path == directory
    assert conversation.turns == (1, 3, 5)
    assert texts(conversation.history(1, {})) == ["u0"]
    assert texts(conversation.history(3, {1: said("b1")})) == ["u0", "b1", "u2"]
    assert texts(conversation.history(5, {1: said("b1"), 3: said("x", "b3")})) == ["u0", "b1", "u2", "x", "b3", "u4"]
    assert conversation.approved == {}
    assert conversation.skip_reason == ""


def test_a_turn_is_not_asked_before_those_above_it_are_answered(make):
    conversation = read(make({"0000_user.md": "u0", "0002_user.md": "u2"}), variables={})

    with pytest.raises(LookupError, match="turn 1 is not answered yet, and turn 3 needs its answer"):
        conversation.history(3, {})


def test_deleting_an_answer_redoes_that_turn_and_keeps_the_later_ones_as_given(make):
    files = {**COMPLETE, "0004_user.md": "u4", "0005_assistant.md": "a5"}
    del files["0003_assistant.md"]
    conversation = read(make(files), variables={})

    assert conversation.turns == (3,)
    assert texts(conversation.history(9, {3: said("b3")})) == ["u0", "a1", "u2", "b3", "u4", "a5"]


def test_what_is_answered_again_is_approved_and_later_turns_see_the_fresh_answer(make):
    conversation = read(make(COMPLETE), variables={}, regenerate="all")

    assert conversation.turns == (1, 3)
    assert conversation.approved == {1: Message("assistant", "a1"), 3: Message("assistant", "a3")}
    assert texts(conversation.history(3, {1: said("b1")})) == ["u0", "b1", "u2"]
    assert texts(conversation.history(10_000, {1: said("b1"), 3: said("b3")})) == ["u0", "b1", "u2", "b3"]


def test_a_turn_with_tools_is_answered_again_as_a_whole(make):
    conversation = read(make({**COMPLETE, "0001_assistant_steps.yaml": STEPS}), variables={}, regenerate=[1])

    assert len(conversation.messages[1]) == 3
    assert conversation.approved == {1: Message("assistant", "a1")}
    assert texts(conversation.history(2, {1: said("b1")})) == ["u0", "b1"]


def test_steps_whose_answer_is_deleted_are_redone(make):
    files = {**COMPLETE, "0003_assistant_steps.yaml": STEPS}
    del files["0003_assistant.md"]
    conversation = read(make(files), variables={})

    assert conversation.turns == (3,)
    assert 3 not in conversation.messages
    assert conversation.approved == {}


def test_calls_that_are_spelled_out_are_given_and_the_answer_after_them_is_a_hole(make):
    files = {
        "0000_user.md": "hi",
        "0001_assistant.yaml": "tool_calls: [{id: a, name: f, arguments: {x: 1}}]",
        "0002_tool.yaml": "tool_call_id: a\ncontent: ok",
    }
    conversation = read(make(files), variables={})

    assert conversation.turns == (3,)
    assert conversation.history(3, {}) == (
        Message("user", "hi"),
        Message("assistant", tool_calls=(ToolCall("a", "f", '{"x": 1}'),)),
        Message("tool", "ok", tool_call_id="a"),
    )


def test_system_messages_stay_where_they_stand(make):
    conversation = read(
        make({"0000_user.md": "u", "0001_assistant.md": "a", "0002_system.md": "s", "0003_user.md": "v"}), variables={}
    )

    assert [message.role for message in conversation.history(4, {})] == ["user", "assistant", "system", "user"]


def test_a_complete_conversation_has_nothing_to_answer_and_says_so(make):
    conversation = read(make(COMPLETE), variables={})

    assert conversation.turns == ()
    assert conversation.skip_reason == ANSWERED == "already answered; set regenerate"


@pytest.mark.parametrize(
    ("files", "turns", "unwritten"),
    [
        ({"0000_user.md": " \n"}, (), ("0000_user.md",)),
        ({"0000_user.md": "hi", "0001_assistant.md": "a", "0002_user.md": ""}, (), ("0002_user.md",)),
        ({"0000_user.md": "hi", "0002_user.md": ""}, (1,), ("0002_user.md",)),
        (
            {"0000_user.md": "hi", "0002_user.md": "", "0004_user_a.md": "\n", "0004_user_b.md": ""},
            (1,),
            ("0002_user.md", "0004_user_a.md"),
        ),
        ({"0000_user.md": "hi", "0002_user.md.j2": "{{ later }}"}, (1,), ("0002_user.md.j2",)),
    ],
)
def test_a_conversation_ends_before_the_blank_user_files_at_its_end(make, files, turns, unwritten):
    conversation = read(make(files), variables={"later": ""})

    assert conversation.turns == turns
    assert conversation.unwritten == unwritten
    assert bool(conversation.skip_reason) == (not turns)
    assert turns or conversation.skip_reason == f"{unwritten[0]} is not written yet"


def test_an_empty_message_that_a_record_gives_is_a_message(make):
    conversation = read(make({"0000_user.yaml": "content: ''", "0002_user.md": "hi"}), variables={})

    assert texts(conversation.history(3, {1: said("b")})) == ["", "b", "hi"]


@pytest.mark.parametrize("role", ["assistant", "system"])
def test_an_empty_file_of_anybody_but_the_user_is_used_as_it_stands(make, role):
    conversation = read(make({"0000_user.md": "hi", f"0001_{role}.md": "", "0002_user.md": "ho"}), variables={})

    assert conversation.messages[1] == (Message(role, ""),)


def test_a_case_is_read_with_its_own_variables(make):
    directory = make({"0000_user.md.j2": "Where is {{ order }}?"})
    found = scan(directory)

    for order in ("A17", "{{ 7 * 7 }}"):
        conversation = read(directory, variables={"order": order}, scan=found)
        assert texts(conversation.messages[0]) == [f"Where is {order}?"]


def test_ten_megabytes_and_index_9999_are_a_conversation(make):
    conversation = read(make({"0000_user.md": "x" * 10_000_000, "9999_assistant.md": "ok"}), variables={})

    assert len(conversation.messages[0][0].text) == 10_000_000
    assert conversation.turns == ()


def test_all_that_is_wrong_is_told_in_one_go(make):
    directory = make(
        {
            "0000_user.md": b"\xff",
            "0001_assistant.yaml": "tool_calls: [{id: a, name: f}]",
            "0002_usr.md": "",
            "0004_user.md.j2": "{{ missing }}",
            "0006_user.md": "",
            "0008_user.md": "hi",
            "0008_system.md": "",
        }
    )
    with pytest.raises(FormatErrors) as caught:
        read(directory, variables={})

    told = [str(error).partition("\n")[0].removeprefix(f"{directory}/") for error in caught.value.errors]
    assert told == [
        "0002_usr.md: unknown role 'usr' in the file name",
        "0008_user.md: files of one index have one role, and 0008_system.md is the system's",
        "0000_user.md:1: is not UTF-8: byte 0xff",
        "0004_user.md.j2:1: the template cannot be rendered: 'missing' is undefined",
        "0001_assistant.yaml:1: the call 'a' of 'f' is not answered by the messages right after it",
    ]


def test_a_call_is_not_missed_while_its_result_cannot_be_read(make):
    files = {
        "0000_user.md": "hi",
        "0001_assistant.yaml": "tool_calls: [{id: a, name: f}]",
        "0002_tool.yaml": "contnt: x",
    }
    with pytest.raises(FormatErrors) as caught:
        read(make(files), variables={})

    assert [error.what for error in caught.value.errors] == ["unknown key 'contnt' in a message record"]


@given(
    st.sampled_from(TEXT + DATA),
    st.booleans(),
    st.binary(max_size=60) | st.text(alphabet="{}[]()%#&*!|>-:,'\"\\ \n=abcontent01.~<", max_size=60).map(str.encode),
)
def test_whatever_a_file_holds_it_is_read_or_refused_by_name(tmp_path_factory, ext, template, data):
    directory = tmp_path_factory.mktemp("any")
    path = directory / message_name(0, "user", ext=ext, template=template)
    path.write_bytes(data)
    refused = []
    try:
        conversation = read(directory, variables={"a": 1})
    except FormatErrors as several:
        refused = [Path(error.path) for error in several.errors]

    assert refused == [path] * len(refused)
    assert refused or bool(conversation.turns) != bool(conversation.unwritten)


def test_reading_plain_text_files_imports_nothing_heavy(make):
    directory = make({"0000_user.md": "hi", "0002_user.md": "ho"})
    heavy = ("yaml", "jinja2", "pydantic", "openai", "asyncio", "difflib", "base64")
    code = (
        "import sys; from pytest_convo.conversation.conversation import read; "
        f"read({str(directory)!r}, variables={{}}); print([m for m in {heavy!r} if m in sys.modules])"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert printed.strip() == "[]"
