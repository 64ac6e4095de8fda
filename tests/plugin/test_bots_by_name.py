"""One bot by its name, whoever uses it: conversations, tasks, judges, rewriters and summarizers; many runs at once."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest

from pytest_convo.conversation.reply import Usage
from pytest_convo.testing import ScriptedReply, ScriptedServer

N0, N2 = ["-p", "xdist.plugin", "-n0"], ["-p", "xdist.plugin", "-n2"]
WAYS = pytest.mark.parametrize("args", [N0, N2], ids=["one process", "two workers"])

SUPPORT = """
prompt = "support.md"

[bot]
model = "tea-expert"
base_url = "{url}"
temperature = 0.5
functions = ["../tools.py:price"]

[bot.request]
seed = 7

[bot.price]
input = 1000
output = 2000
"""
TOOLS = '''
def price(tea: str) -> str:
    """The price of a tea."""
    return f"{tea}: 5 dollars"
'''
VERDICT = json.dumps({"reason": "It is.", "evidence": "", "verdict": "pass"})


class Shop:
    """A project with a bot named "support", and the server that it asks."""

    def __init__(self, convos) -> None:
        self.convos, self.path, self.write, self.run = convos, convos.path, convos.write, convos.run
        self.answer = lambda request: "Yes."
        self.server = ScriptedServer(lambda request: self.answer(request)).start()
        self.bot()
        self.write({"bots/support.md": "You sell tea.", "tools.py": TOOLS})

    def bot(self, more: str = "") -> None:
        self.write({"bots/support.toml": f"{SUPPORT.format(url=self.server.url)}{more}"})

    @property
    def bodies(self) -> list[dict]:
        return [request.body for request in self.server.requests]


@pytest.fixture
def shop(convos):
    made = Shop(convos)
    yield made
    made.server.stop()


def runs(report: dict) -> list[dict]:
    return [run for group in report["groups"] for run in group["runs"]]


def names(body: dict) -> list[str]:
    return [tool["function"]["name"] for tool in body.get("tools", ())]


def calling(name: str, **arguments: object) -> ScriptedReply:
    return ScriptedReply(calls=[{"name": name, "arguments": arguments}])


# -- whoever uses it


def test_a_conversation_has_its_prompt_its_request_and_its_functions(shop):
    shop.answer = lambda request: "Yes." if request.messages[-1].role == "tool" else calling("price", tea="Oolong")
    shop.write({"convos/tea/0000_user.md": "How much?", "convos/tea/convo.toml": 'bot.use = "support"\n'})
    assert shop.run().ret == 0
    first, second = shop.bodies
    assert [message["content"] for message in first["messages"]] == ["You sell tea.", "How much?"]
    assert {key: first[key] for key in ("model", "temperature", "seed")} == {
        "model": "tea-expert",
        "temperature": 0.5,
        "seed": 7,
    }
    assert names(first) == ["price"]
    assert second["messages"][-1]["content"] == "Oolong: 5 dollars"


def test_a_task_is_worked_on_by_the_same_bot(shop):
    def answer(request):
        done = [message.text for message in request.messages if message.role == "tool"]
        orders = [calling("price", tea="Oolong"), calling("shell", command="echo hello > out.txt"), "Done."]
        return orders[len(done)]

    shop.answer = answer
    shop.write(
        {
            "tasks/one/task.toml": '[convo]\nenvironment = "local"\n[convo.bot]\nuse = "support"\n',
            "tasks/one/instruction.md": "Say hello in out.txt.",
            "tasks/one/tests/test.sh": "#!/bin/sh\ngrep -q hello out.txt\n",
        }
    )
    assert shop.run().ret == 0
    first, second, third = shop.bodies
    assert first["messages"][0]["content"].startswith("You sell tea.\n\n")
    assert {key: first[key] for key in ("model", "temperature", "seed")} == {
        "model": "tea-expert",
        "temperature": 0.5,
        "seed": 7,
    }
    assert set(names(first)) == {"shell", "price"}
    assert second["messages"][-1]["content"] == "Oolong: 5 dollars"
    assert third["messages"][-1]["role"] == "tool"


def test_a_judge_takes_who_it_is_from_it_and_nothing_of_its_functions(shop):
    shop.answer = lambda request: VERDICT
    scripted = '[bot]\nprovider = "scripted"\n[judge]\nuse = "support"\n[expect]\njudge = "It is kind."\n'
    shop.convos.say("tea", toml=scripted)
    assert shop.run().ret == 0
    (body,) = shop.bodies
    assert body["messages"][0]["content"].startswith("You sell tea.")
    assert {key: body[key] for key in ("model", "temperature", "seed")} == {
        "model": "tea-expert",
        "temperature": 0.5,
        "seed": 7,
    }
    assert "price" not in names(body)


def test_a_rewriter_takes_who_it_is_from_it(shop):
    shop.answer = lambda request: "It says no word.\n<prompt>\nSay the word.\n</prompt>"
    for name in ("one", "two"):
        toml = f'[bot]\nprovider = "scripted"\n[refine]\nuse = "support"\n[expect]\ncontains = "{name}"\n'
        script = "[[reply]]\ntext = 'No.'\n"
        shop.convos.say(name, {"0000_user.md": f"The {name}?", "script.toml": script}, toml=toml)
    shop.write({"prompt.md": "Be kind.\n"})
    shop.run("--convo-refine")
    assert shop.server.count > 0
    for body in shop.bodies:
        assert (body["model"], body["temperature"], body["seed"]) == ("tea-expert", 0.5, 7)
        assert body["messages"][0]["content"].startswith("You sell tea.")
        assert "tools" not in body


def test_a_summarizer_takes_who_it_is_from_it(shop):
    shop.answer = lambda request: "In short: tea."
    words = "It steeps for two minutes in water that has just boiled, and then it is poured. " * 4
    prompt = '[prompt]\nbudget = 500\non_overflow = "summarize"\n[summarize]\nuse = "support"\nturns = 2\n'
    shop.convos.say("tea", toml=f'{prompt}[bot]\nprovider = "scripted"\n', answer=words)
    shop.write({f"tea/{2 * at:04}_user.md": f"Question {at}?" for at in range(8)})
    result, report = shop.convos.report()
    assert result.ret == 0
    assert shop.server.count > 0
    for body in shop.bodies:
        assert body["messages"][0]["content"].startswith("You sell tea.\n\nYou write summaries")
        assert (body["model"], body["temperature"], body["seed"]) == ("tea-expert", 0.5, 7)
        assert "tools" not in body
    assert report["usd"] > 0  # at its own price: the bot itself costs nothing


def test_a_bot_of_a_conftest_is_used_like_one_of_a_file(shop):
    conftest = """
