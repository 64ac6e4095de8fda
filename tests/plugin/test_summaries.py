"""Summaries of earlier turns as a user meets them: who is asked for what, where they are kept, what replays them."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest

from pytest_convo.conversation.reply import Usage
from pytest_convo.prompt.build import gauge_for
from pytest_convo.prompt.request import Request
from pytest_convo.prompt.stack import Stack
from pytest_convo.testing import ScriptedReply, ScriptedServer
from pytest_convo.testing.chat_body import request_of

N0, N2 = ["-p", "xdist.plugin", "-n0"], ["-p", "xdist.plugin", "-n2"]
WAYS = pytest.mark.parametrize("args", [N0, N2], ids=["one process", "two workers"])
WORDS = "It steeps for two minutes in water that has just boiled, and then it is poured. " * 2

ROOM = 450
SETTINGS = """
[prompt]
budget = 500
reserve = 50
on_overflow = "summarize"
tokenizer = "estimate"
files = "base.md"
[bot]
model = "llama-3"
base_url = "{url}"
[summarize]
model = "shortener"
turns = 2
tokens = 40
"""
SHELF = "tea/__recordings__/summaries"


def summed_up(request: Request) -> str:
    """What of it a summary must name: the numbers of the questions that it is of."""
    said = request.messages[-1].text
    return f"Of {', '.join(numbers(said)) or 'summaries'}{', changed' * ('changed' in said)}."


def numbers(text: str) -> list[str]:
    """Those of the questions that a text names, each once."""
    return list(dict.fromkeys(re.findall(r"Question (\d+)", text)))


class Shop:
    """A project of one conversation that outgrows its budget, with the server that answers and summarizes."""

    def __init__(self, convos) -> None:
        self.convos, self.path, self.write = convos, convos.path, convos.write
        self.say = lambda request: f"To {request.messages[-1].text} {WORDS}"
        self.summarize = summed_up
        self.server = ScriptedServer(self._answer).start()
        self.settings()
        self.write({"base.md": "You sell tea."})
        self.talk(14)

    def settings(self, **changes: str) -> None:
        """The settings, with other values for some keys, and lines in front of them."""
        text = SETTINGS.format(url=self.server.url)
        front = changes.pop("front", "")
        behind = changes.pop("behind", "")
        for key, value in changes.items():
            text = re.sub(rf"^{key} = .*$", f"{key} = {value}", text, flags=re.MULTILINE)
        self.write({"convo.toml": f"{front}\n{text}\n{behind}"})

    def talk(self, turns: int) -> None:
        self.write({f"tea/{2 * at:04}_user.md": f"Question {at + 1}." for at in range(turns)})

    def _answer(self, request: Request) -> object:
        return (self.summarize if request.model == "shortener" else self.say)(request)

    def asked(self, who: str = "shortener") -> list[dict]:
        """What arrived for the summarizer, or for the bot, since it was last looked at everything."""
        return [body for body in (request.body for request in self.server.requests) if body["model"] == who]

    def shelf(self, at: str = SHELF) -> dict[str, str]:
        """The summaries that are kept, by the turns in their names."""
        found = sorted((self.path / at).glob("*.md"))
        assert all(re.fullmatch(r"turns-\d{4}-\d{4}\.[0-9a-f]{16}\.md", path.name) for path in found)
        return {path.name.partition(".")[0]: path.read_text() for path in found}

    def files(self) -> dict[str, bytes]:
        """All that is the user's own, and of recordings."""
        paths = [path for path in self.path.rglob("*") if path.is_file()]
        own = {".convo", ".pytest_cache", "__pycache__", "report.json"}
        named = {path.relative_to(self.path): path for path in paths}
        return {str(name): path.read_bytes() for name, path in named.items() if not own & {*name.parts}}


@pytest.fixture
def shop(convos):
    made = Shop(convos)
    yield made
    made.server.stop()


def size(body: dict) -> int:
    return gauge_for(None, Stack(counting="estimate")).request(request_of(body))


def system(body: dict) -> str:
    assert body["messages"][0]["role"] == "system"
    return body["messages"][0]["content"]


