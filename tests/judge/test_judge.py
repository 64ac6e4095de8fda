from __future__ import annotations

import asyncio
from fractions import Fraction
from itertools import repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.agreement.outcome import Outcome
from pytest_convo.agreement.verdict import Agreement, SequentialTest, Tally, Verdict, rule
from pytest_convo.bot.events import observed
from pytest_convo.errors import ProviderError, UnusableVerdict
from pytest_convo.judge.judge import Judge
from pytest_convo.judge.question import about_reply
from pytest_convo.settings.bots import BotSettings

from .judges import MUMBLE, Says, always, judge_of, nobody_between, verdict

QUESTION = about_reply("The reply names the deadline.", "Within 30 days.")
PASS, FAIL = verdict("pass"), verdict("fail")
AGREEMENTS = st.integers(1, 7).flatmap(lambda n: st.integers(1, n).map(lambda k: Agreement(n, k)))


def decide(model, rule=None):
    return asyncio.run(judge_of(model, rule).decide(QUESTION, nobody_between))


def answers(outcomes):
    """What a model says in turn whose judgements are these: no verdict is asked for once more."""
    said = {Outcome.PASS: [PASS], Outcome.FAIL: [FAIL], Outcome.ERROR: [MUMBLE, MUMBLE]}
    return [answer for outcome in outcomes for answer in said[outcome]]


@pytest.mark.parametrize(
    "agreement, said, verdict, asked",
    [
        (Agreement(1, 1), [PASS], Verdict.PASS, 1),
        (Agreement(1, 1), [FAIL], Verdict.FAIL, 1),
        (Agreement(3, 2), [PASS, PASS], Verdict.PASS, 2),
        (Agreement(3, 2), [FAIL, PASS, PASS], Verdict.PASS, 3),
        (Agreement(3, 2), [FAIL, PASS, FAIL], Verdict.FAIL, 3),
        (Agreement(3, 3), [PASS, FAIL], Verdict.FAIL, 2),
        (Agreement(3, 1), [PASS], Verdict.PASS, 1),
        (Agreement(3, 2), [MUMBLE, PASS, PASS], Verdict.PASS, 3),
        (Agreement(3, 2), [MUMBLE, MUMBLE, PASS, PASS], Verdict.PASS, 4),
        (Agreement(3, 2), [MUMBLE, MUMBLE, PASS, FAIL], Verdict.INCONCLUSIVE, 4),
        (Agreement(1, 1), [MUMBLE, MUMBLE], Verdict.INCONCLUSIVE, 2),
        (SequentialTest(9), [FAIL, FAIL], Verdict.FAIL, 2),
        (SequentialTest(2), [PASS, PASS], Verdict.INCONCLUSIVE, 2),
    ],
)
def test_no_more_is_asked_than_the_verdict_needs(agreement, said, verdict, asked):
    model = Says(said)
    assert decide(model, agreement).verdict is verdict
    assert len(model.asked) == asked


@given(AGREEMENTS, st.data())
def test_it_decides_as_its_rule_does_of_all_judgements_in_whichever_order(agreement, data):
    outcomes = data.draw(st.lists(st.sampled_from(Outcome), min_size=agreement.n, max_size=agreement.n))
    decision = decide(Says(answers(data.draw(st.permutations(outcomes)))), agreement)
    assert decision.verdict is agreement.decide(Tally.of(outcomes))


@given(AGREEMENTS, st.lists(st.sampled_from([PASS, FAIL, MUMBLE]), min_size=20, max_size=20))
def test_a_decision_has_each_judgement_and_the_first_that_says_the_same(agreement, said):
    model = Says(said)
    decision = decide(model, agreement)
    least, most = judge_of(model, agreement).calls
    assert decision.tally.measured == len(decision.judgements)
    assert decision.tally.errors == len(decision.unusable)
    assert agreement.decide(decision.tally) is decision.verdict
    assert decision.tally.total <= agreement.n == most
    assert least <= len(model.asked) or decision.unusable
    if decision.verdict is not Verdict.INCONCLUSIVE:
        assert decision.because.passed == (decision.verdict is Verdict.PASS)


