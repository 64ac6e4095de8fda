"""One run of a conversation, from its files to its outcome."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ..agreement.outcome import Outcome
from ..bot.answer import Idle
from ..bot.deadline import within
from ..bot.events import observed
from ..bot.play import play, transcript_of
from ..bot.threads import in_thread
from ..check.run import Evaluation, ask, evaluate
from ..errors import (
    BotFailure,
    CheckError,
    CheckFailed,
    ConvoError,
    HarnessError,
)
from .shelter import sheltered

if TYPE_CHECKING:
    from ..bot.events import Observer
    from ..bot.model import ChatModel
    from ..bot.recipe import Recipe
    from ..bot.scribe import Scribe
    from ..bot.tools import Known, Tool
    from ..check.run import Checks
    from ..conversation.conversation import Conversation
    from ..conversation.transcript import Transcript
    from ..prompt.request import ToolSpec
    from ..record.recording import RunRecording
    from ..redaction import Redactor
    from ..settings.model import Settings
    from .alike import Likeness

Played = tuple["Transcript", Evaluation]
"""What was said in a run, and what was found of it."""

Event = Mapping[str, Any]
"""One thing that happened in a run: a `kind` and its fields, all of them builtins."""


class Player(Protocol):
    """Plays a run in a way of its own, and judges it: an agent at its task, in a sandbox."""

    @property
    def declared(self) -> Sequence[ToolSpec]:
        """The tools that each request declares."""

    @property
    def identity(self) -> Mapping[str, str]:
        """Digests, by name, of what is asked and what judges, beside the messages and the checks."""

    @property
    def calls(self) -> int:
        """The most model calls that a run makes."""

    async def play(self, run: int, model: ChatModel, *, observe: Observer, idle: Idle, known: Known | None) -> Played:
        """Run `run`; what ends it early carries the transcript so far, as for `bot.play`. Its time is its own."""


@dataclass(frozen=True, slots=True)
class Spec:
    """A conversation, or one case of it, or a task, ready to be run any number of times."""

    directory: Path
    case: str | None
    settings: Settings
    conversation: Conversation
    recipe: Recipe
    """How its requests are made."""
    checks: Checks
    model: Callable[[int], ChatModel]
    """Makes the model for run i; called on the engine's loop."""
    tools: Callable[[int], Sequence[Tool]] | None
    """Makes the tools for run i, afresh for each; None where no conftest has any."""
    redactor: Redactor
    """Takes out what must never be written or shown."""
    recording: Callable[[int], RunRecording]
    """Opens the recording of run i, anew for each attempt to make it."""
    cases: int = 1
    """How many cases there are of the conversation."""
    slow: bool = False
    """Whether a check runs a user's code, which must not hold up the engine's loop."""
    asking: bool = False
    """Whether a check asks a model."""
    likeness: Likeness | None = None
    """When the answers of two runs say the same, where that is asked for."""
    beside: tuple[Path, ...] = ()
    """The recordings that are of no single run: of comparing answers, and of checking judges."""
    scribe: Callable[[int], Scribe] | None = None
    """Makes who takes down run i while it is made, where anybody does."""
    writes: bool = False
    """Whether answers are written into the directory: what stands there then is not asked for a second time."""
    prompts: tuple[Path, ...] = ()
    """The files that say what the bot is to do: the system prompt, and an agent's instruction."""
    player: Player | None = None
    """Who plays its runs, where they are no mere conversation."""

    def declared(self) -> Sequence[ToolSpec]:
        """The tools that requests declare; a conversation's are made for it."""
        if self.player is not None:
            return self.player.declared
        return [tool.spec for tool in self.tools(1)] if self.tools is not None else ()

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
    """What kept the transcript from being whole."""
    events: list[Event] = field(default_factory=list)
    seconds: float = 0.0
    sample: str = ""
    """A digest of what was answered, the same for a run and for its replays; empty where nothing was."""
    changed_tools: tuple[str, ...] = ()
    """Tools that answered otherwise than was recorded, in words."""

    @property
    def requests(self) -> int:
        """How many requests were sent, retries included."""
        return len(self.spent)

    @property
    def replayed(self) -> int:
        """How many answers came from a recording."""
        return sum(event["kind"] == "reply" and event["replayed"] for event in self.events)

    @property
    def only_replayed(self) -> bool:
        """Whether there were answers, each from a recording, and every tool did as recorded."""
        replies = [event["replayed"] for event in self.events if event["kind"] == "reply"]
        return any(replies) and all(replies) and not self.requests and not self.changed_tools

    @property
    def spent(self) -> list[Event]:
        """What each attempt took: its `model`, `usage` (None where nobody counted) and `usd` (None: not known)."""
        return [event for event in self.events if event["kind"] == "spent"]

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
    ours = known(error.what, path=error.path, line=error.line, hint=error.hint)
    if isinstance(ours, HarnessError):
        ours.transient = measurement.transient
    return replace(measurement, error=ours)


