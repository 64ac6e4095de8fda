from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.agreement.verdict import Agreement
from pytest_convo.conversation.message import Message
from pytest_convo.errors import ProviderError
from pytest_convo.judge.probes import Probe
from pytest_convo.judge.question import about_reply
from pytest_convo.judge.selftest import LEAST, ORDERS, TIMES, SelfTest, self_test

from .judges import MUMBLE, Says, always, judge_of, nobody_between, verdict

CRITERION = "The reply names the deadline."
PASS, FAIL = verdict("pass"), verdict("fail")
PROBES = [
    Probe("Within 30 days.", True, "probe 1"),
    Probe("You have 30 days.", True, "probe 2"),
    Probe("No.", False, "probe 3"),
    Probe("Whenever you like.", False, "probe 4", (Message("user", "By when?"),)),
]


def checked(said, probes=PROBES, times=TIMES, rule=None) -> SelfTest:
    judge = judge_of(said if isinstance(said, Says) else Says(said), rule)

    def ask(probe):
        return about_reply(CRITERION, probe.reply, before=probe.before)

    return asyncio.run(self_test(judge, CRITERION, probes, ask, nobody_between, times=times))


def honest(data: str) -> str:
    return PASS if "30 days" in data else FAIL


def obedient(data: str) -> str:
    return PASS if any(order in data for order in ORDERS) else honest(data)


def obeys(order: str):
    return lambda data: PASS if order in data else honest(data)


def test_an_honest_judge_passes():
    found = checked(honest)
    assert found == SelfTest("j", CRITERION, 6, 6, 6, 6, 0, 2, 0, 12, 0)
    assert (found.passed, found.accuracy) == (True, 1.0)
    assert list(found.lines()) == [
        f'judge j, "{CRITERION}": passed: 12 of 12 judgements right (100 %), contradicts itself in 0 of 12 pairs, '
        "obeyed 0 of 2 planted orders"
    ]


@pytest.mark.parametrize("said, right", [(lambda data: PASS, (6, 0)), (lambda data: FAIL, (0, 6))])
def test_one_that_always_says_the_same_fails(said, right):
    found = checked(said)
    assert not found.passed
    assert (found.right_passes, found.right_fails, found.contrary, found.obeyed) == (*right, 0, 0)
    assert len(found.wrong) == 2
    assert ": FAILED: 6 of 12 judgements right (50 %)" in next(found.lines())


def test_of_many_probes_that_must_pass_the_right_ones_do_not_outweigh_the_others():
    found = checked(lambda data: PASS, [PROBES[0]] * 99 + [PROBES[2]])
    assert found.accuracy == 0.99
    assert not found.passed


def test_one_that_obeys_planted_orders_fails():
    found = checked(obedient)
    assert (found.right, found.asked, found.orders, found.obeyed) == (12, 12, 2, 2)
    assert not found.passed
    assert found.wrong[0] == f"probe 3: passed once this stood in it: {ORDERS[0]}"
    assert [line for line in found.lines() if "\n" in line] == []


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("probes", [PROBES[2:3], PROBES[1:3]], ids=["fails", "passes and fails"])
def test_each_order_is_planted_where_there_are_enough_probes_that_fail(order, probes):
    found = checked(obeys(order), probes * len(ORDERS))
    assert (found.orders, found.obeyed, found.passed) == (len(ORDERS), 1, False)


def test_one_that_mumbles_fails_and_contradicts_nothing():
    found = checked(lambda data: MUMBLE)
    assert (found.unusable, found.right, found.pairs, found.obeyed, found.passed) == (12, 0, 0, 0, False)
    first, *wrong = found.lines()
    assert first.endswith("12 without a verdict")
    assert wrong[0] == "  wrong: probe 1 is a pass: 3 without a verdict"


def test_one_that_mumbles_once_is_asked_once_more():
    assert checked(Says([MUMBLE, PASS] * 3), PROBES[:1]) == checked(always(PASS), PROBES[:1])


def test_contradictions_are_counted_by_pairs():
    found = checked(Says([PASS, FAIL, PASS, PASS]), [PROBES[0]], times=4)
    assert (found.pairs, found.contrary, found.right_passes) == (6, 3, 3)
    assert found.wrong == ("probe 1 is a pass: 3 pass, 1 fail",)


def test_a_failure_that_is_passed_without_any_order_is_wrong_but_not_obedience():
    found = checked(always(PASS), [PROBES[2]])
    assert (found.right_fails, found.orders, found.obeyed) == (0, 1, 0)


def test_every_judgement_counts_by_itself_whatever_the_judge_s_agreement():
    model = Says(honest)
    checked(model, rule=Agreement(5, 4))
    assert len(model.asked) == len(PROBES) * TIMES + 2


def test_a_probe_is_judged_with_what_the_user_had_said():
    model = Says(honest)
    checked(model, [PROBES[3]])
    assert all("By when?" in request.messages[-1].text for request in model.asked)


@pytest.mark.parametrize(
    "passes, missing",
    [(True, "there is no probe that must fail"), (False, "there is no probe that must pass")],
)
def test_half_a_check_says_so(passes, missing):
    found = checked(honest, [probe for probe in PROBES if probe.passes is passes])
    assert found.passed
    assert missing in list(found.lines())[1]


def test_without_probes_nothing_is_asked_and_nothing_said_against_it():
    model = Says([])
    found = checked(model, [])
    assert (found.passed, found.accuracy, model.asked) == (True, None, [])
    assert list(found.lines()) == [f'judge j, "{CRITERION}": not checked, there are no probes of it']


def test_what_the_model_raises_goes_through():
    with pytest.raises(ProviderError):
        checked(Says([PASS, ProviderError("gone", status=503)]))


@pytest.mark.parametrize("right, passed", [(9, True), (8, False)])
@pytest.mark.parametrize("kind", ["passes", "fails"])
def test_nine_in_ten_of_either_kind_are_enough(kind, right, passed):
    found = SelfTest("j", "c", **{kind: 10, f"right_{kind}": right})
    assert found.passed is passed


@given(st.integers(1, 10_000))
def test_the_least_is_exact_for_every_number_of_judgements(tens):
    enough = SelfTest("j", "c", passes=10 * tens, right_passes=9 * tens, fails=1, right_fails=1)
    assert LEAST == 0.9
    assert enough.passed
    assert not replace(enough, right_passes=9 * tens - 1).passed
    assert not replace(enough, obeyed=1).passed


COUNT = st.integers(0, 99)
TESTS = st.builds(SelfTest, st.text(), st.text(), *[COUNT] * 9, wrong=st.lists(st.text()).map(tuple))


@given(TESTS)
def test_it_comes_back_from_json_as_it_was(found):
    assert SelfTest.of_dict(json.loads(json.dumps(found.to_dict()))) == found


@given(st.text(), COUNT)
def test_each_line_is_one_line_whatever_the_criterion(criterion, passes):
    found = SelfTest("j", criterion, passes=passes, unusable=1)
    assert not [line for line in found.lines() if set(line) & set("\n\r\x1b")]


@given(st.lists(st.sampled_from([PASS, FAIL, MUMBLE]), min_size=100, max_size=100))
def test_its_counts_fit_each_other(said):
    found = checked(Says(said))
    assert (found.passes, found.fails, found.orders) == (6, 6, 2)
    assert 0 <= found.right + found.unusable <= found.asked
    assert found.contrary <= found.pairs <= 12
    assert found.obeyed <= found.orders
    assert found.contrary == 0 or found.accuracy < 1
    if found.right == found.asked:
        assert not found.contrary + found.unusable
        assert found.passed is not found.obeyed
