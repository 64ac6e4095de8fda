from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pytest_convo.agreement.outcome import Outcome
from pytest_convo.check.base import Check
from pytest_convo.check.run import evaluate
from pytest_convo.conversation.reply import Reply
from pytest_convo.conversation.transcript import Transcript, Turn


class Judge:
    """Judges one reply, at index 1, by one check."""

    def __call__(self, check: Check, text: str = "", **reply: Any) -> tuple[Outcome, str]:
        turn = Turn(1, Reply(text, **reply))
        found = evaluate({1: (check,)}, Transcript((), (turn,)))
        return found.outcome, found.reason

    def passes(self, check: Check, text: str = "", **reply: Any) -> bool:
        outcome, reason = self(check, text, **reply)
        assert outcome is not Outcome.ERROR, reason
        assert (reason == "") is (outcome is Outcome.PASS)
        return outcome is Outcome.PASS

    def why(self, check: Check, text: str = "", **reply: Any) -> str:
        outcome, reason = self(check, text, **reply)
        assert outcome is Outcome.FAIL, outcome
        return reason

    def error(self, check: Check, text: str = "", **reply: Any) -> str:
        outcome, reason = self(check, text, **reply)
        assert outcome is Outcome.ERROR, outcome
        return reason


@pytest.fixture(scope="session")
def judge() -> Judge:
    return Judge()


@pytest.fixture
def transcript() -> Callable[..., Transcript]:
    """A transcript of replies by index: `transcript({1: "Yes.", 3: Reply(...)})`."""

    def make(replies: dict[int, str | Reply]) -> Transcript:
        turns = (Turn(index, Reply(said) if isinstance(said, str) else said) for index, said in replies.items())
        return Transcript((), tuple(turns))

    return make
