"""Python functions as the bot's tools."""

from __future__ import annotations

import inspect
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..conversation.message import Message, ToolCall
from ..errors import HarnessError, SettingsError
from ..prompt.request import ToolSpec
from .events import tell
from .schema import Arguments, ArgumentsError, as_text, error_at
from .threads import in_thread, name_of

Known = Callable[[ToolCall], str | None]
"""The result of a call that need not be made, because a recording has it; None where it has none."""

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that the bot may call, as the model is told of it.

    `parameters` is the JSON schema of its arguments; one that does not fit the function's signature is a
    `FormatError`. `Tool.of(function)` takes everything from signature and docstring.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    function: Callable[..., Any]
    _arguments: Arguments | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            msg = f"{self.name!r} is no name for a tool"
            raise error_at(self.function, msg, "a name has 1 to 64 letters, digits, _ and -")
        if self._arguments is None:
            arguments = Arguments.of(self.function, self.name)
            if found := arguments.mismatches(self.parameters):
                msg = f"the schema of tool {self.name!r} does not fit its function: {'; '.join(found)}"
                raise error_at(self.function, msg, "correct it, or let Tool.of(function) make it")
            object.__setattr__(self, "_arguments", arguments)

    @classmethod
    def of(cls, function: Callable[..., Any], *, name: str | None = None, description: str | None = None) -> Tool:
        """The tool that `function` is: its name, its docstring and its signature tell the model what it needs."""
        named = name_of(function) if name is None else name
        arguments = Arguments.of(function, named)
        told = arguments.description if description is None else description
        return cls(named, told, arguments.schema, function, arguments)

    @property
    def spec(self) -> ToolSpec:
        """The tool as a request has it."""
        return ToolSpec(self.name, self.description, self.parameters)

    def read(self, arguments: str) -> dict[str, Any]:
        """JSON `arguments` as the function takes them; `ArgumentsError` where they do not fit its schema."""
        assert self._arguments is not None
        return self._arguments.read(arguments)

    async def call(self, arguments: str) -> Any:
        """Call the function with JSON `arguments`: on the loop where it is async, else in a daemon thread.

        Raises `ArgumentsError`, and whatever the function raises.
        """
        values = self.read(arguments)
        if is_async(self.function):
            return await self.function(**values)
        result = await in_thread(lambda: self.function(**values), name=self.name)
        return await result if inspect.isawaitable(result) else result


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling `function`, or the object that it is, gives a coroutine."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def make_tools(given: Iterable[Iterable[Tool | Callable[..., Any]] | None]) -> tuple[Tool, ...]:
    """The tools that several conftests give, the nearest's first, as pluggy has results; functions become `Tool`s.

    A nearer tool replaces a farther one of its name; two of one name in one conftest are a `FormatError`.
    """
    tools: dict[str, Tool] = {}
    for group in reversed([_checked(group) for group in given if group is not None]):
        made = [one if isinstance(one, Tool) else Tool.of(one) for one in group]
        for number, tool in enumerate(made):
            if tool.name in {earlier.name for earlier in made[:number]}:
                msg = f"two tools are named {tool.name!r}"
                raise error_at(tool.function, msg, "give one of them another name: Tool.of(function, name=...)")
        tools |= {tool.name: tool for tool in made}
    return tuple(tools.values())


def _checked(given: Any) -> list[Any]:
    if not isinstance(given, Iterable) or isinstance(given, str | Mapping):
        msg = f"pytest_convo_tools returned {given!r}, which is no list of tools"
        raise SettingsError(msg, hint="return functions or Tools in a list")
    tools = list(given)
    for one in tools:
        if not isinstance(one, Tool) and not callable(one):
            msg = f"pytest_convo_tools returned {one!r} among the tools, which is no function or Tool"
            raise SettingsError(msg)
    return tools


async def answer_calls(
    calls: Sequence[ToolCall], tools: Mapping[str, Tool], known: Known | None = None
) -> tuple[Message, ...]:
    """Run the calls of one reply at the same time; their results in the order of the calls.

    A call whose result is `known` is not run, but answered with that. What goes wrong is told to the model as the
    call's result: an unknown tool, arguments that do not fit, an exception in the tool. Only a `HarnessError` of the
    tool's own is raised: it says that nothing was measured.
    """
    import asyncio

    tasks = [asyncio.ensure_future(_answer(call, tools, known)) for call in calls]
    try:
        return tuple(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()


async def _answer(call: ToolCall, tools: Mapping[str, Tool], known: Known | None) -> Message:
    begin = time.perf_counter()
    failed = True
    recorded = known(call) if known is not None else None
    try:
        text = await _result(call, tools) if recorded is None else recorded
        failed = False
    except ArgumentsError as error:
        text = f"Error: {error}"
    except HarnessError:
        raise
    except Exception as error:
        text = f"Error: {type(error).__name__}: {error}"
    seconds = round(time.perf_counter() - begin, 4)
    told = {"id": call.id, "name": call.name, "arguments": call.arguments, "result": text}
    tell("tool", **told, failed=failed, seconds=seconds, replayed=recorded is not None)
    return Message("tool", text, tool_call_id=call.id)


async def _result(call: ToolCall, tools: Mapping[str, Tool]) -> str:
    tool = tools.get(call.name)
    if tool is None:
        msg = f"there is no tool {call.name!r}; the tools are: {', '.join(tools) or 'none'}"
        raise ArgumentsError(msg)
    return as_text(await tool.call(call.arguments))