def summaries(body: dict) -> dict[str, str]:
    """The summaries in a request of the bot, by what they are of."""
    return dict(re.findall(r'<summary of="(.*?)">\n(.*?)\n</summary>', system(body), re.DOTALL))


def runs(report: dict) -> list[dict]:
    return [run for group in report["groups"] for run in group["runs"]]


# -- what is asked, and sent


def test_each_block_of_turns_is_written_once_and_sent_in_their_place(shop):
    result, report = shop.convos.report()
    assert result.ret == 0
    bodies = shop.asked("llama-3")
    assert len(bodies) == 14
    for body in bodies:
        assert size(body) <= ROOM
        questions = [message["content"] for message in body["messages"] if message["role"] == "user"]
        sent = [int(number) for question in questions for number in numbers(question)]
        assert sent == list(range(sent[0], sent[-1] + 1))
        covered = [tuple(map(int, re.findall(r"\d+", of))) for of in summaries(body)]
        ends = [last for *_, last in covered]
        assert [first for first, *_ in covered] == [1, *(end + 1 for end in ends)][: len(covered)]
        assert sent[0] == (ends[-1] if ends else 0) + 1  # nothing twice, nothing lost

    told = [body["messages"][-1]["content"] for body in shop.asked()]
    assert [numbers(text) for text in told] == [["1", "2"], ["3", "4"], ["5", "6"], ["7", "8"], []]
    assert re.findall('<summary of="(.*?)">', told[-1]) == ["turns 1-2", "turns 3-4", "turns 5-6", "turns 7-8"]
    assert summaries(bodies[-1]) == {"turns 1-8": "Of summaries."}

    (run,) = runs(report)
    assert [row["status"] for row in run["stack"]["rows"] if row.get("name") == "turns 1-8"] == ["sent", "summarized"]
    result.stdout.fnmatch_lines(["tea/0000_user.md: sent * tokens of 450: history turns 1-8 summarized"])


def test_who_summarizes_is_told_so_and_sees_no_tools_and_nothing_of_the_bot_s_own_request(shop):
    shop.settings(behind="[bot.request]\nseed = 7\n")
    tools = "def look():\n    return ''\ndef pytest_convo_tools(path, run): return [look]\n"
    source = "async def hours(left): return 'Nine to five.'\nhours.name = 'hours'\n"
    hook = "def pytest_convo_context_sources(path): return [hours]\n"
    shop.write({"conftest.py": tools + source + hook})
    assert shop.convos.run().ret == 0
    assert all({"seed", "tools"} <= body.keys() for body in shop.asked("llama-3"))
    body = shop.asked()[0]
    assert body.keys() == {"model", "messages"}
    assert system(body).startswith("You write summaries of conversations")
    assert "at most 24 words" in system(body)
    said = body["messages"][1]["content"]
    assert said.startswith("<history>\n<user>\nQuestion 1.\n</user>")
    assert "You sell tea." not in json.dumps(body)
    assert "Nine to five." not in json.dumps(body)


def test_runs_with_the_same_history_share_their_summaries(shop):
    shop.settings(front="runs = 6\nagreement = 1\n")
    assert shop.convos.run("--convo-eager", "--convo-concurrency=6").ret == 0
    assert len(shop.asked("llama-3")) == 6 * 14
    assert len(shop.asked()) == 5


def test_runs_with_histories_of_their_own_have_summaries_of_their_own(shop):
    shop.settings(front="runs = 3\nagreement = 1\n")
    count = iter(range(1000))
    shop.say = lambda request: f"To {request.messages[-1].text} {next(count)} {WORDS}"
    assert shop.convos.run("--convo-eager", "--convo-record=new").ret == 0
    assert len(shop.asked()) == 3 * 5
    assert len(list((shop.path / SHELF).iterdir())) == 3 * 5


