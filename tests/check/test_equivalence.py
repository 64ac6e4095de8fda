from __future__ import annotations

import asyncio
import json
import threading
import time
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.agreement.classes import normalise
from pytest_convo.check.equivalence import joining, key_of, verify
from pytest_convo.check.loading import load
from pytest_convo.check.values import same as same_json
from pytest_convo.conversation.message import ToolCall
from pytest_convo.conversation.reply import Reply
from pytest_convo.errors import CheckError
from pytest_convo.settings.model import AgreeSettings

KEYED = ("text", "json", "number")
plain_json = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.0, 1.0, 0.5, 1e20]) | st.sampled_from("ab"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)


def alike(one: str | Reply, other: str | Reply, by: str = "text", **more) -> bool:
    key = key_of(AgreeSettings(by=by, **more))
    assert key is not None
    one, other = (Reply(reply) if isinstance(reply, str) else reply for reply in (one, other))
    return key(one) == key(other)


def sorted_into(answers: list[str], by: str, judge_same=None, **more) -> list[list[str]]:
    join = joining(AgreeSettings(by=by, **more), judge_same)

    async def sort() -> list[list[str]]:
        found: list[list[str]] = []
        for answer in answers:
            index = await join(found, answer)
            [*found, opened := []][index].append(answer)
            found += [opened] if opened else []
        return found

    return asyncio.run(sort())


def function(directory: Path, body: str) -> str:
    path = directory / "checks.py"
    path.write_text(f"def same(one, other):\n    {body}\n")
    return f"python:{path}:same"


# --- keys


def test_texts_are_compared_after_normalising():
    assert alike("**30  Days**", "30 days")
    assert not alike("30 days", "45 days")


@pytest.mark.parametrize(
    "one, other, same",
    [
        ('{"a": 1, "b": [1, 2]}', '{"b": [1.0, 2], "a": 1.00}', True),
        ('{"a": 1}', '```json\n{"a": 1}\n```', True),
        ('{"a": 1}', '{"a": true}', False),
        ("[1, 2]", "[2, 1]", False),
        ('{"city": "Paris"}', '{"city": "paris"}', True),
        ('{"B": 1, "a": 2}', '{"a": 2, "b": 1}', False),
        ('{"a": "*x", "b": "y*"}', '{"a": "x", "b": "y"}', False),
        ('{"a": "x\\ny"}', '{"a": " x y "}', True),
        ('"30 days"', "30 days", False),
        ("30", "30.0", True),
        ("30 Days", "30 days", True),
        ("1e400", "1e500", True),
        ("[" * 100_000, "[" * 100_000, True),
        ("[" * 100_000, "[" * 100_001, False),
    ],
)
def test_json_is_compared_by_value_and_what_is_none_by_its_text(one, other, same):
    assert alike(one, other, "json") is same


@given(plain_json, plain_json, st.booleans())
def test_json_replies_have_one_key_if_and_only_if_they_are_the_same_json(one, other, indented):
    first, second = json.dumps(one), json.dumps(other, indent=2 if indented else None)
    assert alike(first, second, "json") == same_json(one, other)


@given(st.text(max_size=20), st.text(max_size=20))
def test_texts_that_are_equal_after_normalising_are_alike_as_json(one, other):
    if normalise(one) == normalise(other):
        assert alike(one, other, "json")


@pytest.mark.parametrize(
    "one, other, same",
    [
        ("It is 42.", "42.0", True),
        ("1,234.50", "= 1234.5", True),
        ("-0", "0", True),
        ("100", "1e2", True),
        ("It is 42.", "It is 41.", False),
        ("0.1", "0.10000000000000000000000000000000000000001", False),
        ("1e999999999", "2e999999999", True),
        ("I do not know.", "No idea.", True),
        ("I do not know.", "0", False),
    ],
)
def test_numbers_are_compared_by_value(one, other, same):
    assert alike(one, other, "number") is same


def calling(*calls: tuple[str, str], text: str = "") -> Reply:
    return Reply(text, tuple(ToolCall(f"call-{number}", *call) for number, call in enumerate(calls)))


LOOKUP = ("lookup", '{"id": "A17", "n": 1}')