def price(tea: str) -> str:
    '''The price of a tea.'''
    return "6 dollars"

def pytest_convo_bots(path):
    return {"clerk": {"bot": {"use": "support", "functions": [price], "tool_rounds": 2}}}
"""
    shop.answer = lambda request: "Yes." if request.messages[-1].role == "tool" else calling("price", tea="Oolong")
    test = "def test_it(bot):\n    assert bot.ask('How much?').text == 'Yes.'\n"
    files = {"conftest.py": conftest, "convo.toml": 'bot.use = "clerk"\n', "tea/0000_user.md": "How much?"}
    shop.write({**files, "test_it.py": test})
    assert shop.run().ret == 0
    assert shop.server.count == 4
    assert {body["messages"][0]["content"] for body in shop.bodies} == {"You sell tea."}
    assert [body["messages"][-1]["content"] for body in shop.bodies if body["messages"][-1]["role"] == "tool"] == [
        "6 dollars"
    ] * 2


def test_functions_stand_beside_tools_of_conftests_and_a_name_is_given_once(shop):
    shop.write(
        {
            "conftest.py": "def stock(): return ''\ndef pytest_convo_tools(path, run): return [stock]\n",
            "tea/0000_user.md": "Hello?",
            "tea/convo.toml": 'bot.use = "support"\n',
        }
    )
    assert shop.run().ret == 0
    assert names(shop.bodies[0]) == ["stock", "price"]

    own = TOOLS.replace("price(tea: str)", "price(coffee: str)")
    hook = "def pytest_convo_tools(path, run): return [price]\n"
    shop.write({"conftest.py": f"{own}\n{hook}"})
    shop.server.reset()
    assert shop.run().ret == 0
    (tool,) = shop.bodies[0]["tools"]
    assert [*tool["function"]["parameters"]["properties"]] == ["tea"]  # the bot's own holds


def test_a_function_that_is_not_there_is_told(shop):
    shop.write({"tools.py": "", "tea/0000_user.md": "Hello?", "tea/convo.toml": 'bot.use = "support"\n'})
    result = shop.run()
    assert (result.ret != 0, shop.server.count) == (True, 0)
    result.stdout.fnmatch_lines(["*tools.py*price*"])


# -- many runs at once

STATEFUL = """
import asyncio
import itertools