def test_runs_of_a_test_that_chats_share_their_summaries(shop):
    test = """
import pytest

@pytest.mark.convo(runs=3, agreement=1)
def test_it(bot):
    chat = bot.chat()
    for number in range(1, 15):
        chat.ask(f"Question {number}.")
"""
    shop.write({"chats/test_it.py": test})
    assert shop.convos.run("chats", "--convo-eager").ret == 0
    assert len(shop.asked("llama-3")) == 3 * 14
    assert len(shop.asked()) == 5


def test_a_script_may_summarize(convos):
    files = {f"tea/{2 * at:04}_user.md": f"Question {at + 1}." for at in range(14)}
    scripted = re.sub(r"(?m)^(model|base_url) = .*\n", "", SETTINGS).replace("[bot]", '[bot]\nprovider = "scripted"')
    convos.write(
        {
            **files,
            "base.md": "You sell tea.",
            "convo.toml": scripted,
            "script.toml": f"[[reply]]\ntext = {json.dumps(WORDS)}\n",
            "summary_script.toml": '[[reply]]\ntext = "In short: tea."\n',
        }
    )
    assert convos.run("--convo-record=new").ret == 0
    assert {path.read_text().partition("\n\n")[2] for path in (convos.path / SHELF).iterdir()} == {"In short: tea.\n"}

    (convos.path / "summary_script.toml").unlink()
    result = convos.run()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(['*provider = "scripted" needs a summary_script.toml*'])


def test_a_task_has_no_earlier_turns_and_needs_nobody_who_summarizes_them(convos):
    scripted = re.sub(r"(?m)^(model|base_url) = .*\n", "", SETTINGS).replace("[bot]", '[bot]\nprovider = "scripted"')
    convos.write(
        {
            "base.md": "You sell tea.",
            "convo.toml": scripted.replace("budget = 500", "budget = 3000"),
            "script.toml": '[[reply]]\ntext = "Done."\n',
            "task/task.toml": '[convo]\nenvironment = "local"\n',
            "task/instruction.md": "Do nothing.",
            "task/tests/test.sh": "#!/bin/sh\nexit 0\n",
        }
    )
    assert convos.run().ret == 0


# -- files


def test_recording_writes_each_summary_to_a_file_of_its_own_and_touches_no_message(shop):
    before = shop.files()
    assert shop.convos.run("--convo-record=new").ret == 0
    shelf = shop.shelf()
    assert list(shelf) == [f"turns-000{at}" for at in ("1-0002", "1-0008", "3-0004", "5-0006", "7-0008")]
    head = "<!-- turns 3-4 of the conversation, [0-9a-f]{16}, .* -->"
    assert re.fullmatch(rf"{head}\n\nOf 3, 4\.\n", shelf["turns-0003-0004"])
    after = shop.files()
    assert {name: after[name] for name in before} == before
    assert all("__recordings__" in name for name in after.keys() - before.keys())


def test_by_default_nothing_is_written(shop):
    before = shop.files()
    assert shop.convos.run().ret == 0
    assert shop.files() == before


@WAYS
@pytest.mark.parametrize("kept", ["both", "recordings", "files"])
def test_a_replay_asks_nobody(shop, args, kept):
    shop.settings(front="runs = 3\nagreement = 1\n")
    assert shop.convos.run("--convo-record=new", *args).ret == 0
    if kept == "recordings":
        for path in (shop.path / SHELF).iterdir():
            path.unlink()
    if kept == "files":
        assert 5 <= len(shop.asked()) <= 10  # two workers may each have asked for them
        for path in (shop.path / SHELF).parent.glob("run-*.yaml"):
            head, *exchanges = re.split("(?m)^(?=  - request: )", path.read_text())
            own = [one for one in exchanges if "shortener" not in one]
            assert len(own) == 14, exchanges[-1]
            path.write_text(head + "".join(own))
    shop.server.reset()
    result = shop.convos.run("--convo-record=none", *args)
    assert (result.ret, shop.server.count) == (0, 0)
    for number in (1, 2, 3):
        result = shop.convos.run("--convo-record=none", "-k", f"run-{number}")
        assert (result.ret, shop.server.count) == (0, 0), number


