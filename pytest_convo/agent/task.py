"""A run of a task: an agent works in a sandbox, and the task's verifier says whether it did it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..agreement.outcome import Outcome
from ..bot.events import CLAIMED, observed, tell
from ..bot.threads import in_thread
from ..check.run import Evaluation, Finding
from ..prompt.source import Source
from ..prompt.stack import Stack
from ..sandbox.toolset import setup, uninstall
from ..texts import clip
from .browser import Browser
from .hands import specs_of
from .kinds import KINDS
from .loop import work
from .protocol import PROTOCOLS, whole_stack
from .verifier import Verification, Verifier, files_of, processes, verify, verify_alone

if TYPE_CHECKING:
    from ..bot.answer import Idle
    from ..bot.events import Observer
    from ..bot.model import ChatModel
    from ..bot.tools import Known, Tool
    from ..conversation.transcript import Transcript
    from ..prompt.request import ToolSpec
    from ..sandbox.base import Sandbox, SandboxSpec
    from ..settings.model import Settings
    from .host import Host
    from .result import Work

TURN = 1
"""The index of the agent's turn; its instruction is at 0."""

DIFF = 1 << 18
"""Characters of a run's diff that are kept."""


@dataclass(frozen=True, slots=True)
class TaskPlayer:
    """Plays the runs of one task; a `run.measure.Player`."""

    instruction: str
    stack: Stack
    settings: Settings
    place: SandboxSpec
    host: Host
    verifier: Verifier | None
    functions: Callable[[int], Sequence[Tool]] | None = None
    """Makes the conftests' tools for run i: functions, which run on this machine and not in the sandbox."""
    sources: Callable[[], Sequence[Source]] | None = None
    """Makes the conftests' context sources, afresh for each run."""
    write_back: Callable[[Sandbox], str] | None = None
    """Takes over what a passing run has changed; what came of it, in words."""
    variables: Callable[[], Mapping[str, str]] = dict
    """The variables of every command, looked up when a run begins."""
    alone: bool = True
    """Whether what passes must also pass without the processes that the agent has left."""
    judged_by: Sequence[Path] = ()
    """Folders that make the task what it is, beside its instruction."""

    @property
    def declared(self) -> Sequence[ToolSpec]:
        """The tools that each request declares."""
        return PROTOCOLS[self.settings.protocol].declared(self._specs)

    @property
    def opening(self) -> Stack:
        """The prompt stack of each request."""
        return whole_stack(self.stack, PROTOCOLS[self.settings.protocol], self._specs)

    @property
    def _specs(self) -> Sequence[ToolSpec]:
        functions = self.functions(1) if self.functions is not None else ()
        browser = [Browser.spec] if KINDS[self.settings.kind].browses else []
        return [*specs_of(self.place.tools), *browser, *(function.spec for function in functions)]

    @property
    def identity(self) -> Mapping[str, str]:
        """Digests of the folders that judge the task, and of what it begins with."""
        return {folder.name: _digest(folder) for folder in self.judged_by}

    @property
    def calls(self) -> int:
        """The most model calls that a run makes, where none must be corrected."""
        return self.settings.max_iterations + 1

    async def play(
        self, run: int, model: ChatModel, *, observe: Observer, idle: Idle, known: Known | None
    ) -> tuple[Transcript, Evaluation]:
        """Have the agent work on the task, and the verifier look at what came of it.

        The sandbox is there before the model is asked for anything. What ends the run early carries the transcript.
        """
        with observed(observe):
            place = replace(self.place, secrets=self.variables())
            async with self.host.sandbox(self.settings.environment, place, idle) as sandbox:
                tell("sandbox", **_described(sandbox))
                async with idle():
                    functions = await in_thread(self.functions, run) if self.functions is not None else ()
                    begun = await in_thread(self._begin, sandbox, name="setup")
                done = await self._work(model, sandbox, functions, idle, known)
                transcript = done.transcript(run)
                with _carrying(transcript):
                    async with idle():
                        evaluation = await in_thread(self._judged, sandbox, done, begun, name="the verifier")
                if self.place.keep and evaluation.outcome is not Outcome.PASS:
                    tell("note", text=f"the sandbox was left; enter it with: {sandbox.leave()}")
                return transcript, evaluation

    async def _work(
        self, model: ChatModel, sandbox: Sandbox, functions: Sequence[Tool], idle: Idle, known: Known | None
    ) -> Work:
        settings = self.settings
        sources = await in_thread(self.sources, name="context sources") if self.sources is not None else ()
        return await work(
            self.instruction,
            model=model,
            stack=self.stack,
            bot=settings.bot,
            sandbox=sandbox,
            timeout=settings.timeout,
            protocol=settings.protocol,
            max_iterations=settings.max_iterations,
            command_timeout=settings.command_timeout,
            tools=self.place.tools,
            functions=functions,
            browses=KINDS[settings.kind].browses,
            idle=idle,
            known=known,
            corrections=settings.corrections,
            sources=sources,
        )

    def _begin(self, sandbox: Sandbox) -> int | None:
        """Set the tools up; where it matters, the number of processes before the agent has any."""
        setup(sandbox, self.place.tools)
        return processes(sandbox) if self.alone else None

    def _judged(self, sandbox: Sandbox, done: Work, begun: int | None) -> Evaluation:
        """What the verifier finds, and what is kept of the sandbox, where so many processes had `begun` before."""
        for note in uninstall(sandbox, self.place.tools):
            tell("note", text=note)
        tell_of_changes(sandbox)
        if self.verifier is None:
            gone = Verification(Outcome.FAIL, f"the agent could not go on: {done.error}")
            return Evaluation((_finding(gone),) if done.failure is not None else ())
        found = verify(sandbox, self.verifier, done.result or "")
        left = begun is not None and (processes(sandbox) or 0) > begun
        if left and found.outcome is Outcome.PASS:
            found = verify_alone(sandbox, self.verifier, done.result or "")
        tell_of_verification(found)
        tell(CLAIMED, claims=claim(done), verified=found.outcome.value, differs=_differs(done, found))
        if found.outcome is Outcome.PASS and self.write_back is not None:
            tell("note", text=self.write_back(sandbox))
        return Evaluation((_finding(found, done),))


