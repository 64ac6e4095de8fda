from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from pytest_convo.refine.written import Unwritten, Written, keeping, read

ALIKE = settings(derandomize=True, deadline=None)
TEXT = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("\r\n"))

# --- read


def test_the_prompt_stands_between_the_tags_and_the_reason_around_them():
    reply = "It was\n  too terse.\n\n<prompt>\nYou are kind.\n\nBe brief.\n</prompt>\n\nThat is all.\n"
    assert read(reply) == Written("You are kind.\n\nBe brief.", "It was too terse. That is all.")


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("<prompt>Be kind.</prompt>", "Be kind."),
        ("<prompt>\n\n Be kind. \n\n</prompt>", "\n Be kind. \n"),
        ("<prompt>\r\nBe kind.\r\n</prompt>", "Be kind."),
        ("<prompt>\nBe kind.\r\n</prompt>", "Be kind.\r"),
        ("<prompt>\nAnswer in <prompt> and </prompt> tags.\n</prompt>", "Answer in <prompt> and </prompt> tags."),
        ("<prompt>\n```\nBe kind.\n```\n</prompt>", "```\nBe kind.\n```"),
    ],
)
def test_one_line_end_at_each_tag_is_the_tags(reply, text):
    assert read(reply) == Written(text, "")


def test_a_fence_around_the_tags_is_no_reason():
    assert read("```xml\n<prompt>\nBe kind.\n</prompt>\n```") == Written("Be kind.", "")
    assert read("So:\n```\n<prompt>Be kind.</prompt>\n```\nDone.").reason == "So: Done."


def test_a_reason_is_printable_and_short():
    assert read("\x1b[31mred\n<prompt>x</prompt>").reason == r"\x1b[31mred"
    reason = read("why " * 500 + "<prompt>x</prompt>").reason
    assert reason.startswith("why why")
    assert len(reason) < 450


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("Be kind.\n", "Be kind."),
        ("\n  Be kind.\n\n", "  Be kind."),
        ("```\nBe kind.\n```\n", "Be kind."),
        ("```markdown\nBe kind.\n\nBe brief.\n```", "Be kind.\n\nBe brief."),
        ("````\n```\nx\n```\n````", "```\nx\n```"),
        ("```\r\nBe kind.\r\n```", "Be kind."),
        ("```md\nAs in\n```json\n{}\n```\nsay it.\n```", "As in\n```json\n{}\n```\nsay it."),
        ("```\na\n```\nand\n```\nb\n```", "```\na\n```\nand\n```\nb\n```"),
        ("Say\n```\nx\n```", "Say\n```\nx\n```"),
        ("```\nx", "```\nx"),
    ],
)
def test_without_tags_the_reply_is_the_prompt(reply, text):
    assert read(reply) == Written(text, "")


@pytest.mark.parametrize("reply", ["why\n<prompt>\nBe", "</prompt> then <prompt>\nBe", "<prompt>"])
def test_a_tag_without_its_end_was_cut_off(reply):
    with pytest.raises(Unwritten, match="cut off"):
        read(reply)


def test_an_end_without_its_tag_is_not_guessed_at():
    with pytest.raises(Unwritten, match="no <prompt>"):
        read("Be kind.\n</prompt>")


@pytest.mark.parametrize(
    "reply", ["", " \n", "why\n<prompt>\n \n</prompt>", "<prompt></prompt>", "```\n```", "```\n\n```"]
)
def test_a_blank_prompt_is_none(reply):
    with pytest.raises(Unwritten, match="no prompt"):
        read(reply)


@ALIKE
@given(TEXT)
@example("a</prompt>b<prompt>")
@example("\r\na\r")
def test_any_text_comes_through(text):
    assume(text.strip())
    assert read(f"why\n<prompt>\n{text}\n</prompt>") == Written(text, "why")


@ALIKE
@given(TEXT)
def test_any_text_is_read_or_refused(text):
    with suppress(Unwritten):
        assert read(text).text.strip()


# --- keeping


@pytest.mark.parametrize(
    ("text", "old", "kept"),
    [
        ("a\nb", "x\r\ny\r\n", "a\r\nb\r\n"),
        ("a\r\nb\n", "x\r\ny", "a\r\nb"),
        ("a\r\nb\r\n", "x\ny\n", "a\nb\n"),
        ("a\r\nb", "x", "a\nb"),
        ("a\nb\n\n\n", "x\n", "a\nb\n"),
        ("a\nb", "x\n\n", "a\nb\n\n"),
        ("a\r\nb\nc", "x\r\ny\n", "a\r\nb\nc\n"),
        ("a", "", "a"),
    ],
)
def test_line_ends_are_those_of_the_old_text(text, old, kept):
    assert keeping(text, old) == kept


@ALIKE
@given(TEXT)
def test_a_text_keeps_to_itself(text):
    assert keeping(text, text) == text


@ALIKE
@given(TEXT, TEXT)
def test_what_is_kept_is_kept(text, old):
    kept = keeping(text, old)
    assert keeping(kept, old) == kept
    assert kept.endswith("\n") == old.endswith("\n") or not old.rstrip("\r\n")
