from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_convo.agreement.outcome import Outcome
from pytest_convo.check.build import checks_for
from pytest_convo.check.makers import MAKERS
from pytest_convo.check.run import Evaluation, evaluate
from pytest_convo.conversation.message import ToolCall
from pytest_convo.conversation.reply import Reply, Usage
from pytest_convo.conversation.transcript import Transcript, Turn
from pytest_convo.errors import FormatErrors, SettingsError
from pytest_convo.settings.expect import EXTRA_CHECKS, Expect, ExpectTable


def expect(table: dict[str, Any], extra: Any = ()) -> Expect:
    """What `[expect]` says in convo.toml."""
    return Expect.model_validate(table, context={EXTRA_CHECKS: frozenset(extra)})


def judged(table: dict[str, Any], reply: Reply | str, **options: Any) -> Evaluation:
    said = Reply(reply) if isinstance(reply, str) else reply
    checks = checks_for(expect(table, options.get("extra", ())), [1], **options)
    return evaluate(checks, Transcript((), (Turn(1, said),)))


def names(table: dict[str, Any], turns: list[int], **options: Any) -> dict[int, list[str]]:
    checks = checks_for(expect(table, options.get("extra", ())), turns, **options)
    return {turn: [check.name for check in several] for turn, several in checks.items()}


def test_every_key_of_expect_has_its_maker() -> None:
    assert {*MAKERS, "ignore_case", "calls_order", "checks"} == set(ExpectTable.model_fields)


CALL = ToolCall("call_1", "lookup", '{"id": "A17", "lang": "en"}')


@pytest.mark.parametrize(
    ("table", "good", "bad"),
    [
        ({"equals": ["Yes.", "No."]}, "No.", "Maybe."),
        ({"equals": "yes.", "ignore_case": True}, "YES.", "No."),
        ({"contains": "tea"}, "green tea", "Tea"),
        ({"contains": ["tea", "cup"], "ignore_case": True}, "a CUP of TEA", "a cup"),
        ({"contains_any": ["tea", "coffee"]}, "coffee", "milk"),
        ({"contains_any": "TEA", "ignore_case": True}, "tea", "milk"),
        ({"excludes": ["tea", "coffee"]}, "milk", "milk tea"),
        ({"excludes": "TEA", "ignore_case": True}, "milk", "tea"),
        ({"matches": r"^\d+ days$"}, "30 days", "thirty days"),
        ({"matches": ["DAYS", r"\d"], "ignore_case": True}, "30 days", "days"),
        ({"json_schema": {"type": "object", "required": ["id"]}}, '{"id": 1}', "{}"),
        ({"json_equals": {"id": 1}}, '{"id": 1}', '{"id": 2}'),
        ({"json_contains": {"id": 1}}, '{"id": 1, "n": 2}', "{}"),
        ({"number": {"value": 1.0, "within": 0.1}}, "1.1", "1.11"),
        ({"number": {"value": 42}}, "42", "41"),
        ({"similar": {"to": "within 30 days", "at_least": 0.9}}, "within 30 days", "never"),
        ({"calls": [{"name": "lookup", "arguments": {"id": "A17"}}]}, Reply("x", calls=(CALL,)), "x"),
        ({"calls": []}, "x", Reply("x", calls=(CALL,))),
        ({"calls": [], "calls_order": "superset"}, Reply("x", calls=(CALL,)), ""),
        ({"max_chars": 3}, "abc", "abcd"),
        ({"max_words": 1}, "abcd", "a b"),
        ({"max_tokens": 3}, Reply("x", usage=Usage(9, 3)), Reply("x", usage=Usage(1, 4))),
        ({"max_seconds": 0.5}, Reply("x", seconds=0.5), Reply("x", seconds=0.6)),
        ({"max_seconds": "500ms"}, Reply("x", seconds=0.5), Reply("x", seconds=0.6)),
        ({"finish_reason": "length"}, Reply("x", finish_reason="length"), "x"),
        ({"finish_reason": ["stop", "length"]}, "x", Reply("x", finish_reason="content_filter")),
        ({}, "x", Reply("x", finish_reason="length")),
    ],
)
def test_each_key_judges(table: dict[str, Any], good: Reply | str, bad: Reply | str) -> None:
    passed, failed = judged(table, good), judged(table, bad)
    assert (passed.outcome, passed.reason) == (Outcome.PASS, "")
    assert failed.outcome is Outcome.FAIL


def test_max_usd_needs_a_price() -> None:
    reply = Reply("x", usage=Usage(0, 10), model="tea-1")
    assert judged({"max_usd": 0.1}, reply).outcome is Outcome.ERROR
    assert judged({"max_usd": 0.1}, reply, price=lambda reply: 0.1).outcome is Outcome.PASS
    assert judged({"max_usd": 0.1}, reply, price=lambda reply: 0.2).outcome is Outcome.FAIL


def test_expect_speaks_of_the_last_reply_and_expect_n_of_its_own() -> None:
    table = {"contains": "a", "1": {"excludes": "b"}, "5": {"max_words": 3}}
    assert names(table, [1, 3, 5]) == {
        1: ["whole reply", "excludes"],
        3: ["whole reply"],
        5: ["whole reply", "contains", "max_words"],
    }


def test_an_expected_finish_reason_replaces_the_check_that_a_reply_is_whole() -> None:
    assert names({"finish_reason": "length", "1": {"contains": "a"}}, [1, 3]) == {
        1: ["whole reply", "contains"],
        3: ["finish_reason"],
    }
    assert names({"contains": "a", "1": {"finish_reason": "length"}}, [1]) == {1: ["contains", "finish_reason"]}


