"""How model and agent understand each other: what is sent, and what a reply means.

`tools` speaks in tool calls, `json` in one JSON object a reply, for models that call no tools. Both read a reply as the
same three things: calls to carry out, the final answer, or neither.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from ..conversation.message import Message, ToolCall
from ..conversation.reply import Reply
from ..prompt.part import Part
from ..prompt.request import ToolSpec
from ..prompt.stack import Stack

ProtocolName = Literal["tools", "json"]

SHELL = "shell"
"""The tool that runs a command; in `json` the one that is meant where none is named."""

ABOUT_COMMANDS = """\
Each command runs in a fresh `sh` with an empty input and without a terminal. Nothing interactive works: no editors, no
pagers, no prompts. The working directory and exported variables last until the next command, other state of the shell
does not. A command that does not end in time is killed, and all that was started before it, too. Of a long output you
are shown the beginning and the end."""

TOOLS = f"""\
You run commands by calling `{SHELL}`.
{ABOUT_COMMANDS}
You are done when you answer without a call: that answer is your result. If the task cannot be done, say so in it."""

JSON_FORMAT = """\
{"task_done": false, "thoughts": "what you found, and what is next", "command": "ls"}"""

JSON = f"""\
Answer every time with one JSON object and nothing else:
{JSON_FORMAT}
`command` is run, and you are told what came of it.
{ABOUT_COMMANDS}
You are done when `task_done` is true: `command` is empty then, and `thoughts` are your result. If the task cannot be
done, say so in it."""

JSON_TOOLS = """\
These are further tools. To call one, leave `command` empty, and name it in `tool`, with an object as its `arguments`:
{"task_done": false, "thoughts": "...", "command": "", "tool": "NAME", "arguments": {}}"""

CUT_OFF = "your reply was cut off; be shorter, and go in smaller steps"


@dataclass(frozen=True, slots=True)
class Final:
    """The model has ended, with this as its result."""

    text: str


@dataclass(frozen=True, slots=True)
class Calls:
    """What the model wants done, in order; at least one."""

    calls: tuple[ToolCall, ...]


@dataclass(frozen=True, slots=True)
class Misread:
    """Neither calls nor an end: `why`, for the model to read."""

    why: str


Reading: TypeAlias = Final | Calls | Misread


class AgentProtocol(Protocol):
    """One way to understand each other."""

    closing: str
    """How to end, for a model that can run nothing more."""

    def instructions(self, specs: Sequence[ToolSpec]) -> str:
        """What the model is told of it, at the end of the system prompt."""

    def declared(self, specs: Sequence[ToolSpec]) -> Sequence[ToolSpec]:
        """The tools that a request declares."""

    def message(self, reply: Reply) -> Message:
        """The reply as it stands in the history."""

    def read(self, reply: Reply) -> Reading:
        """What the reply means."""

    def result(self, call: ToolCall, text: str) -> Message:
        """What came of a call."""

    def correction(self, reply: Reply, why: str) -> Sequence[Message]:
        """What a reply that was `Misread` is answered with."""


class ToolCalls:
    """Native tool calls: a reply without any is the final answer."""

    closing = "Answer now, without a call."

    def instructions(self, specs: Sequence[ToolSpec]) -> str:  # noqa: ARG002 they are declared
        return TOOLS

    def declared(self, specs: Sequence[ToolSpec]) -> Sequence[ToolSpec]:
        return specs

    def message(self, reply: Reply) -> Message:
        return reply.to_message()

    def read(self, reply: Reply) -> Reading:
        if not reply.whole:
            return Misread(CUT_OFF)  # a call at its end may be half a command
        return Calls(reply.calls) if reply.calls else Final(reply.text)

    def result(self, call: ToolCall, text: str) -> Message:
        return Message("tool", text, tool_call_id=call.id)

    def correction(self, reply: Reply, why: str) -> Sequence[Message]:
        text = f"Error: {why}"
        return [self.result(call, text) for call in reply.calls] or [Message("user", text)]


class JsonReplies:
    """One JSON object a reply, wherever it stands in it; the results are told as the user's messages."""

    closing = "Answer now, with `task_done` true."

    def instructions(self, specs: Sequence[ToolSpec]) -> str:
        further = [spec for spec in specs if spec.name != SHELL]
        return "\n\n".join([JSON, *([JSON_TOOLS] if further else []), *map(_described, further)])

    def declared(self, specs: Sequence[ToolSpec]) -> Sequence[ToolSpec]:  # noqa: ARG002 they are described
        return ()

    def message(self, reply: Reply) -> Message:
        # Calls, which nobody offered the model, would need answers that its server may not take.
        return Message("assistant", reply.text, extra=reply.extra)

    def read(self, reply: Reply) -> Reading:
        value = _object_in(reply.text)
        if value is None:
            return Misread("there is no JSON object with `task_done` in your reply" if reply.whole else CUT_OFF)
        done, thoughts, command = value["task_done"], value.get("thoughts"), value.get("command")
        if not isinstance(done, bool):
            return Misread("`task_done` must be true or false")
        if not isinstance(thoughts, str):
            return Misread("`thoughts` must be a text")
        if command is not None and not isinstance(command, str):
            return Misread("`command` must be a text")
        return _final(value, thoughts, command or "") if done else _call(value, command or "")

    def result(self, call: ToolCall, text: str) -> Message:  # noqa: ARG002 there is one call a reply
        return Message("user", text)

    def correction(self, reply: Reply, why: str) -> Sequence[Message]:  # noqa: ARG002
        return [Message("user", f"Error: {why}. Answer with one JSON object and nothing else:\n{JSON_FORMAT}")]


PROTOCOLS: dict[ProtocolName, AgentProtocol] = {"tools": ToolCalls(), "json": JsonReplies()}


def whole_stack(stack: Stack, protocol: AgentProtocol, specs: Sequence[ToolSpec]) -> Stack:
    """The stack of each request: what the agent is told of itself, and how the protocol goes."""
    return stack.then(Part("protocol", protocol.instructions(specs)))


def _final(value: Mapping[str, Any], thoughts: str, command: str) -> Reading:
    if command.strip():
        return Misread("`task_done` is true, and there is a command: empty it, or set `task_done` to false")
    result = value.get("result")
    return Final(result if isinstance(result, str) else thoughts)


def _call(value: Mapping[str, Any], command: str) -> Reading:
    tool = value.get("tool")
    if command.strip():
        return Calls((ToolCall("", SHELL, json.dumps({"command": command})),))
    if isinstance(tool, str) and tool not in ("", SHELL):
        return Calls((ToolCall("", tool, json.dumps(value.get("arguments") or {})),))
    return Misread("`task_done` is false, and `command` is empty")


def _described(spec: ToolSpec) -> str:
    return f"`{spec.name}`: {spec.description}\narguments: {json.dumps(spec.parameters, ensure_ascii=False)}"


def _object_in(text: str) -> Mapping[str, Any] | None:
    """The first JSON object in `text` that says whether the task is done; line breaks may stand in its texts."""
    return next((value for value in _objects(text) if "task_done" in value), None)


def _objects(text: str) -> Iterator[Mapping[str, Any]]:
    """Every object that begins at a brace, at most a hundred of them tried: each attempt may read all that follows."""
    decoder = json.JSONDecoder(strict=False)
    place = text.find("{")
    for _ in range(100):
        if place < 0:
            return
        try:
            value, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            end = place + 1
        else:
            yield value
        place = text.find("{", end)
