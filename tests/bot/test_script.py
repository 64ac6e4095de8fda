from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.bot.script import Script
from pytest_convo.bot.script_reading import Reading
from pytest_convo.bot.script_reply import ReplyError, ScriptedReply
from pytest_convo.errors import FormatError, ScriptExhausted

FUZZY = (ScriptedReply(text="good", weight=4), ScriptedReply(text="bad", weight=1))


def ask(reading, text="hello"):
    return reading.answer([{"role": "user", "content": text}], str, lambda: None).text


def reading(*replies, seed="", run=None, **options):
    return Reading(Script(replies, **options), seed, run)


def test_the_first_reply_that_matches_answers():
    bot = reading(
        ScriptedReply(when="tea", text="T"), ScriptedReply(when="(?i)coffee", text="C"), ScriptedReply(text="?")
    )
    assert [ask(bot, text) for text in ("Coffee or tea", "COFFEE", "milk")] == ["T", "C", "?"]


def test_replies_with_times_are_a_sequence():
    bot = reading(
        ScriptedReply(text="one", times=1), ScriptedReply(text="two", times=2), ScriptedReply(when="x", text="never")
    )
    assert [ask(bot, str(n)) for n in range(3)] == ["one", "two", "two"]


def test_a_script_that_has_run_out_says_what_was_asked_and_what_it_has():
    bot = reading(ScriptedReply(when="refund", text="no"), ScriptedReply(text="once", times=1), path="a/script.toml")
    ask(bot)
    with pytest.raises(ScriptExhausted) as caught:
        ask(bot, "hello " * 50)
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("a/script.toml: the script has no reply left for 'hello hello")
    assert len(lines[0]) < 150
    assert lines[1] == "  it answers: 'refund', any message (used up)"


def test_a_long_script_is_not_listed_in_full():
    with pytest.raises(ScriptExhausted, match=r"'p7', and 92 more$"):
        ask(reading(*(ScriptedReply(when=f"p{n}", text="x") for n in range(100))))


@pytest.mark.parametrize(
    "replies",
    [
        [{"text": "a"}, {"text": "b"}],
        [{"text": "a"}, {"when": "x", "text": "b", "times": 1}],
        [{"when": "x", "text": "a"}, {"when": "y", "text": "b"}, {"when": "x", "text": "c"}],
        [{"text": "a", "weight": 1}, {"text": "b"}],
        [{"text": "a", "weight": 1}, {"when": "x", "text": "b", "weight": 1}],
        [{"when": "x", "text": "a", "weight": 1}, {"when": "y", "text": "b"}, {"when": "x", "text": "c", "weight": 1}],
    ],
)
def test_a_reply_that_can_never_answer_is_refused(replies):
    with pytest.raises(ReplyError, match="can never answer") as caught:
        Script(ScriptedReply(**reply) for reply in replies)
    assert caught.value.number == len(replies) - 1


def test_draws_that_stand_apart_are_two_draws():
    bot = reading(
        ScriptedReply(when="x", text="a", weight=1),
        ScriptedReply(when="x", text="b", weight=1),
        ScriptedReply(when="y", text="c", weight=1),
        ScriptedReply(when="y", text="d", weight=1),
    )
    assert {ask(bot, "x") for _ in range(2)} == {"a", "b"}
    assert {ask(bot, "y") for _ in range(2)} == {"c", "d"}


@given(st.text(), st.text(), st.integers(1, 4))
def test_five_equal_questions_get_exactly_four_good_answers_for_every_seed(seed, question, decks):
    bot = reading(*FUZZY, seed=seed)
    assert Counter(ask(bot, question) for _ in range(5 * decks)) == {"good": 4 * decks, "bad": decks}


@given(st.permutations(["a"] * 7 + ["b"] * 5 + ["c"]))
def test_what_a_question_gets_does_not_depend_on_what_else_is_asked_between(order):
    mixed, apart = reading(*FUZZY), reading(*FUZZY)
    got = {question: [] for question in "abc"}
    for question in order:
        got[question].append(ask(mixed, question))
    assert got == {question: [ask(apart, question) for _ in got[question]] for question in "abc"}


@given(st.text(), st.permutations(range(1, 6)))
def test_the_runs_of_a_case_share_a_deck_in_whatever_order_they_are_held(case, order):
    answers = {run: ask(reading(*FUZZY, seed=case, run=run)) for run in order}
    assert Counter(answers.values()) == {"good": 4, "bad": 1}
    assert answers == {run: ask(reading(*FUZZY, seed=case, run=run)) for run in range(1, 6)}


def test_a_question_asked_again_in_a_run_is_drawn_from_another_deck():
    runs = [reading(*FUZZY, seed="case", run=run) for run in range(1, 6)]
    rounds = ["".join(ask(run)[0] for run in runs) for _ in range(40)]
    assert all(sorted(answers) == list("bgggg") for answers in rounds)
    assert len(set(rounds)) == 5


def test_independent_draws_are_not_exact():
    bots = [reading(*FUZZY, seed=str(n), draw="independent") for n in range(100)]
    answers = [Counter(ask(bot) for _ in range(5))["bad"] for bot in bots]
    assert 0.1 < sum(answers) / 500 < 0.3
    assert len(set(answers)) > 2


def test_a_deck_that_would_be_huge_is_refused_unless_draws_are_independent():
    replies = [ScriptedReply(text="a", weight=0.33333), ScriptedReply(text="b", weight=0.66667)]
    with pytest.raises(ReplyError, match="deck of 100000 cards") as caught:
        Script(replies)
    assert caught.value.at == ("weight",)
    assert ask(reading(*replies, draw="independent")) in "ab"


def test_an_unknown_way_to_draw_is_refused():
    with pytest.raises(FormatError, match='"deck" or "independent"'):
        Script([], draw="cards")


def test_a_script_is_made_of_replies():
    with pytest.raises(FormatError, match="not of str"):
        Script(["hello"])


def test_a_source_may_be_a_script_replies_a_path_or_a_function(tmp_path):
    path = tmp_path / "script.toml"
    path.write_text('[[reply]]\ntext = "from a file"\n')
    script = Script([ScriptedReply(text="x")])
    assert Script.of(script) is script
    assert Script.of([ScriptedReply(text="x")]).replies == script.replies
    assert Script.of(path).replies == Script.of(str(path)).replies == (ScriptedReply(text="from a file"),)
    assert ask(Reading(Script.of(lambda request: "from a function"), "")) == "from a function"


def test_a_function_may_give_a_reply_and_nothing_else():
    assert ask(Reading(Script.of(lambda request: ScriptedReply(text="whole")), "")) == "whole"
    with pytest.raises(FormatError, match="not int"):
        ask(Reading(Script.of(lambda request: 5), ""))


def test_an_async_function_is_refused_before_it_is_called():
    async def reply(request):
        return "x"

    with pytest.raises(FormatError, match="not an async one"):
        Script.of(reply)