def test_workers_that_summarize_at_once_go_on_with_the_same_text(shop):
    shop.settings(front="runs = 4\nagreement = 1\n")
    count = iter(range(1000))
    shop.summarize = lambda request: ScriptedReply(text=f"{summed_up(request)} No. {next(count)}.", latency=0.1)
    assert shop.convos.run("--convo-record=new", *N2).ret == 0
    kept = {path.read_text().partition("\n\n")[2].strip() for path in (shop.path / SHELF).iterdir()}
    sent = {text for body in shop.asked("llama-3") for text in summaries(body).values()}
    assert sent == {text for text in kept if text in sent}
    shop.server.reset()
    for args in (N0, N2):
        assert shop.convos.run("--convo-record=none", *args).ret == 0
    assert shop.server.count == 0


def test_a_replay_is_no_fresh_evidence_for_the_gate(shop):
    shop.settings(front="runs = 3\nagreement = 1\n")
    assert shop.convos.run("--convo-record=new", "--convo-update-baseline").ret == 0
    _, report = shop.convos.report("--convo-record=none", "--convo-baseline=convo-baseline.json")
    assert report["gate"]["same_sample"] == {"tea/0000_user.md": 3}


@pytest.mark.parametrize("head", [True, False], ids=["below its first line", "the whole of it"])
@pytest.mark.parametrize("mode", ["auto", "new", "all"])
def test_an_edited_summary_is_used_as_it_stands(shop, head, mode):
    assert shop.convos.run("--convo-record=new").ret == 0
    (path,) = (shop.path / SHELF).glob("turns-0001-0008.*")
    first = path.read_text().splitlines()[0]
    text = "They spoke of tea.\n\nAnd of milk: 3 < 4."
    path.write_text(f"{first}\n\n{text}\n" if head else f"{text}\n")
    edited = path.read_bytes()
    shop.server.reset()
    assert shop.convos.run(f"--convo-record={mode}").ret == 0
    assert summaries(shop.asked("llama-3")[-1]) == {"turns 1-8": text}
    assert shop.asked() == []
    assert path.read_bytes() == edited


def test_a_changed_turn_has_a_summary_of_its_own(shop):
    shop.settings(front="timeout = 100\n")
    assert shop.convos.run("--convo-record=new").ret == 0
    before = {path.name: path.read_bytes() for path in (shop.path / SHELF).iterdir()}
    shop.write({"tea/0004_user.md": "Question 3, changed."})
    shop.server.reset()
    assert shop.convos.run("--convo-record=new").ret == 0
    told = [numbers(body["messages"][-1]["content"]) for body in shop.asked()]
    assert told == [["3", "4"], []]  # not of turns 1-2, 5-6 and 7-8
    after = {path.name: path.read_bytes() for path in (shop.path / SHELF).iterdir()}
    assert len(after) == len(before) + 2
    assert before.items() <= after.items()


def test_a_summary_that_cannot_be_read_is_an_error_of_the_run(shop):
    assert shop.convos.run("--convo-record=new").ret == 0
    (path,) = (shop.path / SHELF).glob("turns-0001-0002.*")
    path.unlink()
    path.mkdir()
    result, report = shop.convos.report()
    assert result.ret == 1
    assert "turns-0001-0002" in runs(report)[0]["reason"]
    assert "cannot be read" in runs(report)[0]["reason"]


def test_what_is_kept_is_no_test_no_message_and_no_recording(shop):
    assert shop.convos.run("--convo-record=new").ret == 0
    kept = shop.shelf()
    for args in ([], ["tea"], ["tea/__recordings__"], ["tea/__recordings__/summaries"]):
        result = shop.convos.run("--collect-only", "-q", *args)
        found = [] if "__" in str(args) else ["tea/0000_user.md::run-1"]
        assert [line for line in result.outlines if "::" in line] == found
    for mode in ("auto", "none", "new", "all"):
        result = shop.convos.run(f"--convo-record={mode}")
        assert result.ret == 0
        assert "nothing uses" not in result.stdout.str()
        assert "__recordings__" not in result.stdout.str()
        assert shop.shelf() == kept


