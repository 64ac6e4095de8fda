import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.conversation.message import ROLES
from pytest_convo.conversation.names import (
    DATA,
    TEXT,
    FileName,
    NearMiss,
    is_message_name,
    message_name,
    parse,
    printable,
)
from pytest_convo.errors import FormatError

indexes = st.integers(0, 9999)
roles = st.sampled_from(ROLES)
labels = st.text(string.ascii_lowercase + string.digits + "-", max_size=8).filter(lambda label: label != "steps")
extensions = st.sampled_from(TEXT + DATA)


@given(indexes, roles, labels, extensions, st.booleans())
def test_a_name_is_parsed_into_the_parts_it_was_made_of(index, role, label, ext, template):
    name = message_name(index, role, label, ext, template=template)

    assert parse(name) == FileName(name, index, role, label, ext, template)


@given(st.text(max_size=30))
def test_text_that_does_not_begin_with_a_digit_is_none_of_our_business(name):
    assert parse(f"x{name}") is None


@given(st.from_regex(r"[0-9]{1,6}[_a-z.A-Z0-9-]{0,20}", fullmatch=True))
def test_only_what_parses_counts_as_a_message_name(name):
    try:
        parsed = isinstance(parse(name), FileName)
    except FormatError:
        parsed = "steps" in name and is_message_name(name)

    assert parsed == is_message_name(name)


def test_steps_are_told_from_other_files():
    assert parse("0001_assistant_steps.yaml").is_steps
    assert not parse("0001_assistant_step.yaml").is_steps


@pytest.mark.parametrize(
    "name",
    [
        "0000_user.md~",
        "0000_user.md.swp",
        "0000_user.md.orig",
        "0001_assistant.md.tmp",
        "0001_assistant.md.new",
        "0001_assistant.md.partial",
        "0001_assistant_steps.yaml.partial",
        "#0000_user.md#",
        "0000_user.md#",
        ".#0000_user.md",
        ".0000_user.md.swp",
        "4913",
        "prompt.md",
        "test_refund.py",
        "convo.toml",
        "",
        "٠٠٠٠_user.md",
    ],
)
def test_leftovers_and_other_files_are_passed_over_silently(name):
    assert parse(name) is None


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("0_user.md", "four digits, this one has 1"),
        ("00000_user.md", "four digits, this one has 5"),
        ("2023-notes.md", "followed by _role"),
        ("0000user.md", "followed by _role"),
        ("0000", "followed by _role"),
        ("20240101.log", "four digits, this one has 8"),
        ("0000_user", "no extension; known: md, txt, yaml, yml, json, toml"),
        ("0000_user.", "no extension"),
        ("0000_user.md.txt", "the extension 'md.txt' is not known; known: md"),
        ("0000_user.md.J2", "the extension 'md.J2' is not known"),
        ("0000_user_.md", "a label holds"),
        ("0000_user_Late.md", "a label holds lower-case letters"),
        ("0000_user_a_b.md", "a label holds"),
        ("0000_user copy.md", "a label holds"),
        ("0000_user.md\n", "control characters"),
        ("0001_initial.py", "neither the role 'initial' nor the extension 'py' is known"),
        ("0٠00_user.md", "four digits, this one has 1"),
    ],
)
def test_a_near_miss_says_why(name, reason):
    missed = parse(name)

    assert isinstance(missed, NearMiss)
    assert reason in missed.reason
    assert missed.name == printable(name)


@pytest.mark.parametrize(
    ("name", "what", "hint"),
    [
        ("0000_usr.md", "unknown role 'usr'", "did you mean 'user'? known: system, user, assistant, tool"),
        ("0000_User.md", "unknown role 'User'", "did you mean 'user'?"),
        ("0001_function_message.yaml", "unknown role 'function'", "known: system, user, assistant, tool"),
        ("0000_user.MD", "unknown extension 'MD'", "did you mean 'md'? known: md, txt, yaml, yml, json, toml"),
        ("0000_user.py", "unknown extension 'py'", "each also with .j2"),
        ("0000_user.jsn.j2", "unknown extension 'jsn'", "did you mean 'json'?"),
        ("0000_user.j2", "unknown extension 'j2'", "each also with .j2"),
        ("0000_user_steps.yaml", "the label 'steps' is kept", "choose another label"),
        ("0001_assistant_steps.md", "the label 'steps' is kept", "choose another label"),
        ("0001_assistant_steps.toml", "the label 'steps' is kept", "choose another label"),
    ],
)
def test_an_unknown_word_in_a_matching_name_is_an_error_that_lists_the_known_ones(name, what, hint):
    with pytest.raises(FormatError) as caught:
        parse(name)

    assert what in caught.value.what
    assert hint in caught.value.hint


def test_a_name_that_no_file_can_have_is_refused():
    with pytest.raises(ValueError, match=r"'10000_user\.md' is not the name of a message file"):
        message_name(10_000, "user")


def test_bytes_that_are_not_utf8_can_be_printed(non_utf8_name):
    missed = parse(non_utf8_name)

    assert isinstance(missed, NearMiss)
    assert missed.name == r"0000_us\udcffer.md"
    assert missed.name.encode()
