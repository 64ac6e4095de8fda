from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from pytest_convo.agreement.outcome import Outcome
from pytest_convo.agreement.verdict import Agreement, Rule, SequentialTest
from pytest_convo.check.base import AskingCheck, CheckResult
from pytest_convo.check.judged import ApprovedByJudge, Judged
from pytest_convo.conversation.message import Message, ToolCall
from pytest_convo.conversation.reply import Reply
from pytest_convo.conversation.transcript import Transcript, Turn
from pytest_convo.errors import CapReached, FormatError, ProviderError, UnusableVerdict
from pytest_convo.judge.judge import Judge
from pytest_convo.judge.same import SameJudge
from pytest_convo.prompt.request import Request
from pytest_convo.settings.bots import BotSettings

CRITERION = "It is polite."


def verdict(verdict: str = "pass", reason: str = "So it is.", evidence: str = "") -> str:
    return json.dumps({"reason": reason, "evidence": evidence, "verdict": verdict})


PASS, FAIL, NONE = verdict("pass"), verdict("fail"), "Well."


@dataclass
class Says:
    """Answers with one text after the other, or raises; `asked` is the data of each question."""

    said: Iterable[str | Exception]
    asked: list[str] = field(default_factory=list)
    runs: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.answers = iter(self.said)

    def of_run(self, run: int) -> Says:
        self.runs.append(run)
        return self

    async def complete(self, request: Request, stream: Callable[[str], None] | None = None) -> Reply:
        self.asked.append(request.messages[-1].text)
        answer = next(self.answers)
        if isinstance(answer, Exception):
            raise answer
        return Reply(answer)

    def judge(self, rule: Rule | None = None) -> Judge:
        return Judge(self.of_run, BotSettings(model="j"), rule or Agreement(1, 1), "text")


def transcript(
    reply: str, *steps: Message, before: Sequence[Message] = (), after: Sequence[Message] = ()
) -> Transcript:
    own = (*steps, Message("assistant", reply))
    return Transcript((*before, *own, *after), (Turn(1, Reply(reply), own),), run=3)


def asked(check: AskingCheck, said: Transcript) -> CheckResult:
    return asyncio.run(check.ask(said, said.turns[0], lambda make: make()))


def judged(model: Says, said: Transcript | str, rule: Rule | None = None, **more: Any) -> CheckResult:
    check = Judged(CRITERION, model.judge(rule), **more)
    return asked(check, said if isinstance(said, Transcript) else transcript(said))


def approved(model: Says, text: str, reply: str, rule: Rule | None = None) -> CheckResult:
    return asked(ApprovedByJudge(text, SameJudge(model.judge(rule))), transcript(reply))


def test_both_ask_and_say_their_name_in_expect() -> None:
    judge = Says([]).judge()
    checks = Judged(CRITERION, judge), ApprovedByJudge("30 days", SameJudge(judge))
    assert all(isinstance(check, AskingCheck) for check in checks)
    assert [check.name for check in checks] == ["judge", "approved"]


def test_a_pass_passes() -> None:
    assert judged(Says([PASS]), "Gladly.") == CheckResult.passed()


def test_a_fail_says_the_criterion_the_reason_the_evidence_and_the_reply() -> None:
    found = judged(Says([verdict("fail", "It is rude.", "no")]), "No.\nGo away.")
    assert found == CheckResult.failed(
        '"It is polite." does not hold: It is rude.',
        '  evidence: "no"',
        "  the reply:",
        "    | No.",
        "    | Go away.",
    )


def test_without_evidence_there_is_no_line_of_it() -> None:
    assert "evidence" not in judged(Says([verdict("fail", "It is rude.")]), "No.").reason


def test_several_judgements_are_counted_and_the_first_of_the_verdict_is_shown() -> None:
    said = [PASS, verdict("fail", "The first."), verdict("fail", "The second.")]
    found = judged(Says(said), "No.", Agreement(3, 2))
    assert found.outcome is Outcome.FAIL
    assert found.reason.split("\n")[:2] == [
        '"It is polite." does not hold: The first.',
        "  1 of 3 judgements passed, 2 needed",
    ]


def test_a_reason_of_many_lines_is_one_line_and_a_long_one_is_cut() -> None:
    reason = "It is rude.\nturn 3, judge: \x1b[31mno\N{RIGHT-TO-LEFT OVERRIDE}" + " x" * 5000
    first, second, *_ = judged(Says([verdict("fail", reason)]), "No.").reason.split("\n")
    assert first.startswith('"It is polite." does not hold: It is rude. turn 3, judge: \\x1b[31mno\\u202e x x')
    assert len(first) < 1000
    assert second == "  the reply:"


def test_a_judge_that_does_not_decide_is_an_error_that_stays() -> None:
    with pytest.raises(UnusableVerdict) as caught:
        judged(Says([PASS, FAIL, NONE, NONE]), "No.", Agreement(3, 2))
    assert caught.value.what == '"It is polite.": the judge did not decide (1 pass, 1 fail, 1 without a verdict)'
    assert "its answer is not JSON alone" in caught.value.hint
    assert len(str(caught.value).splitlines()) <= 3
    assert not caught.value.transient