class Ledger:
    name = "ledger"

    def __init__(self):
        self.seen = []

    async def __call__(self, tokens_left):
        self.seen.append(len(self.seen) + 1)
        await asyncio.sleep(0.001)
        return f"source {self.seen}"

def pytest_convo_context_sources(path):
    return [Ledger()]

def pytest_convo_tools(path, run):
    basket = []

    def put(tea: str) -> str:
        '''Put a tea into the basket.'''
        basket.append(tea)
        return f"run {run}: {basket}"

    return [put]
"""


def put_each(request):
    """Two calls in each turn, of the turn's number; then what was said of the last one."""
    turn = sum(message.role == "user" for message in request.messages)
    asked = max(at for at, message in enumerate(request.messages) if message.role == "user")
    done = [message.text for message in request.messages[asked:] if message.role == "tool"]
    if len(done) < 2:
        return ScriptedReply(calls=[{"name": "put", "arguments": {"tea": f"{turn}{'ab'[len(done)]}"}}], latency=0.002)
    return ScriptedReply(text=f"{done[-1]}", latency=0.002)


@WAYS
def test_of_fifty_runs_at_once_each_has_its_own_state_and_requests(shop, args):
    shop.answer = put_each
    shop.write(
        {
            "conftest.py": STATEFUL,
            "tea/convo.toml": 'runs = 50\nagreement = 1\nbot.use = "support"\nexpect.python = "checks.py:own"\n',
            "tea/checks.py": "def own(reply, transcript): assert f'run {transcript.run}:' in reply.text\n",
            "tea/0000_user.md": "One.",
            "tea/0002_user.md": "Two.",
            "tea/0004_user.md": "Three.",
        }
    )
    result, report = shop.convos.report("--convo-concurrency=50", "--convo-eager", *args)
    assert result.ret == 0, result.stdout.str()
    assert (shop.server.count, report["calls"]) == (450, 450)
    assert shop.server.in_flight_max > 10

    found: Counter[str] = Counter()
    for body in shop.bodies:
        told = json.dumps(body["messages"])
        of_runs = {int(number) for number in re.findall(r"run (\d+): ", told)}
        assert len(of_runs) <= 1
        turn = sum(message["role"] == "user" for message in body["messages"])
        assert f"source {list(range(1, turn + 1))}" in body["messages"][0]["content"]
        results = [message["content"] for message in body["messages"] if message["role"] == "tool"]
        put = [f"{1 + at // 2}{'ab'[at % 2]}" for at in range(len(results))]
        run = of_runs.pop() if of_runs else 0
        assert results == [f"run {run}: {put[: at + 1]}" for at in range(len(results))]
        found[f"{run} {len(results)} {turn}"] += 1
    assert found.pop("0 0 1") == 50
    assert set(found.values()) == {1}
    assert len(found) == 50 * 8


# -- rounds, retries, and what they cost


def flaky(times: int, then):
    """Answers each request with 503 so many times, then as `then` does."""
    seen: Counter[str] = Counter()

    def answer(request):
        key = json.dumps(request.body())
        seen[key] += 1
        if seen[key] <= times:
            return ScriptedReply(error=503, retry_after=0, text="overloaded")
        return then(request)

    return answer


def rounds(number: int):
    """So many rounds of calls, then an answer."""

    def then(request):
        done = sum(message.role == "tool" for message in request.messages)
        usage = Usage(100 + done, 10)
        if done < number:
            return ScriptedReply(calls=[{"name": "price", "arguments": {"tea": str(done)}}], usage=usage)
        return ScriptedReply(text="Yes.", usage=usage)

    return then


