from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from pytest_convo.check.text import Contains, ContainsAny, Equals, Excludes, Matches

if TYPE_CHECKING:
    from .conftest import Judge

REPLY = "You can return it within thirty\u202fdays of delivery.\nWe are sorry for the trouble, and sorry again."


@pytest.mark.parametrize(
    ("texts", "ignore_case", "reply", "holds"),
    [
        (("Yes.",), False, "Yes.", True),
        (("Yes.",), False, "Yes.\n", True),
        (("Yes.\n",), False, "Yes.", True),
        (("Yes.",), False, "Yes.\n\n", False),
        (("Yes.",), False, " Yes.", False),
        (("Yes.",), False, "yes.", False),
        (("Yes.",), True, "YES.", True),
        (("Straße",), True, "STRASSE", True),
        (("Yes.", "No."), False, "No.", True),
        (("Yes.", "No."), False, "Maybe.", False),
    ],
)
def test_equals_is_one_of_the_texts(judge: Judge, texts: tuple, ignore_case: bool, reply: str, holds: bool) -> None:
    assert judge.passes(Equals(texts, ignore_case), reply) is holds


def test_equals_shows_what_differs_word_by_word(judge: Judge) -> None:
    assert judge.why(Equals(("The answer is 42.",)), "The answer is 41.") == (
        "turn 1, equals: the reply is another text: [-expected-] {+said+}\n    The answer is [-42-]{+41+}."
    )


def test_equals_compares_with_the_nearest_of_several_texts(judge: Judge) -> None:
    why = judge.why(Equals(("Certainly not.", "It is 42.")), "It is 41.")
    assert why == (
        "turn 1, equals: the reply is none of 2 texts; nearest: [-expected-] {+said+}\n    It is [-42-]{+41+}."
    )


def test_equals_says_when_only_case_differs(judge: Judge) -> None:
    why = judge.why(Equals(("Yes.",)), "YES.")
    assert why.endswith("they differ only in case: ignore_case = true would let the reply pass")


@pytest.mark.parametrize(
    ("texts", "ignore_case", "holds"),
    [
        (("thirty",), False, True),
        (("thirty", "trouble"), False, True),
        (("thirty", "fifty"), False, False),
        (("WE ARE",), False, False),
        (("WE ARE",), True, True),
        (("delivery.\nWe",), False, True),
    ],
)
def test_contains_wants_every_text(judge: Judge, texts: tuple, ignore_case: bool, holds: bool) -> None:
    assert judge.passes(Contains(texts, ignore_case), REPLY) is holds


def test_contains_shows_the_closest_passage_and_the_invisible_in_it(judge: Judge) -> None:
    assert judge.why(Contains(("thirty days",)), REPLY) == (
        'turn 1, contains: not in the reply: "thirty days"\n'
        "    closest: …an return it within «thirty\\u202fdays» of delivery.\\nWe are…\n"
        "  the reply:\n"
        "    | You can return it within thirty\\u202fdays of delivery.\n"
        "    | We are sorry for the trouble, and sorry again."
    )


def test_contains_names_each_absent_text_and_none_that_is_there(judge: Judge) -> None:
    why = judge.why(Contains(("return", "We Are Sorry", "zebra")), REPLY)
    assert why.splitlines()[:3] == [
        'turn 1, contains: 2 of 3 are not in the reply: "We Are Sorry", "zebra"',
        '    closest to "We Are Sorry", in another case: '
        "…y\\u202fdays of delivery.\\n«We are sorry» for the trouble, an…",
        "  the reply:",
    ]


def test_an_absence_from_an_empty_reply_says_so(judge: Judge) -> None:
    assert judge.why(Contains(("tea",)), "") == 'turn 1, contains: not in the reply: "tea"\n  the reply: ""'


@pytest.mark.parametrize(
    ("texts", "ignore_case", "holds"),
    [
        (("fifty", "thirty"), False, True),
        (("fifty", "sixty"), False, False),
        (("THIRTY",), False, False),
        (("THIRTY",), True, True),
    ],
)
def test_contains_any_wants_one_text(judge: Judge, texts: tuple, ignore_case: bool, holds: bool) -> None:
    assert judge.passes(ContainsAny(texts, ignore_case), REPLY) is holds


def test_contains_any_names_all_that_would_do(judge: Judge) -> None:
    why = judge.why(ContainsAny(("zebra", "giraffe")), "No animals here.")
    assert why == (
        'turn 1, contains_any: none of these is in the reply: "zebra", "giraffe"\n  the reply:\n    | No animals here.'
    )


@pytest.mark.parametrize(
    ("texts", "ignore_case", "holds"),
    [
        (("cannot",), False, True),
        (("sorry",), False, False),
        (("SORRY",), False, True),
        (("SORRY",), True, False),
        (("cannot", "trouble"), False, False),
    ],
)
def test_excludes_wants_none_of_the_texts(judge: Judge, texts: tuple, ignore_case: bool, holds: bool) -> None:
    assert judge.passes(Excludes(texts, ignore_case), REPLY) is holds


def test_excludes_shows_the_first_place_and_how_often(judge: Judge) -> None:
    assert judge.why(Excludes(("SORRY", "zebra", "delivery"), ignore_case=True), REPLY) == (
        'turn 1, excludes: in the reply, and must not be: "SORRY", "delivery"\n'
        "    You can return it within thirty\\u202fdays of delivery.\\nWe are «sorry» for the trouble, "
        "and sorry again. (2 times)\n"
        "    You can return it within thirty\\u202fdays of «delivery».\\nWe are sorry for the trouble, and sorry again."
    )


@pytest.mark.parametrize(
    ("patterns", "holds"),
    [
        ([r"within \w+\sdays"], True),
        ([r"^We are"], False),
        ([r"(?m)^We are"], True),
        ([r"return", r"\d+ days"], False),
    ],
)
def test_matches_searches_for_every_pattern(judge: Judge, patterns: list[str], holds: bool) -> None:
    assert judge.passes(Matches(tuple(map(re.compile, patterns))), REPLY) is holds


def test_matches_shows_which_pattern_was_found_and_which_not(judge: Judge) -> None:
    why = judge.why(Matches((re.compile(r"\d+ days"), re.compile("orde[rs]"))), "Your order of tea")
    assert why == (
        "turn 1, matches: 1 of 2 patterns are not in the reply:\n"
        "    \\d+ days\n"
        "    found: Your «order» of tea\n"
        "  the reply:\n"
        "    | Your order of tea"
    )


def test_a_single_pattern_is_not_counted(judge: Judge) -> None:
    why = judge.why(Matches((re.compile("x+"),)), "tea")
    assert why.startswith("turn 1, matches: the pattern is not in the reply:\n    x+\n  the reply:")


@pytest.mark.parametrize(
    "check",
    [Equals(("tea " * 9000,)), Contains(tuple(f"text {n}" for n in range(500))), Excludes(tuple("abcdefghijklmnop"))],
)
def test_a_reason_is_bounded_however_long_the_reply(judge: Judge, check: Equals) -> None:
    why = judge.why(check, "abcdefghijklmnop and so on\n" * 30_000)
    assert len(why) < 4200
    assert len(why.splitlines()) < 70
