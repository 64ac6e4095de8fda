"""`--convo-judge-check`: a judge is given replies whose verdict is known, before it judges any other."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from ..bot.deadline import untimed, within
from ..bot.events import tell
from ..bot.model import replied
from ..bot.threads import in_thread
from ..check.base import CheckResult
from ..check.judged import Judged
from ..judge.probes import FILE, Probe, read_probes
from ..judge.question import Question
from ..judge.selftest import SelfTest, self_test
from ..run.told import JUDGE_CHECK
from ..settings.files import nearest
from .recordings import of_probes
from .state import State

if TYPE_CHECKING:
    from ..bot.model import Around, ChatModel
    from ..conversation.reply import Reply
    from ..conversation.transcript import Transcript, Turn
    from ..prompt.request import Request
    from ..record.recording import RunRecording
    from ..redaction import Redactor
    from ..settings.model import Settings

POLL = 0.05
"""Seconds between two looks at whether another process has the result."""


@dataclass(frozen=True)
class Probing:
    """What the judges of a conversation are checked with: the probes, and where it is recorded what they said."""

    state: State
    home: Path
    """The directory beside which it is recorded: of the file of probes, for all conversations that share it."""
    redactor: Redactor
    timeout: float
    """Seconds that one judgement of a probe may take."""
    probes: tuple[Probe, ...]

    @classmethod
    def of(
        cls, state: State, directory: Path, settings: Settings, redactor: Redactor, approved: Probe | None
    ) -> Probing:
        """The probes of the user's file, and the approved reply of the turn, if there is one; raises `FormatError`."""
        path = settings.judge.probes or nearest(FILE, directory, state.config.rootpath)
        probes = read_probes(path) if path is not None else ()
        home = path.parent if path is not None and approved is None else directory
        return cls(state, home, redactor, settings.timeout, probes if approved is None else (*probes, approved))


@dataclass(frozen=True)
class Probed:
    """A check by a judge that must have passed its own probes. An `AskingCheck`."""

    check: Judged
    probing: Probing
    name = "judge"

    @property
    def calls(self) -> tuple[int, int]:
        return self.check.calls

    @property
    def identity(self) -> Sequence[object]:
        return self.check.identity

    def preview(self, reply: str) -> Request:
        return self.check.preview(reply)

    async def ask(self, transcript: Transcript, turn: Turn, around: Around) -> CheckResult:
        with untimed():
            found = await self._result()
        if not found.passed:
            first, *others = found.lines()
            return CheckResult.unusable(f"the judge fails its own probes: {first}", *others)
        return await self.check.ask(transcript, turn, around)

    @property
    def recording(self) -> RunRecording:
        """What the judge said of its probes."""
        return of_probes(self.probing.state, self.probing.home, self._digest[:8], self.probing.redactor)

    @cached_property
    def _probes(self) -> list[Probe]:
        return [probe for probe in self.probing.probes if probe.of(self.check.criterion)]

    @cached_property
    def _digest(self) -> str:
        """Of who judges by what, and of the probes: the same judge is checked once in a session."""
        probes = [[probe.reply, probe.passes, *(one.to_api() for one in probe.before)] for probe in self._probes]
        text = json.dumps([str(self.probing.home), self.check.criterion, self.identity, probes], default=str)
        return sha256(text.encode(errors="backslashreplace")).hexdigest()

    async def _result(self) -> SelfTest:
        """How the judge did, in whichever process of the session it is checked."""
        ledger, key = self.probing.state.runs.ledger, f"judge check {self._digest}"
        while not ledger.claim(key):
            made = ledger.fetch(key)
            if made is not None:
                return SelfTest.of_dict(made)
            await asyncio.sleep(POLL)
        try:
            found = await self._test()
        except BaseException:
            ledger.release(key)
            raise
        ledger.deliver(key, found.to_dict())
        tell(JUDGE_CHECK, **found.to_dict())
        return found

    async def _test(self) -> SelfTest:
        recording = self.recording

        def around(make: Callable[[], ChatModel]) -> ChatModel:
            return _Timed(recording.around(make), self.probing.timeout)

        found = await self_test(self.check.judge, self.check.criterion, self._probes, self._question, around)
        if recording.unsaved:
            await in_thread(recording.save)
        return found

    def _question(self, probe: Probe) -> Question:
        return self.check.question(probe.reply, before=probe.before)


@dataclass(frozen=True, slots=True)
class _Timed:
    """A judge that has so many seconds for an answer; `RunTimeout` where it takes longer."""

    model: ChatModel
    seconds: float

    async def complete(self, request: Request, stream: Callable[[str], None] | None = None) -> Reply:
        async with within(self.seconds):
            return replied(self.model, await self.model.complete(request, stream))
