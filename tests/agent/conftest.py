from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pytest_convo.conversation.message import ToolCall
from pytest_convo.conversation.reply import Reply
from pytest_convo.errors import SandboxError
from pytest_convo.prompt.request import Request
from pytest_convo.sandbox.base import Change, CommandResult, Sandbox, SandboxInfo

Scripted = CommandResult | BaseException | Callable[[str], CommandResult]


@dataclass
class FakeSandbox:
    """A sandbox that runs nothing: a command's result is scripted, by the command itself, or in the order of `results`.

    What is left of neither is `ended with 0`. An exception among them is raised.
    """

    results: list[Scripted] = field(default_factory=list)
    by_command: dict[str, Scripted] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    info: SandboxInfo = field(default_factory=lambda: SandboxInfo("fake"))
    workspace: Path | None = None
    commands: list[str] = field(default_factory=list)
    trusted: list[str] = field(default_factory=list)
    timeouts: list[float] = field(default_factory=list)
    kills: int = 0
    closed: bool = False
    killed: threading.Event = field(default_factory=threading.Event)

    def execute(
        self,
        command: str,
        timeout: float = 60.0,
        *,
        trusted: bool = False,
        variables: Mapping[str, str] | None = None,
        user: str | None = None,
    ) -> CommandResult:
        if self.closed:
            msg = "the sandbox is closed"
            raise SandboxError(msg)
        (self.trusted if trusted else self.commands).append(command)
        self.timeouts.append(timeout)
        scripted = self.by_command.get(command)
        if scripted is None:
            scripted = self.results.pop(0) if self.results and not trusted else CommandResult(0, "", "")
        if isinstance(scripted, BaseException):
            raise scripted
        return scripted if isinstance(scripted, CommandResult) else scripted(command)

    def until_killed(self, command: str) -> CommandResult:
        """A result for a command that goes on until somebody kills it."""
        assert self.killed.wait(60), f"nobody killed {command!r}"
        return CommandResult(137, "part\n", "", killed="kill")

    def kill(self) -> None:
        self.kills += 1
        self.killed.set()

    def read_file(self, path: str, limit: int = 1 << 20, *, trusted: bool = False) -> bytes:
        if path not in self.files:
            raise FileNotFoundError(path)
        return self.files[path][:limit]

    def write_files(self, files: Mapping[str, tuple[bytes, int]], *, trusted: bool = False) -> None:
        self.files |= {path: contents for path, (contents, _) in files.items()}

    def changes(self) -> list[Change]:
        return []

    def diff(self, limit: int = 1 << 20) -> str:
        return ""

    def leave(self) -> str:
        return ""

    def close(self) -> None:
        self.closed = True

    def __enter__(self) -> FakeSandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@pytest.fixture
def sandbox() -> FakeSandbox:
    fake = FakeSandbox()
    assert isinstance(fake, Sandbox)
    return fake


class Model:
    """Says each of `replies` in turn, the last again and again; an exception is raised, a function is called."""

    def __init__(self, *replies: Any) -> None:
        self.replies = replies
        self.requests: list[Request] = []

    async def complete(self, request: Request, stream: Any = None) -> Reply:
        self.requests.append(request)
        reply = self.replies[min(len(self.requests), len(self.replies)) - 1]
        if isinstance(reply, BaseException):
            raise reply
        return reply if isinstance(reply, Reply) else await reply()


def shell(command: str, name: str = "c1") -> ToolCall:
    return ToolCall(name, "shell", json.dumps({"command": command}))


def calling(*commands: str, **more: Any) -> Reply:
    """A reply that calls for these commands, by the names c1, c2 ..."""
    calls = tuple(shell(command, f"c{number}") for number, command in enumerate(commands, 1))
    return Reply("", calls, "tool_calls", **more)
