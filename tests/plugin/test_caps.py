"""Caps, prices and limits over real HTTP: what a session may spend, whoever of its workers spends it."""

from __future__ import annotations

import time

import pytest

from pytest_convo.conversation.reply import Usage
from pytest_convo.testing import ScriptedReply, ScriptedServer

XDIST = ["-p", "xdist.plugin"]
WORKERS = [*XDIST, "-n8"]
USAGE = Usage(90, 10)


@pytest.fixture
def serve(convos):
    """A server with this script, and a convo.toml that asks it; stopped at the end."""
    servers = []

    def start(script, toml: str = "", **options) -> ScriptedServer:
        server = ScriptedServer(script, **options).start()
        servers.append(server)
        convos.write({"convo.toml": f'{toml}\n[bot]\nmodel = "llama-3"\nbase_url = "{server.url}"\n'})
        return server

    yield start
    for server in servers:
        server.stop()


@pytest.fixture
def ask(convos):
    """Run pytest over so many conversations; its result and its report."""

    def asked(number: int, *args: str, files: dict[str, str] | None = None) -> tuple[pytest.RunResult, dict]:
        for name in range(number):
            convos.write({f"c{name:03}/0000_user.md": f"Question {name}"})
        convos.write(files or {})
        return convos.report(*args)

    return asked


def yes(**more) -> list[ScriptedReply]:
    return [ScriptedReply(text="Yes.", usage=USAGE, **more)]


def inconclusive(report: dict) -> list[str]:
    """The reasons of all runs that measured nothing."""
    return [run["reason"] for group in report["groups"] for run in group["runs"] if run["outcome"] == "error"]


@pytest.mark.parametrize("args", [[], WORKERS], ids=["one process", "eight workers"])
def test_calls_never_pass_their_cap(serve, ask, args):
    server = serve(yes(latency=0.05), "runs = 2\nagreement = 1")

    result, report = ask(16, "--convo-max-calls=20", *args)
    assert server.count == report["calls"] == 20
    assert (result.ret, result.parseoutcomes().get("warnings")) == (1, None)
    reasons = inconclusive(report)
    assert len(reasons) == 12
    text = "the session may make 20 calls and has made 20: nothing more is asked\n  --convo-max-calls sets the cap"
    assert all(text in reason for reason in reasons)
    verdicts = [group["verdict"] for group in report["groups"]]
    assert set(verdicts) <= {"pass", "inconclusive"}
    assert 0 < verdicts.count("inconclusive") == result.parseoutcomes()["errors"]


def test_single_runs_are_inconclusive_too(serve, ask):
    server = serve(yes())

    result, _ = ask(5, "--convo-max-calls=2")
    assert (server.count, result.ret, result.parseoutcomes()) == (2, 1, {"passed": 2, "errors": 3})
    result.stdout.fnmatch_lines(["*the session may make 2 calls and has made 2: nothing more is asked*"])

    result, _ = ask(5, "--convo-max-calls=2", "--convo-inconclusive=skip")
    assert (result.ret, result.parseoutcomes()) == (0, {"passed": 2, "skipped": 3})


@pytest.mark.parametrize("args", [[], WORKERS], ids=["one process", "eight workers"])
def test_tokens_pass_their_cap_by_what_is_in_flight_at_most(serve, ask, args):
    server = serve(yes(latency=0.1))

    result, report = ask(60, "--convo-max-tokens=1000", "--convo-concurrency=8", *args)
    assert result.ret == 1
    assert 10 <= server.count < 10 + 8
    assert report["calls"] == server.count
    used = 100 * server.count
    assert 1000 <= report["tokens"]["prompt"] + report["tokens"]["completion"] == used
    assert any("the session may use 1,000 tokens" in reason for reason in inconclusive(report))


def test_dollars_pass_their_cap_by_what_is_in_flight_at_most(serve, ask):
    server = serve(yes(latency=0.1))
    price = "[bot.price]\ninput = 1000\noutput = 1000\n"  # a tenth of a dollar a call
    files = {f"c{name:03}/convo.toml": price for name in range(30)}

    result, report = ask(31, "--convo-max-usd=1", "--convo-concurrency=4", files=files)
    assert result.ret == 1
    assert 10 <= server.count < 10 + 4
    reasons = inconclusive(report)
    assert sum("the session may spend $1 and has spent $1" in reason for reason in reasons) == 30 - server.count
    assert sum("no price is known for llama-3" in reason for reason in reasons) == 1


def test_without_a_price_a_cap_in_dollars_lets_nothing_through(serve, ask):
    server = serve(yes())

    result, report = ask(3, "--convo-max-usd=5")
    assert (server.count, result.ret) == (0, 1)
    assert set(inconclusive(report)) == {
        "no price is known for llama-3, and --convo-max-usd cannot hold without\n"
        "  set input and output in [bot.price], or [judge.price], in US dollars per million tokens"
    }


def test_retries_count(serve, ask):
    replies = [ScriptedReply(error=503, retry_after=0, times=3), *yes()]
    server = serve(replies)

    _, report = ask(2, "--convo-max-calls=4")
    assert server.count == report["calls"] == 4
    assert sum(bool(inconclusive({"groups": [group]})) for group in report["groups"]) in (1, 2)


def test_what_was_asked_before_a_cap_is_judged_by_itself(serve, ask):
    """A conversation of several turns may meet the cap in the middle: its run measures nothing."""
    server = serve(yes())

    result, report = ask(1, "--convo-max-calls=1", files={"c000/0002_user.md": "And then?"})
    assert (server.count, report["calls"], result.ret) == (1, 1, 1)
    assert len(inconclusive(report)) == 1