def test_writing_answers_into_the_directory_goes_with_it(shop):
    files = {f"tea/{2 * at + 1:04}_assistant.md": f"To Question {at + 1}. {WORDS}" for at in range(13)}
    shop.write(files)
    result = shop.convos.run("--convo-write")
    assert result.ret == 0, result.stdout.str()
    assert len(shop.asked("llama-3")) == 1
    assert (shop.path / "tea/0027_assistant.md").exists()
    assert shop.convos.run("--convo-next", "--convo-write").ret in (0, 1)
    assert all("recordings" not in path.name for path in (shop.path / "tea").glob("0*"))


# -- who summarizes, and how


def test_the_nearest_prompt_file_says_how(shop):
    shop.settings(behind='[vars]\nshop = "Ann\'s"\n')
    shop.write({"summary.md.j2": "In {{ words }} words, for {{ vars.shop }}."})
    assert shop.convos.run().ret == 0
    assert {system(body) for body in shop.asked()} == {"In 24 words, for Ann's."}
    shop.server.reset()
    shop.write({"tea/summary.md.j2": "Be short.", "other.md": "Be long."})
    assert shop.convos.run().ret == 0
    assert {system(body) for body in shop.asked()} == {"Be short."}
    shop.server.reset()
    shop.settings(turns='2\nprompt = "other.md"')
    assert shop.convos.run().ret == 0
    assert {system(body) for body in shop.asked()} == {"Be long."}


def test_with_another_prompt_summaries_are_written_anew(shop):
    assert shop.convos.run("--convo-record=new").ret == 0
    shop.write({"summary.md.j2": "Be short."})
    shop.server.reset()
    assert shop.convos.run("--convo-record=new").ret == 0
    assert len(shop.asked()) == 5


def test_its_calls_are_metered_and_its_tokens_are_billed(shop):
    usage = Usage(100, 10)
    shop.say = lambda request: ScriptedReply(text=f"To {request.messages[-1].text} {WORDS}", usage=usage)
    shop.summarize = lambda request: ScriptedReply(text=summed_up(request), usage=Usage(1000, 1))
    result, report = shop.convos.report()
    assert (result.ret, report["calls"]) == (0, 19)
    assert report["tokens"] == {"prompt": 1400, "completion": 140}
    assert report["billed"] == {"prompt": 1400 + 5000, "completion": 140 + 5}

    shop.server.reset()
    result, report = shop.convos.report("--convo-max-calls=12")
    assert (result.ret, shop.server.count, report["calls"]) == (1, 12, 12)
    assert len(shop.asked()) > 0
    assert "the session may make 12 calls" in runs(report)[0]["reason"]


def test_secrets_are_kept_out_of_its_files_and_a_replay_finds_them_all_the_same(shop, monkeypatch):
    monkeypatch.setenv("SHOP_TOKEN", "sesame-open-1234")
    shop.say = lambda request: f"To {request.messages[-1].text} sesame-open-1234 {WORDS}"
    shop.summarize = lambda request: f"{summed_up(request)} sesame-open-1234."
    assert shop.convos.run("--convo-record=new").ret == 0
    assert all(b"sesame" not in data for data in shop.files().values())
    assert len(shop.shelf()) == 5
    (path,) = (shop.path / SHELF).glob("turns-0001-0008.*")
    shop.server.reset()
    monkeypatch.delenv("SHOP_TOKEN")
    assert shop.convos.run("--convo-record=none").ret == 0
    path.write_text(path.read_text().replace("Of summaries.", "Of this and that."))
    assert shop.convos.run("--convo-record=new").ret == 0
    assert shop.asked() == []
    assert "Of this and that." in summaries(shop.asked("llama-3")[-1])["turns 1-8"]


def test_the_key_of_who_summarizes_is_a_secret_whatever_its_variable_is_called(shop, monkeypatch):
    monkeypatch.setenv("SHORTENER_LOGIN", "sesame-open-1234")
    shop.settings(tokens='40\napi_key_env = "SHORTENER_LOGIN"')
    shop.summarize = lambda request: f"{summed_up(request)} sesame-open-1234."
    assert shop.convos.run("--convo-record=new").ret == 0
    assert all(b"sesame" not in data for data in shop.files().values())


