from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.settings.locate import key_lines

DOCUMENT = '''version = 1  # [no.table] = 1
"quoted key".inner = """
not = "a key"
""""" # the text ends in two quotes
lit = \'\'\'
[nor] this\'\'\'

[bot]
  model = 'a # b = "c"'
request = { seed = 7, "top p" = [0.5, 1], when = 1979-05-27 07:32:00 }

[[case]]
id = "a"
vars.order = [
  { id = 1 },  # ] not the end

  2,
]
[case.expect.1]
contains = "]"
[[case]]
id = "b"
[expect]
[ expect . 1 ]
json_equals = { a = [
  { b = 1 }
] }
'''


@pytest.mark.parametrize(
    "keys, line",
    [
        (("version",), 1),
        (("quoted key",), 2),
        (("quoted key", "inner"), 2),
        (("lit",), 5),
        (("bot",), 8),
        (("bot", "model"), 9),
        (("bot", "request", "seed"), 10),
        (("bot", "request", "top p", 1), 10),
        (("bot", "request", "when"), 10),
        (("case", 0), 12),
        (("case", 0, "id"), 13),
        (("case", 0, "vars"), 14),
        (("case", 0, "vars", "order"), 14),
        (("case", 0, "vars", "order", 0, "id"), 15),
        (("case", 0, "vars", "order", 1), 17),
        (("case", 0, "expect", "1"), 19),
        (("case", 0, "expect", "1", "contains"), 20),
        (("case", 1), 21),
        (("case", 1, "id"), 22),
        (("expect",), 23),
        (("expect", "1"), 24),
        (("expect", "1", "json_equals", "a", 0, "b"), 26),
    ],
)
def test_each_key_is_found_on_its_line(keys, line):
    assert key_lines(DOCUMENT)[keys] == line


def ways(value: Any, keys: tuple[str | int, ...] = ()) -> set[tuple[str | int, ...]]:
    """The way to everything in a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return {keys, *(way for key, element in inner for way in ways(element, (*keys, key)))} - {()}


def test_every_key_and_no_other_is_found():
    assert set(key_lines(DOCUMENT)) == ways(tomllib.loads(DOCUMENT))


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n"])
def test_an_empty_document_has_no_keys(text):
    assert key_lines(text) == {}


texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=8)
scalars = st.one_of(st.integers(-9, 9), st.booleans(), st.floats(-9, 9), texts)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=6
)


def written(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{quoted(key)} = {written(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + "".join(f"{written(inner)}, # ]\n" for inner in value) + "]"
    return quoted(value) if isinstance(value, str) else json.dumps(value)


def quoted(text: str) -> str:
    return json.dumps(text).replace("\x7f", "\\u007f") if text.isascii() else json.dumps(text, ensure_ascii=False)


@given(st.dictionaries(texts, values, max_size=4), st.dictionaries(texts, values, max_size=4))
def test_whatever_is_valid_is_found_whole_and_in_order(top, table):
    lines = [f"{quoted(key)} = {written(value)}" for key, value in top.items()]
    inner = [f"{quoted(key)} = {written(value)}" for key, value in table.items()]
    name = quoted("the table" + "".join(top))
    text = "\n".join([*lines, f"[{name}]", *inner])
    found = key_lines(text)
    assert set(found) == ways(tomllib.loads(text))
    assert list(found.values()) == sorted(found.values())
