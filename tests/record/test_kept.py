"""The recordings in `kept/` were written by the version that they name; every later one has to read them."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_convo.conversation.message import Message, ToolCall
from pytest_convo.conversation.reply import Reply, Usage
from pytest_convo.errors import ContextOverflow, NoRecording
from pytest_convo.prompt.request import Request, ToolSpec
from pytest_convo.record.recording import RunRecording
from pytest_convo.redaction import Redactor

ROOT = Path(__file__).with_name("kept") / "version-1" / "__recordings__"

LOOK = ToolSpec("look", "Look an order up.", {"type": "object", "properties": {"order": {"type": "string"}}})
CALL = ToolCall("call_1", "look", '{"order": "A17"}')
ASKED = (Message("system", "Be kind.\n\nName the deadline.\n"), Message("user", "Où est A17 ? 🍵", name="ada"))
TURN = (*ASKED, Message("assistant", None, tool_calls=(CALL,)), Message("tool", "on its way\n", tool_call_id="call_1"))

FIRST = Request("gpt-4o-mini", ASKED, (LOOK,), {"temperature": 0, "stop": ["\n\n"], "seed": None})
SECOND = Request("gpt-4o-mini", TURN, (LOOK,), {"temperature": 0, "stop": ["\n\n"], "seed": None})
THIRD = Request(None, (Message("user", [{"type": "text", "text": "Half a pair: \ud83c"}]),), (), {"top_p": 0.5})

REPLIES = [
    (
        FIRST,
        Reply(
            "",
            (CALL,),
            "tool_calls",
            usage=Usage(31, 9),
            billed=Usage(62, 9),
            seconds=0.53,
            model="gpt-4o-mini-2024-07-18",
            attempts=2,
        ),
    ),
    (
        SECOND,
        Reply(
            "  It is *on its way*:\n\n\t- today  \n- tomorrow\n\n",
            usage=Usage(52, 17, 31),
            billed=Usage(52, 17, 31),
            seconds=1.2,
            model="gpt-4o-mini-2024-07-18",
            extra={"reasoning": 'Hm: "A17"\nis a number.', "scores": [0.25, 1e16, None, True]},
        ),
    ),
    (THIRD, Reply("Control \x07, half \ud83c, line \u2028 and next \x85.", finish_reason=None)),
    (THIRD, Reply("yes", finish_reason="length")),
]
TOO_LONG = Request("gpt-4o-mini", (Message("user", "Hello?"),))
OVERFLOW = ContextOverflow("the server answered 400: maximum context length", hint="it is too long")


@pytest.fixture
def recording():
    return RunRecording(ROOT / "run-1.yaml", ROOT, "none", Redactor.of_environment({}))


def test_every_exchange_is_replayed(recording, make):
    model = recording.around(None)
    for request, reply in REPLIES:
        assert make.ask(model, request) == reply
    with pytest.raises(ContextOverflow) as raised:
        make.ask(model, TOO_LONG)
    assert str(raised.value) == str(OVERFLOW)
    assert recording.replayed == 5


def test_results_of_tools_are_known(recording, make):
    make.ask(recording.around(None), FIRST)
    assert recording.known_result(CALL) == "on its way\n"


def test_a_miss_is_explained(recording, make):
    messages = (Message("system", "Be kind.\n\nName the date.\n"), *ASKED[1:])
    with pytest.raises(NoRecording, match=r"the system prompt changed\n.*\n    -Name the deadline\.\n"):
        make.ask(recording.around(None), Request("gpt-4o-mini", messages, (LOOK,), FIRST.parameters))
