from __future__ import annotations

import asyncio
import pickle
import subprocess
import sys

import pytest

from pytest_convo.bot.answer import answer
from pytest_convo.bot.model import ChatModel
from pytest_convo.bot.tools import Tool
from pytest_convo.conversation.message import Message, ToolCall
from pytest_convo.conversation.reply import Reply, Usage
from pytest_convo.errors import (
    BotFailure,
    ContextOverflow,
    FormatError,
    NoCredentials,
    NoRecording,
    ProviderError,
    RedactionError,
)
from pytest_convo.prompt.composer import Composer
from pytest_convo.prompt.stack import Stack
from pytest_convo.record.compare import ChangedTool
from pytest_convo.record.format import read
from pytest_convo.settings.bots import BotSettings

NO_KEY = "the server needs a key, and TEA_KEY is not set"


def never():
    raise AssertionError("a model was made")


def files(project):
    return sorted(path.relative_to(project.root).as_posix() for path in project.root.rglob("*") if path.is_file())


def content(project):
    return {path: path.read_bytes() for path in project.root.rglob("*") if path.is_file()}


def test_what_was_recorded_is_replayed_and_no_model_is_made(project, make):
    reply = Reply(
        "Soon.\n",
        (ToolCall("c1", "look", "{}"),),
        "tool_calls",
        usage=Usage(12, 5, 2),
        billed=Usage(24, 5),
        seconds=1.25,
        model="m-2026",
        attempts=2,
        extra={"reasoning": "Hm."},
    )
    project.record((make.request(), reply))
    recording = project.begin("none")

    replayed = make.ask(recording.around(never), make.request())

    assert replayed == reply
    assert (replayed.replayed, reply.replayed) == (True, False)
    assert (recording.live, recording.replayed) == (0, 1)


def test_a_model_around_a_model_is_a_model(project, make):
    assert isinstance(project.begin("auto").around(never), ChatModel)


def test_times_are_kept_to_the_nearest_10_ms(project, make):
    project.record((make.request(), Reply("Soon.", seconds=0.53449)))
    assert make.ask(project.begin("none").around(never), make.request()).seconds == 0.53


@pytest.mark.parametrize("words", [["Within ", "30 ", "days."], [" ", "a\n\n ", "b "], [], ["\n"]])
def test_a_replay_is_streamed_word_by_word(project, make, words):
    pieces = []
    project.record((make.request(), Reply("".join(words))))

    make.ask(project.begin("none").around(never), make.request(), pieces.append)

    assert pieces == words


@pytest.mark.parametrize("mode", ["none", "auto", "new", "all"])
def test_what_each_mode_asks_and_writes(project, make, mode):
    project.record((make.request("a"), Reply("A")), (make.request("b"), Reply("B")))
    before = content(project)
    recording = project.begin(mode)
    inner = make.Model(Reply("one"), Reply("two"))
    model = recording.around(lambda: inner)

    said = []
    for text in ("b", "c"):
        try:
            said.append(make.ask(model, make.request(text)).text)
        except NoRecording:
            said.append(None)
    recording.save()

    expected = {"none": ["B", None], "auto": ["B", "one"], "new": ["B", "one"], "all": ["one", "two"]}[mode]
    assert said == expected
    assert (recording.replayed, recording.live) == (expected.count("B"), len(inner.asked))
    written = [exchange.answer.text for exchange in read(project.path())]
    assert written == {"new": ["A", "B", "one"], "all": ["one", "two"]}.get(mode, ["A", "B"])
    assert (content(project) == before) is (mode in ("none", "auto"))


@pytest.mark.parametrize("mode", ["new", "all"])
def test_nothing_is_written_where_nothing_was_asked(project, make, mode):
    project.record((make.request(), make.REPLY))
    before = content(project)
    recording = project.begin(mode)
    if mode == "new":
        make.ask(recording.around(never), make.request())
    recording.save()
    assert content(project) == before


def test_a_run_that_was_recorded_in_two_sessions_is_replayed_whole(project, make):
    project.record((make.request("a"), Reply("A")), mode="new")
    recording = project.begin("new")
    model = recording.around(lambda: make.Model(Reply("B")))
    assert [make.ask(model, make.request(text)).text for text in "ab"] == ["A", "B"]
    recording.save()

    replay = project.begin("none").around(never)
    assert [make.ask(replay, make.request(text)).text for text in "ba"] == ["B", "A"]


def test_the_same_request_is_answered_in_the_order_of_its_recordings_and_none_is_given_twice(project, make):
    asked = [make.request("a"), make.request("b"), make.request("a")]
    project.record(*zip(asked, [Reply("1"), Reply("2"), Reply("3")], strict=True))
    recording = project.begin("none")
    model = recording.around(never)

    assert [make.ask(model, request).text for request in (asked[0], asked[2], asked[1])] == ["1", "3", "2"]
    with pytest.raises(NoRecording, match=r"request 4 .* recorded 2 times, and is asked once more"):
        make.ask(model, asked[0])