async def measure(
    spec: Spec,
    run: int,
    idle: Idle,
    recording: RunRecording | None = None,
) -> Measurement:
    """Play run i and judge it; never raises what a bot, a server or a check did wrong.

    `idle` is entered while no model call is in flight, so that another run can use the place. A `recording` that is
    given is its owner's to save, and the run a part of what else is done; else the run's own is opened, and saved where
    anything was measured, and the run is taken down.
    """
    events: list[Event] = []
    begin = time.perf_counter()

    def observe(event: Event) -> None:
        events.append({"at": round(time.perf_counter() - begin, 4), **event})

    recorder = recording or spec.recording(run)

    def measured(outcome: Outcome, reason: str, **found: Any) -> Measurement:
        seconds = time.perf_counter() - begin
        changed = tuple(map(str, recorder.changed_tools))
        sample = recorder.sample
        return Measurement(
            outcome, reason, events=events, seconds=seconds, sample=sample, changed_tools=changed, **found
        )

    try:
        transcript, evaluation = await _recorded(spec, run, idle, observe, recorder, own=recording is None)
    except BotFailure as error:
        return measured(Outcome.FAIL, str(error), error=error, transcript=transcript_of(error))
    except ConvoError as error:
        if spec.writes and isinstance(error, HarnessError):
            error.transient = False
        return measured(Outcome.ERROR, str(error), error=error, transcript=transcript_of(error))
    for found in evaluation.results:
        told = {"turn": found.turn, "name": found.name, "outcome": found.outcome.value, "reason": found.reason}
        observe({"kind": "check", **told})
    return measured(evaluation.outcome, evaluation.reason, transcript=transcript)


async def _recorded(
    spec: Spec, run: int, idle: Idle, observe: Callable[[Event], None], recording: RunRecording, *, own: bool
) -> Played:
    """Play run i and judge it. What was said, or what the bot failed at, is worth recording; an error is not."""
    worth = False
    try:
        async with sheltered():
            if spec.player is not None:
                transcript, evaluation = await _played(spec, spec.player, run, idle, observe, recording)
            else:
                async with within(spec.settings.timeout):
                    scribe = spec.scribe(run) if spec.scribe is not None and own else None
                    transcript = await _play(spec, run, idle, observe, recording, scribe)
                    evaluation = await _looked_at(spec, transcript)
            if spec.asking:
                with observed(observe):
                    evaluation += await ask(spec.checks, transcript, recording.around, spec.settings.timeout)
            worth = not evaluation.unasked
    except BotFailure:
        worth = True
        raise
    finally:
        if own and worth and recording.unsaved:
            await in_thread(recording.save)
    return transcript, evaluation


async def _looked_at(spec: Spec, transcript: Transcript) -> Evaluation:
    """What the checks find that ask nobody."""
    return await in_thread(evaluate, spec.checks, transcript) if spec.slow else evaluate(spec.checks, transcript)


async def _played(
    spec: Spec, player: Player, run: int, idle: Idle, observe: Callable[[Event], None], recording: RunRecording
) -> Played:
    """What came of a run that is no mere conversation; the checks of `[expect]` come on top of its own judgement."""
    model = recording.around(lambda: spec.model(run))
    transcript, evaluation = await player.play(run, model, observe=observe, idle=idle, known=_known(spec, recording))
    async with within(spec.settings.timeout, "the checks"):
        return transcript, evaluation + await _looked_at(spec, transcript)


def _known(spec: Spec, recording: RunRecording) -> Known | None:
    return recording.known_result if spec.settings.record.tools == "replay" else None


async def _play(
    spec: Spec,
    run: int,
    idle: Idle,
    observe: Callable[[Event], None],
    recording: RunRecording,
    scribe: Scribe | None,
) -> Transcript:
    tools = await in_thread(spec.tools, run) if spec.tools else ()
    specs = [tool.spec for tool in tools]
    composer = await spec.recipe.composer(run=run, bot=spec.settings.bot, tools=specs, around=recording.aside)
    return await play(
        spec.conversation,
        model=recording.around(lambda: spec.model(run)),
        known=_known(spec, recording),
        composer=composer,
        tools=tools,
        run=run,
        case=spec.case,
        observe=observe,
        idle=idle,
        scribe=scribe,
    )
