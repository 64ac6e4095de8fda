"""What the fixtures hand to a test: the transcript of its run, and a bot to ask."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager
from copy import deepcopy
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from .._compat import Skipped
from ..agreement.outcome import Outcome
from ..bot.deadline import within
from ..conversation.message import Message
from ..conversation.reply import Reply
from ..conversation.transcript import Transcript, Turn
from ..errors import BotFailure, ConvoError, HarnessError
from ..record.recording import RunRecording
from ..redaction import Redactor
from ..run.measure import Event, Measurement, measure
from ..run.redact import REDACTOR
from ..run.session import RUN
from ..run.shelter import sheltered
from ..run.told import MEASURED
from .asked import Asked, messages_of
from .chat import Chat
from .prompts import reads
from .recordings import of_test
from .sandboxes import skip_without_engine
from .setup import Setup
from .spec import redactor_at, specs
from .state import ORACLE_ALONE, of
from .waiting import wait_for

if TYPE_CHECKING:
    from ..agent.result import AgentResult
    from ..bot.model import ChatModel
    from ..bot.tools import Known, Tool

T = TypeVar("T")

ENDED = pytest.StashKey[bool]()
"""Whether a test ended by itself: it returned, or said that something is not as it should be."""


def ended(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """The test was called. What breaks it off, as a time limit or an error in it, leaves half of its questions."""
    error = call.excinfo.value if call.excinfo is not None else None
    item.stash[ENDED] = error is None or isinstance(error, AssertionError | BotFailure)


def transcript(item: pytest.Item) -> Transcript:
    """The transcript that `item` reads; raises what kept it from coming."""
    run, state = item.stash.get(RUN, None), of(item.config)
    if state.options.oracle:
        raise Skipped(ORACLE_ALONE, _use_item_location=True)
    if run is None or run.spec is None:
        msg = "the conversation has no turn for the bot to answer"
        raise Skipped(msg, _use_item_location=True)
    measurement = wait_for(item)
    skip_without_engine(state, run.spec.settings, measurement.error)
    if measurement.transcript is None or measurement.error is not None:
        measurement.raise_unless_passed()
    assert measurement.transcript is not None
    return measurement.transcript


class Bot:
    """Asks the bot of the nearest convo.toml, for one test; what it asks is counted and kept with the test's run."""

    def __init__(self, item: pytest.Item) -> None:
        if of(item.config).options.oracle:
            raise Skipped(ORACLE_ALONE, _use_item_location=True)
        self._item = item
        self._run = item.stash[RUN].number if RUN in item.stash else 1
        self._runs = of(item.config).runs
        self._began = time.perf_counter()
        self._messages: list[Message] = []
        self._turns: list[Turn] = []
        self._events: list[Event] = []
        self._measured = True
        if REDACTOR not in item.stash:
            item.stash[REDACTOR] = redactor_at(of(item.config), item.path.parent)

    def ask(
        self,
        asked: Asked,
        *,
        system: str | None = None,
        tools: Sequence[Callable[..., Any]] | None = None,
        **request: Any,
    ) -> Reply:
        """The bot's answer, tool calls and all.

        `system` is in place of the prompt of the settings ("" for none), `tools` in place of the conftest's; `request`
        are further fields of the request, `model` and `temperature` among them.
        """
        return self._runs.wait(self._submit(messages_of(asked), system, tools, request)).reply

    async def aask(
        self,
        asked: Asked,
        *,
        system: str | None = None,
        tools: Sequence[Callable[..., Any]] | None = None,
        **request: Any,
    ) -> Reply:
        """As `ask`, for tests that are coroutines; several may be awaited at once."""
        return (await asyncio.wrap_future(self._submit(messages_of(asked), system, tools, request))).reply

    def chat(
        self, *, system: str | None = None, tools: Sequence[Callable[..., Any]] | None = None, **request: Any
    ) -> Chat:
        """A chat, whose every question is asked with what was said in it before; the arguments are those of `ask`."""
        own, box = deepcopy(request), None if tools is None else tuple(tools)
        return Chat(lambda history: self._submit(history, system, box, deepcopy(own)), self._runs.wait)

    def conversation(self, path: str | Path) -> Transcript:
        """Play the conversation at `path`, relative to the test's directory, and return what was said."""
        directory = (self._item.path.parent / path).resolve()
        if not of(self._item.config).scan(directory).is_conversation:
            msg = "there is no conversation here"
            raise ConvoError(msg, path=directory, hint="a conversation holds message files, as 0000_user.md")
        (spec,) = specs(self._item, directory, [None])
        redactor = spec.redactor.having_read(spec.settings.expect.model_dump())
        self._item.stash[REDACTOR] = self._item.stash[REDACTOR].also(redactor)
        recording = self._recording
        recording.hide(spec.redactor)
        measured = self._runs.wait(self._runs.engine.submit(lambda idle: measure(spec, self._run, idle, recording)))
        self._events.extend(measured.events)
        if measured.transcript is not None:
            self._messages.extend(measured.transcript.messages)
            self._turns.extend(measured.transcript.turns)
        self._keep()
        if measured.error is not None:
            self._measured &= not isinstance(measured.error, HarnessError)
            raise measured.error
        assert measured.transcript is not None
        return measured.transcript

    def hide(self, names: Iterable[str]) -> None:
        """Take the values of these variables for secrets, too: agents of this test are given them."""
        redactor = Redactor.of_environment(names=names)
        self._item.stash[REDACTOR] = self._item.stash[REDACTOR].also(redactor)
        self._recording.hide(redactor)

    def wait(self, future: Future[T]) -> T:
        """Wait for what was submitted."""
        return self._runs.wait(future)

    def work(self, work: Callable[..., Awaitable[AgentResult]]) -> Future[AgentResult]:
        """Have an agent work, whose model is `model()`; `work` takes `observe`, `idle` and `known`."""
        return self._runs.engine.submit(lambda idle: self._worked(work, idle))

    def tools(self) -> Sequence[Tool]:
        """The tools of the conftests, made for this test's run."""
        return self.setup.tools(self._run)

    def model(self) -> ChatModel:
        """This test's bot as a model, which answers from the test's recording where there is one."""
        return self._recording.around(lambda: self.setup.model(self._run))

    async def _worked(self, work: Callable[..., Awaitable[AgentResult]], idle: Any) -> AgentResult:
        async with self._watched(), sheltered():
            result = await work(observe=self._hear, idle=idle, known=self._known)
        self._messages.extend(result.transcript.messages)
        self._turns.extend(result.transcript.turns)
        self._keep()
        return result

    def _hear(self, event: Event) -> None:
        self._events.append({"at": round(time.perf_counter() - self._began, 4), **event})

    @property
    def _known(self) -> Known | None:
        return self._recording.known_result if self.setup.settings.record.tools == "replay" else None

    def close(self) -> None:
        """The test is over: save what it asked, where that is recorded and the test came to an end of its own."""
        if (
            self._measured
            and self._item.stash.get(ENDED, False)
            and "_recording" in vars(self)
            and self._recording.unsaved
        ):
            self._recording.save()

    @cached_property
    def _recording(self) -> RunRecording:
        return of_test(self._item, self.setup.redactor)

    @cached_property
    def setup(self) -> Setup:
        """The settings, the prompt and the tools of the test's own directory."""
        return Setup.of(self._item)

    def _submit(
        self,
        history: Sequence[Message],
        system: str | None,
        tools: Sequence[Callable[..., Any]] | None,
        request: Mapping[str, Any],
    ) -> Future[Turn]:
        setup = self.setup
        if system is None:
            reads(self._item, setup.prompts)
        return self._runs.engine.submit(lambda idle: self._answer(setup, history, system, tools, request, idle))

    async def _answer(
        self,
        setup: Setup,
        history: Sequence[Message],
        system: str | None,
        tools: Sequence[Callable[..., Any]] | None,
        request: Mapping[str, Any],
        idle: Any,
    ) -> Turn:
        from ..bot.answer import answer
        from ..bot.tools import make_tools

        recipe = setup.recipe if system is None else setup.recipe.telling(system)
        box = setup.tools(self._run) if tools is None else make_tools([tools])
        async with self._watched(), within(setup.settings.timeout), sheltered():
            specs, around = [tool.spec for tool in box], self._recording.aside
            composer = await recipe.composer(run=self._run, bot=setup.bot(request), tools=specs, around=around)
            reply, messages = await answer(
                self.model(),
                composer=composer,
                history=history,
                tools=box,
                observe=self._hear,
                idle=idle,
                known=self._known,
            )
        self._messages.extend([*history, *messages])
        turn = Turn(len(self._messages) - 1, reply, tuple(messages))
        self._turns.append(turn)
        self._keep()
        return turn

    @asynccontextmanager
    async def _watched(self) -> AsyncIterator[None]:
        """Notice when nothing was measured: a part of a test is not recorded."""
        try:
            yield
        except HarnessError:
            self._measured = False
            raise

    def _keep(self) -> None:
        seconds = time.perf_counter() - self._began
        said = Transcript(tuple(self._messages), tuple(self._turns), run=self._run, seconds=seconds)
        self._item.stash[MEASURED] = Measurement(
            Outcome.PASS,
            transcript=said,
            events=self._events,
            seconds=seconds,
            sample=self._recording.sample,
            changed_tools=tuple(map(str, self._recording.changed_tools)),
        )
