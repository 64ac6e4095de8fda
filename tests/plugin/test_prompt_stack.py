"""Prompt stacks as a user meets them: what arrives at the server, what is left out of it, and where that is told."""

from __future__ import annotations

import json
import re
from itertools import pairwise

import pytest

from pytest_convo.prompt.build import gauge_for
from pytest_convo.prompt.request import Request
from pytest_convo.prompt.stack import Stack
from pytest_convo.testing import ScriptedReply, ScriptedServer
from pytest_convo.testing.chat_body import request_of

N0, N2 = ["-p", "xdist.plugin", "-n0"], ["-p", "xdist.plugin", "-n2"]
BUDGET = 600
TRIM = f'[prompt]\nbudget = {BUDGET}\nreserve = 100\non_overflow = "trim"\ntokenizer = "estimate"\n'
WORDS = "It steeps for two minutes in water that has just boiled, and then it is poured. " * 2


@pytest.fixture
def serve(convos):
    """A server with this script, and a convo.toml that asks it; stopped at the end."""
    servers = []

    def start(script="Yes.", toml: str = "", bot: str = "") -> ScriptedServer:
        said = [ScriptedReply(text=script)] if isinstance(script, str) else script
        server = ScriptedServer(said).start()
        servers.append(server)
        convos.write({"convo.toml": f'{toml}\n[bot]\nmodel = "llama-3"\nbase_url = "{server.url}"\n{bot}'})
        return server

    yield start
    for server in servers:
        server.stop()


def bodies(server: ScriptedServer) -> list[dict]:
    """What arrived, in an order of its own: runs and workers have none."""
    return sorted((request.body for request in server.requests), key=json.dumps)


def system(body: dict) -> str:
    """The one system message, which comes first."""
    assert [message["role"] for message in body["messages"]].count("system") == 1
    assert body["messages"][0]["role"] == "system"
    return body["messages"][0]["content"]


def size(body: dict) -> int:
    """Tokens of a request, by an estimate that nobody has taught."""
    request: Request = request_of(body)
    return gauge_for(None, Stack(counting="estimate")).request(request)


def runs(report: dict) -> list[dict]:
    return [run for group in report["groups"] for run in group["runs"]]


def events(convos, run: dict) -> list[dict]:
    return [json.loads(line) for line in (convos.path / run["directory"] / "events.jsonl").read_text().splitlines()]