@pytest.mark.parametrize(
    "one, other, same",
    [
        (calling(LOOKUP), calling(("lookup", '{"n": 1.0, "id": "A17"}'), text="done"), True),
        (calling(LOOKUP), calling(("lookup", '{"id": "a17", "n": 1}')), False),
        (calling(LOOKUP), calling(("find", LOOKUP[1])), False),
        (calling(LOOKUP), calling(LOOKUP, LOOKUP), False),
        (calling(LOOKUP, ("end", "{}")), calling(("end", "{}"), LOOKUP), False),
        (calling(("end", "")), calling(("end", "{}")), True),
        (calling(("end", "{oops")), calling(("end", "{oops")), True),
        (calling(("end", "{oops")), calling(("end", '"{oops"')), False),
        (calling(text="yes"), calling(text="no"), True),
        (calling(), calling(LOOKUP), False),
    ],
)
def test_calls_are_compared_by_name_and_arguments_in_order(one, other, same):
    assert alike(one, other, "calls") is same


@pytest.mark.parametrize("by", KEYED)
def test_only_what_the_pattern_finds_is_compared(by):
    pattern = r"answer: (\d+)"
    assert alike("Well, answer: 42, I think", "answer: 42", by, pattern=pattern)
    assert alike("answer: 42, answer: 1", "answer: 42, answer: 2", by, pattern=pattern)
    assert not alike("answer: 42", "answer: 41", by, pattern=pattern)


@pytest.mark.parametrize("by", KEYED)
def test_where_the_pattern_finds_nothing_there_is_nothing_to_tell_apart(by):
    pattern = r"answer: (\d+)?"
    assert alike("30 days", "45 days", by, pattern=pattern)
    assert alike("answer: ", "45 days", by, pattern=pattern)
    assert not alike("answer: 42", "42", by, pattern=pattern)


def test_without_a_group_the_whole_match_is_compared():
    assert alike("Within 30 days.", "30 days it is", pattern=r"\d+ days")


def test_a_key_tells_nothing_of_the_reply():
    key = key_of(AgreeSettings())
    assert key is not None
    assert len(key(Reply("secret " * 1000))) == len(key(Reply(""))) == 32
    assert key(Reply("half \ud800 pair"))


@pytest.mark.parametrize("by", ["text", "json", "calls", "number"])
def test_where_there_are_keys_nothing_is_compared_in_pairs(by):
    assert key_of(AgreeSettings(by=by)) is not None


def test_a_thousand_answers_have_their_keys_at_once():
    for by in KEYED:
        key = key_of(AgreeSettings(by=by))
        assert key is not None
        started = time.process_time()
        assert len({key(Reply(f"You have **{number}** days to send it back.")) for number in range(1000)}) == 1000
        assert time.process_time() - started < 1


# --- pairs


def test_numbers_may_be_some_way_apart():
    answers = ["It is 1.0", "1.1", "1.2", "none", "I do not know", "1.10"]
    expected = [["It is 1.0", "1.1", "1.10"], ["1.2"], ["none", "I do not know"]]
    assert sorted_into(answers, "number", within=0.1) == expected
    assert key_of(AgreeSettings(by="number", within=0.1)) is None


@given(st.lists(st.integers(0, 9).map(str), max_size=8))
def test_classes_of_numbers_are_those_of_comparing_all(all_compared, answers):
    def near(one: str, other: str) -> bool:
        return abs(Decimal(one) - Decimal(other)) <= 2

    expected = [[answers[member] for member in members] for members in all_compared(answers, near)]
    assert sorted_into(answers, "number", within=2) == expected


def test_a_function_is_asked_about_two_texts_beside_the_event_loop(tmp_path: Path):
    after = "from threading import get_ident\nseen = []"
    by = function(tmp_path, f"seen.append(get_ident()); return one[0] == other[0]\n{after}")
    assert sorted_into(["tea", "Tea", "toast", "milk"], by) == [["tea", "Tea", "toast"], ["milk"]]
    seen = load(tmp_path / "checks.py").seen
    assert len(seen) == 2
    assert threading.get_ident() not in seen