def test_ignore_case_is_of_its_table_only() -> None:
    table = {"contains": "TEA", "1": {"contains": "CUP", "ignore_case": True}}
    assert judged(table, "a cup of TEA").outcome is Outcome.PASS
    assert judged(table, "a cup of tea").outcome is Outcome.FAIL


def test_a_conversation_that_generates_nothing_is_not_checked() -> None:
    assert checks_for(expect({"contains": "a", "1": {"contains": "b"}}), []) == {}


def test_expecting_something_of_a_given_reply_is_an_error() -> None:
    with pytest.raises(SettingsError) as caught:
        checks_for(expect({"3": {"contains": "a"}}), [1, 5])
    assert str(caught.value) == (
        "[expect.3] speaks of a reply that no run generates; generated are: 1, 5\n"
        "  `regenerate` makes the bot answer again where an assistant file stands"
    )


def test_a_schema_in_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "order.json"
    path.write_text('\ufeff{"required": ["id"]}', encoding="utf-8")
    assert judged({"json_schema": str(path)}, '{"id": 1}').outcome is Outcome.PASS
    assert judged({"json_schema": str(path)}, "{}").outcome is Outcome.FAIL


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"{", "is not JSON: Expecting property name"),
        (b"\xff{}", "is not JSON: 'utf-8' codec can't decode"),
        (b"[" * 100_000, "is not JSON: "),
        (b'{"type": "sting"}', "is no JSON schema: $.type: 'sting' is not valid"),
        (b"[]", "is no JSON schema: "),
    ],
)
def test_a_schema_file_that_is_none_is_an_error(tmp_path: Path, content: bytes, what: str) -> None:
    path = tmp_path / "order.json"
    path.write_bytes(content)
    with pytest.raises(SettingsError) as caught:
        judged({"json_schema": str(path)}, "{}")
    assert str(caught.value).startswith(f"expect.json_schema: {path}: {what}")


def test_a_schema_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"cannot be read: Is a directory"):
        judged({"json_schema": str(tmp_path)}, "{}")


def test_an_inline_schema_that_is_none_is_an_error() -> None:
    with pytest.raises(SettingsError, match=r"^expect\.1\.json_schema: is no JSON schema: \$\.type: 'sting'"):
        judged({"1": {"json_schema": {"type": "sting"}}}, "{}")


@pytest.fixture
def polite(tmp_path: Path) -> Path:
    path = tmp_path / "checks.py"
    path.write_text("def polite(reply):\n    assert 'please' in reply.text\n")
    return path


def test_a_python_function_judges(polite: Path) -> None:
    assert judged({"python": f"{polite}:polite"}, "please").outcome is Outcome.PASS
    assert judged({"python": f"{polite}:polite"}, "now!").outcome is Outcome.FAIL


def test_a_python_function_that_is_not_there_is_an_error_before_anything_is_asked(polite: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        judged({"python": f"{polite}:polit"}, "please")
    assert str(caught.value) == (
        f"expect.python: {polite}: there is no function 'polit' in it\n  did you mean 'polite'? known: polite"
    )


def test_a_python_file_that_does_not_load_is_an_error_with_its_line(polite: Path) -> None:
    polite.write_text("import json\n1 / 0\n")
    with pytest.raises(SettingsError, match=rf"^expect\.python: {polite}:2: ZeroDivisionError while it was loaded"):
        judged({"python": f"{polite}:polite"}, "please")


def at_most(reply: Reply, value: int) -> str | None:
    return None if len(reply.text) <= value else f"longer than {value}"


def test_a_check_of_a_conftest_is_given_its_value() -> None:
    extra = {"at_most": at_most}
    assert judged({"at_most": 3}, "abc", extra=extra).outcome is Outcome.PASS
    assert judged({"at_most": 3}, "abcd", extra=extra).reason.startswith("turn 1, at_most: longer than 3")


@pytest.mark.parametrize(
    ("extra", "what"),
    [
        ({"at_most": lambda reply: None}, r"expect\.at_most: .*cannot be called with 2 or 3 arguments"),
        ({"contains": at_most, "at_most": at_most}, "adds 'contains', which is a key of .expect. already"),
    ],
)
def test_a_check_of_a_conftest_that_cannot_be_one_is_an_error(extra: dict[str, Any], what: str) -> None:
    with pytest.raises(SettingsError, match=what):
        judged({"at_most": 3}, "abc", extra=extra)


def test_a_check_that_no_conftest_adds_here_is_an_error() -> None:
    with pytest.raises(SettingsError, match="no conftest adds it; added are: other"):
        checks_for(expect({"at_most": 3}, {"at_most"}), [1], extra={"other": at_most})


def test_all_that_is_wrong_is_told_in_one_go_with_its_place() -> None:
    def mistake(key: str, text: str, hint: str = "") -> SettingsError:
        return SettingsError(text, path="convo.toml", line=len(key), hint=hint)

    table = {"json_schema": {"type": "sting"}, "1": {"json_schema": {"type": "sting"}}, "3": {"contains": "a"}}
    with pytest.raises(FormatErrors) as caught:
        checks_for(expect(table), [1, 5], mistake=mistake)
    assert [(error.path, error.line) for error in caught.value.errors] == [
        ("convo.toml", len("expect.3")),
        ("convo.toml", len("expect.1.json_schema")),
        ("convo.toml", len("expect.json_schema")),
    ]


def test_numbers_of_the_settings_keep_their_decimals() -> None:
    evaluation = judged({"number": {"value": 0.1}}, "0.2")
    assert "expected 0.1\n" in evaluation.reason


def test_json_values_of_the_settings_are_shown_as_json() -> None:
    assert '$.a: missing, expected {"b": [1, true]}' in judged({"json_equals": {"a": {"b": [1, True]}}}, "{}").reason
