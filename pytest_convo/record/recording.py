"""The recording of one run: what it replays, and what it keeps of what it asks."""

from __future__ import annotations

import hashlib
import time
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..conversation.message import ToolCall
from ..conversation.reply import Reply
from .compare import Asked, ChangedTool, changed_tools, nearest
from .digest import body_of, digest
from .exchange import Exchange, Failure, cleaned
from .format import read, write
from .miss import explain, used_up
from .model import RecordedModel
from .parts import Parts
from .results import recorded_result

if TYPE_CHECKING:
    from ..bot.model import ChatModel
    from ..prompt.request import Request
    from ..redaction import Redactor

Mode = Literal["none", "auto", "new", "all"]
"""`none` replays only; `auto` asks for what is not recorded; `new` also writes that; `all` asks for everything."""

WRITING = ("new", "all")


@dataclass
class Question:
    """The `number`-th request of a run, from 1: what is recorded for it, or else what comes nearest."""

    number: int
    body: Mapping[str, Any]
    digest: str
    recorded: Exchange | None = None
    nearest: Exchange | None = None
    kept: Exchange | None = None
    aside: bool = False

    @cached_property
    def asked(self) -> Asked:
        return Asked.of(self.body)


class RunRecording:
    """What was recorded of one run, for one run at a time on one event loop.

    `path` is the run's file, `root` the `__recordings__` that has its texts. An exchange is found by the digest of its
    whole request, redacted, and by its occurrence: what is asked for the k-th time is answered with what was recorded
    k-th. The file is read when it is first needed; `FormatError` is raised then where it is broken.
    """

    def __init__(self, path: Path, root: Path, mode: Mode, redactor: Redactor) -> None:
        self.path = path
        self.mode = mode
        self.live = 0
        """Exchanges of this run that a model was asked for."""
        self.replayed = 0
        """Exchanges of this run that none was asked for."""
        self.changed_tools: list[ChangedTool] = []
        """Tools that answered otherwise in this run than in the recorded one."""
        self._redactor = redactor
        self._parts = Parts(root)
        self._times: Counter[str] = Counter()
        self._questions: list[Question] = []
        self._met: set[int] = set()
        self._calling: dict[ToolCall, Exchange] = {}
        self._said: list[str] = []

    def around(self, make: Callable[[], ChatModel]) -> ChatModel:
        """A model that answers from this recording; `make` gives the one to ask, and is called when there is need."""
        return RecordedModel(self, make)

    def aside(self, make: Callable[[], ChatModel]) -> ChatModel:
        """The same for who may be asked in one run, and need not be in a replay of it: it is no part of `sample`."""
        return RecordedModel(self, make, aside=True)

    def hide(self, redactor: Redactor) -> None:
        """Take out of what is still to come what `redactor` takes out, too."""
        self._redactor = self._redactor.also(redactor)

    def known_result(self, call: ToolCall) -> str | None:
        """The recorded result of a call in a reply that was replayed; None where there is none."""
        exchange = self._calling.get(call)
        part = recorded_result(call, exchange, self._recorded) if exchange is not None else None
        return self._parts.text(part) if part is not None else None

    @property
    def unsaved(self) -> bool:
        """Whether something was asked that `save` would write."""
        return any(question.kept is not None for question in self._questions)

    @property
    def sample(self) -> str:
        """A digest of all that was answered so far: the same for a run and for each replay of it, and for no other.

        Empty where nothing was answered.
        """
        if not self._said:
            return ""
        return hashlib.sha256("\n".join(sorted(self._said)).encode(errors="backslashreplace")).hexdigest()[:12]

    def save(self) -> None:
        """Write what was asked in this run: `new` adds it to the file, `all` puts it in the file's place.

        Nothing is written in the other modes, nor where no model answered. `HarnessError` where it cannot be.
        """
        kept = []
        for question in self._questions:
            if question.kept is not None:
                self._parts.keep(question.asked.texts)
                kept.append(question.kept)
        if kept:
            write(self.path, [*self._recorded, *kept])

    # -- for the models that are around it

    def ask(self, request: Request, *, aside: bool = False) -> Question:
        """Take on a request; `recorded` in what comes back is what answers it. One `aside` is no part of `sample`."""
        body = self._redactor.now().deep(body_of(request))
        key = digest(body)
        among, occurrence = self._by_digest[key], self._times[key]
        self._times[key] += 1
        question = Question(self._times.total(), body, key, aside=aside)
        if occurrence < len(among):
            question.recorded = among[occurrence]
            self._replay(question, among[occurrence])
            return question
        if self._recorded:
            self._miss(question)
        if self.mode in WRITING:
            self._questions.append(question)  # in the order of asking, whenever it is answered
        return question

    def keep(self, question: Question, answer: Reply | Failure) -> None:
        """A model has answered; what is to be written is redacted here and now."""
        self.live += 1
        if isinstance(answer, Reply):
            for call in answer.calls:
                self._calling.pop(call, None)
        if self.mode in WRITING:
            when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            clean = cleaned(answer, self._redactor.now())
            question.kept = Exchange(question.digest, question.asked.outline, clean, when)
        if not question.aside:
            self._said.append(uuid.uuid4().hex if question.kept is None else _identity(question.kept))

    def explain(self, question: Question) -> str:
        """Why nothing recorded answers `question`: what changed, in a few lines."""
        if among := self._by_digest[question.digest]:
            return used_up(question.number, len(among))
        return explain(question.asked, question.number, question.nearest, self.path, self._parts.as_kept)

    @cached_property
    def _recorded(self) -> list[Exchange]:
        return [] if self.mode == "all" else read(self.path)

    @cached_property
    def _by_digest(self) -> Mapping[str, list[Exchange]]:
        found: defaultdict[str, list[Exchange]] = defaultdict(list)
        for exchange in self._recorded:
            found[exchange.request].append(exchange)
        return found

    def _replay(self, question: Question, exchange: Exchange) -> None:
        self.replayed += 1
        self._met.add(id(exchange))
        if not question.aside:
            self._said.append(_identity(exchange))
        if isinstance(exchange.answer, Reply):
            self._calling |= dict.fromkeys(exchange.answer.calls, exchange)

    def _miss(self, question: Question) -> None:
        """Find the recorded exchange in whose place this one comes, and the tools that made it another."""
        unmet_first = sorted(self._recorded, key=lambda exchange: id(exchange) in self._met)
        question.nearest = then = nearest(question.asked.outline, unmet_first)
        if then is not None:
            self._met.add(id(then))
            changed = changed_tools(question.asked, then.outline, self._parts.as_kept)
            self.changed_tools += [tool for tool in changed if tool not in self.changed_tools]


def _identity(exchange: Exchange) -> str:
    """What tells this answer from that of another recording, be its text the same."""
    said = exchange.answer.text if isinstance(exchange.answer, Reply) else exchange.answer.what
    return f"{exchange.request} {exchange.when} {said}"
