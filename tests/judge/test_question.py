from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.conversation.message import Message, ToolCall
from pytest_convo.errors import FormatError
from pytest_convo.judge.question import INSTRUCTIONS, about_reply, about_two, fence
from pytest_convo.settings.files import nearest

CRITERION = "The reply names the deadline."
STEPS = [
    Message("assistant", tool_calls=(ToolCall("c1", "lookup", '{"id": "A17"}'),)),
    Message("tool", "shipped", tool_call_id="c1"),
]


@pytest.fixture
def template(tmp_path):
    def write(text: str):
        path = tmp_path / INSTRUCTIONS
        path.write_text(text)
        return path

    return write


def test_the_instructions_have_the_criterion_and_the_word_and_the_data_has_neither_the_criterion():
    asked = about_reply(CRITERION, "30 days.")
    word = fence(CRITERION, ["30 days."])
    assert f"\n\n{CRITERION}\n\n" in asked.instructions
    assert f"<reply-{word}>" in asked.instructions
    assert asked.data == f"<reply-{word}>\n30 days.\n</reply-{word}>"
    assert (asked.held, asked.about) == (("30 days.",), CRITERION)


def test_the_data_is_what_was_said_before_then_the_steps_then_the_reply():
    before = [Message("user", "Where is A17?"), Message("user", [{"type": "text", "text": "And quickly."}])]
    asked = about_reply(CRITERION, "On its way.", steps=STEPS, before=before)
    plain = asked.data.replace(f"-{fence(CRITERION, [])}", "")
    assert plain == (
        "<conversation>\n<user>\nWhere is A17?\n</user>\n<user>\nAnd quickly.\n</user>\n</conversation>\n\n"
        '<steps>\n<assistant>\nlookup({"id": "A17"})\n</assistant>\n<tool>\nshipped\n</tool>\n</steps>\n\n'
        "<reply>\nOn its way.\n</reply>"
    )


def test_the_reply_and_its_steps_can_be_quoted_and_what_was_said_before_cannot():
    asked = about_reply(CRITERION, "Sent.", steps=STEPS, before=[Message("user", "Where is it?")])
    assert asked.held == ("Sent.",)


def test_of_a_long_conversation_the_last_messages_are_shown_each_in_part_and_the_reply_whole():
    before = [Message("user", f"number {number}") for number in range(100)] + [Message("user", "x" * 50_000)]
    asked = about_reply(CRITERION, "y" * 100_000, before=before)
    assert re.findall(r"number \d+", asked.data) == [f"number {number}" for number in range(61, 100)]
    assert "…40,000 more characters…" in asked.data
    assert "y" * 100_000 in asked.data


@given(st.text(), st.lists(st.text(alphabet="0123456789٢２ -\u200b"), max_size=3))
def test_the_word_depends_on_the_question_and_is_another_where_the_data_holds_it(about, texts):
    word = fence(about, texts)
    assert re.fullmatch("[2-9]{8}", word)
    assert not any(word in text for text in texts)
    assert fence(about, [text for text in texts if word not in text]) == fence(about, texts)
    assert fence(about, [*texts, "x" + " ".join(word)]) != word


def test_the_same_question_is_the_same_request_whatever_was_answered():
    one, other = about_reply(CRITERION, "Yes.", steps=STEPS), about_reply(CRITERION, "No.")
    assert one.instructions == other.instructions
    assert one.instructions != about_reply("It is polite.", "Yes.").instructions


@pytest.mark.parametrize("criterion", ["{{ fence }}", "{% raw %}", "<b>&amp;", "line\nline\r\n", "  wide  ", "\ud800"])
def test_a_criterion_stands_in_the_instructions_as_it_is(criterion, template):
    assert criterion.strip() in about_reply(criterion, "Yes.").instructions
    own = template("{{ criterion }} {{ fence }}")
    assert criterion in about_reply(criterion, "Yes.", template=own).instructions


def test_a_template_of_ones_own_is_given_the_criterion_the_word_and_the_variables(template):
    own = template("{{ vars.shop }}: {{ criterion }} / {{ fence }}")
    asked = about_reply(CRITERION, "Yes.", template=own, variables={"shop": "Tea & Co"})
    assert asked.instructions == f"Tea & Co: {CRITERION} / {fence(CRITERION, [])}"
    assert about_two("a", "b", template=template("{{ vars.shop }} {{ fence }}"), variables={"shop": "T"}).about


@pytest.mark.parametrize(
    "text, told",
    [
        ("{{ fence }}", "does not say {{ criterion }}"),
        ("{{ criterion }}", "does not say {{ fence }}"),
        ("", "does not say {{ criterion }}"),
        ("{# {{ criterion }} {{ fence }} #}", "does not say {{ criterion }}"),
        ("{{ criterion }} {{ fence }} {{ mood }}", "'mood' is undefined"),
        ("{{ criterion }} {{ fence }} {{ vars.mood }}", "has no attribute 'mood'"),
        ("{{ criterion }} {{ fence }} {% if %}", "the template cannot be rendered"),
    ],
)
def test_a_template_that_cannot_be_used_is_told_with_its_path(template, text, told):
    path = template(text)
    with pytest.raises(FormatError, match=re.escape(told)) as caught:
        about_reply(CRITERION, "Yes.", template=path)
    assert str(caught.value.path) == str(path)
    assert len(str(caught.value).splitlines()) <= 3


def test_a_template_for_two_texts_must_say_the_word(template):
    path = template("Are they alike?")
    with pytest.raises(FormatError, match=re.escape("does not say {{ fence }}")) as caught:
        about_two("a", "b", template=path)
    assert caught.value.path == path


def test_a_template_that_is_not_there_is_told(tmp_path):
    with pytest.raises(FormatError):
        about_reply(CRITERION, "Yes.", template=tmp_path / "none.md.j2")


def test_two_texts_are_asked_about_in_their_order_and_both_can_be_quoted():
    asked, turned = about_two("30 days", "a month"), about_two("a month", "30 days")
    word = fence("same", ["30 days", "a month"])
    assert asked.data == f"<first-{word}>\n30 days\n</first-{word}>\n\n<second-{word}>\na month\n</second-{word}>"
    assert (asked.instructions, asked.held) == (turned.instructions, ("30 days", "a month"))
    assert asked.data != turned.data


def test_the_nearest_file_is_the_one_in_the_directory_or_above_it_up_to_the_rootdir(tmp_path):
    root, deep = tmp_path / "root", tmp_path / "root" / "a" / "b"
    deep.mkdir(parents=True)
    assert nearest(INSTRUCTIONS, deep, root) is None
    found = []
    for directory in (tmp_path, root, root / "a", deep):
        (directory / INSTRUCTIONS).write_text("")
        found.append(nearest(INSTRUCTIONS, deep, root))
    assert found == [None, *(directory / INSTRUCTIONS for directory in (root, root / "a", deep))]


def test_a_directory_of_that_name_is_no_file_and_outside_of_the_rootdir_nothing_is_looked_for(tmp_path):
    (tmp_path / "a" / INSTRUCTIONS).mkdir(parents=True)
    (tmp_path / INSTRUCTIONS).write_text("")
    assert nearest(INSTRUCTIONS, tmp_path / "a", tmp_path) == tmp_path / INSTRUCTIONS
    assert nearest(INSTRUCTIONS, tmp_path / "a", tmp_path / "elsewhere") is None
    assert nearest(INSTRUCTIONS, tmp_path, tmp_path / "elsewhere") == tmp_path / INSTRUCTIONS