def test_tests_that_ask_themselves_are_counted(serve, ask):
    server = serve(yes())
    test = "def test_it(bot):\n    for _ in range(5):\n        bot.ask('Hello?')\n"

    result, _ = ask(0, "--convo-max-calls=3", files={"test_asking.py": test})
    assert (server.count, result.ret) == (3, 1)
    result.stdout.fnmatch_lines(["*test_asking.py:3: the session may make 3 calls and has made 3*"])


# -- prices


def test_a_price_of_the_settings_is_what_max_usd_checks(serve, ask):
    serve(yes())
    price = "[bot.price]\ninput = 1\noutput = 1\n"
    files = {
        "c000/convo.toml": f"{price}[expect]\nmax_usd = 0.0001",
        "c001/convo.toml": f"{price}[expect]\nmax_usd = 0.00009",
        "c002/convo.toml": "[expect]\nmax_usd = 1",
    }

    result, report = ask(3, files=files)
    assert result.parseoutcomes() == {"passed": 1, "failed": 1, "errors": 1}
    assert "max_usd: 0.0001 US dollars, at most 9e-05 are allowed" in report["groups"][1]["runs"][0]["reason"]
    assert "no price is known for the model 'llama-3'" in inconclusive(report)[0]


@pytest.mark.parametrize("args", [[], [*XDIST, "-n2"]], ids=["one process", "two workers"])
def test_the_reports_say_what_it_cost(serve, ask, args):
    serve(yes())

    result, report = ask(2, *args, files={"c000/convo.toml": "[bot.price]\ninput = 1000\noutput = 2000\n"})
    result.stdout.fnmatch_lines(["2 calls · 200 tokens (180 in, 20 out) · $0.1100 · price of llama-3 unknown · *"])
    assert (report["calls"], report["usd"], report["unpriced"]) == (2, 0.11, ["llama-3"])
    assert (report["billed"], report["uncounted"]) == ({"prompt": 180, "completion": 20}, 0)
    groups = sorted(report["groups"], key=lambda group: group["id"])  # two workers report in the order of their luck
    assert [run["usd"] for group in groups for run in group["runs"]] == [0.11, None]


def test_a_price_that_is_not_known_is_not_zero(serve, ask):
    serve(yes())

    result, report = ask(1)
    result.stdout.fnmatch_lines(["1 call · 100 tokens (90 in, 10 out) · price of llama-3 unknown · *"])
    assert (report["usd"], report["unpriced"]) == (None, ["llama-3"])


def test_calls_that_were_cancelled_are_said(serve, ask):
    toml = 'runs = 3\nagreement = "1/3"'
    server = serve([*yes(times=1, latency=0.3), *yes(latency=60)], toml)

    result, report = ask(1, "--convo-eager")
    assert (result.ret, server.count) == (0, 3)
    result.stdout.fnmatch_lines(["3 calls · 100 tokens (90 in, 10 out) · 2 calls uncounted · *"])
    assert (report["calls"], report["uncounted"]) == (3, 2)


def test_what_a_run_took_before_it_was_tried_again_stays_on_the_bill(serve, ask):
    server = serve([ScriptedReply(error=503, times=1), *yes()])

    result, report = ask(1, "--convo-set=bot.retries=0")
    assert (result.ret, server.count, report["calls"]) == (0, 2, 2)


def test_a_scripted_bot_costs_nothing(convos, ask):
    convos.say("a", toml="[bot]\nprovider = 'scripted'\n[expect]\nmax_usd = 1e-9\n")

    result, report = ask(0, "--convo-max-usd=0.01")
    assert (result.ret, report["usd"], report["unpriced"]) == (0, 0, [])
    assert "price of" not in result.stdout.str()


# -- limits


@pytest.mark.parametrize("args", [[], [*XDIST, "-n2"]], ids=["one process", "two workers"])
def test_requests_per_minute_hold_over_all_workers(serve, ask, args):
    arrived = []

    def answer(_request) -> str:
        arrived.append(time.monotonic())
        return "Yes."

    serve(answer, "limits.requests_per_minute = 240")
    began = time.monotonic()

    result, _ = ask(9, *args)
    assert (result.ret, len(arrived)) == (0, 9)
    # A request arrives after it was admitted, so that the last one cannot come before eight intervals have passed.
    assert arrived[-1] - began >= 8 * 0.25
    # Of the first one it is not known by how much; without the limit, all arrive within a tenth of this.
    assert arrived[-1] - arrived[0] >= 1.0


def test_waiting_for_a_limit_does_not_use_up_a_run_s_time(serve, ask):
    server = serve(yes(), 'timeout = "1s"\nlimits.requests_per_minute = 40')

    result, _ = ask(2)
    assert (result.ret, server.count) == (0, 2)


def test_tokens_per_minute_hold(serve, ask):
    arrived = []

    def answer(_request) -> ScriptedReply:
        arrived.append(time.monotonic())
        return ScriptedReply(text="Yes.", usage=USAGE)

    serve(answer, "limits.tokens_per_minute = 12000")  # a call of 100 tokens is paid off in half a second

    result, _ = ask(4, "--convo-concurrency=1")
    assert (result.ret, len(arrived)) == (0, 4)
    assert arrived[-1] - arrived[0] >= 0.9
