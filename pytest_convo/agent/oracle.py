"""Whether a task is sound: its own solution must pass, and a workspace that nobody touched must not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..agreement.outcome import Outcome
from ..bot.events import observed, tell
from ..bot.threads import in_thread
from ..check.run import Evaluation, Finding
from ..conversation.message import Message
from ..conversation.transcript import Transcript
from ..sandbox.toolset import setup
from ..texts import clip, one_line
from .task import TURN, tell_of_changes, tell_of_verification
from .verifier import ROOT, Verification, Verifier, files_of, verify

if TYPE_CHECKING:
    from ..bot.answer import Idle
    from ..bot.events import Observer
    from ..bot.model import ChatModel
    from ..bot.tools import Known
    from ..prompt.request import ToolSpec
    from ..sandbox.base import Sandbox, SandboxSpec
    from .host import Host

SOLUTION = "/solution"


@dataclass(frozen=True, slots=True)
class OraclePlayer:
    """Plays a task with its solution in the agent's place; a `run.measure.Player` that asks no model."""

    instruction: str
    environment: str
    place: SandboxSpec
    host: Host
    verifier: Verifier
    solution: Path
    timeout: float
    variables: Callable[[], Mapping[str, str]] = dict
    own_variables: Callable[[], Mapping[str, str]] = dict
    """Those of the solution alone."""
    declared: Sequence[ToolSpec] = ()
    identity: Mapping[str, str] = field(default_factory=dict)
    calls: int = 0

    async def play(
        self,
        run: int,
        model: ChatModel,  # noqa: ARG002
        *,
        observe: Observer,
        idle: Idle,
        known: Known | None,  # noqa: ARG002
    ) -> tuple[Transcript, Evaluation]:
        """Verify the task untouched, and then with its solution."""
        messages = (Message("user", self.instruction),)
        with observed(observe):
            place = replace(self.place, secrets=self.variables())
            async with self.host.sandbox(self.environment, place, idle) as sandbox, idle():
                untouched = await in_thread(self._untouched, sandbox)
            tell_of_verification(untouched)
            solved = await self._solved(place, idle) if untouched.outcome is Outcome.FAIL else None
        return Transcript(messages, (), run=run), Evaluation((_finding(untouched, solved),))

    async def _solved(self, place: SandboxSpec, idle: Idle) -> Verification:
        with_solution = replace(place, closed=(*place.closed, SOLUTION))
        async with self.host.sandbox(self.environment, with_solution, idle) as sandbox, idle():
            found = await in_thread(self._solve, sandbox)
        tell_of_verification(found)
        return found

    def _untouched(self, sandbox: Sandbox) -> Verification:
        setup(sandbox, self.place.tools)
        return verify(sandbox, self.verifier)

    def _solve(self, sandbox: Sandbox) -> Verification:
        setup(sandbox, self.place.tools)
        sandbox.write_files(files_of(self.solution, SOLUTION), trusted=True)
        command = f'exec "{ROOT}{SOLUTION}/solve.sh"'
        ran = sandbox.execute(command, self.timeout, trusted=True, variables=self.own_variables())
        tell("solution", return_code=ran.return_code, output=ran.output, error=ran.error, killed=ran.killed)
        tell_of_changes(sandbox)
        found = verify(sandbox, self.verifier, ran.output)
        if ran.ok:
            return found
        ended = f"was killed ({ran.killed})" if ran.killed else f"ended with {ran.return_code}"
        said = clip(one_line(ran.error or ran.output), 300)
        note = ": ".join(filter(None, (f"solve.sh {ended}", said)))
        return replace(found, notes=(*found.notes, note))


def _finding(untouched: Verification, solved: Verification | None) -> Finding:
    """What is wrong with the task; a verifier that could not say anything is wrong, too."""
    if untouched.outcome is Outcome.PASS:
        return _broken("the verifier passes a workspace that nobody has touched")
    found = untouched if solved is None else solved
    if found.outcome is Outcome.PASS:
        return Finding(TURN, "oracle", Outcome.PASS)
    state = "the untouched workspace" if solved is None else "the task's own solution"
    return _broken("\n".join([f"of {state} {found.reason}", *found.notes]))


def _broken(reason: str) -> Finding:
    return Finding(TURN, "oracle", Outcome.FAIL, f"broken task: {reason}")