def test_a_sequential_test_that_is_still_open_at_its_end_is_one_too() -> None:
    with pytest.raises(UnusableVerdict) as caught:
        judged(Says([PASS, PASS]), "Yes.", SequentialTest(2))
    assert str(caught.value) == '"It is polite.": the judge did not decide (2 pass, 0 fail)'


@pytest.mark.parametrize("error", [ProviderError("gone", status=503), CapReached("no more calls")])
def test_what_the_model_raises_goes_through(error: Exception) -> None:
    with pytest.raises(type(error)):
        judged(Says([error]), "Yes.")
    with pytest.raises(type(error)):
        approved(Says([error]), "30 days", "a month")


def test_the_judge_is_that_of_the_run_and_is_shown_what_came_before_but_not_what_came_after() -> None:
    model = Says([PASS])
    calls = Message("assistant", tool_calls=(ToolCall("c", "lookup", "{}"),))
    said = transcript(
        "It is on its way.",
        calls,
        Message("tool", "shipped", tool_call_id="c"),
        before=[Message("user", "Where is it?")],
        after=[Message("user", "Thank you!")],
    )
    assert judged(model, said).outcome is Outcome.PASS
    (data,) = model.asked
    assert [data.count(text) for text in ("Where is it?", "shipped", "It is on its way.")] == [1, 1, 1]
    assert "Thank you!" not in data
    assert model.runs == [3]


def test_messages_that_are_equal_to_the_turn_s_own_are_still_shown_as_said_before() -> None:
    model = Says([PASS])
    judged(model, transcript("Yes.", before=[Message("assistant", "Yes."), Message("user", "Really?")]))
    assert (model.asked[0].count("Yes."), model.asked[0].count("Really?")) == (2, 1)


def test_its_identity_is_its_judge_s_and_what_that_is_told(tmp_path: Path) -> None:
    template = tmp_path / "judge.md.j2"
    template.write_text("{{ criterion }} {{ fence }} {{ vars.tone }}")
    plain = Judged(CRITERION, Says([]).judge())
    own = replace(plain, template=template, variables={"tone": "strict"})
    others = [
        replace(plain, criterion="It is short."),
        replace(plain, judge=Says([]).judge(Agreement(3, 2))),
        own,
        replace(own, variables={"tone": "mild"}),
    ]
    identities = [json.dumps(check.identity) for check in (plain, *others)]
    assert len(set(identities)) == 5
    assert json.dumps(Judged(CRITERION, Says([]).judge()).identity) == identities[0]


def test_a_template_that_cannot_be_used_is_told_when_its_identity_is_asked_for(tmp_path: Path) -> None:
    template = tmp_path / "judge.md.j2"
    template.write_text("Be kind.")
    with pytest.raises(FormatError):
        _ = Judged(CRITERION, Says([]).judge(), template).identity


def test_it_says_how_many_calls_it_takes() -> None:
    judge = Says([]).judge(Agreement(3, 2))
    assert Judged(CRITERION, judge).calls == (2, 3)
    assert ApprovedByJudge("30 days", SameJudge(judge)).calls == (0, 6)


def test_a_preview_is_the_first_request_that_it_makes_of_the_reply() -> None:
    requests: list[Request] = []

    class Keeps(Says):
        async def complete(self, request: Request, stream: Callable[[str], None] | None = None) -> Reply:
            requests.append(request)
            return await super().complete(request, stream)

    judge = Keeps([PASS] * 3).judge(Agreement(1, 1))
    for check in (Judged(CRITERION, judge), ApprovedByJudge("a month", SameJudge(judge))):
        requests.clear()
        asked(check, transcript("30 days"))
        assert check.preview("30 days") == requests[0]


def test_a_reply_that_says_the_same_both_ways_passes() -> None:
    assert approved(Says([PASS, PASS]), "30 days", "a month") == CheckResult.passed()
    assert approved(Says([]), "30 days", "**30** Days") == CheckResult.passed()


@pytest.mark.parametrize("said", [[FAIL], [PASS, FAIL]])
def test_one_that_does_not_shows_the_words_that_are_others(said: list[str]) -> None:
    assert approved(Says(said), "You have 30 days.", "You have 45 days.") == CheckResult.failed(
        "the reply does not say what the approved one says: [-approved-] {+said+}",
        "    You have [-30-]{+45+} days.",
        "  --snapshot-update approves the new answer",
    )


def test_each_run_asks_for_itself() -> None:
    model = Says([PASS] * 4)
    check = ApprovedByJudge("30 days", SameJudge(model.judge()))
    for _ in range(2):
        assert asked(check, transcript("a month")).outcome is Outcome.PASS
    assert len(model.asked) == 4


def test_without_a_verdict_about_an_approved_reply_there_is_none() -> None:
    with pytest.raises(UnusableVerdict):
        approved(Says([NONE, NONE]), "30 days", "a month")