def a_talk(turns: int, *, last: str = "And now?") -> dict[str, str]:
    """The files of a conversation of which so many turns are given, every third with a call; the last is open."""
    files = {}
    at = 0
    for turn in range(1, turns + 1):
        files[f"tea/{at:04}_user.md"] = f"Question {turn}."
        at += 1
        if turn % 3 == 0:
            call = {"id": f"c{turn}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
            files[f"tea/{at:04}_assistant.json"] = json.dumps({"tool_calls": [call]})
            result = {"content": f"Result {turn}. {WORDS}", "tool_call_id": f"c{turn}"}
            files[f"tea/{at + 1:04}_tool.json"] = json.dumps(result)
            at += 2
        files[f"tea/{at:04}_assistant.md"] = f"Answer {turn}. {WORDS}"
        at += 1
    return {**files, f"tea/{at:04}_user.md": last}


# -- files


def test_prompt_files_are_one_system_message_in_their_order_with_the_variables_of_the_case(convos, serve):
    server = serve(toml='prompt = ["base.md", "shop.md.j2"]\n')
    convos.write(
        {
            "base.md": "You sell tea.\n",
            "shop.md.j2": "The shop is {{ shop }}.\n",
            "tea/0000_user.md": "Hello?",
            "tea/convo.toml": '[[case]]\nid = "a"\nvars.shop = "Ann\'s"\n[[case]]\nid = "b"\nvars.shop = "Bob\'s"\n',
        }
    )
    assert convos.run().ret == 0
    told = [system(body) for body in bodies(server)]
    assert told == ["You sell tea.\n\nThe shop is Ann's.", "You sell tea.\n\nThe shop is Bob's."]


def test_a_variable_that_a_prompt_needs_and_no_case_gives_is_a_collection_error(convos, serve):
    server = serve(toml='prompt = ["base.md", "shop.md.j2"]\n')
    convos.write({"base.md": "x", "shop.md.j2": "The shop is {{ shop }}.", "tea/0000_user.md": "Hello?"})
    result = convos.run()
    assert (result.ret, server.count) == (pytest.ExitCode.INTERRUPTED, 0)
    result.stdout.fnmatch_lines(["*shop.md.j2*shop*"])


# -- context sources

SOURCES = """
class Source:
    def __init__(self, name, text, required=True, cap=None):
        self.name, self.text, self.required, self.cap = name, text, required, cap
        self.asked = 0

    async def __call__(self, tokens_left):
        self.asked += 1
        if isinstance(self.text, Exception):
            raise self.text
        return self.text if self.text is None else self.text.format(self=self, left=tokens_left)

def pytest_convo_context_sources(path):
    return [{sources}]
"""


def sources(*of: str) -> str:
    return SOURCES.replace("{sources}", ", ".join(f"Source({one})" for one in of))


def contexts(body: dict) -> list[tuple[str, str]]:
    return re.findall(r'<context name="(.*?)">\n(.*?)\n</context>', system(body), re.DOTALL)


def test_what_conftests_give_stands_behind_the_prompt_the_nearest_last(convos, serve):
    server = serve(toml='prompt = "base.md"')
    convos.write(
        {
            "base.md": "You sell tea.",
            "conftest.py": sources("'hours', 'Nine to five.'", "'stock', 'Sencha.'"),
            "tea/conftest.py": sources("'near', 'Of tea.'"),
            "tea/0000_user.md": "Hello?",
            "milk/0000_user.md": "Milk?",
        }
    )
    assert convos.run().ret == 0
    found = {body["messages"][-1]["content"]: body for body in bodies(server)}
    assert system(found["Hello?"]).startswith("You sell tea.\n\n<context")
    assert contexts(found["Milk?"]) == [("hours", "Nine to five."), ("stock", "Sencha.")]
    assert contexts(found["Hello?"]) == [*contexts(found["Milk?"]), ("near", "Of tea.")]


@pytest.mark.parametrize("args", [N0, N2], ids=["one process", "two workers"])
def test_a_source_is_made_for_each_run_and_asked_once_a_turn(convos, serve, args):
    def answer(request):
        calls = [{"name": "look", "arguments": {}}]
        return "Yes." if request.messages[-1].role == "tool" else ScriptedReply(calls=calls)

    server = serve(answer, "runs = 6\nagreement = 1\n")
    tools = "def look():\n    '''Look.'''\n    return 'seen'\n\ndef pytest_convo_tools(path, run): return [look]\n"
    convos.write(
        {
            "conftest.py": sources("'count', 'asked {self.asked} times'") + tools,
            "tea/0000_user.md": "One?",
            "tea/0002_user.md": "Two?",
        }
    )
    assert convos.run("--convo-eager", *args).ret == 0
    told = [contexts(body)[0][1] for body in bodies(server)]
    assert sorted(told) == ["asked 1 times"] * 12 + ["asked 2 times"] * 12
    for body in bodies(server):  # the same before and after the call of its turn
        questions = sum(message["role"] == "user" for message in body["messages"])
        assert contexts(body) == [("count", f"asked {questions} times")]


def test_a_source_may_be_a_coroutine_function_and_give_a_part(convos, serve):
    server = serve()
    convos.write(
        {
            "conftest.py": """
from pytest_convo import Part

async def stock(tokens_left):
    return Part("ignored", "Sencha.")

stock.name = "stock"

def pytest_convo_context_sources(path):
    return [stock]
""",
            "tea/0000_user.md": "Hello?",
        }
    )
    assert convos.run().ret == 0
    assert contexts(bodies(server)[0]) == [("stock", "Sencha.")]


def test_a_source_that_would_hold_all_runs_up_is_refused(convos, serve):
    server = serve()
    source = "def stock(left): return 'Sencha.'\nstock.name = 'stock'\n"
    hook = "def pytest_convo_context_sources(path): return [stock]"
    convos.write({"conftest.py": source + hook, "tea/0000_user.md": "Hello?"})
    result = convos.run()
    assert (result.ret, server.count) == (1, 0)
    result.stdout.fnmatch_lines(["*the context source 'stock' failed: TypeError: *`async def __call__` is needed*"])


@pytest.mark.parametrize("given", ["5", "'stock'", "Stock()"])
def test_a_hook_that_gives_no_list_says_so(convos, serve, given):
    serve()
    convos.write(
        {
            "conftest.py": f"class Stock: name = 'stock'\ndef pytest_convo_context_sources(path): return {given}",
            "tea/0000_user.md": "Hello?",
        }
    )
    result = convos.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*pytest_convo_context_sources gave *, which is no list of context sources*"])
    result.stdout.no_fnmatch_line("*Traceback*")


@pytest.mark.parametrize(
    "source, told",
    [
        ("'stock', OSError('no database')", "the context source 'stock' failed: OSError: no database"),
        ("'stock', 'Sencha. ' * 100, cap=50", "the context source 'stock' is too long: it has"),
    ],
    ids=["fails", "passes its cap"],
)
def test_a_required_source_that_cannot_be_used_is_an_error_without_any_call(convos, serve, source, told):
    server = serve()
    convos.write({"conftest.py": sources(source), "tea/0000_user.md": "Hello?"})
    result, report = convos.report()
    assert (result.ret, server.count) == (1, 0)
    (run,) = runs(report)
    assert run["outcome"] == "error"
    assert told in run["reason"]
    assert "required = False" in run["reason"]


def test_a_required_source_that_does_not_fit_is_an_error_with_the_table_of_the_parts(convos, serve):
    server = serve(toml='prompt.files = "base.md"\nprompt.budget = 200\nprompt.reserve = 50\n')
    convos.write(
        {
            "base.md": "You sell tea.",
            "conftest.py": sources("'stock', 'Sencha. ' * 300"),
            "tea/0000_user.md": "Hello?",
        }
    )
    result, report = convos.report()
    assert (result.ret, server.count) == (1, 0)
    (run,) = runs(report)
    said = re.sub(" +", " ", run["reason"])
    assert re.search(r"the prompt is [\d,]+ tokens too large, as far as can be estimated: it has [\d,]+,", said)
    assert "[prompt] budget = 200 leaves 150 with 50 for the answer" in said
    for row in ("system base.md", "context stock", "turn question", "reserve for the answer 50"):
        assert f"\n {row}" in said
    assert "raise budget in [prompt]" in said


OPTIONAL = [
    "'stock', 'Sencha. ' * 300, required=False",
    "'broken', OSError('no database'), required=False",
    "'capped', 'Oolong. ' * 50, required=False, cap=20",
    "'silent', None, required=False",
    "'hours', 'Nine to five.', required=False",
]


def test_an_optional_source_that_cannot_be_used_is_left_out_and_that_is_told_everywhere(convos, serve):
    server = serve(toml="prompt.budget = 300\nprompt.tokenizer = 'estimate'\n")
    convos.write({"conftest.py": sources(*OPTIONAL), "tea/0000_user.md": "Hello?"})
    result, report = convos.report()
    assert (result.ret, server.count) == (0, 1)
    (body,) = bodies(server)
    assert contexts(body) == [("hours", "Nine to five.")]

    left_out = "context stock dropped, context broken dropped, context capped dropped"
    result.stdout.fnmatch_lines([f"tea/0000_user.md: sent * tokens of 300: {left_out}"])
    (run,) = runs(report)
    rows = {row["name"]: row for row in run["stack"]["rows"] if row["section"] == "context"}
    assert {name: row["status"] for name, row in rows.items()} == {
        **dict.fromkeys(("stock", "broken", "capped"), "dropped"),
        "silent": "empty",
        "hours": "sent",
    }
    assert rows["stock"]["why"] == "no room was left"
    assert rows["broken"]["why"] == "it failed: OSError: no database"
    assert rows["capped"]["why"].endswith("and its cap is 20")
    assert rows["silent"]["why"] == "it has nothing to say"
    (told,) = [event for event in events(convos, run) if event["kind"] == "stack"]
    assert told["rows"] == run["stack"]["rows"]
    sent = sum(row["tokens"] for row in told["rows"] if row["status"] == "sent")
    assert sent == told["tokens"] == run["stack"]["tokens"] == size(body)


def test_sources_are_told_what_is_left_the_required_ones_first(convos, serve):
    server = serve(toml="prompt.budget = 1000\nprompt.tokenizer = 'estimate'\n")
    convos.write(
        {
            "conftest.py": sources(
                "'late', '{left}', required=False", "'capped', '{left}', cap=40", "'first', '{left}'"
            ),
            "tea/0000_user.md": "Hello?",
        }
    )
    assert convos.run().ret == 0
    left = {name: int(text) for name, text in contexts(bodies(server)[0])}
    assert list(left) == ["late", "capped", "first"]
    assert left["capped"] == 40
    assert 1000 > left["first"] > left["late"] > 900


@pytest.mark.parametrize(
    "hook, told",
    [
        ("[3]", "pytest_convo_context_sources gave 3, which is no context source"),
        ("[a, a]", "there are two context sources named 'a'"),
        ("1 / 0", "division by zero"),
    ],
)
def test_what_is_no_source_is_an_error_of_the_run(convos, serve, hook, told):
    server = serve()
    conftest = f"def a(left): return ''\na.name = 'a'\ndef pytest_convo_context_sources(path): return {hook}"
    convos.write({"conftest.py": conftest, "tea/0000_user.md": "Hello?"})
    convos.pytester.plugins.clear()
    result = convos.pytester.runpytest_inprocess()
    assert (result.ret, server.count) == (1, 0)
    result.stdout.fnmatch_lines([f"*{told}*"])
    assert result.parseoutcomes() == {"errors": 1}
    assert "INTERNALERROR" not in result.stdout.str()


# -- budgets


def test_what_does_not_fit_is_an_error_that_names_the_largest_parts_and_asks_nobody(convos, serve):
    server = serve(toml='[prompt]\nfiles = "base.md"\nbudget = 600\n')
    convos.write({"base.md": "You sell tea.", **a_talk(20)})
    result, report = convos.report()
    assert (result.ret, server.count) == (1, 0)
    (run,) = runs(report)
    assert run["outcome"] == "error"
    said = re.sub(" +", " ", run["reason"])
    assert "\n history turns 1-20 " in said
    assert 'on_overflow = "trim" leaves out what is old' in said


@pytest.mark.parametrize("style", ["messages", "xml", "text"])
def test_the_newest_turns_are_sent_with_the_system_prompt_and_never_too_much(convos, serve, style):
    server = serve(toml=f'{TRIM}style = "{style}"\nfiles = "base.md"\n')
    convos.write({"base.md": "You sell tea.", **a_talk(20)})
    result, report = convos.report()
    assert (result.ret, server.count) == (0, 1)
    (body,) = bodies(server)
    assert size(body) <= BUDGET - 100
    said = json.dumps(body)
    kept = [turn for turn in range(1, 21) if f"Question {turn}." in said]
    assert 1 < len(kept) < 20
    assert kept == list(range(kept[0], 21))
    for turn in range(1, 21):
        assert (f"Answer {turn}." in said) is (turn in kept)
        assert (f"Result {turn}." in said) is (turn in kept and turn % 3 == 0)
    assert said.count("You sell tea.") == said.count("And now?") == 1
    roles = [message["role"] for message in body["messages"]]
    assert roles == ["user"] if style != "messages" else roles[0] == "system"
    assert result.stdout.str().count(f"history turns 1-{kept[0] - 1} dropped") == 1
    (run,) = runs(report)
    assert run["stack"]["budget"] == BUDGET
    assert run["stack"]["tokens"] == size(body)


def test_a_budget_holds_in_every_turn_of_a_conversation_that_grows(convos, serve):
    server = serve(lambda request: f"To {request.messages[-1].text} {WORDS}", f'{TRIM}files = "base.md"\n')
    convos.write({"base.md": "You sell tea.", **{f"tea/{2 * at:04}_user.md": f"Question {at}." for at in range(20)}})
    result, report = convos.report()
    assert (result.ret, server.count) == (0, 20)
    asked = [request.body for request in server.requests]
    assert all(size(body) <= BUDGET - 100 for body in asked)
    assert all(system(body) == "You sell tea." for body in asked)
    for at, body in enumerate(asked):
        questions = [message["content"] for message in body["messages"] if message["role"] == "user"]
        assert questions == [f"Question {one}." for one in range(at + 1 - len(questions), at + 1)]
    assert len({len(body["messages"]) for body in asked[10:]}) == 1  # as many as fit, and no fewer in the end
    (run,) = runs(report)
    told = [event for event in events(convos, run) if event["kind"] in ("stack", "request")]
    assert [event["kind"] for event in told] == ["stack", "request"] * 20
    assert [event["tokens"] for event in told[::2]] == [size(event["body"]) for event in told[1::2]]


def test_calls_and_their_results_stay_together_while_a_turn_grows(convos, serve):
    def answer(request):
        found = re.match(r"number (\d+)", request.messages[-1].text)
        number = int(found[1]) if found else 0
        if number == 12:
            return "Done."
        return ScriptedReply(calls=[{"name": "look", "arguments": {"at": number + 1}}])

    server = serve(answer, f'{TRIM}files = "base.md"\n', bot="tool_rounds = 12\n")
    tools = f"def look(at: int):\n    '''Look.'''\n    return f'number {{at}} {WORDS}'\n"
    convos.write(
        {
            "conftest.py": f"{tools}\ndef pytest_convo_tools(path, run): return [look]\n",
            "base.md": "You sell tea.",
            **a_talk(3, last="Look twelve times."),
        }
    )
    result, _ = convos.report()
    assert (result.ret, server.count) == (0, 13)
    assert {request.status for request in server.requests} == {200}  # which refuses a call without its result
    for body in (request.body for request in server.requests):
        assert size(body) <= BUDGET - 100
        assert system(body) == "You sell tea."
        assert [message for message in body["messages"] if message["content"] == "Look twelve times."]
        for one, other in pairwise(body["messages"]):
            if one.get("tool_calls"):
                assert one["tool_calls"][0]["id"] == other["tool_call_id"]
    last = [message["content"] for message in server.requests[-1].body["messages"] if message["role"] == "tool"]
    assert last[-1].startswith("number 12")


def test_a_result_too_long_for_the_budget_is_cut_and_says_so(convos, serve):
    def answer(request):
        calls = [{"name": "look", "arguments": {}}]
        return "Yes." if request.messages[-1].role == "tool" else ScriptedReply(calls=calls)

    server = serve(answer, TRIM)
    tools = f"def look():\n    '''Look.'''\n    return {WORDS * 100!r}\n"
    convos.write(
        {"conftest.py": f"{tools}\ndef pytest_convo_tools(path, run): return [look]\n", "tea/0000_user.md": "Look."}
    )
    result = convos.run()
    assert (result.ret, server.count) == (0, 2)
    body = server.requests[-1].body
    assert size(body) <= BUDGET - 100
    assert re.search(r"\[[\d,]+ characters were left out here", body["messages"][-1]["content"])
    result.stdout.fnmatch_lines(["tea/0000_user.md: sent * tokens of 500: turn step 1 shortened"])


def test_a_count_of_the_server_s_that_is_higher_makes_the_next_requests_smaller(convos, serve):
    from pytest_convo.conversation.reply import Usage

    def answer(request):
        counted = 2 * gauge_for(None, Stack(counting="estimate")).request(request)
        return ScriptedReply(text=f"To {request.messages[-1].text} {WORDS}", usage=Usage(counted, 10))

    server = serve(answer, TRIM)
    convos.write({f"tea/{2 * at:04}_user.md": f"Question {at}." for at in range(12)})
    result, report = convos.report()
    assert result.ret == 0
    assert [size(request.body) <= (BUDGET - 100) / 2 for request in server.requests[3:]] == [True] * 9
    (run,) = runs(report)
    ours, servers = run["stack"]["counts"][-1]
    assert servers <= ours <= BUDGET - 100
    result.stdout.fnmatch_lines(
        ["tokens of 12 requests were estimated: * in the median, 2 times too low, by 50 % at most"]
    )


# -- who asks


TESTS = """
def test_ask(bot):
    assert bot.ask(HISTORY).text == "Yes."

def test_chat(bot):
    chat = bot.chat()
    for number in range(12):
        chat.ask(f"Question {number}. " + WORDS)

def test_conversation(bot):
    assert bot.conversation("tea").last.text == "Yes."

def test_agent(agent):
    assert agent(environment="local").run("Question 9. " + WORDS).status == "done"
"""


def test_all_ways_to_ask_take_the_same_way(convos, serve):
    server = serve(toml=f'max_iterations = 2\n{TRIM}files = "base.md"\n')
    history = [
        {"role": role, "content": f"Question {at}. {WORDS}"} for at in range(20) for role in ("user", "assistant")
    ]
    convos.write(
        {
            "conftest.py": sources("'stock', 'asked {self.asked} times'"),
            "base.md": "You sell tea.",
            "test_it.py": f"WORDS = {WORDS!r}\nHISTORY = {[*history, 'And now?']!r}\n{TESTS}",
            **a_talk(20),
        }
    )
    for name, count in (("test_ask", 1), ("test_chat", 12), ("test_conversation", 1), ("test_agent", 1)):
        before = server.count
        result = convos.run("-k", name)
        assert (result.ret, server.count - before) == (0, count), result.stdout.str()
        for body in (request.body for request in server.requests[before:]):
            assert "You sell tea." in system(body)
            assert contexts(body) == [("stock", "asked 1 times")]
            assert size(body) <= BUDGET - 100


def test_each_run_of_an_agent_has_sources_of_its_own(convos, serve):
    server = serve()
    test = (
        "def test_it(agent):\n    worker = agent(environment='local')\n    worker.run('One.')\n    worker.run('Two.')\n"
    )
    convos.write({"conftest.py": sources("'stock', 'asked {self.asked} times'"), "test_it.py": test})
    assert convos.run().ret == 0
    assert [contexts(body) for body in bodies(server)] == [[("stock", "asked 1 times")]] * 2


def test_a_system_prompt_of_a_question_s_own_is_within_the_same_budget(convos, serve):
    server = serve(toml="prompt.budget = 200\n")
    convos.write({"test_it.py": f"def test_it(bot): bot.ask('Hello?', system={WORDS * 20!r})\n"})
    result = convos.run()
    assert (result.ret, server.count) == (1, 0)
    result.stdout.fnmatch_lines(["*test_it.py:1: the prompt is * tokens too large*"])


@pytest.mark.parametrize("given", ["use='support'", "functions=[print]", "base_url='http://x/v1'", "retries=0"])
@pytest.mark.parametrize("ask", ["bot.ask('Hello?', {})", "bot.chat({}).ask('Hello?')"], ids=["ask", "chat"])
def test_what_makes_a_bot_is_no_field_of_a_question(convos, serve, given, ask):
    server = serve()
    convos.write({"test_it.py": f"def test_it(bot): {ask.format(given)}\n"})
    result = convos.run()
    assert (result.ret, server.count) == (1, 0)
    name = given.partition("=")[0]
    result.stdout.fnmatch_lines([f"*test_it.py:1: `{name}` is no field of a question*", "*set it in [[]bot[]]*"])


# -- dry, workers


def test_dry_prints_what_a_request_is_made_of_asks_nobody_and_writes_nothing(convos, serve):
    server = serve(toml=f'{TRIM}files = ["base.md", "shop.md.j2"]\n[vars]\nshop = "Ann\'s"\n')
    conftest = sources("'stock', 'Sencha.'", "'broken', OSError('no database'), required=False")
    convos.write(
        {
            "base.md": "You sell tea.",
            "shop.md.j2": "The shop is {{ shop }}.",
            "conftest.py": conftest,
            **a_talk(20),
            "tea/convo.toml": "runs = 3\n",
        }
    )
    before = {path: path.stat().st_mtime_ns for path in convos.path.rglob("*")}
    result = convos.run("--convo-dry", "-p", "no:cacheprovider")
    assert (result.ret, server.count) == (0, 0)
    assert before == {path: path.stat().st_mtime_ns for path in convos.path.rglob("*")}
    said = [re.sub(" +", " ", line).strip() for line in result.outlines]
    assert sum(line.endswith("request at 53") for line in said) == 1
    table = said[next(at for at, line in enumerate(said) if line.startswith("made of about")) :]
    assert re.fullmatch(r"made of about \d+ tokens; the budget is 600", table[0])
    for row in ("system base.md", "system shop.md.j2", "context stock", "context broken", "turn question"):
        assert sum(line.startswith(row) for line in table) == 1
    assert any(re.fullmatch(r"history turns 1-\d+ \([\d,]+\) dropped: no room was left", line) for line in table)
    assert "context broken (0) dropped: it failed: OSError: no database" in table


def test_dry_asks_the_sources_of_all_turns_on_one_event_loop(convos, serve):
    serve()
    conftest = """
import asyncio

class Pool:
    name = "pool"

    def __init__(self):
        self.loop = None

    async def __call__(self, tokens_left):
        loop = asyncio.get_running_loop()
        self.loop = self.loop or loop
        assert loop is self.loop, "another loop"
        return "Sencha."

def pytest_convo_context_sources(path):
    return [Pool()]
"""
    convos.write({"conftest.py": conftest, "tea/0000_user.md": "One?", "tea/0002_user.md": "Two?"})
    result = convos.run("--convo-dry")
    assert result.ret == 0
    assert result.stdout.str().count("Sencha.") == 2


LEAVING = """
class Stock:
    name = "stock"

    async def __call__(self, tokens_left):
        raise SystemExit(3)

def pytest_convo_context_sources(path):
    return [Stock()]
"""


def test_dry_tells_what_does_not_fit_and_what_fails_and_goes_on(convos, serve):
    serve(toml="prompt.budget = 200\n")
    convos.write(
        {
            "a/0000_user.md": WORDS * 20,
            "b/0000_user.md": "Hello?",
            "b/conftest.py": sources("'stock', OSError('no database')"),
            "c/0000_user.md": "Hello?",
            "c/conftest.py": "def pytest_convo_context_sources(path): 1 / 0",
            "c2/0000_user.md": "Hello?",
            "c2/conftest.py": LEAVING,
            "d/0000_user.md": "Hello?",
            "d/0002_user.md": WORDS * 20,
            "d/0004_user.md": "And now?",
        }
    )
    result = convos.run("--convo-dry")
    result.stdout.fnmatch_lines(
        [
            "a/0000_user.md: request at 1: the prompt is * tokens too large*",
            "b/0000_user.md: request at 1: the context source 'stock' failed: OSError: no database",
            "c/0000_user.md: *division by zero*",
            "c2/0000_user.md: *SystemExit: 3",
            "d/0000_user.md: request at 1",
            "d/0000_user.md: request at 3: the prompt is * tokens too large*",
            "d/0000_user.md: request at 5: the prompt is * tokens too large*",
        ]
    )


def test_workers_send_and_tell_the_same_as_one_process(convos, serve):
    server = serve(lambda request: f"To {request.messages[-1].text} {WORDS}", f"runs = 4\nagreement = 1\n{TRIM}")
    convos.write(
        {
            "conftest.py": sources(*OPTIONAL, "'count', 'asked {self.asked} times'"),
            **{f"tea/{2 * at:04}_user.md": f"Question {at}." for at in range(8)},
        }
    )
    found = []
    for args in (N0, N2):
        result, report = convos.report(*args)
        assert result.ret == 0
        told = sorted((run["id"], run["stack"]) for run in runs(report))
        lines = [line for line in result.outlines if "tokens" in line and "call" not in line]
        found.append((bodies(server), told, lines))
        server.reset()
    assert found[0] == found[1]
    assert len(found[0][0]) == 4 * 8


def test_without_a_budget_and_sources_nothing_is_told_of_a_stack(convos, serve):
    serve()
    convos.write({"tea/0000_user.md": "Hello?"})
    result, report = convos.report()
    assert "stack" not in runs(report)[0]
    assert not [event for event in events(convos, runs(report)[0]) if event["kind"] == "stack"]
    result.stdout.no_fnmatch_line("*estimated*")
