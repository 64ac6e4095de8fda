from __future__ import annotations

import asyncio
import pickle
from contextlib import contextmanager

import pytest

from pytest_convo.bot.play import play, transcript_of
from pytest_convo.bot.tools import Tool
from pytest_convo.conversation.conversation import read
from pytest_convo.conversation.message import Message, ToolCall
from pytest_convo.conversation.reply import Reply, Usage
from pytest_convo.errors import BotFailure, ConvoError, ProviderError, TooManyRounds
from pytest_convo.prompt.composer import Composer
from pytest_convo.prompt.stack import Stack
from pytest_convo.settings.bots import BotSettings


class Echo:
    """Says how many messages it was given, and the last; an exception in `failures` at that request (from 1)."""

    def __init__(self, **failures):
        self.asked = []
        self.failures = {int(number.lstrip("_")): error for number, error in failures.items()}

    async def complete(self, request, stream=None):
        self.asked.append([message.text for message in request.messages])
        await asyncio.sleep(0)
        if error := self.failures.get(len(self.asked)):
            raise error
        return Reply(f"{len(request.messages)}: {request.messages[-1].text}", usage=Usage(1, 1))


@pytest.fixture
def conversation(tmp_path):
    def make(regenerate="holes", **files):
        for name, text in files.items():
            (tmp_path / f"{name.lstrip('_')}.md").write_text(text)
        return read(tmp_path, variables={}, regenerate=regenerate)

    return make


def played(conversation, model, **more):
    arguments = {"run": 2, "case": "late", **more}
    stack, specs = Stack.of(arguments.pop("system", None)), [tool.spec for tool in arguments.get("tools", ())]
    composer = Composer(stack, bot=arguments.pop("bot", BotSettings()), tools=specs)
    return asyncio.run(play(conversation, model=model, composer=composer, **arguments))


def test_every_turn_is_answered_in_the_context_of_all_before_it(conversation):
    model = Echo()

    transcript = played(conversation(_0000_user="a", _0002_user="b", _0004_user="c"), model, system="Be kind.")

    assert model.asked[2] == ["Be kind.", "a", "2: a", "b", "4: b", "c"]
    assert [message.text for message in transcript.messages] == ["a", "2: a", "b", "4: b", "c", "6: c"]
    assert [turn.index for turn in transcript.turns] == [1, 3, 5]
    assert transcript.reply(3).text == "4: b"
    assert (transcript.run, transcript.case, transcript.usage) == (2, "late", Usage(3, 3))
    assert transcript.seconds > 0


def test_what_is_given_is_context_and_what_comes_after_the_last_hole_is_kept(conversation):
    files = {"_0000_user": "a", "_0001_assistant": "A", "_0002_user": "b", "_0004_user": "c", "_0005_assistant": "C"}

    transcript = played(conversation(**files), Echo())

    assert [message.text for message in transcript.messages] == ["a", "A", "b", "3: b", "c", "C"]


def test_later_turns_see_the_fresh_reply_and_not_the_approved_one(conversation):
    files = {"_0000_user": "a", "_0001_assistant": "A", "_0002_user": "b"}
    model = Echo()

    played(conversation("all", **files), model)

    assert model.asked[1] == ["a", "1: a", "b"]


def test_a_turn_with_tools_keeps_its_index(conversation):
    def look(order_id: str) -> str:
        return "found"

    class Caller(Echo):
        async def complete(self, request, stream=None):
            reply = await super().complete(request)
            return Reply("", (ToolCall("c1", "look", '{"order_id": "A"}'),)) if len(self.asked) == 1 else reply

    transcript = played(conversation(_0000_user="a", _0002_user="b"), Caller(), tools=[Tool.of(look)])

    assert [message.role for message in transcript.messages] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "user",
        "assistant",
    ]
    assert [len(turn.messages) for turn in transcript.turns] == [3, 1]
    assert [call.name for call in transcript.calls] == ["look"]


def test_observers_hear_which_turn_it_is(conversation):
    heard = []
    played(conversation(_0000_user="a", _0002_user="b"), Echo(), observe=heard.append)

    kinds = [event.get("index", event["kind"]) for event in heard]
    assert kinds == [1, "request", "reply", 3, "request", "reply"]


@pytest.mark.parametrize("error", [ProviderError("broken", status=500), BotFailure("refused"), KeyError("a bug")])
def test_an_error_does_not_lose_the_turns_before_it(conversation, error):
    with pytest.raises(type(error)) as raised:
        played(conversation(_0000_user="a", _0002_user="b", _0004_user="c"), Echo(_2=error))

    transcript = raised.value.transcript
    assert [message.text for message in transcript.messages] == ["a", "1: a", "b"]
    assert [turn.index for turn in transcript.turns] == [1]
    assert transcript_of(raised.value) is transcript


