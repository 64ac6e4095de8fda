from __future__ import annotations

from pathlib import Path

import pytest

from pytest_convo.watch.standing import ANSWERED, Standing, worst

TEA, COFFEE = Path("tea"), Path("coffee")


@pytest.mark.parametrize(
    "words, word",
    [
        (["passed", "failed", "error"], "failed"),
        (["passed", "inconclusive", "skipped"], "inconclusive"),
        (["passed", "error"], "error"),
        (["skipped", "passed", ANSWERED], "passed"),
        (["skipped", ANSWERED], "skipped"),
        ([ANSWERED], ANSWERED),
        ([], "nothing to run"),
    ],
)
def test_the_worst_word_stands_for_all(words, word):
    assert worst(words) == word


def test_a_flip_is_between_passed_and_failed():
    standing = Standing()

    assert standing.ended(TEA, {"one": "passed", "two": "failed", "three": "error"}) == []
    assert standing.ended(TEA, {"one": "failed", "two": "failed", "three": "passed"}) == ["one"]
    assert standing.ended(TEA, {"one": "inconclusive", "two": "passed", "three": "passed"}) == ["two"]
    assert standing.ended(TEA, {"one": "passed"}) == []


def test_what_is_bad_and_what_is_no_more():
    standing = Standing()
    standing.ended(TEA, {"one": "passed", "two": "failed"})
    standing.ended(COFFEE, {"one": "passed"})
    assert standing.bad == [TEA]

    standing.ended(TEA, {"one": "passed"})  # the other one has been deleted
    assert standing.bad == []

    standing.ended(COFFEE, {}, broken="is not TOML")
    assert standing.bad == [COFFEE]
    standing.forget(COFFEE)
    assert standing.bad == []


def test_of_some_groups_the_others_keep_their_words():
    standing = Standing()
    standing.ended(TEA, {"one": "passed", "two": "failed"})

    standing.ended(TEA, {"one": "failed"}, whole=False)

    assert standing.units[TEA].groups == {"one": "failed", "two": "failed"}


def test_what_was_known_before_it_broke_can_still_flip():
    standing = Standing()
    standing.ended(TEA, {"one": "passed"})
    standing.ended(TEA, {}, broken="is not TOML")

    assert standing.ended(TEA, {"one": "failed"}) == ["one"]
    assert standing.units[TEA].word == "failed"


def test_where_there_is_nothing_to_answer_the_last_word_holds():
    standing = Standing()
    standing.ended(TEA, {"one": "failed"})

    assert standing.ended(TEA, {"one": ANSWERED}) == []
    assert standing.bad == [TEA]
    assert standing.ended(COFFEE, {"one": ANSWERED}) == []
    assert standing.units[COFFEE].word == ANSWERED
