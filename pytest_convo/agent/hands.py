"""What an agent can do in its sandbox by a call: each call becomes one command there."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..bot.schema import ArgumentsError
from ..errors import SettingsError
from ..prompt.request import ToolSpec
from ..sandbox.base import KIB, CommandResult, Sandbox
from ..sandbox.tool import AgentTool
from .bounds import told
from .protocol import SHELL

LONGEST = 96 * KIB
"""Bytes of arguments that a program can be given in a variable: Linux ends at 128 KiB."""

_COMMAND = {
    "type": "object",
    "properties": {"command": {"type": "string", "description": "a script for sh"}},
    "required": ["command"],
}


@dataclass(frozen=True, slots=True)
class Order:
    """A command that is to run, with further variables."""

    command: str
    variables: Mapping[str, str] = field(default_factory=dict)


class Hand(Protocol):
    """One tool that works in the sandbox."""

    @property
    def spec(self) -> ToolSpec:
        """The tool as the model is told of it."""

    def order(self, arguments: str) -> Order:
        """The command that a call with these arguments, a JSON text, stands for; `ArgumentsError` where none."""

    def text(self, result: CommandResult, sandbox: Sandbox, seconds: float) -> str:
        """What the model is told of the command, which had so many `seconds`."""


class Shell:
    """Runs whatever script it is given."""

    spec = ToolSpec(SHELL, "Run a command in the sandbox.", _COMMAND)

    def order(self, arguments: str) -> Order:
        command = read_object(arguments).get("command")
        if not isinstance(command, str) or not command.strip():
            msg = "`command` must be a text, and not empty"
            raise ArgumentsError(msg)
        if "\0" in command or not _encodes(command):
            msg = "`command` holds characters that no command can hold"
            raise ArgumentsError(msg)
        return Order(command)

    def text(self, result: CommandResult, sandbox: Sandbox, seconds: float) -> str:  # noqa: ARG002
        return told(result, seconds)


class Program:
    """An `AgentTool` that is called by its name; its command finds the arguments in the variable `ARGUMENTS`."""

    def __init__(self, tool: AgentTool) -> None:
        from ..check.schema import schema_fault

        if fault := schema_fault(tool.parameters):
            msg = f"the parameters of tool {tool.name!r} are no JSON schema: {fault}"
            raise SettingsError(msg, path=tool.path)
        if not tool.command.strip():
            msg = f"tool {tool.name!r} has parameters, and no command to be given them"
            raise SettingsError(msg, path=tool.path)
        said = [part for part in (tool.description.strip(), tool.usage.strip()) if part]
        self.spec = ToolSpec(tool.name, "\n".join(said), tool.parameters)
        self._command = tool.command

    def order(self, arguments: str) -> Order:
        from ..check.schema import misfits

        value = read_object(arguments)
        if found := misfits(self.spec.parameters, value):
            raise ArgumentsError("; ".join(found))
        written = json.dumps(value)
        if len(written) > LONGEST:
            msg = f"the arguments have {len(written)} bytes, and may have {LONGEST}: pass what is long in a file"
            raise ArgumentsError(msg)
        return Order(self._command, {"ARGUMENTS": written})

    def text(self, result: CommandResult, sandbox: Sandbox, seconds: float) -> str:  # noqa: ARG002
        return told(result, seconds)


def hands_of(tools: Sequence[AgentTool]) -> list[Hand]:
    """The shell, and those of `tools` that are called by their names."""
    return [Shell(), *(Program(tool) for tool in tools if tool.parameters)]


def specs_of(tools: Sequence[AgentTool]) -> list[ToolSpec]:
    """The same as the model is told of them."""
    return [hand.spec for hand in hands_of(tools)]


def read_object(arguments: str) -> dict[str, Any]:
    """The JSON object that the arguments of a call are; `ArgumentsError` where they are none."""
    try:
        value = json.loads(arguments if arguments.strip() else "{}", strict=False)
    except (ValueError, RecursionError) as error:
        msg = f"the arguments are not JSON: {error}"
        raise ArgumentsError(msg) from None
    if not isinstance(value, dict):
        msg = "the arguments must be a JSON object"
        raise ArgumentsError(msg)
    return value


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a character that was escaped apart
        return False
    return True
