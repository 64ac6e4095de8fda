"""A prompt on its way through CI: recorded and green, worse and caught, edited without harm and green again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from pytest_convo.prompt.request import Request
from pytest_convo.testing import ScriptedServer

LOCAL = {"noxdist": [], "n2": ["-p", "xdist.plugin", "-n2"]}

GOOD = (
    "You answer the customers of a tea shop.\nUnopened tea can be returned within 30 days.\nTea is sent for 4.90 €.\n"
)
WORSE = GOOD.replace("Unopened tea can be returned within 30 days.", "Promise nothing.")
HARMLESS = GOOD.replace("tea shop", "small tea shop")
HALF_WORSE = GOOD.replace("Tea is sent for 4.90 €.", "Be brief.")

CASES = {
    "refund": ("May I send my tea back?", "30 days", "Gladly, within 30 days, if it is unopened."),
    "opened": ("May I send opened tea back?", "unopened", "No: only unopened tea can be returned."),
    "postage": ("What does it cost to send me tea?", "4.90", "Each parcel costs 4.90 €."),
}
"""By name: what the customer asks, what the answer must contain, and what a bot says that has been told."""

VAGUE = "That depends."


def shop(request: Request) -> str:
    """A bot that knows what its prompt says, and nothing else."""
    prompt, asked = request.messages[0].text, request.messages[-1].text
    (name, answer) = next((name, answer) for name, (question, _, answer) in CASES.items() if question == asked)
    return answer if ("4.90" if name == "postage" else "30 days") in prompt else VAGUE


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(shop, api_key="not-a-real-key") as server:
        yield server


@pytest.fixture(params=LOCAL)
def story(convos, server, monkeypatch, request) -> Story:
    settings = {f"{name}/convo.toml": f'[expect]\ncontains = "{wanted}"\n' for name, (_, wanted, _) in CASES.items()}
    convos.write({f"{name}/0000_user.md": question for name, (question, _, _) in CASES.items()})
    convos.write({**settings, "convo.toml": 'runs = 5\n[bot]\nmodel = "tea-1"\n'})
    return Story(convos, server, monkeypatch, LOCAL[request.param])


class Story:
    """A project with three conversations, its server, and a machine of CI that has neither server nor key."""

    def __init__(self, convos, server: ScriptedServer, environment: pytest.MonkeyPatch, local: list[str]) -> None:
        self.server = server
        self._convos = convos
        self._environment = environment
        self._local = local

    def prompt(self, text: str) -> None:
        self._convos.write({"prompt.md": text})

    def at_home(self, *args: str) -> pytest.RunResult:
        self._environment.setenv("OPENAI_BASE_URL", self.server.url)
        self._environment.setenv("OPENAI_API_KEY", "not-a-real-key")
        return self._pytest(*args)

    def in_ci(self, *args: str) -> pytest.RunResult:
        for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"):
            self._environment.delenv(name, raising=False)
        asked = self.server.count
        with pytest.MonkeyPatch.context() as environment:
            environment.setenv("CI", "true")
            result = self._pytest(*args)
        assert self.server.count == asked, "CI is offline"
        return result

    def report(self) -> dict:
        return json.loads((self._convos.path / "report.json").read_text())

    def _pytest(self, *args: str) -> pytest.RunResult:
        return self._convos.run(*self._local, "--convo-json=report.json", *args)


@pytest.fixture
def recorded(story: Story) -> Story:
    """The good prompt, recorded, and its baseline."""
    story.prompt(GOOD)
    result = story.at_home("--convo-record=new", "--convo-update-baseline")
    assert (result.ret, result.parseoutcomes(), story.server.count) == (0, {"passed": 3}, 15), result.stdout.str()
    return story


def test_a_good_prompt_is_recorded_and_green_offline(recorded: Story):
    recorded.server.stop()
    result = recorded.in_ci()
    outcomes = result.parseoutcomes()
    assert (result.ret, outcomes["passed"], outcomes.keys() - {"passed", "spared"}) == (0, 3, set())
    result.stdout.fnmatch_lines(["*record none (CI)*", "*0 calls needed*", "0 calls · * answers replayed*"])


def test_an_edit_that_is_not_recorded_is_red_with_its_diff(recorded: Story):
    recorded.prompt(WORSE)
    result = recorded.in_ci()
    assert (result.ret, result.parseoutcomes()["errors"]) == (1, 3), result.stdout.str()
    result.stdout.fnmatch_lines(
        [
            "*system prompt changed*",
            "*-Unopened tea can be returned within 30 days.",
            "*+Promise nothing.",
            "*--convo-record=*",
        ]
    )
    assert result.stdout.str().count("+Promise nothing.") == 3, "once for each conversation, not for each run"


def test_a_worse_prompt_that_is_recorded_shows_its_answers_and_the_gate_says_regressed(recorded: Story):
    recorded.prompt(WORSE)
    result = recorded.at_home("--convo-record=all")
    assert (result.ret, result.parseoutcomes()["failed"]) == (1, 2), result.stdout.str()
    result.stdout.fnmatch_lines(["stable fail: 0 of 5 runs passed*", f"*5 × «{VAGUE}»*"])

    result = recorded.in_ci("--convo-baseline", "convo-baseline.json")
    assert result.ret == 1, result.stdout.str()
    assert (result.parseoutcomes()["failed"], result.parseoutcomes()["below"]) == (1, 2), result.stdout.str()
    result.stdout.fnmatch_lines(["*REGRESSED: 15 of 15 runs passed before, 5 of 15 now (-67 points), p < 0.0001*"])
    result.stdout.fnmatch_lines(["FAILED convo-baseline.json::gate*"])
    gate = recorded.report()["gate"]
    assert (gate["result"], gate["p"] < 0.0001, gate["same_sample"]) == ("regressed", True, {})


def test_a_live_gate_confirms_a_broken_case_by_fresh_runs(recorded: Story):
    recorded.prompt(HALF_WORSE)
    result = recorded.at_home("--convo-baseline=convo-baseline.json")
    assert result.ret == 1, result.stdout.str()
    assert recorded.server.count == 15 + 15 + 10
    result.stdout.fnmatch_lines(["convo: 15 calls needed", "25 calls · *"])
    result.stdout.fnmatch_lines(
        ["*REGRESSED:*", "*confirmed by fresh runs:", "*postage/convo.toml: *0 of 10 run again*"]
    )
    (confirmed,) = recorded.report()["gate"]["confirmed"]
    assert (confirmed["id"], confirmed["passes_fresh"], confirmed["runs_fresh"]) == ("postage/convo.toml", 0, 10)


def test_a_harmless_edit_that_is_recorded_is_green(recorded: Story):
    recorded.prompt(HARMLESS)
    assert recorded.in_ci().ret == 1, "the edit is not recorded yet"

    result = recorded.at_home("--convo-record=all")
    assert (result.ret, recorded.server.count) == (0, 30), result.stdout.str()
    result = recorded.in_ci("--convo-baseline=convo-baseline.json")
    assert (result.ret, result.parseoutcomes()) == (0, {"passed": 4}), result.stdout.str()
    result.stdout.fnmatch_lines(["*NOT SHOWN: 15 of 15 runs passed before, 15 of 15 now (±0 points)*"])


def test_the_baselines_own_recordings_are_no_evidence_and_no_failure(recorded: Story):
    result = recorded.in_ci("--convo-baseline=convo-baseline.json")
    assert (result.ret, result.parseoutcomes()) == (0, {"passed": 3, "skipped": 1}), result.stdout.str()
    result.stdout.fnmatch_lines(
        ["gate: nothing new to compare: *", "*own recordings, and so no evidence:", "*postage*: 5 runs"]
    )


def test_what_ci_writes_tells_programs_and_people_the_same(recorded: Story, convos, monkeypatch):
    summary = convos.path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    recorded.prompt(WORSE)
    recorded.at_home("--convo-record=all")
    summary.unlink()
    recorded.in_ci("--convo-baseline=convo-baseline.json", "--junitxml=junit.xml")
    junit = (convos.path / "junit.xml").read_text()
    properties = dict(re.findall(r'<property name="(convo\.[\w.]+)" value="([^"]*)"', junit))
    assert properties["convo.gate.result"] == "regressed"
    assert {"convo.runs", "convo.passes", "convo.interval", "convo.replayed"} <= properties.keys()
    told = summary.read_text()
    assert "**Regression gate**: REGRESSED" in told
    assert "refund/convo.toml" in told
