from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.agreement.verdict import Agreement, SequentialTest
from pytest_convo.errors import FormatError, ProviderError, UnusableVerdict
from pytest_convo.judge.same import SameJudge

from .judges import MUMBLE, Says, always, judge_of, nobody_between, verdict

PASS, FAIL = verdict("pass"), verdict("fail")


def same(model, *pairs, rule=None):
    judge = SameJudge(judge_of(model, rule))
    return [asyncio.run(judge.same(one, other, nobody_between)) for one, other in pairs]


@pytest.mark.parametrize(
    "said, alike, asked",
    [([PASS, PASS], True, 2), ([PASS, FAIL], False, 2), ([FAIL], False, 1)],
)
def test_both_directions_must_agree_and_the_second_is_asked_only_where_it_counts(said, alike, asked):
    model = Says(said)
    assert same(model, ("a month", "30 days")) == [alike]
    assert len(model.asked) == asked


def test_each_direction_has_the_other_text_first():
    model = always(PASS)
    same(model, ("a month", "30 days"))
    one, other = (request.messages[-1].text for request in model.asked)
    assert one.index("a month") < one.index("30 days")
    assert other.index("30 days") < other.index("a month")


@pytest.mark.parametrize("other", ["30 days", "**30** DAYS", " 30\n days ", "３０ days"])
def test_nobody_is_asked_about_texts_that_are_equal_in_words(other):
    model = Says([])
    assert same(model, ("30 days", other), (other, "30 days")) == [True, True]
    assert model.asked == []


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), max_size=12))
def test_each_direction_of_each_pair_is_asked_once_and_the_order_of_a_pair_does_not_count(pairs):
    model = Says(lambda data: PASS if "c" not in {line for line in data.splitlines() if len(line) == 1} else FAIL)
    found = same(model, *pairs)
    assert found == [one == other or "c" not in (one, other) for one, other in pairs]
    asked = [request.messages[-1].text for request in model.asked]
    assert len(asked) == len(set(asked))


def test_each_direction_is_a_decision_of_the_judge_s_agreement():
    model = Says([FAIL, PASS, PASS, PASS, PASS])
    assert same(model, ("a month", "30 days"), rule=Agreement(3, 2)) == [True]
    assert len(model.asked) == 5


def test_without_a_verdict_of_either_direction_there_is_none_and_nothing_is_remembered():
    model = Says([MUMBLE, MUMBLE, PASS, PASS])
    judge = SameJudge(judge_of(model))
    with pytest.raises(UnusableVerdict, match="not JSON alone"):
        asyncio.run(judge.same("a month", "30 days", nobody_between))
    assert judge.known == {}
    assert asyncio.run(judge.same("a month", "30 days", nobody_between))


def test_a_judge_that_comes_to_no_decision_is_told():
    with pytest.raises(UnusableVerdict, match="could not decide whether the two texts say the same"):
        same(always(PASS), ("a month", "30 days"), rule=SequentialTest(2))


def test_what_the_model_raises_goes_through():
    with pytest.raises(ProviderError):
        same(Says([ProviderError("gone", status=503)]), ("a month", "30 days"))


def test_evidence_may_be_of_either_text_and_of_no_other():
    assert same(always(verdict("fail", evidence="30 days")), ("a month", "30 days")) == [False]
    assert same(always(verdict("fail", evidence="a month")), ("a month", "30 days")) == [False]
    with pytest.raises(UnusableVerdict, match="no quotation"):
        same(always(verdict("fail", evidence="a year")), ("a month", "30 days"))


def test_its_instructions_are_its_templates_whatever_is_compared(tmp_path):
    path = tmp_path / "judge_same.md.j2"
    path.write_text("{{ vars.tone }} {{ fence }}")
    own = SameJudge(judge_of(always(PASS)), path, {"tone": "Strictly"})
    assert own.instructions.startswith("Strictly ")
    assert own.instructions != SameJudge(judge_of(always(PASS))).instructions
    path.write_text("Hello.")
    with pytest.raises(FormatError):
        _ = own.instructions
