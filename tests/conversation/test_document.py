import json

import pytest
import yaml
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_convo.conversation.document import parse, plain
from pytest_convo.errors import FormatError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)

BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{here}: &{here} [{','.join([f'*{above}'] * 9)}]\n" for above, here in zip("abcdefgh", "bcdefghi", strict=True)
)
MERGE_BOMB = "a: &a {x: 1}\nb: {<<: [*a, *a]}\n"


def value(text, ext="yaml"):
    return parse(text, ext, f"0000_user.{ext}").value


def error(text, ext="yaml"):
    with pytest.raises(FormatError) as caught:
        value(text, ext)
    return caught.value


@given(JSON)
def test_json_is_read_as_json_reads_it(data):
    assert value(json.dumps(data), "json") == data
    assert value(json.dumps(data, indent=2, ensure_ascii=False), "json") == data


@given(
    st.text(max_size=12) | st.sampled_from(["yes", "1e5", "0x1F", "12:30", "~", "2026-01-01", ".5", "+1", "<<", "="])
)
def test_text_that_pyyaml_writes_is_read_back_as_text(text):
    written = yaml.safe_dump({"content": text, "list": [text]}, allow_unicode=True)
    assume(yaml.safe_load(written)["content"] == text)  # PyYAML itself loses a lone U+0085

    assert value(written) == {"content": text, "list": [text]}


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers() | st.booleans() | st.none())
def test_numbers_and_words_that_pyyaml_writes_are_read_back(data):
    assert value(yaml.safe_dump({"x": data})) == {"x": data}


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("yes", "yes"),
        ("No", "No"),
        ("on", "on"),
        ("12:30", "12:30"),
        ("2026-01-01", "2026-01-01"),
        ("0042", "0042"),
        ("0x1F", "0x1F"),
        ("1_000", "1_000"),
        (".inf", ".inf"),
        ("9" * 5000, "9" * 5000),
        ("'true'", "true"),
        ("!!str 5", "5"),
        ("! 5", "5"),
        ("true", True),
        ("False", False),
        ("~", None),
        ("", None),
        ("-7", -7),
        ("1.50", 1.5),
    ],
)
def test_what_is_not_in_quotes_is_text_but_for_null_booleans_and_numbers(written, read):
    assert value(f"x: {written}") == {"x": read}


def test_an_anchor_may_be_used_again_within_bounds():
    assert value("a: &a {x: [1, 2]}\nb: *a\nc: [*a, *a]") == {
        "a": {"x": [1, 2]},
        "b": {"x": [1, 2]},
        "c": [{"x": [1, 2]}] * 2,
    }


@pytest.mark.parametrize("pure_python", [False, True])
@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("", 1, "is empty"),
        ("# nothing\n", 1, "is empty"),
        ("a: 1\nb: 2\na: 3\n", 3, "the key 'a' stands twice, first on line 1"),
        ("x:\n  - a: 1\n    a: 2\n", 3, "the key 'a' stands twice, first on line 2"),
        ('a: 1\n"a": 2\n', 2, "the key 'a' stands twice"),
        (BOMB, 6, "its aliases repeat more than 1000000 characters"),
        ("a: &a " + "x" * 600_000 + "\nb: [*a, *a]", 2, "its aliases repeat more than"),
        ("a: &a [*a]", 1, "the alias *a has no anchor that ends above it"),
        ("a: *gone", 1, "the alias *gone has no anchor"),
        (MERGE_BOMB, 2, "merge keys are not read here"),
        ("a: 1\nb: !!python/object/apply:os.system [ls]", 2, "the tag tag:yaml.org,2002:python/object/apply:os.system"),
        ("a: !!binary aGk=", 1, "the tag tag:yaml.org,2002:binary is not read here"),
        ("a: 1\n---\nb: 2", 2, "holds a second document"),
        ("1: x", 1, "a key is not text"),
        ("? [a]\n: x", 1, "a key is not text"),
        ("a: b\nc: d: e", 2, "is not YAML: mapping values are not allowed"),
        ("a: [", 1, "is not YAML"),
        ("a: 1\nb: \x07", 2, r"holds the control character '\x07'"),
        ("[" * 100_000, 1, "is nested more than 50 deep"),
        ("{a: " * 100_000, 1, "is nested more than 50 deep"),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else None,
)
def test_yaml_that_is_wrong_or_unsafe_is_an_error_with_its_line(monkeypatch, text, line, what, pure_python):
    if pure_python:
        monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    found = error(text)

    assert what in found.what
    assert found.hint
    assert found.path == "0000_user.yaml"
    assert found.line == line or (text == "a: [" and found.line in (1, 2))