def test_several_models_of_a_run_share_its_recording(project, make):
    project.record((make.request(), Reply("1")), (make.request(), Reply("2")))
    recording = project.begin("none")
    bot, judge = recording.around(never), recording.around(never)
    assert [make.ask(model, make.request()).text for model in (judge, bot)] == ["1", "2"]


def test_what_is_asked_at_the_same_time_is_kept_in_the_order_of_asking(project, make):
    recording = project.begin("all")

    class Slow:
        async def complete(self, request, stream=None):
            for _ in range(5 - len(request.messages[-1].text)):
                await asyncio.sleep(0)
            return Reply(request.messages[-1].text)

    async def main():
        model = recording.around(Slow)
        await asyncio.gather(*(model.complete(make.request("x" * n)) for n in (1, 2, 3)))

    asyncio.run(main())
    recording.save()
    assert [exchange.answer.text for exchange in read(project.path())] == ["x", "xx", "xxx"]


def test_the_model_is_made_once_and_only_when_something_is_not_recorded(project, make):
    made = []
    project.record((make.request("a"), Reply("A")))

    def maker():
        made.append(make.Model(Reply("B"), Reply("C")))
        return made[-1]

    model = project.begin("auto").around(maker)
    asked = []
    for text in "abc":
        make.ask(model, make.request(text))
        asked.append(len(made))
    assert asked == [0, 1, 1]


@pytest.mark.parametrize(
    "error",
    [
        ContextOverflow("400: maximum context length", hint="it is too long"),
        BotFailure("400: the content filter"),
        type("Mine", (ContextOverflow,), {})("400: too long"),
    ],
    ids=["context", "filter", "a class of one's own"],
)
def test_a_failure_of_the_bot_is_recorded_and_raised_again(project, make, error):
    recording = project.begin("new")
    with pytest.raises(type(error)):
        make.ask(recording.around(lambda: make.Model(error)), make.request())
    recording.save()

    replay = project.begin("none")
    with pytest.raises(BotFailure) as raised:
        make.ask(replay.around(never), make.request())
    assert type(raised.value) is (ContextOverflow if isinstance(error, ContextOverflow) else BotFailure)
    assert (raised.value.what, raised.value.hint) == (error.what, error.hint)
    assert (recording.live, replay.replayed) == (1, 1)


def test_what_measured_nothing_is_not_recorded(project, make):
    recording = project.begin("all")
    model = recording.around(lambda: make.Model(ProviderError("500: broken", status=500), Reply("Soon.")))
    with pytest.raises(ProviderError):
        make.ask(model, make.request())
    make.ask(model, make.request())
    recording.save()

    assert recording.live == 1
    assert make.ask(project.begin("none").around(never), make.request()).text == "Soon."


def test_a_call_that_was_cancelled_is_not_recorded(project, make):
    class Endless:
        async def complete(self, request, stream=None):
            await asyncio.Event().wait()

    async def main():
        async with asyncio.timeout(0.01):
            await recording.around(Endless).complete(make.request())

    recording = project.begin("new")
    with pytest.raises(TimeoutError):
        asyncio.run(main())
    recording.save()
    assert (recording.live, project.root.exists()) == (0, False)


# -- no model to ask


def test_without_credentials_the_error_tells_both_reasons(project, make):
    project.record((make.request(), Reply("Soon.")))
    model = project.begin("auto").around(lambda: make.Model(NoCredentials(NO_KEY, hint="export TEA_KEY")))
    with pytest.raises(NoCredentials) as raised:
        make.ask(model, make.request(temperature=1))
    assert str(raised.value) == (
        f"{NO_KEY}\n  export TEA_KEY\n"
        f"  {project.path()}: request 1 of this run fits no recording: temperature = 1 was added"
    )


def test_without_credentials_and_recordings_the_error_tells_both(project, make):
    model = project.begin("auto").around(lambda: make.Model(NoCredentials(NO_KEY)))
    with pytest.raises(NoCredentials, match=r"run-1\.yaml: nothing is recorded here yet"):
        make.ask(model, make.request())


def test_a_server_that_is_not_reached_is_told_with_the_reason_for_asking_it(project, make):
    project.record((make.request(), Reply("Soon.")))
    errors = [ProviderError("the connection failed"), ProviderError("500: broken", status=500)]
    model = project.begin("auto").around(lambda: make.Model(*errors))
    for _ in errors:
        with pytest.raises(ProviderError):
            make.ask(model, make.request(temperature=1))
    assert ["temperature" in error.hint for error in errors] == [True, False]