@pytest.mark.parametrize(
    "reply, told",
    [
        (ScriptedReply(error=400, text="no such model"), "turns 1-2 could not be summarized: "),
        (ScriptedReply(error=400, text="maximum context length is 256 tokens"), "turns 1-2 could not be summarized: "),
        (ScriptedReply(error=401, text="nope"), "turns 1-2 could not be summarized: "),
        (ScriptedReply(text=" \n "), "whoever summarizes said nothing of turns 1-2"),
        (ScriptedReply(text="Of 1 and", finish_reason="length"), None),
    ],
    ids=["fails", "has no room", "takes no key", "says nothing", "was cut off"],
)
def test_a_summarizer_that_fails_measures_nothing(shop, reply, told):
    shop.summarize = lambda request: reply
    result, report = shop.convos.report("--convo-record=new")
    (run,) = runs(report)
    if told is None:  # what there is of it is used
        assert result.ret == 0
        return
    assert (result.ret, run["outcome"]) == (1, "error")
    assert told in run["reason"]
    assert shop.shelf() == {}


def test_a_summarizer_that_says_too_much_is_cut_short(shop):
    shop.summarize = lambda request: f"{summed_up(request)} {WORDS * 20}"
    assert shop.convos.run("--convo-record=new").ret == 0
    for body in shop.asked("llama-3"):
        assert size(body) <= ROOM
        assert all(text.endswith(" [cut here]") for text in summaries(body).values())
    shop.server.reset()
    assert shop.convos.run("--convo-record=none").ret == 0
    assert shop.server.count == 0


def test_a_failure_that_passes_is_tried_again(shop):
    seen = Counter()

    def summarize(request):
        seen[request.messages[-1].text] += 1
        if seen[request.messages[-1].text] == 1:
            return ScriptedReply(error=503, retry_after=0)
        return summed_up(request)

    shop.summarize = summarize
    result, report = shop.convos.report()
    assert (result.ret, report["calls"]) == (0, 14 + 10)


def test_turns_too_long_for_who_summarizes_are_cut_and_nobody_summarizes_them_first(shop):
    shop.write({f"tea/{2 * at + 1:04}_assistant.md": f"To Question {at + 1}. {WORDS * 20}" for at in range(2)})
    result = shop.convos.run()
    assert result.ret == 0, result.stdout.str()
    first = shop.asked()[0]["messages"][-1]["content"]
    assert re.search(r"\[[\d,]+ characters were left out here, to fit the token budget\]", first)
    assert numbers(first) == ["1", "2"]
    assert all(size(body) <= 500 for body in shop.asked())


def test_one_whose_instructions_leave_no_room_is_an_error_that_says_what_to_do(shop):
    shop.write({"summary.md.j2": WORDS * 30})
    result, report = shop.convos.report()
    (run,) = runs(report)
    assert (result.ret, shop.asked(), run["outcome"]) == (1, [], "error")
    assert "turns 1-2 cannot be summarized: the prompt is" in run["reason"]
    assert "let [summarize] turns be fewer, or its budget larger" in run["reason"]


def test_dry_says_where_a_summary_would_stand_and_asks_nobody(shop):
    shop.write({f"tea/{2 * at + 1:04}_assistant.md": f"To Question {at + 1}. {WORDS}" for at in range(13)})
    before = shop.files()
    result = shop.convos.run("--convo-dry")
    assert (result.ret, shop.server.count) == (0, 0)
    assert "‹summary of turns 1-8›" in result.stdout.str()
    assert shop.files() == before


def test_turns_in_another_script_fit_into_a_small_budget_as_well(shop):
    shop.say = lambda request: f"{request.messages[-1].text} {'茶要用刚烧开的水泡两分钟，然后再倒出来。' * 14}"
    shop.settings(budget="2000", tokens="120")
    result = shop.convos.run()
    assert result.ret == 0, result.stdout.str()
    assert shop.asked()
    assert all(size(body) <= 2000 for body in shop.asked())
