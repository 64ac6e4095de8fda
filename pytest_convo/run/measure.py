"""One run of a conversation, from its files to its outcome."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..agreement.outcome import Outcome
from ..bot.play import play, transcript_of
from ..bot.threads import in_thread
from ..check.run import evaluate
from ..errors import BotFailure, CheckError, CheckFailed, ConvoError, HarnessError, NoCredentials, RunTimeout

if TYPE_CHECKING:
    from ..bot.model import ChatModel
    from ..bot.tools import Tool
    from ..check.base import Check
    from ..conversation.conversation import Conversation
    from ..conversation.transcript import Transcript
    from ..settings.model import Settings

Event = Mapping[str, Any]
"""One thing that happened in a run: a `kind` and its fields, all of them builtins."""


@dataclass(frozen=True, slots=True)
class Spec:
    """A conversation, or one case of it, ready to be run any number of times."""

    directory: Path
    case: str | None
    settings: Settings
    conversation: Conversation
    system: str | None
    checks: Mapping[int, tuple[Check, ...]]
    model: Callable[[int], ChatModel]
    """Makes the model for run i; called on the engine's loop."""
    tools: Callable[[int], Sequence[Tool]] | None
    """Makes the tools for run i, afresh for each; None where no conftest has any."""
    slow: bool = False
    """Whether a check runs a user's code, which must not hold up the engine's loop."""

    def key(self, run: int) -> str:
        """The name of run i's transcript in the whole session."""
        return f"{self.directory}\n{self.case or ''}\n{run}"


@dataclass(frozen=True, slots=True)
class Measurement:
    """What one run measured: its outcome with the reason, the transcript as far as it came, and all that happened."""

    outcome: Outcome
    reason: str = ""
    transcript: Transcript | None = None
    error: ConvoError | None = None
    events: list[Event] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def requests(self) -> int:
        """How many requests were sent, retries included."""
        sent: int = sum(event["kind"] == "request" for event in self.events)
        return sent - int(isinstance(self.error, NoCredentials))  # that one was made and never sent

    @property
    def transient(self) -> bool:
        """Whether another try may end otherwise: the outcome is an error that can pass."""
        return isinstance(self.error, HarnessError) and self.error.transient

    def raise_unless_passed(self) -> None:
        """Raise what a failed run, or one that measured nothing, has to say."""
        if self.error is not None:
            raise self.error
        if self.outcome is not Outcome.PASS:
            raise (CheckFailed if self.outcome is Outcome.FAIL else CheckError)(self.reason)


def portable(measurement: Measurement) -> Measurement:
    """The measurement as another process can read it: an error of a user's own class becomes one of ours."""
    error = measurement.error
    if error is None or type(error).__module__ == ConvoError.__module__:
        return measurement
    known = BotFailure if isinstance(error, BotFailure) else HarnessError
    return replace(measurement, error=known(error.what, path=error.path, line=error.line, hint=error.hint))


async def measure(spec: Spec, run: int, idle: Callable[[], AbstractAsyncContextManager[None]]) -> Measurement:
    """Play run i and judge it; never raises what a bot, a server or a check did wrong.

    `idle` is entered while no model call is in flight, so that another run can use the place.
    """
    events: list[Event] = []
    begin = time.perf_counter()

    def observe(event: Event) -> None:
        events.append({"at": round(time.perf_counter() - begin, 4), **event})

    def measured(outcome: Outcome, reason: str, **found: Any) -> Measurement:
        return Measurement(outcome, reason, events=events, seconds=time.perf_counter() - begin, **found)

    try:
        async with within(spec.settings.timeout), sheltered():
            transcript = await _play(spec, run, idle, observe)
            if spec.slow:
                evaluation = await in_thread(evaluate, spec.checks, transcript)
            else:
                evaluation = evaluate(spec.checks, transcript)
    except BotFailure as error:
        return measured(Outcome.FAIL, str(error), error=error, transcript=transcript_of(error))
    except ConvoError as error:
        return measured(Outcome.ERROR, str(error), error=error, transcript=transcript_of(error))
    for found in evaluation.results:
        told = {"turn": found.turn, "name": found.name, "outcome": found.outcome.value, "reason": found.reason}
        observe({"kind": "check", **told})
    return measured(evaluation.outcome, evaluation.reason, transcript=transcript)


@asynccontextmanager
async def sheltered() -> AsyncIterator[None]:
    """Make an error of the run of what a user's code may raise to end a program or a task.

    On the engine's loop a KeyboardInterrupt or a SystemExit would end the loop, and a CancelledError that nobody sent
    would pass for a spared run.
    """
    import asyncio

    try:
        yield
    except Exception:
        raise
    except BaseException as error:
        task = asyncio.current_task()
        if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
            raise
        msg = f"the model, a tool or a check raised {type(error).__name__}: {error}"
        raise HarnessError(msg.rstrip(": ")) from None


@asynccontextmanager
async def within(seconds: float) -> AsyncIterator[None]:
    """Raise `RunTimeout` where the block takes longer."""
    import asyncio

    try:
        async with asyncio.timeout(seconds) as limit:
            yield
    except TimeoutError as error:
        if not limit.expired():
            raise  # somebody else's
        msg = f"the run did not end within {seconds:g} s"
        raise RunTimeout(msg, hint="raise `timeout` in convo.toml if the bot needs longer") from error


async def _play(spec: Spec, run: int, idle: Any, observe: Callable[[Event], None]) -> Transcript:
    return await play(
        spec.conversation,
        model=spec.model(run),
        system=spec.system,
        bot=spec.settings.bot,
        tools=await in_thread(spec.tools, run) if spec.tools else (),
        run=run,
        case=spec.case,
        observe=observe,
        idle=idle,
    )