@pytest.mark.parametrize(
    "runs, agreement, calls",
    [(1, "2/3", (1, 1)), (3, "2/3", (2, 3)), (3, "1", (1, 3)), (3, "1/3", (1, 3)), (5, "4/5", (2, 5))],
)
def test_it_says_how_many_calls_a_decision_takes(runs, agreement, calls):
    assert judge_of(always(PASS), rule(runs, Fraction(agreement))).calls == calls


def test_a_sequential_test_takes_as_many_as_its_shortest_verdict():
    assert judge_of(always(PASS), SequentialTest(20)).calls == (2, 20)
    assert judge_of(always(PASS), SequentialTest(1)).calls == (1, 1)


@given(AGREEMENTS)
def test_the_fewest_calls_are_reached_by_judgements_that_are_all_alike(agreement):
    counts = []
    for said in (PASS, FAIL):
        model = always(said)
        decide(model, agreement)
        counts.append(len(model.asked))
    assert min(counts) == judge_of(model, agreement).calls[0]


@pytest.mark.parametrize("said", [[ProviderError("gone", status=503)], [MUMBLE, ProviderError("gone", status=503)]])
def test_what_the_model_raises_goes_through(said):
    with pytest.raises(ProviderError, match="gone"):
        decide(Says(said), Agreement(3, 2))


def test_one_model_is_made_for_all_judgements_of_a_run_and_only_when_it_is_asked():
    made = []

    def make(run):
        made.append(run)
        return always(PASS)

    judge = Judge(make, BotSettings(model="j"), Agreement(3, 3), "text")
    asyncio.run(judge.decide(QUESTION, nobody_between, 7))
    assert made == [7]
    asyncio.run(judge.decide(QUESTION, lambda make: always(PASS), 8))
    assert made == [7]


def test_every_answer_of_the_judge_is_told_also_what_is_no_verdict():
    events = []
    with observed(events.append):
        decide(Says([MUMBLE, verdict("fail", "No.", "30 days")]))
    assert [event["kind"] for event in events] == ["judgement", "judgement"]
    first, second = events
    assert (first["verdict"], first["about"]) == (None, QUESTION.about)
    assert "not JSON alone" in first["reason"]
    assert (second["verdict"], second["reason"], second["evidence"]) == ("fail", "No.", "30 days")


def test_a_second_answer_that_is_no_verdict_is_what_is_told():
    with pytest.raises(UnusableVerdict, match="its answer is empty"):
        asyncio.run(judge_of(Says([MUMBLE, ""])).asking().judge(QUESTION, nobody_between))


@pytest.mark.parametrize(
    "change",
    [{"model": "k"}, {"provider": "mine"}, {"temperature": 0.5}, {"request": {"seed": 1}}],
)
def test_another_model_or_another_way_of_asking_it_is_another_judge(change):
    bot = BotSettings(model="j")

    def identity(bot, k=1, n=1, output="auto"):
        return Judge(lambda run: always(PASS), bot, Agreement(n, k), output).identity

    assert identity(bot) == identity(bot.model_copy(update={"retries": 1, "base_url": "http://127.0.0.1:9"}))
    assert identity(bot) != identity(bot.model_copy(update=change))
    assert identity(bot) != identity(bot, 2, 3) != identity(bot, 3, 3)
    assert identity(bot) != identity(bot, output="text")


@pytest.mark.parametrize("output", ["auto", "schema", "tool", "text"])
def test_a_preview_is_the_request_that_is_made_first(output):
    model = always(PASS)
    judge = Judge(lambda run: model, BotSettings(model="j", temperature=0), Agreement(1, 1), output)
    asyncio.run(judge.decide(QUESTION, nobody_between))
    assert judge.preview(QUESTION) == model.asked[0]


def test_a_judge_that_never_gives_a_verdict_is_asked_twice_for_each_judgement_and_no_more():
    model = Says(repeat(MUMBLE))
    decision = decide(model, Agreement(5, 3))
    assert (decision.verdict, len(decision.unusable), len(model.asked)) == (Verdict.INCONCLUSIVE, 5, 10)
