from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pytest_convo.agreement.outcome import Outcome
from pytest_convo.agreement.verdict import Agreement
from pytest_convo.bot.recipe import Recipe
from pytest_convo.check.judged import Judged
from pytest_convo.check.text import Contains
from pytest_convo.conversation.conversation import Conversation
from pytest_convo.conversation.message import Message
from pytest_convo.conversation.reply import Reply
from pytest_convo.errors import CapReached, CheckError, CheckFailed, ConvoError, ProviderError
from pytest_convo.judge.judge import Judge
from pytest_convo.record.format import read
from pytest_convo.record.recording import RunRecording
from pytest_convo.redaction import Redactor
from pytest_convo.run.measure import Measurement, Spec, measure, portable
from pytest_convo.settings.model import Settings

PASS, FAIL, ERROR = Outcome.PASS, Outcome.FAIL, Outcome.ERROR
NO_VERDICT = "Well, it depends."


def verdict(verdict: str, reason: str = "So it is.") -> str:
    return json.dumps({"reason": reason, "evidence": "", "verdict": verdict})


GOOD, BAD = verdict("pass"), verdict("fail", "It is rude.")


@dataclass
class Says:
    """Gives one answer after the other; what is an error is raised, and None hangs."""

    said: list[str | ConvoError | None]

    async def complete(self, request: Any, stream: Any = None) -> Reply:
        answer = self.said.pop(0)
        if isinstance(answer, ConvoError):
            raise answer
        if answer is None:
            await asyncio.Event().wait()
        return Reply(str(answer))


@asynccontextmanager
async def idle() -> Any:
    yield


class Court:
    """One conversation of one turn, whose reply a judge judges."""

    def __init__(self, root: Path) -> None:
        self.path = root / "run-1.yaml"

    def run(self, *said: Any, mode: str = "all", checks: Any = (), timeout: float = 60, judges: int = 1) -> Measurement:
        """A run in which the judge says what is `said`; where a recording answers, nobody is asked."""
        settings = Settings.model_validate({"bot": {"model": "b"}, "timeout": timeout})
        bot, model = Says(["Go away."]), Says(list(said))
        judge = Judge(lambda run: model, settings.bot, Agreement(judges, judges), "text")
        redactor = Redactor.of_environment({})
        spec = Spec(
            directory=self.path.parent,
            case=None,
            settings=settings,
            conversation=Conversation(self.path.parent, {0: (Message("user", "Hello?"),)}, (1,)),
            recipe=Recipe(),
            checks={1: (Judged("It is polite.", judge), *checks)},
            model=lambda run: bot,
            tools=None,
            redactor=redactor,
            recording=lambda run: RunRecording(self.path, self.path.parent, mode, redactor),
            asking=True,
        )
        return asyncio.run(measure(spec, 1, idle))

    @property
    def recorded(self) -> list[str]:
        return [exchange.answer.text for exchange in read(self.path)]


@pytest.fixture
def court(tmp_path: Path) -> Court:
    return Court(tmp_path)


@pytest.mark.parametrize("said, outcome", [(GOOD, PASS), (BAD, FAIL)])
def test_what_the_judge_said_is_in_the_run_s_own_recording_and_replays_without_it(court, said, outcome):
    live = court.run(said)
    assert (live.outcome, live.replayed) == (outcome, 0)
    assert court.recorded == ["Go away.", said]
    again = court.run(mode="none")
    assert (again.outcome, again.reason, again.sample) == (live.outcome, live.reason, live.sample)
    assert again.only_replayed


@pytest.mark.parametrize("said", [[NO_VERDICT, NO_VERDICT], [ProviderError("gone", status=503)] * 2])
def test_a_run_that_a_judge_did_not_judge_is_an_error_and_not_saved_and_the_bot_is_not_asked_again(court, said):
    found = court.run(*said)
    assert (found.outcome, found.transient) == (ERROR, False)
    assert (found.error, found.transcript.last.text) == (None, "Go away.")
    assert not court.path.exists()
    with pytest.raises(CheckError):
        found.raise_unless_passed()


def test_a_judge_whose_server_fails_for_the_moment_is_asked_once_more_about_the_same_reply(court):
    found = court.run(ProviderError("gone", status=503), GOOD)
    assert found.outcome is PASS
    assert court.recorded == ["Go away.", GOOD]


def test_a_run_that_failed_is_saved_and_raises_what_failed(court):
    found = court.run(BAD)
    assert not found.transient
    assert court.recorded == ["Go away.", BAD]
    with pytest.raises(CheckFailed, match="It is rude"):
        found.raise_unless_passed()


def test_a_check_that_fails_beside_a_judge_without_verdict_is_a_fail_that_is_saved(court):
    found = court.run(NO_VERDICT, NO_VERDICT, checks=[Contains(("Gladly",))])
    assert (found.outcome, found.transient) == (FAIL, False)
    first, *rest = found.reason.split("\n")
    assert first.startswith("turn 1, contains: ")
    assert any("the judge did not decide" in line for line in rest)
    assert court.recorded == ["Go away.", NO_VERDICT, NO_VERDICT]
    assert court.run(mode="none", checks=[Contains(("Gladly",))]).reason == found.reason


def test_where_a_judge_could_not_be_asked_the_recording_that_is_there_stays_as_it_is(court):
    assert court.run(GOOD, GOOD, judges=2).outcome is PASS
    whole = court.recorded
    found = court.run(GOOD, CapReached("no more calls"), judges=2)
    assert (found.outcome, found.transient) == (ERROR, False)
    assert court.recorded == whole
    with pytest.raises(CheckError, match="no more calls"):
        found.raise_unless_passed()


def test_a_judge_that_was_not_recorded_is_an_error_and_not_asked_in_a_replay(court):
    court.run(GOOD)
    found = court.run(mode="none", judges=2)
    assert (found.outcome, found.transient) == (ERROR, False)
    assert "--convo-record=new" in found.reason


def test_what_was_asked_anew_is_added_to_the_recording(court):
    court.run(GOOD)
    assert court.run(BAD, mode="new", judges=2).outcome is FAIL
    assert court.recorded == ["Go away.", GOOD, BAD]


def test_a_judge_that_hangs_is_given_up_and_nothing_is_saved(court):
    found = court.run(None, None, timeout=0.05)
    assert (found.outcome, found.transient, found.error) == (ERROR, False, None)
    assert "did not end within 0.05 s" in found.reason
    assert not court.path.exists()


def test_judgements_and_findings_are_among_the_events_in_their_order(court):
    found = court.run(NO_VERDICT, BAD, checks=[Contains(("Go",))])
    kinds = [event["kind"] for event in found.events]
    assert kinds.index("reply") < kinds.index("judgement") < kinds.index("check")
    assert [event["verdict"] for event in found.events if event["kind"] == "judgement"] == [None, "fail"]
    assert {event["name"]: event["outcome"] for event in found.events if event["kind"] == "check"} == {
        "judge": "fail",
        "contains": "pass",
    }
    assert json.loads(json.dumps(found.events)) == found.events


def test_a_measurement_without_a_verdict_reaches_another_process_as_it_is(court):
    found = court.run(NO_VERDICT, NO_VERDICT)
    assert portable(found) is found