@pytest.mark.parametrize("pure_python", [False, True])
def test_half_of_a_surrogate_pair_is_refused_in_yaml_by_the_parser_or_by_us(monkeypatch, pure_python):
    if pure_python:
        monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    found = error('a: 1\nb: "\\ud800"')

    assert found.line == 2
    assert "invalid Unicode character escape" in found.what or "half of a surrogate pair" in found.what


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("", 1, "is empty"),
        ('{"a": 1,\n "a": 2}', 2, "the key 'a' stands twice, first on line 1"),
        ('{"a": [{"b": "}"},\n {"b": 1, "b": 2}]}', 2, "the key 'b' stands twice, first on line 2"),
        ('{"a": 1, "\\u0061": 2}', 1, "the key 'a' stands twice"),
        ('{"a": 1,}', 1, "is not JSON"),
        ("{'a': 1}", 1, "is not JSON: Expecting property name enclosed in double quotes"),
        ('{\n"a": NaN}', 2, "nan is not a value that JSON has"),
        ('{"a": 1e999}', 1, "inf is not a value that JSON has"),
        ('{"a": ' + "9" * 5000 + "}", None, "is not JSON: Exceeds the limit"),
        ('{\n"a": "\\ud800"}', 2, "holds half of a surrogate pair"),
        ("[" * 100_000, None, "is nested more than 50 deep"),
        ("[" * 60 + "]" * 60, 1, "is nested more than 50 deep"),
        ('{"a": "b\nc"}', 1, "is not JSON: Invalid control character"),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else None,
)
def test_json_that_is_wrong_is_an_error_with_its_line(text, line, what):
    found = error(text, "json")

    assert what in found.what
    assert found.hint
    assert found.line == line


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("a = 1\na = 2", 2, "is not TOML: Cannot overwrite a value"),
        ("a = yes", 1, "is not TOML: Invalid value"),
        ('a = "', 1, "is not TOML: Unterminated string"),
        ("a = 1\nb = [1,\n\n", 2, "is not TOML"),
        ("a = 1\nb = 2026-01-01", 2, "2026-01-01 is not a value that JSON has"),
        ("a = inf", 1, "inf is not a value that JSON has"),
        ("x = [\n'''\na = 1\n''']\n[[calls]]\nd = nan\n[[calls]]\na = inf", 6, "nan is not a value that JSON has"),
        ("a = " + "9" * 5000, None, "is not TOML: Exceeds the limit"),
        ("a = " + "[" * 100_000, None, "is nested more than 50 deep"),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else None,
)
def test_toml_that_is_wrong_is_an_error_with_its_line(text, line, what):
    found = error(text, "toml")

    assert what in found.what
    assert found.hint
    assert found.line == line


@pytest.mark.parametrize(
    ("text", "ext"),
    [
        ("name: x\ntool_calls:\n  - id: a\n  - id: b\n    name: c\n", "yaml"),
        ('{"name": "x",\n "tool_calls": [\n  {"id": "a"},\n  {"id": "b",\n "name": "c"}]}', "json"),
        ('name = "x"\n[[tool_calls]]\nid = "a"\n[[tool_calls]]\nid = "b"\nname = "c"', "toml"),
    ],
)
def test_an_error_stands_at_the_line_of_its_key_or_of_what_is_around_it(text, ext):
    document = parse(text, ext, "x")
    row = text.split("\n")

    def marked(*place):
        return row[document.error("", place).line - 1]

    assert "name" in marked("name")
    assert "c" in marked("tool_calls", 1, "name")
    assert document.error("", ("tool_calls", 1, "arguments")).line == document.error("", ("tool_calls", 1)).line
    assert marked("tool_calls", 0) != marked("tool_calls", 1, "id")


def test_the_lines_of_a_rendered_text_are_said_to_be_that():
    found = parse("a: 1\nb: 2", "yaml", "0000_user.yaml.j2", rendered=True).error("is wrong", ("b",))

    assert (found.what, found.line) == ("is wrong (line 2 of the rendered text)", None)


def test_a_value_from_python_has_neither_path_nor_line():
    assert str(plain({"a": [1]}).error("is wrong", ("a", 0))) == "is wrong"
    with pytest.raises(FormatError, match="the key 1 is not text"):
        plain({"a": {1: 2}})