def test_any_callable_can_be_asked(tmp_path: Path):
    (tmp_path / "checks.py").write_text("import operator\nsame = operator.eq\nwrong = operator.add")
    assert sorted_into(["a", "b", "a"], f"python:{tmp_path}/checks.py:same") == [["a", "a"], ["b"]]
    with pytest.raises(CheckError, match=r"checks\.py: wrong returned 'ab'"):
        sorted_into(["a", "b"], f"python:{tmp_path}/checks.py:wrong")


def test_a_function_is_asked_about_what_the_pattern_finds(tmp_path: Path):
    by = function(tmp_path, "return abs(int(one) - int(other)) < 2")
    found = sorted_into(["a 1", "b 1", "c 2", "no number", "d 9", "none"], by, pattern=r"\d+")
    assert found == [["a 1", "b 1", "c 2"], ["no number", "none"], ["d 9"]]


@pytest.mark.parametrize(
    "body, what, line",
    [
        ("return 'yes'", "same returned 'yes'", 1),
        ("return None", "same returned None", 1),
        ("raise ValueError('no \x1b[31mred')", r"same raised ValueError: no \x1b[31mred", 2),
        ("raise SystemExit(3)", "same raised SystemExit: 3", 2),
        ("import pytest; pytest.fail('no')", "same raised Failed: no", 2),
        ("import pytest; pytest.skip('no')", "same raised Skipped: no", 2),
        ("assert one == other", "same raised AssertionError: ", 2),
        ("raise StopIteration", "same raised StopIteration: ", 2),
    ],
)
def test_a_function_that_answers_neither_yes_nor_no_is_a_broken_check(tmp_path: Path, body, what, line):
    with pytest.raises(CheckError) as caught:
        sorted_into(["one", "two"], function(tmp_path, body))
    assert caught.value.what.startswith(what)
    assert (Path(str(caught.value.path)).name, caught.value.line) == ("checks.py", line)


@pytest.mark.parametrize(
    "text, what",
    [
        ("def sane(one, other): pass", "there is no function 'same' in it"),
        ("def same(one): pass", "cannot be called with 2 arguments"),
        ("async def same(one, other): pass", "same is async"),
    ],
)
def test_a_function_that_cannot_be_asked_is_known_beforehand(tmp_path: Path, text, what):
    path = tmp_path / "checks.py"
    path.write_text(text)
    agree = AgreeSettings(by=f"python:{path}:same")
    for find in (verify, joining):
        with pytest.raises(CheckError, match=what):
            find(agree)


def test_there_is_nothing_to_verify_but_functions():
    for by in ("text", "judge"):
        verify(AgreeSettings(by=by))


def test_a_judge_is_asked_only_about_texts_that_differ():
    asked: list[tuple[str, str]] = []

    async def judge_same(one: str, other: str) -> bool:
        asked.append((one, other))
        return one.split()[0] == other.split()[0]

    found = sorted_into(["30 days", "**30** days", "30 d", "a month", "30 days"], "judge", judge_same)
    assert found == [["30 days", "**30** days", "30 d", "30 days"], ["a month"]]
    assert asked == [("30 days", "30 d"), ("30 days", "a month")]


def test_what_a_judge_raises_goes_through():
    async def judge_same(one: str, other: str) -> bool:
        raise CheckError("no verdict")

    with pytest.raises(CheckError, match="no verdict"):
        sorted_into(["one", "two"], "judge", judge_same)


def test_a_judge_hears_nothing_of_what_the_pattern_does_not_find():
    async def judge_same(one: str, other: str) -> bool:
        return {one, other} == {"30", "31"}

    found = sorted_into(["30 days", "31 days", "none", "no"], "judge", judge_same, pattern=r"\d+")
    assert found == [["30 days", "31 days"], ["none", "no"]]


def test_a_thousand_different_answers_are_sorted_by_a_function_in_little_time(tmp_path: Path):
    by = function(tmp_path, "return one == other")
    answers = [f"You have **{number}** days to send it back." for number in range(1000)]
    started = time.process_time()
    assert len(sorted_into(answers, by)) == 1000
    assert time.process_time() - started < 2