def test_where_everything_is_asked_anew_no_recording_is_missed(project, make):
    project.record((make.request(), Reply("Soon.")))
    error = NoCredentials(NO_KEY, hint="export TEA_KEY")
    with pytest.raises(NoCredentials):
        make.ask(project.begin("all").around(lambda: make.Model(error)), make.request())
    assert error.hint == "export TEA_KEY"


def test_no_recording_is_an_error_that_travels_and_is_not_tried_again(project, make):
    with pytest.raises(NoRecording) as raised:
        make.ask(project.begin("none").around(never), make.request())
    error = pickle.loads(pickle.dumps(raised.value))
    assert (str(error), error.transient) == (str(raised.value), False)
    assert error.path == project.path().parent


def test_a_broken_file_is_an_error_unless_everything_is_asked_anew(project, make):
    project.root.mkdir()
    project.path().write_text("version: 1\nexchanges: [a\n")
    with pytest.raises(FormatError, match=r"run-1\.yaml:3"):
        make.ask(project.begin("auto").around(never), make.request())

    project.record((make.request(), Reply("Soon.")), mode="all")
    assert make.ask(project.begin("none").around(never), make.request()).text == "Soon."


# -- secrets


def test_no_secret_is_written_and_what_was_recorded_is_found_all_the_same(project, make):
    secret, instead = make.SECRET, project.redactor.text(make.SECRET)
    request = make.request(f"My key is {secret}.", system=f"{secret}!", tools=[make.LOOK], user=secret)
    call = ToolCall("c1", "look", f'{{"id": "{secret}"}}')
    project.record((request, Reply(f"{secret}?", (call,), model=f"m-{secret}", extra={secret: [secret]})))
    recording = project.begin("new")
    with pytest.raises(BotFailure, match=secret):
        make.ask(recording.around(lambda: make.Model(BotFailure(secret, hint=secret))), make.request("b"))
    recording.save()

    assert all(secret.encode() not in data for data in content(project).values())
    replayed = make.ask(project.begin("none").around(never), request)
    assert (replayed.text, replayed.calls[0].arguments) == (f"{instead}?", f'{{"id": "{instead}"}}')
    assert (replayed.model, replayed.extra) == (f"m-{instead}", {instead: [instead]})


def test_a_turn_after_a_redacted_reply_is_found(project, make):
    first, second = make.request("a"), make.request("a", make.SECRET, "b")
    project.record((first, Reply(make.SECRET)), (second, Reply("B")))
    model = project.begin("none").around(never)
    said = make.ask(model, first).text
    assert make.ask(model, make.request("a", said, "b")).text == "B"


def test_what_is_compared_is_redacted_too(project, make):
    project.record((make.request("a"), Reply("A")))
    model = project.begin("none").around(never)
    with pytest.raises(NoRecording) as raised:
        make.ask(model, make.request(f"a {make.SECRET}"))
    assert f"+a {project.redactor.text(make.SECRET)}" in str(raised.value)


@pytest.mark.parametrize("where", ["request", "reply"])
def test_a_redactor_that_raises_stops_the_write(project, make, where):
    asked, said = (make.BOMB, "A") if where == "request" else ("a", make.BOMB)
    recording = project.begin("new")
    with pytest.raises(RedactionError):
        make.ask(recording.around(lambda: make.Model(Reply(said))), make.request(asked))
    recording.save()
    assert not project.root.exists()


def test_texts_are_kept_once_for_all_runs(project, make):
    for run in (1, 2):
        project.record((make.request(), Reply("A")), (make.request("Hello?", "A", "And?"), Reply("B")), run=run)
    assert len([name for name in files(project) if name.startswith("parts/")]) == 4


# -- tools

CALL = ToolCall("c1", "look", '{"order": "A17"}')
TURN = (Reply("", (CALL,), "tool_calls"), Reply("Soon."))


class Box:
    """One tool, that answers with each of `results` in turn."""

    def __init__(self, *results):
        self.results = list(results)

    def look(self, order: str) -> str:
        return self.results.pop(0)


def turn(recording, *results, model=never, known=False, history=("Where is A17?",), heard=None):
    tools = [Tool.of(Box(*results).look)]
    reply, messages = asyncio.run(
        answer(
            recording.around(model),
            composer=Composer(Stack(), bot=BotSettings(model="m"), tools=[tool.spec for tool in tools]),
            history=[Message("user", text) for text in history],
            tools=tools,
            observe=heard,
            known=recording.known_result if known else None,
        )
    )
    return reply, messages


def record_turn(project, make, *results, **more):
    recording = project.begin("new")
    inner = make.Model(*TURN * len(results))
    for result in results:
        turn(recording, result, model=lambda: inner, **more)
    recording.save()


