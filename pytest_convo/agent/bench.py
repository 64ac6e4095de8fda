"""A sandbox as an event loop uses it: commands in threads, and an end to them that is waited for."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from ..bot.threads import in_thread
from ..errors import SandboxDied
from ..sandbox.base import CommandResult, Sandbox
from .hands import Hand, Order

GRACE = 20.0
"""Seconds for a sandbox to end what runs in it, once it was told to."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A command's result, and what the model is to be told of it."""

    result: CommandResult
    text: str


class Bench:
    """Runs commands in `sandbox`, one at a time, each for at most `command_timeout` seconds."""

    def __init__(self, sandbox: Sandbox, command_timeout: float) -> None:
        self.sandbox = sandbox
        self.command_timeout = command_timeout
        self._running: asyncio.Future[Outcome] | None = None

    async def execute(self, hand: Hand, order: Order, left: float) -> Outcome:
        """Run one command, in the `left` seconds at most. Cancelled, it runs on until `halt`."""
        seconds = min(self.command_timeout, left)
        self._running = asyncio.ensure_future(in_thread(self._carry_out, hand, order, seconds, name=hand.spec.name))
        outcome = await asyncio.shield(self._running)
        self._running = None
        return outcome

    async def halt(self, grace: float = GRACE) -> Outcome | None:
        """Kill all that runs in the sandbox; the outcome of the command that ran, if one did.

        `SandboxDied` where it has not ended after `grace` seconds, and whatever else the sandbox raises.
        """
        running, self._running = self._running, None
        killing = asyncio.ensure_future(in_thread(self.sandbox.kill, name="kill"))
        awaited: set[asyncio.Future[Any]] = {killing} if running is None else {killing, running}
        _, pending = await asyncio.wait(awaited, timeout=grace)
        if pending:
            for one in pending:
                one.cancel()
            msg = f"the sandbox did not end what ran in it within {grace:g} s"
            raise SandboxDied(msg)
        killing.result()
        return None if running is None else running.result()

    def _carry_out(self, hand: Hand, order: Order, seconds: float) -> Outcome:
        result = self.sandbox.execute(order.command, seconds, variables=order.variables)
        return Outcome(result, hand.text(result, self.sandbox, self.command_timeout))
