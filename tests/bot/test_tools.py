from __future__ import annotations

import asyncio
import contextvars
import threading
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.bot.events import observed
from pytest_convo.bot.schema import ArgumentsError
from pytest_convo.bot.tools import Tool, answer_calls, make_tools
from pytest_convo.conversation.message import Message, ToolCall
from pytest_convo.errors import FormatError, HarnessError


def look(order_id: str, limit: int = 3) -> dict:
    """Look an order up.

    Args:
        order_id: The number on the bill.
    """
    return {"id": order_id, "limit": limit}


async def fetch(page: int) -> str:
    await asyncio.sleep(0)
    return f"page {page}"


def crash():
    raise KeyError("A17")


def answered(calls, *tools):
    return asyncio.run(answer_calls(calls, {tool.name: tool for tool in map(Tool.of, tools)}))


def text_of(name, arguments, *tools):
    return answered([ToolCall("c1", name, arguments)], *tools)[0].content


def test_a_tool_of_a_function():
    tool = Tool.of(look)

    assert tool.spec.to_api() == {
        "type": "function",
        "function": {"name": "look", "description": "Look an order up.", "parameters": dict(tool.parameters)},
    }
    assert tool.parameters["required"] == ["order_id"]


def test_name_and_description_may_be_given():
    tool = Tool.of(partial(look, limit=5), name="find", description="Find it.")

    assert (tool.name, tool.description) == ("find", "Find it.")
    assert Tool.of(partial(look, limit=5)).name == "look"


def test_a_hand_written_schema_that_fits_is_sent_as_it_stands():
    parameters = {
        "type": "object",
        "properties": {"order_id": {"type": "string", "pattern": "^A"}},
        "required": ["order_id"],
    }

    assert Tool("look", "Looks.", parameters, look).spec.parameters == parameters


def test_a_hand_written_schema_that_does_not_fit_is_an_error_with_file_and_line():
    with pytest.raises(FormatError) as raised:
        Tool("look", "Looks.", {"type": "object", "properties": {"id": {"type": "string"}}}, look)

    error = raised.value
    assert "the signature has no parameter 'id'; the schema has no property 'order_id'" in error.what
    assert (error.path, error.line) == (__file__, look.__code__.co_firstlineno)


@pytest.mark.parametrize("function", [lambda: None, partial(print)])
def test_a_function_without_a_fit_name_or_signature_is_an_error(function):
    with pytest.raises(FormatError):
        Tool.of(function)


@pytest.mark.parametrize("name", ["", "a b", "é", "x" * 65, "a.b"])
def test_names_that_no_server_takes_are_errors(name):
    with pytest.raises(FormatError, match="is no name for a tool"):
        Tool.of(look, name=name)


@pytest.mark.parametrize(
    "name, arguments, text",
    [
        ("look", '{"order_id": "A17", "limit": "5"}', '{"id":"A17","limit":5}'),
        ("look", '{"order_id": "A17"}', '{"id":"A17","limit":3}'),
        ("fetch", '{"page": 2}', "page 2"),
        (
            "fetch",
            '{"page": "two"}',
            "Error: page: Input should be a valid integer, unable to parse string as an integer",
        ),
        ("look", "{}", "Error: order_id: Field required"),
        ("look", '{"order_id": "A17", "x": 1}', "Error: x: Extra inputs are not permitted"),
        ("look", "{bad", "Error: arguments: Invalid JSON: key must be a string at line 1 column 2"),
        ("find", "{}", "Error: there is no tool 'find'; the tools are: look, fetch, crash"),
        ("crash", "", "Error: KeyError: 'A17'"),
    ],
)
def test_a_call_is_answered_whatever_it_is(name, arguments, text):
    assert text_of(name, arguments, look, fetch, crash) == text


def test_without_tools_none_is_named():
    assert text_of("look", "{}") == "Error: there is no tool 'look'; the tools are: none"


def test_a_result_that_is_no_json_is_an_error_for_the_model_too():
    def strange():
        return object()

    assert text_of("strange", "", strange).startswith("Error: PydanticSerializationError: Unable to serialize")


@pytest.mark.parametrize("error", [SystemExit(2), StopIteration(), TimeoutError("slow")])
def test_exceptions_that_could_do_more_harm_are_answers_too(error):
    def harm():
        raise error

    assert text_of("harm", "", harm).startswith("Error: ")


