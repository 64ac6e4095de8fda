"""Some work of an agent, step by step: ask, read the reply, carry out its calls, answer each of them."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from ..bot.answer import Idle, ask
from ..bot.deadline import limited
from ..bot.events import tell
from ..bot.model import ChatModel
from ..bot.schema import ArgumentsError
from ..bot.tools import Known, Tool, answer_calls
from ..conversation.message import Message, ToolCall
from ..conversation.reply import Reply
from ..errors import BotFailure, SandboxError
from ..prompt.composer import Composer
from .bench import Bench, Outcome
from .box import Box
from .hands import Hand, Order, Shell
from .policy import Policy
from .protocol import AgentProtocol, Calls, Final, Misread
from .result import End, Work

TIME_IS_UP = "Not run: the time is up."


@dataclass
class Course:
    """Some work: how it is done, and how far it has come."""

    task: str
    model: ChatModel
    composer: Composer
    protocol: AgentProtocol
    box: Box
    bench: Bench
    max_iterations: int
    corrections: int
    policy: Policy | None
    known: Known | None
    idle: Idle
    messages: list[Message] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)
    iterations: int = 0

    def __post_init__(self) -> None:
        self._began = time.perf_counter()
        self._end: End = "error"
        self._result: str | None = None
        self._error: str | None = None
        self._failure: BotFailure | None = None
        self._unanswered: list[ToolCall] = []
        self._current = (ToolCall("", ""), Order(""))
        self._limit = asyncio.timeout(None)

    def work(self) -> Work:
        """All of it so far."""
        return Work(
            self.task,
            self._end,
            self._result,
            self._error,
            self._failure,
            tuple(self.messages),
            tuple(self.replies),
            self.iterations,
            time.perf_counter() - self._began,
        )

    async def run(self, timeout: float) -> None:  # noqa: ASYNC109
        """Go on until one of the ends; every call has its answer then, whatever ended it."""
        try:
            await self._within(timeout)
        except BotFailure as error:
            self._failure = error
            self._ended("error", str(error))
        finally:
            self._leave(self._unanswered, TIME_IS_UP)

    async def _within(self, timeout: float) -> None:  # noqa: ASYNC109
        try:
            async with asyncio.timeout(timeout) as self._limit:
                with limited(self._limit):
                    await self._steps()
        except TimeoutError:
            if not self._limit.expired():
                raise  # somebody else's
            self._interrupted(await self.bench.halt())
            self._ended("timeout", f"the task was not done within {timeout:g} s")
        except asyncio.CancelledError:
            with contextlib.suppress(SandboxError):  # whoever cancelled wants no other error
                self._interrupted(await self.bench.halt())
            raise

    async def _steps(self) -> None:
        wrong = 0
        while True:
            reply = await self._asked()
            reading = self.protocol.read(reply)
            if isinstance(reading, Final):
                return self._ended("done", result=reading.text)
            if isinstance(reading, Misread):
                why: str | None = reading.why
                self.messages += self.protocol.correction(reply, reading.why)
            elif self.iterations >= self.max_iterations:
                self._leave(reading.calls, self._not_run)
                return self._ended("limit", f"the limit of {self.max_iterations} commands was reached")
            else:
                why = await self._obey(reading)
            wrong = 0 if why is None else wrong + 1
            if why is not None:
                tell("correction", number=wrong, text=why)
            if wrong > self.corrections:
                msg = f"{wrong} replies in a row could not be carried out; the last: {why}"
                raise BotFailure(msg)

    async def _asked(self) -> Reply:
        built = await self.composer.compose([Message("user", self.task)], self.messages)
        reply = await ask(self.model, self.composer, built)
        self.replies.append(reply)
        self.messages.append(self.protocol.message(reply))
        return reply

    async def _obey(self, wanted: Calls) -> str | None:
        """Carry out the calls of one reply, in order; what is wrong where none of them could be."""
        self._unanswered = list(wanted.calls)
        wrong: list[str] = []
        async with self.idle():
            for call in wanted.calls:
                if self.iterations >= self.max_iterations:
                    self._answer(self._not_run)
                    continue
                try:
                    found = self.box.read(call)
                except ArgumentsError as error:
                    wrong.append(str(error))
                    self._answer(f"Error: {error}")
                    continue
                self.iterations += 1
                await (self._call(call, found) if isinstance(found, Tool) else self._run(call, *found))
        return wrong[0] if len(wrong) == len(wanted.calls) else None

    async def _call(self, call: ToolCall, function: Tool) -> None:
        (message,) = await answer_calls([call], {function.name: function}, self.known)
        self._answer(message.text + self._notice if self._recorded(call) is None else message.text)

    async def _run(self, call: ToolCall, hand: Hand, order: Order) -> None:
        denied = self.policy.objection(order.command) if self.policy is not None and isinstance(hand, Shell) else None
        if denied is not None:
            tell("denied", id=call.id, name=call.name, command=order.command, text=denied, iteration=self.iterations)
            self._answer(denied + self._notice)
            return
        self._current = (call, order)
        self._settle(await self.bench.execute(hand, order, self._left))

    def _settle(self, outcome: Outcome) -> None:
        """A command has ended: tell of it, and answer the call that it was run for."""
        call, order = self._current
        result, recorded = outcome.result, self._recorded(call)
        tell(
            "command",
            id=call.id,
            name=call.name,
            arguments=call.arguments,
            command=order.command,
            return_code=result.return_code,
            output=result.output,
            error=result.error,
            truncated=result.truncated,
            killed=result.killed,
            seconds=round(result.seconds, 4),
            iteration=self.iterations,
            replayed=recorded is not None,
        )
        self._answer(outcome.text + self._notice if recorded is None else recorded)

    def _interrupted(self, outcome: Outcome | None) -> None:
        """What ran when the work was ended has been killed: that is told like the end of any command."""
        if outcome is not None and self._unanswered:
            self._settle(outcome)

    def _answer(self, text: str) -> None:
        """Answer the first of the calls that have no answer yet."""
        self.messages.append(self.protocol.result(self._unanswered.pop(0), text))

    def _leave(self, calls: Iterable[ToolCall], why: str) -> None:
        """Answer calls that nobody carries out any more."""
        self.messages += [self.protocol.result(call, why) for call in calls]
        self._unanswered = []

    def _ended(self, end: End, error: str | None = None, *, result: str | None = None) -> None:
        self._end, self._error, self._result = end, error, result

    def _recorded(self, call: ToolCall) -> str | None:
        return self.known(call) if self.known is not None else None

    @property
    def _left(self) -> float:
        """Seconds that are left of the work's time."""
        when = self._limit.when()
        return math.inf if when is None else max(0.1, when - asyncio.get_running_loop().time())

    @property
    def _not_run(self) -> str:
        return f"Not run: the limit of {self.max_iterations} commands is reached. {self.protocol.closing}"

    @property
    def _notice(self) -> str:
        """What the model is told besides when its commands are used up."""
        if self.iterations < self.max_iterations:
            return ""
        return f"\n\n[That was the last of {self.max_iterations} commands. {self.protocol.closing}]"