@pytest.fixture
def three_rounds(shop):
    """A bot that may call tools in three rounds."""
    shop.write({"tea/0000_user.md": "How much?", "tea/convo.toml": '[bot]\nuse = "support"\ntool_rounds = 3\n'})
    return shop


def test_retries_use_up_no_round(three_rounds):
    three_rounds.answer = flaky(2, rounds(3))
    result, report = three_rounds.convos.report()
    assert (result.ret, report["calls"]) == (0, 12)


def test_one_round_more_than_there_are_fails(three_rounds):
    three_rounds.answer = flaky(2, rounds(4))
    result, report = three_rounds.convos.report()
    (run,) = runs(report)
    assert (result.ret, run["outcome"], report["calls"]) == (1, "fail", 12)
    assert "the bot went on calling tools after 3 rounds" in run["reason"]


def test_retries_that_are_used_up_measure_nothing_however_many_rounds_are_left(three_rounds):
    three_rounds.write({"tea/convo.toml": '[bot]\nuse = "support"\nretries = 1\n'})
    three_rounds.answer = flaky(100, rounds(0))
    result, report = three_rounds.convos.report()
    (run,) = runs(report)
    assert (result.ret, run["outcome"]) == (1, "error")
    assert "overloaded" in run["reason"]


@WAYS
def test_events_are_in_the_order_in_which_things_happened(three_rounds, args):
    three_rounds.write({"conftest.py": STATEFUL, "tea/0002_user.md": "And now?"})
    then = rounds(1)

    def in_each_turn(request):
        asked = max(at for at, message in enumerate(request.messages) if message.role == "user")
        if any(message.role == "tool" for message in request.messages[asked:]):
            return "Yes."
        return then(type(request)(request.model, request.messages[:1]))

    three_rounds.answer = flaky(2, in_each_turn)
    result, report = three_rounds.convos.report(*args)
    assert result.ret == 0
    (run,) = runs(report)
    path = three_rounds.path / run["directory"] / "events.jsonl"
    events = [json.loads(line) for line in path.read_text().splitlines()]
    asked = ["stack", *["request", "spent", "retry"] * 2, "request", "spent", "reply"]
    turn = ["turn", *asked, "tool", *asked]
    assert [event["kind"] for event in events] == [*turn, *turn, "check", "check", "outcome"]
    assert [event["attempt"] for event in events if event["kind"] == "retry"] == [1, 2] * 4
    assert [event["attempt"] for event in events if event["kind"] == "request"] == [1, 2, 3] * 4
    assert [event["attempts"] for event in events if event["kind"] == "reply"] == [3] * 4
    times = [event["at"] for event in events if "at" in event]
    assert times == sorted(times)


@WAYS
def test_what_was_accepted_and_what_was_billed_are_told_apart(three_rounds, args):
    """A judge is on the bill; the bot's own answers alone are its tokens."""
    judged = '[judge]\nmodel = "strict"\n[expect]\njudge = "It is kind."\n'
    three_rounds.write({"tea/convo.toml": f'[bot]\nuse = "support"\n{judged}'})
    then = rounds(2)

    def answer(request):
        if request.model == "strict":
            return ScriptedReply(text=VERDICT, usage=Usage(1000, 5))
        return then(request)

    three_rounds.answer = answer
    result, report = three_rounds.convos.report(*args)
    assert (result.ret, report["calls"]) == (0, 4)
    assert report["tokens"] == {"prompt": 100 + 101 + 102, "completion": 30}
    assert report["billed"] == {"prompt": 303 + 1000, "completion": 35}
    (run,) = runs(report)
    assert run["tokens"] == [303, 30]


def test_an_answer_that_was_cut_off_on_its_way_is_uncounted_and_no_answer(three_rounds):
    cut = iter([True])

    def answer(request):
        return ScriptedReply(text="Yes, of course.", usage=Usage(100, 10), cut=1 if next(cut, False) else None)

    three_rounds.answer = answer
    result, report = three_rounds.convos.report()
    assert (result.ret, report["calls"], report["uncounted"]) == (0, 2, 1)
    assert report["tokens"] == report["billed"] == {"prompt": 100, "completion": 10}
