from __future__ import annotations

import pytest

from pytest_convo.approve.plan import Candidates, Decision, Standing, decide


def of(*answers: str, mode: str | None = None, refusal: str = "", group: str = "refund/convo.toml") -> Candidates:
    return Candidates(group, answers, mode, refusal)


NOTHING = Standing()


def test_where_nothing_stands_the_answer_is_added() -> None:
    assert decide([of("Yes.")], NOTHING) == Decision("added", "Yes.")


def test_the_first_answer_of_the_largest_class_is_approved() -> None:
    assert decide([of("No.", "**Yes.**", "yes.")], Standing("Maybe.")) == Decision("updated", "**Yes.**")


def test_a_tie_is_said_and_the_first_answer_approved() -> None:
    decision = decide([of("No.", "Yes.", "yes.", "no.", "Hm.")], NOTHING)
    assert decision.text == "No."
    assert decision.tie == "2 answers are as frequent (2 × each), and the first of them is approved"


def test_in_a_tie_what_is_approved_already_stays() -> None:
    assert decide([of("No.", "Yes.")], Standing("Yes.")) == Decision("unchanged")


@pytest.mark.parametrize(
    ("mode", "approved", "said", "deed"),
    [
        (None, "Yes.", "Yes.", "unchanged"),
        (None, "Yes.", "yes.", "updated"),
        ("exact", "Yes.\n", "Yes.", "unchanged"),
        ("normalized", "Yes.", "**yes.**", "unchanged"),
        ("json", '{"a": 1, "b": 2}', '{"b": 2, "a": 1}', "unchanged"),
        ("json", "no JSON", '{"a": 1}', "updated"),
        ("similar", "within 30 days", "Within 30 days!", "unchanged"),
        ("judge", "Yes.", "yes.", "unchanged"),
        ("judge", "Yes.", "Certainly.", "updated"),
    ],
)
def test_what_is_like_the_answer_by_the_check_itself_is_unchanged(
    mode: str | None, approved: str, said: str, deed: str
) -> None:
    assert decide([of(said, mode=mode)], Standing(approved)).deed == deed


def test_an_empty_approved_reply_is_one() -> None:
    assert decide([of("")], Standing("")) == Decision("unchanged")
    assert decide([of("Yes.")], Standing("")) == Decision("updated", "Yes.")


def test_nothing_of_a_refused_group_is_approved_not_even_for_another_case() -> None:
    decision = decide([of("Yes."), of("Yes.", refusal="stable fail")], NOTHING)
    assert decision == Decision("left", why="stable fail")


def test_cases_that_answer_alike_share_the_file() -> None:
    assert decide([of("Yes."), of("Yes.", "Yes.")], NOTHING) == Decision("added", "Yes.")


def test_cases_that_answer_differently_leave_it_alone() -> None:
    assert decide([of("Yes."), of("No.")], NOTHING).why == "its 2 cases answer differently, and they share the file"
    assert decide([of("Yes."), of("No.")], Standing("No.")).deed == "left"


def test_a_case_that_did_not_run_keeps_the_file_that_it_shares() -> None:
    ran = Candidates("orders/convo.toml::late", ("Yes.",), cases=2)
    decision = decide([ran], Standing("No."))
    assert decision == Decision("left", why="its 2 cases share the file, and only 1 of them ran")


def test_what_cannot_be_rewritten_is_left_alone_but_where_it_is_right_already() -> None:
    standing = Standing("Yes.", "it is a record")
    assert decide([of("No.")], standing) == Decision("left", why="it is a record")
    assert decide([of("Yes.")], standing) == Decision("unchanged")
