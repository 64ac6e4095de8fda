import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.conversation.findings import Findings
from pytest_convo.conversation.load import load
from pytest_convo.conversation.message import Message, ToolCall
from pytest_convo.conversation.scan import scan


def messages(directory, variables=None):
    found = Findings()
    placed = load(scan(directory), directory, variables or {}, found)
    found.raise_all()
    return [(one.index, one.message) for one in placed]


def test_files_of_one_index_merge_at_every_index(make):
    directory = make(
        {
            "0000_user_a.md": "one",
            "0000_user_b.txt": "two\n",
            "0001_assistant.md": "given",
            "0003_user.yaml": "name: Ann",
            "0003_user_a.md": "three",
            "0003_user_b.md": "four",
        }
    )

    assert messages(directory) == [
        (0, Message("user", "one\n\ntwo")),
        (1, Message("assistant", "given")),
        (3, Message("user", "three\n\nfour", name="Ann")),
    ]


def test_a_later_data_file_gives_its_fields_over_an_earlier_one(make):
    directory = make({"0000_user_a.yaml": "{name: Ann, content: a}", "0000_user_b.json": '{"name": "Bob"}'})

    assert messages(directory) == [(0, Message("user", "a", name="Bob"))]


def test_text_beside_calls_is_their_content(make):
    directory = make({"0001_assistant.yaml": "tool_calls: [{id: a, name: f}]", "0001_assistant.md": "Let me see.\n"})

    assert messages(directory) == [(1, Message("assistant", "Let me see.", tool_calls=(ToolCall("a", "f"),)))]


def test_a_text_that_renders_to_nothing_leaves_no_blank_line(make):
    files = {"0000_user_a.md.j2": "{% if vip %}VIP{% endif %}", "0000_user_b.md": "hi", "0000_user_c.md": " \n"}

    assert messages(make(files), {"vip": False}) == [(0, Message("user", "hi"))]


def test_a_turn_with_steps_is_its_steps_and_then_the_answer(make):
    steps = "- {role: assistant, tool_calls: [{id: a, name: f}]}\n- {role: tool, tool_call_id: a, content: ok}\n"
    directory = make({"0000_user.md": "hi", "0001_assistant.md": "done", "0001_assistant_steps.yaml": steps})

    assert messages(directory) == [
        (0, Message("user", "hi")),
        (1, Message("assistant", tool_calls=(ToolCall("a", "f"),))),
        (1, Message("tool", "ok", tool_call_id="a")),
        (1, Message("assistant", "done")),
    ]


def test_only_templates_are_rendered(make):
    directory = make({"0000_user.md": "{{ x }}", "0002_user.md.j2": "{{ x }}"})

    assert [message.content for _, message in messages(directory, {"x": "{{ y }}"})] == ["{{ x }}", "{{ y }}"]


@pytest.mark.parametrize(
    ("text", "blank"), [("", True), (" \n\t", True), ("\ufeff", True), ("\u00a0", True), (".", False)]
)
def test_a_text_file_of_white_space_is_blank(make, text, blank):
    directory = make({"0000_user.md": text})
    (placed,) = load(scan(directory), directory, {}, Findings())

    assert placed.blank == blank


def test_an_index_with_an_error_is_left_out_and_the_others_are_there(make):
    directory = make({"0000_user.md": b"\xff", "0002_user.md": "hi", "0002_system.md": "no", "0004_user.md": "ho"})
    found = Findings()
    placed = load(scan(directory), directory, {}, found)

    assert [one.index for one in placed] == [4]
    assert [error.path for error in found.errors] == [f"{directory}/0000_user.md"]


PIECES = st.lists(
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).filter(str.strip), min_size=1, max_size=5
)


@given(PIECES, st.randoms())
def test_texts_are_joined_in_name_order_whatever_order_they_were_written_in(tmp_path_factory, pieces, shuffle):
    directory = tmp_path_factory.mktemp("merge")
    named = [(f"0000_user_{n}.md", piece) for n, piece in enumerate(pieces)]
    shuffle.shuffle(named)
    for name, piece in named:
        (directory / name).write_bytes(piece.encode())

    assert messages(directory) == [(0, Message("user", "\n\n".join(piece.removeprefix("\ufeff") for piece in pieces)))]
