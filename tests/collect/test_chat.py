"""A chat's branches against plain lists: whatever is done in which order, each says exactly what was said in it."""

import asyncio
import json
from concurrent.futures import Future
from copy import deepcopy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.collect.chat import Chat
from pytest_convo.conversation.message import Message, ToolCall
from pytest_convo.conversation.reply import Reply
from pytest_convo.conversation.transcript import Turn


class Server:
    """Answers by counting, with a tool's call on the way, and keeps the bytes of what it was asked."""

    def __init__(self):
        self.requests = []
        self.extra = []
        self.broken = False

    def submit(self, history):
        future = Future()
        if self.broken:
            future.set_exception(ZeroDivisionError())
            return future
        self.requests.append(body(history))
        for message in history:  # as a user's application might
            if isinstance(message.content, list):
                message.content.clear()
        reply = Reply(f"answer {len(self.requests)}", extra={"reasoning": ["hm"]})
        self.extra.append(reply.extra)
        steps = (
            Message("assistant", None, tool_calls=(ToolCall("a", "look"),)),
            Message("tool", "1", tool_call_id="a"),
        )
        future.set_result(Turn(1, reply, (*steps, reply.to_message())))
        return future


def body(messages):
    return json.dumps([message.to_api() for message in messages])


def chat_with(server):
    return Chat(server.submit, Future.result)


@pytest.fixture
def server():
    return Server()


def test_each_question_is_asked_with_all_that_was_said(server):
    chat = chat_with(server)
    assert chat.messages == ()
    assert chat.ask("one").text == "answer 1"
    assert [message.role for message in chat.messages] == ["user", "assistant", "tool", "assistant"]
    said = chat.messages
    assert chat.ask(["two", {"role": "assistant", "content": "?"}, Message("user", "three")]).text == "answer 2"

    assert server.requests[1] == body(
        [*said, Message("user", "two"), Message("assistant", "?"), Message("user", "three")]
    )
    assert chat.messages[-1].text == "answer 2"


def test_a_chat_that_was_taken_back_asks_the_same_again(server):
    chat = chat_with(server)
    chat.ask("one")
    chat.save("here")
    for _ in range(2):
        chat.ask([{"role": "user", "content": [{"type": "text", "text": "two"}]}])
        chat.rewind("here")

    assert server.requests[1] == server.requests[2]
    assert len(chat.messages) == 4


def test_what_comes_out_is_a_copy(server):
    chat = chat_with(server)
    content = [{"type": "text", "text": "one"}]
    chat.ask(Message("user", content))
    chat.save("here")
    content[0]["text"] = "changed"
    chat.messages[0].content.append("changed")
    chat.messages[-1].extra["reasoning"].append("changed")
    server.extra[0]["reasoning"].append("changed")

    chat.rewind("here")
    assert chat.messages[0].content == [{"type": "text", "text": "one"}]
    assert chat.messages[-1].extra == {"reasoning": ["hm"]}


def test_copies_go_on_by_themselves(server):
    chat = chat_with(server)
    chat.save("start")
    chat.ask("one")
    other = chat.copy()
    other.ask("two")
    other.save("two")
    assert len(chat.messages) == 4
    with pytest.raises(LookupError, match="nothing was saved as 'two'; saved: 'start'"):
        chat.rewind("two")
    other.rewind("start")
    assert other.messages == ()


def test_a_name_is_given_anew(server):
    chat = chat_with(server)
    chat.save("here")
    chat.ask("one")
    chat.save("here")
    chat.ask("two")
    chat.rewind("here")
    assert len(chat.messages) == 4


def test_a_question_that_is_not_answered_was_not_said(server):
    chat = chat_with(server)
    chat.ask("one")
    server.broken = True
    with pytest.raises(ZeroDivisionError):
        chat.ask("two")
    server.broken = False
    assert len(chat.messages) == 4
    assert chat.ask("three").text == "answer 2"


def test_nothing_was_saved(server):
    with pytest.raises(LookupError, match="nothing was saved as 'x'; saved: nothing"):
        chat_with(server).rewind("x")


def test_a_chat_answers_one_question_at_a_time():
    chat = Chat(lambda history: Future(), Future.result)
    chat.save("start")

    async def meddle():
        asking = asyncio.create_task(chat.aask("one"))
        await asyncio.sleep(0)
        for meddling in (lambda: chat.ask("two"), lambda: chat.rewind("start")):
            with pytest.raises(RuntimeError, match="ask a copy of it"):
                meddling()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    asyncio.run(meddle())
    chat.rewind("start")


DONE = st.one_of(
    st.tuples(st.just("ask"), st.sampled_from(["a", "b"])),
    st.tuples(st.sampled_from(["save", "rewind"]), st.sampled_from(["x", "y"])),
    st.tuples(st.just("swap"), st.just("")),
)


@given(st.lists(DONE, max_size=20))
def test_any_order(steps):
    server = Server()
    chat, other = chat_with(server), None
    said, saved, others = [], {}, None
    for what, name in steps:
        if what == "ask":
            expected = body([*said, Message("user", name)])
            chat.ask(name)
            assert server.requests[-1] == expected
            said = list(chat.messages)
        elif what == "save":
            chat.save(name)
            saved[name] = deepcopy(said)
        elif what == "rewind" and name in saved:
            chat.rewind(name)
            said = deepcopy(saved[name])
        elif what == "swap":
            chat, other = (other or chat.copy()), chat
            (said, saved), others = (others or (deepcopy(said), deepcopy(saved))), (said, saved)
        assert list(chat.messages) == said
