from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from pytest_convo.agreement.outcome import Outcome
from pytest_convo.bot.embedding import comparison
from pytest_convo.check.base import AskingCheck, CheckResult
from pytest_convo.check.similar import Similar, SimilarByMeaning, similarity
from pytest_convo.conversation.reply import Reply
from pytest_convo.conversation.transcript import Transcript, Turn
from pytest_convo.errors import CheckError, ProviderError

if TYPE_CHECKING:
    from pytest_convo.bot.model import ChatModel
    from pytest_convo.prompt.request import Request

    from .conftest import Judge


@pytest.mark.parametrize(
    ("one", "other", "ratio"),
    [
        ("Return it within 30 days.", "return it WITHIN 30 days", 1.0),
        ("days 30 within", "within 30 days", 1.0),
        ("within 30 days", "You may return it within 30 days of delivery", 1.0),
        ("tea", "coffee", 0.22),
        ("", "coffee", 0.0),
    ],
)
def test_similarity_is_the_token_set_ratio(one: str, other: str, ratio: float) -> None:
    assert similarity(one, other) == pytest.approx(ratio, abs=0.005)


def test_the_least_similarity_itself_is_enough(judge: Judge) -> None:
    ratio = similarity("within 30 days", "within 20 days")
    assert judge.passes(Similar("within 30 days", ratio), "within 20 days")
    assert not judge.passes(Similar("within 30 days", ratio + 0.001), "within 20 days")


def test_what_is_too_far_off_names_the_words_that_are_missing(judge: Judge) -> None:
    assert judge.why(Similar("You may return it within 30 days."), "No returns, within reason.") == (
        "turn 1, similar: similarity 0.61 is below 0.8\n"
        '  the text: "You may return it within 30 days."\n'
        "  not in the reply: you may return it 30 days\n"
        "  the reply:\n"
        "    | No returns, within reason."
    )


def test_a_similarity_just_below_is_not_rounded_up_to_the_limit(judge: Judge) -> None:
    ratio = similarity("within 30 days", "within 20 days")
    assert f"{ratio:.6f} is below" in judge.why(Similar("within 30 days", ratio + 1e-5), "within 20 days")


TEXT = "You may return it within 30 days."


class Says:
    """Answers a comparison with a figure."""

    def __init__(self, figure: str | ProviderError) -> None:
        self.figure = figure
        self.asked: list[Request] = []

    async def complete(self, request: Request, stream: object = None) -> Reply:
        self.asked.append(request)
        if isinstance(self.figure, ProviderError):
            raise self.figure
        return Reply(self.figure)


def by_meaning(model: ChatModel, reply: str, at_least: float = 0.8) -> CheckResult:
    turn = Turn(1, Reply(reply))
    check = SimilarByMeaning(TEXT, at_least, "e-1", lambda: model)
    assert isinstance(check, AskingCheck)
    assert check.name == "similar"
    return asyncio.run(check.ask(Transcript((), (turn,)), turn, lambda make: make()))


def test_the_meaning_of_the_reply_is_compared_with_that_of_the_text() -> None:
    model = Says("0.800000")
    assert by_meaning(model, "A month.") == CheckResult.passed()
    assert model.asked == [comparison("e-1", TEXT, "A month.")]


def test_whoever_is_asked_stands_behind_what_a_run_keeps() -> None:
    kept = Says("0.9")
    check = SimilarByMeaning(TEXT, 0.8, "e-1", lambda: pytest.fail("asked though it is recorded"))
    turn = Turn(1, Reply("A month."))
    result = asyncio.run(check.ask(Transcript((), (turn,)), turn, lambda make: kept))
    assert (result.outcome, len(kept.asked)) == (Outcome.PASS, 1)


def test_a_meaning_too_far_off_is_told_with_both_texts() -> None:
    result = by_meaning(Says("0.612345"), "No returns.")
    assert (result.outcome, result.reason) == (
        Outcome.FAIL,
        "similarity 0.61 in meaning (e-1) is below 0.8\n"
        '  the text: "You may return it within 30 days."\n'
        "  the reply:\n"
        "    | No returns.",
    )
    assert "0.799999 in meaning" in by_meaning(Says("0.799999"), "Hm.").reason


def test_an_empty_reply_is_far_off_and_nobody_is_asked() -> None:
    model = Says("1.0")
    result = by_meaning(model, " \n")
    assert result.outcome is Outcome.FAIL
    assert "similarity 0.00 in meaning" in result.reason
    assert model.asked == []


def test_what_goes_wrong_with_the_model_goes_through() -> None:
    with pytest.raises(ProviderError, match="no"):
        by_meaning(Says(ProviderError("no")), "A month.")
    with pytest.raises(CheckError, match="not 'quite alike'"):
        by_meaning(Says("quite alike"), "A month.")