def _digest(folder: Path) -> str:
    """What tells the contents of this folder from any others."""
    whole = hashlib.sha256()
    for path, (data, mode) in files_of(folder, "").items():
        whole.update(f"{path} {mode:o} {len(data)}\n".encode(errors="surrogateescape") + data)
    return whole.hexdigest()[:12]


def _described(sandbox: Sandbox) -> dict[str, Any]:
    info = sandbox.info
    return {
        "environment": info.environment,
        "image": info.image,
        "user": info.user,
        "limits": dict(info.limits),
        "notes": list(info.notes),
    }


def tell_of_changes(sandbox: Sandbox) -> None:
    """Tell what the sandbox's folder has become: the names of what changed, and the diff."""
    changes = [f"{change.kind} {change.path}" for change in sandbox.changes()]
    if changes:
        tell("changes", changes=changes, diff=sandbox.diff(DIFF))


def tell_of_verification(found: Verification) -> None:
    """Tell what the verifier said, with all that it wrote."""
    ran = found.ran
    written = {} if ran is None else {"return_code": ran.return_code, "output": ran.output, "error": ran.error}
    tell("verifier", outcome=found.outcome.value, reward=found.reward, notes=list(found.notes), **written)


def claim(done: Work) -> str:
    """What the agent said of itself."""
    return {
        "done": "that it is done",
        "limit": f"nothing: its {done.iterations} commands were used up",
        "timeout": "nothing: its time was up",
        "error": f"nothing: it could not go on, for {done.error}",
    }[done.end]


def _differs(done: Work, found: Verification) -> bool:
    """Whether the agent's own word is another than the verifier's."""
    return (done.end == "done") != (found.outcome is Outcome.PASS) and found.outcome is not Outcome.ERROR


def _finding(found: Verification, done: Work | None = None) -> Finding:
    reason = "\n".join(filter(None, (found.reason, *found.notes)))
    if done is not None and found.outcome is Outcome.FAIL:
        said = f": «{clip(done.result.strip(), 200)}»" if done.result and done.result.strip() else ""
        reason += f"\nthe agent said {claim(done)}{said}"
    return Finding(TURN, "verifier", found.outcome, reason if found.outcome is not Outcome.PASS else "")


@contextmanager
def _carrying(transcript: Transcript) -> Iterator[None]:
    """Have an error in the block know what was said before it."""
    try:
        yield
    except BaseException as error:
        vars(error).setdefault("transcript", transcript)
        raise
