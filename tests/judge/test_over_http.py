from __future__ import annotations

import asyncio
import json

import pytest

from pytest_convo.agreement.verdict import Agreement, Verdict
from pytest_convo.bot.clients import close_clients
from pytest_convo.bot.events import observed
from pytest_convo.bot.metered import MeteredModel, Terms
from pytest_convo.bot.openai import OpenAIModel
from pytest_convo.bot.price import Price, Prices
from pytest_convo.judge.forms import Place
from pytest_convo.judge.judge import Judge
from pytest_convo.judge.question import about_reply
from pytest_convo.record.recording import RunRecording
from pytest_convo.redaction import Redactor
from pytest_convo.run.meter import Meter
from pytest_convo.run.notebook import Notebook
from pytest_convo.settings.bots import BotSettings
from pytest_convo.testing import ScriptedReply, ScriptedServer

QUESTION = about_reply("The reply names the deadline.", "Within 30 days.")
VERDICT = {"reason": "It is named.", "evidence": "30 days", "verdict": "pass"}
NOBODY = "http://127.0.0.1:9/v1"
TEXT = ScriptedReply(text=json.dumps(VERDICT))
CALL = ScriptedReply(calls=[{"name": "verdict", "arguments": VERDICT}])


def server_that(*refuses: str, status: int = 400, answer: ScriptedReply = TEXT) -> ScriptedServer:
    """A server that does not know some fields of a request; it calls the tool that it must call."""

    def respond(request):
        if "response_format" in request.parameters and "response_format" in refuses:
            return ScriptedReply(error=status, text="unknown field response_format")
        if request.tools and "tools" in refuses:
            return ScriptedReply(error=status, text="unknown field tools")
        return CALL if request.tools else answer

    return ScriptedServer(respond)


def decide(url: str, around=lambda make: make(), output="auto", runs=1, meter=None, events=None, refused=None):
    def make(run):
        model = OpenAIModel(base_url=url, api_key="unused")
        return model if meter is None else MeteredModel(model, meter, Terms("s", Prices(Price(1, 1))))

    async def ask():
        with observed(None if events is None else events.append):
            try:
                return await judge.decide(QUESTION, around)
            finally:
                await close_clients()

    known = set() if refused is None else refused
    judge = Judge(make, BotSettings(model="j", base_url=url), Agreement(runs, runs), output, known)
    return asyncio.run(ask())


def asked(server: ScriptedServer) -> list[str]:
    """In which form each request asked."""
    bodies = [request.body for request in server.requests]
    return ["schema" if "response_format" in body else "tool" if "tools" in body else "text" for body in bodies]


@pytest.mark.parametrize(
    "refuses, status, forms_asked",
    [
        ((), 400, ["schema"]),
        (("response_format",), 400, ["schema", "tool"]),
        (("response_format",), 422, ["schema", "tool"]),
        (("response_format", "tools"), 400, ["schema", "tool", "text"]),
        (("response_format", "tools"), 404, ["schema", "tool", "text"]),
    ],
)
def test_a_form_that_the_server_refuses_gives_way_to_the_next(refuses, status, forms_asked):
    with server_that(*refuses, status=status) as server:
        decision = decide(server.url)
        assert asked(server) == forms_asked
    assert (decision.verdict, decision.because.evidence) == (Verdict.PASS, "30 days")


@pytest.mark.parametrize("output", ["schema", "tool", "text"])
def test_a_form_that_is_set_is_the_only_one(output):
    with server_that() as server:
        assert decide(server.url, output=output).verdict is Verdict.PASS
        assert asked(server) == [output]


def test_a_server_that_does_not_mind_the_schema_is_read_all_the_same():
    with server_that(answer=ScriptedReply(text=f"```json\n{json.dumps(VERDICT)}\n```")) as server:
        assert decide(server.url).verdict is Verdict.PASS


def test_a_refusal_is_met_once_in_a_session_and_stands_in_the_recording_of_each_run(tmp_path):
    redactor = Redactor.of_environment({})
    refused: set[Place] = set()
    paths = [tmp_path / f"run-{run}.yaml" for run in (1, 2)]
    with server_that("response_format", "tools") as server:
        for path in paths:
            recording = RunRecording(path, tmp_path, "all", redactor)
            decide(server.url, recording.around, runs=2, refused=refused)
            recording.save()
        assert asked(server) == ["schema", "tool", "text", "text", "text", "text"]
    kinds = [[exchange.count("FormRefused") for exchange in path.read_text().split("- request:")[1:]] for path in paths]
    assert kinds[0] == kinds[1]
    assert sum(kinds[0]) >= 2

    for path in paths:
        replay = RunRecording(path, tmp_path, "none", redactor)
        assert decide(NOBODY, replay.around, runs=2).verdict is Verdict.PASS
        assert (replay.live, replay.replayed) == (0, len(kinds[0]))


def test_what_a_judge_takes_is_booked_and_what_it_says_is_told():
    events, notebook = [], Notebook()
    with server_that("response_format") as server:
        decide(server.url, meter=Meter(notebook), events=events)
    notebook.close()
    kinds = [event["kind"] for event in events]
    assert kinds.count("spent") == 2
    assert "reply" not in kinds
    (judged,) = [event for event in events if event.get("verdict")]
    assert (judged["verdict"], judged["evidence"], judged["replayed"]) == ("pass", "30 days", False)


@pytest.mark.parametrize(
    "answer",
    [
        ScriptedReply(text="Pass!"),
        ScriptedReply(text=f"Here it is: {json.dumps(VERDICT)}"),
        ScriptedReply(text=json.dumps(VERDICT), finish_reason="length"),
        ScriptedReply(text=json.dumps({**VERDICT, "evidence": "45 days"})),
        ScriptedReply(text=json.dumps({**VERDICT, "verdict": "maybe"})),
        ScriptedReply(text=""),
        ScriptedReply(calls=[{"name": "verdict", "arguments": VERDICT}] * 2),
        ScriptedReply(calls=[{"name": "refund", "arguments": VERDICT}]),
    ],
)
def test_what_is_no_verdict_is_asked_for_once_more_and_is_never_a_pass_or_a_fail(answer):
    with server_that(answer=answer) as server:
        decision = decide(server.url)
        assert server.count == 2
    assert (decision.verdict, decision.judgements, len(decision.unusable)) == (Verdict.INCONCLUSIVE, (), 1)