def test_the_messages_of_the_turn_that_failed_are_kept_too(conversation):
    def look(order_id: str) -> str:
        return "found"

    class Caller(Echo):
        async def complete(self, request, stream=None):
            return Reply("", (ToolCall(f"c{len(request.messages)}", "look", '{"order_id": "A"}'),))

    with pytest.raises(TooManyRounds) as raised:
        played(conversation(_0000_user="a"), Caller(), tools=[Tool.of(look)], bot=BotSettings(tool_rounds=1))

    assert [message.role for message in raised.value.transcript.messages] == ["user", "assistant", "tool", "assistant"]
    assert raised.value.transcript.turns == ()


def test_an_error_with_its_transcript_travels_between_processes(conversation):
    with pytest.raises(ProviderError) as raised:
        played(conversation(_0000_user="a", _0002_user="b"), Echo(_2=ProviderError("broken", status=503)))

    error = pickle.loads(pickle.dumps(raised.value))

    assert (error.what, error.status, error.transcript) == ("broken", 503, raised.value.transcript)


def test_a_run_that_took_too_long_does_not_lose_its_turns_either(conversation):
    class Slow(Echo):
        async def complete(self, request, stream=None):
            reply = await super().complete(request)
            await asyncio.sleep(3600 if len(self.asked) == 2 else 0)
            return reply

    async def main():
        async with asyncio.timeout(0.05):
            await play(made, model=Slow(), composer=Composer(Stack(), bot=BotSettings()))

    made = conversation(_0000_user="a", _0002_user="b")
    with pytest.raises(TimeoutError) as raised:
        asyncio.run(main())

    assert transcript_of(raised.value).reply(1).text == "1: a"
    assert transcript_of(ValueError()) is None


def test_the_transcript_s_messages_are_messages(conversation):
    assert played(conversation(_0000_user="a"), Echo()).messages == (Message("user", "a"), Message("assistant", "1: a"))


def test_results_that_are_known_reach_every_turn(conversation):
    def look(order_id: str) -> str:
        raise AssertionError(order_id)

    class Caller(Echo):
        async def complete(self, request, stream=None):
            reply = await super().complete(request)
            call = ToolCall(f"c{len(request.messages)}", "look", '{"order_id": "A"}')
            return reply if request.messages[-1].role == "tool" else Reply("", (call,))

    files, known = {"_0000_user": "a", "_0002_user": "b"}, {"c1": "found", "c5": "lost"}
    model, tools = Caller(), [Tool.of(look)]
    transcript = played(conversation(**files), model, tools=tools, known=lambda call: known[call.id])

    assert [message.content for message in transcript.messages if message.role == "tool"] == ["found", "lost"]


class Scribe:
    """Takes down what it is told; `refuses` to keep the answer at that index."""

    def __init__(self, refuses=None):
        self.said = []
        self.refuses = refuses

    @contextmanager
    def turn(self, index):
        self.index = index
        self.said.append(f"turn {index}")
        try:
            yield self
        finally:
            self.said.append("left")

    def say(self, piece):
        self.said.append(piece)

    def observe(self, event):
        self.said.append(event["kind"])

    def finish(self, reply, messages):
        self.said.append([message.text for message in messages])
        if self.index == self.refuses:
            raise ConvoError("no room")


class Streaming(Echo):
    async def complete(self, request, stream=None):
        reply = await super().complete(request)
        stream(reply.text)
        return reply


def test_a_scribe_takes_down_each_turn_beside_those_who_hear_of_it_anyway(conversation):
    scribe, heard, streamed = Scribe(), [], []
    made = conversation(_0000_user="a", _0002_user="b")

    played(made, Streaming(), scribe=scribe, observe=heard.append, stream=streamed.append)

    first = ["turn 1", "request", "1: a", "reply", ["1: a"], "left"]
    assert scribe.said == [*first, "turn 3", "request", "3: b", "reply", ["3: b"], "left"]
    assert [event["kind"] for event in heard] == ["turn", "request", "reply"] * 2
    assert streamed == ["1: a", "3: b"]


def test_what_a_scribe_cannot_keep_was_said_and_ends_the_run(conversation):
    scribe = Scribe(refuses=1)
    with pytest.raises(ConvoError) as raised:
        played(conversation(_0000_user="a", _0002_user="b"), Streaming(), scribe=scribe)

    assert [message.text for message in raised.value.transcript.messages] == ["a", "1: a"]
    assert scribe.said[-1] == "left"


def test_a_turn_that_fails_is_never_finished(conversation):
    scribe = Scribe()
    with pytest.raises(ProviderError):
        played(conversation(_0000_user="a"), Echo(_1=ProviderError("broken")), scribe=scribe)

    assert scribe.said == ["turn 1", "request", "left"]
