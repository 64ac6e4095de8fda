from __future__ import annotations

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_convo.conversation.document import parse
from pytest_convo.record.dump import MAX_DEPTH, MAX_KEY, Unwritable, dump

TEXTS = st.text() | st.text(" \t\n\r-|>#:'\"\\{}[]&*!%@`~=?,<aé0.\x00\x85\u2028\ufeff😀", max_size=40)
KEYS = st.text(max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


def read(written):
    return parse(written, "yaml", "run-1.yaml").value


@given(TEXTS)
@example("\n")
@example("a\n")
@example("a\n\n")
@example("\na")
@example(" a\nb")
@example("\ta b\n \n\n")
@example("a  \n  b ")
@example("--- a\n... b\n")
@example("# a")
@example("a: b")
def test_any_text_is_read_back_as_it_was(text):
    value = {"text": text, "after": [text, {text[:20]: text}], "last": text}
    assert read(dump(value)) == value


@given(VALUES)
def test_any_value_is_read_back_as_it_was_by_our_reader_and_by_others(value):
    whole = {"value": value, "list": [value, [value]]}
    written = dump(whole)
    assert repr(read(written)) == repr(whole)
    assert repr(yaml.load(written, Loader=yaml.CSafeLoader)) == repr(whole)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("stop", "stop"),
        ("gpt-4o-mini", "gpt-4o-mini"),
        ("no", '"no"'),
        ("12", '"12"'),
        ("0" * 32, '"00000000000000000000000000000000"'),
        ("9f0c" * 8, "9f0c9f0c9f0c9f0c9f0c9f0c9f0c9f0c"),
        ("2026-05-04T10:11:12Z", "2026-05-04T10:11:12Z"),
        ("a b", "|-\n  a b"),
        ("a\nb\n", "|\n  a\n  b"),
        ("a\n\nb\n\n", "|+\n  a\n\n  b\n"),
        ("  a\nb", "|2-\n    a\n  b"),
        ('{"id": 7}', '|-\n  {"id": 7}'),
        ("a\x1b[0m", '"a\\u001b[0m"'),
        ("", '""'),
        (1e16, "1.0e+16"),
        (None, "null"),
        ({}, "{}"),
        ([1, [2]], "\n  - 1\n  -\n    - 2"),
        ([{"a": 1, "b": 2}], "\n  - a: 1\n    b: 2"),
    ],
)
def test_a_person_can_read_it(value, written):
    assert dump({"key": value}) == f"key: {written}\n".replace(": \n", ":\n")


def nested(depth):
    return [nested(depth - 1)] if depth else 1


@pytest.mark.parametrize(
    "value",
    ["half \ud83d", {"\udc00": 1}, float("nan"), float("-inf"), {"k" * (MAX_KEY + 1): 1}, nested(MAX_DEPTH + 2)],
    ids=["surrogate", "surrogate in a key", "nan", "infinity", "long key", "deep"],
)
def test_what_yaml_cannot_hold_is_told(value):
    with pytest.raises(Unwritable):
        dump({"value": value})