def test_tools_are_run_and_a_turn_is_replayed_where_they_answer_as_before(project, make):
    record_turn(project, make, "on its way")
    recording = project.begin("none")
    reply, _ = turn(recording, "on its way")
    assert (reply.text, reply.replayed) == ("Soon.", True)
    assert (recording.replayed, recording.changed_tools) == (2, [])


def test_a_tool_that_answers_otherwise_is_told(project, make):
    record_turn(project, make, "on its way\nto you")
    recording = project.begin("none")
    with pytest.raises(NoRecording) as raised:
        turn(recording, "on its way\nto me")
    assert str(raised.value).split("\n")[:4] == [
        f"{project.path().parent}: request 2 of this run fits no recording: "
        'the tool look answers {"order": "A17"} otherwise',
        "    @@ line 2",
        "    -to you",
        "    +to me",
    ]
    changed = ChangedTool("look", '{"order": "A17"}', recorded="on its way\nto you", now="on its way\nto me")
    assert recording.changed_tools == [changed]


def test_a_tool_that_answers_otherwise_is_reported_once_where_the_model_is_asked(project, make):
    calls = [Reply("", (ToolCall(f"c{n}", "look", '{"order": "A17"}'),), "tool_calls") for n in (1, 2)]
    recording = project.begin("new")
    turn(recording, "a", "b", model=lambda: make.Model(*calls, Reply("Soon.")))
    recording.save()

    again = project.begin("auto")
    reply, _ = turn(again, "A", "b", model=lambda: make.Model(calls[1], Reply("Later.")))

    assert (reply.text, reply.replayed, again.live, again.replayed) == ("Later.", False, 2, 1)
    assert [(tool.recorded, tool.now) for tool in again.changed_tools] == [("a", "A")]


def test_known_results_take_the_place_of_tools(project, make):
    record_turn(project, make, "on its way")
    heard = []
    recording = project.begin("none")

    reply, messages = turn(recording, known=True, heard=heard.append)

    assert reply.text == "Soon."
    assert messages[1] == Message("tool", "on its way", tool_call_id="c1")
    assert [(event["result"], event["replayed"]) for event in heard if event["kind"] == "tool"] == [
        ("on its way", True)
    ]
    assert [event["replayed"] for event in heard if event["kind"] == "reply"] == [True, True]


def test_the_results_of_a_call_that_was_made_twice_are_known_in_their_order(project, make):
    record_turn(project, make, "on its way", "lost")
    recording = project.begin("none")
    assert [turn(recording, known=True)[1][1].content for _ in range(2)] == ["on its way", "lost"]


def test_a_call_of_a_fresh_reply_has_no_known_result(project, make):
    record_turn(project, make, "on its way")
    recording = project.begin("auto")
    turn(recording, known=True)
    _, messages = turn(recording, "lost", model=lambda: make.Model(*TURN), known=True, history=["And now?"])
    assert messages[1].content == "lost"


def test_results_that_are_not_recorded_or_not_kept_any_more_are_not_known(project, make):
    project.record((make.request(), TURN[0]))
    recording = project.begin("none")
    make.ask(recording.around(never), make.request())
    assert recording.known_result(CALL) is None
    assert recording.known_result(ToolCall("c2", "look")) is None

    record_turn(project, make, "on its way", history=["Another?"])
    for path in (project.root / "parts").iterdir():
        path.unlink()
    _, messages = turn(project.begin("none"), "on its way", known=True, history=["Another?"])
    assert messages[1].content == "on its way"


def test_a_turn_is_replayed_where_all_of_its_replies_are():
    fresh, old = Reply("a"), Reply("b", replayed=True)
    assert [Reply.of_turn(replies).replayed for replies in ([old, old], [old, fresh], [fresh, old])] == [
        True,
        False,
        False,
    ]


# -- what it costs


def test_a_replay_imports_neither_the_sdk_nor_an_http_client(project, make):
    project.record((make.request(), Reply("Soon.")))
    script = f"""
import sys
from pathlib import Path
from pytest_convo.conversation.message import Message
from pytest_convo.prompt.request import Request
from pytest_convo.record.recording import RunRecording
from pytest_convo.redaction import Redactor

root = Path({str(project.root)!r})
model = RunRecording(root / "run-1.yaml", root, "none", Redactor.of_environment({{}})).around(None)
request = Request("m", (Message("system", "Be kind."), Message("user", "Hello?")))
try:
    model.complete(request).send(None)
except StopIteration as done:
    print(done.value.text)
print(sorted({{"openai", "httpx2", "httpx", "aiohttp", "pydantic", "jinja2", "pytest"}} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "Soon.\n[]\n"