def test_a_tool_that_says_that_nothing_was_measured_is_heard():
    def sandbox():
        raise HarnessError("the sandbox is gone")

    with pytest.raises(HarnessError, match="the sandbox is gone"):
        answered([ToolCall("1", "sandbox"), ToolCall("2", "fetch", '{"page": 1}')], sandbox, fetch)


def test_calls_run_at_the_same_time_and_answer_in_their_order():
    barrier, order = threading.Barrier(3), []

    def meet(n: int) -> int:
        barrier.wait(10)
        order.append(n)
        return n

    messages = answered([ToolCall(f"c{n}", "meet", f'{{"n": {n}}}') for n in range(3)], meet)

    assert messages == tuple(Message("tool", str(n), tool_call_id=f"c{n}") for n in range(3))


def test_sync_tools_run_beside_the_loop_and_async_ones_on_it():
    where = {}

    def sync():
        where["sync"] = threading.current_thread()

    async def on_loop():
        where["async"] = threading.current_thread()

    answered([ToolCall("1", "sync"), ToolCall("2", "on_loop")], sync, on_loop)

    assert where["async"] is threading.current_thread()
    assert where["sync"] is not threading.current_thread()


def test_an_awaitable_from_a_plain_function_is_awaited():
    def later(page: int):
        return fetch(page)

    assert text_of("later", '{"page": 4}', later) == "page 4"


def test_context_variables_reach_the_tools():
    variable = contextvars.ContextVar("variable", default="none")

    def ask() -> str:
        return variable.get()

    async def main():
        variable.set("here")
        return await answer_calls([ToolCall("1", "ask")], {"ask": Tool.of(ask)})

    assert asyncio.run(main())[0].content == "here"


def test_cancelling_ends_the_calls_on_the_loop():
    ended = []

    async def hang():
        try:
            await asyncio.sleep(3600)
        finally:
            ended.append(True)

    async def main():
        task = asyncio.create_task(
            answer_calls([ToolCall("1", "hang"), ToolCall("2", "hang")], {"hang": Tool.of(hang)})
        )
        await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await asyncio.sleep(0)

    asyncio.run(main())
    assert ended == [True, True]


def test_observers_hear_of_calls_and_whether_they_failed():
    heard = []
    with observed(heard.append):
        answered([ToolCall("1", "look", '{"order_id": "A"}'), ToolCall("2", "crash")], look, crash)

    told = {event["id"]: event for event in heard}
    assert all(event["kind"] == "tool" and event["seconds"] >= 0 for event in heard)
    assert (told["1"]["name"], told["1"]["arguments"]) == ("look", '{"order_id": "A"}')
    assert (told["1"]["result"], told["1"]["failed"]) == ('{"id":"A","limit":3}', False)
    assert (told["2"]["result"], told["2"]["failed"]) == ("Error: KeyError: 'A17'", True)


def test_tools_of_several_conftests_the_nearest_wins():
    nearer = Tool.of(look, description="nearer")

    tools = make_tools([[nearer], None, [fetch, look]])

    assert [tool.name for tool in tools] == ["fetch", "look"]
    assert tools[1] is nearer
    assert make_tools([]) == make_tools([None]) == ()


def test_two_tools_of_one_name_in_one_conftest_are_an_error():
    with pytest.raises(FormatError, match="two tools are named 'look'") as raised:
        make_tools([[look, Tool.of(look)]])

    assert raised.value.path == __file__


@given(st.text(max_size=20))
def test_no_arguments_whatever_are_raised(text):
    try:
        asyncio.run(Tool.of(fetch).call(text))
    except ArgumentsError as error:
        assert str(error)  # noqa: PT017 a text that happens to fit is as good


def test_a_call_whose_result_is_known_is_not_run():
    heard = []
    calls = [ToolCall("c1", "crash"), ToolCall("c2", "fetch", '{"page": 3}'), ToolCall("c3", "gone")]
    known = {"c1": "fine", "c3": ""}
    with observed(heard.append):
        tools = {tool.name: tool for tool in map(Tool.of, (crash, fetch))}
        messages = asyncio.run(answer_calls(calls, tools, lambda call: known.get(call.id)))

    assert [message.content for message in messages] == ["fine", "page 3", ""]
    told = {event["id"]: (event["replayed"], event["failed"]) for event in heard}
    assert told == {"c1": (True, False), "c2": (False, False), "c3": (True, False)}


def test_arguments_are_read_without_a_call():
    tool = Tool.of(look)

    assert tool.read('{"order_id": "A17", "limit": "5"}') == {"order_id": "A17", "limit": 5}
    with pytest.raises(ArgumentsError, match="order_id: Field required"):
        tool.read("{}")
