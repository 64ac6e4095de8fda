"""A bench of sessions: each text is tried out by pytest itself, on the items in question, within the loop's limits."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..conversation.message import Message
from ..errors import HarnessError
from .bench import LimitReached, Measured, Trouble
from .order import Order, Result, Writing
from .reading import scores_of
from .sessions import TimeIsUp, run

AMOUNTS = ("calls", "tokens", "usd")


@dataclass(frozen=True, slots=True)
class Limits:
    """What a loop may take; None is no limit. What it took in earlier sessions counts."""

    calls: float | None = None
    tokens: float | None = None
    usd: float | None = None
    seconds: float | None = None

    def named(self) -> dict[str, float]:
        given = {name: getattr(self, name) for name in (*AMOUNTS, "seconds")}
        return {name: limit for name, limit in given.items() if limit is not None}


@dataclass(frozen=True, slots=True)
class Place:
    """Where sessions are started, and whose prompt is tried out."""

    arguments: Sequence[str]
    """The user's command line."""
    directory: Path
    """Where it was typed."""
    rootdir: Path
    prompt: str
    """The real path of the prompt."""
    asks: str
    """The directory whose settings and conftests say who rewrites."""
    settings: Mapping[str, Any]
    folder: Path
    """The loop's own."""


class Sessions:
    """A `Bench` whose sessions are processes; `spent` is what earlier ones of the same loop took."""

    def __init__(self, place: Place, limits: Limits, spent: Mapping[str, float]) -> None:
        self._place = place
        self._limits = limits
        self._spent = {name: spent.get(name, 0.0) for name in AMOUNTS}
        self._seconds = spent.get("seconds", 0.0)
        self._began = time.monotonic()

    @property
    def spent(self) -> Mapping[str, float]:
        """What all of it took by now."""
        return {**self._spent, "seconds": self._seconds + time.monotonic() - self._began}

    def measure(self, text: str, ids: Sequence[str], *, number: int, again: int = 0, give_up: int = 0) -> Measured:
        """How these items do under a text, in a session of their own."""
        order = Order(
            result=str(self._folder(number) / "result.json"),
            groups=list(ids),
            prompts={self._place.prompt: text},
            again=again,
            maxfail=give_up,
            caps=self._left(),
            keep=str((self._folder(number) / (f"runs-{again}" if again else "runs")).relative_to(self._place.rootdir)),
        )
        result = self._run(order, number)
        if result.capped:
            raise LimitReached(self._reached())
        scores = scores_of(result.groups)
        missing = [id_ for id_ in ids if id_ not in scores]
        problem = result.problems[0] if result.problems and missing else ""
        if missing and not problem and not give_up:
            msg = f"{missing[0]} was not run, and nobody says why: see {self._folder(number)}/output.txt"
            raise Trouble(msg)
        return Measured(scores, problem)

    def write(self, messages: Sequence[Message], *, number: int, asked: int) -> str:
        """What the rewriter answers, asked in a session that runs nothing."""
        said = [(message.role, message.text) for message in messages]
        writing = Writing(said, self._place.asks, dict(self._place.settings), asked)
        result = self._run(
            Order(
                result=str(self._folder(number) / "result.json"),
                groups=[Path(self._place.asks).relative_to(self._place.rootdir).as_posix()],
                caps=self._left(),
                writing=writing,
            ),
            number,
        )
        if result.capped:
            raise LimitReached(self._reached())
        if result.reply is None:
            raise Trouble(result.error or "\n".join(result.problems) or "the rewriter was not asked")
        return result.reply

    def _run(self, order: Order, number: int) -> Result:
        place = self._place
        left = None if self._limits.seconds is None else self._limits.seconds - self.spent["seconds"]
        if left is not None and left <= 0:
            raise LimitReached(self._reached("seconds"))
        until = None if left is None else time.monotonic() + left
        try:
            result = run(order, place.arguments, place.directory, self._folder(number), until=until)
        except TimeIsUp:
            self._enter(order)
            raise LimitReached(self._reached("seconds")) from None
        except HarnessError as error:
            raise Trouble(str(error)) from None
        except KeyboardInterrupt:
            self._enter(order)
            raise
        self._enter(order)
        return result

    def _enter(self, order: Order) -> None:
        """Enter what a session took, also one that was interrupted and had time to say so."""
        if (path := Path(order.result)).exists():
            spent = Result.read(path).spent
            for name in AMOUNTS:
                self._spent[name] += spent.get(name, 0.0)

    def _left(self) -> dict[str, float]:
        """What a session may spend; `LimitReached` where that is nothing."""
        left = {name: limit - self._spent[name] for name, limit in self._limits.named().items() if name in AMOUNTS}
        if spent := next((name for name, amount in left.items() if amount <= 0), None):
            raise LimitReached(self._reached(spent))
        return {name: amount if name == "usd" else int(amount) for name, amount in left.items()}

    def _reached(self, name: str | None = None) -> str:
        """Which limit it was, in words."""
        spent, limits = self.spent, self._limits.named()
        nearest = max(limits, key=lambda one: spent[one] / limits[one], default="calls")
        chosen = name or nearest
        amount = limits.get(chosen, 0.0)
        words = {
            "seconds": f"{amount / 60:g} minutes",
            "calls": f"{amount:g} calls",
            "tokens": f"{amount:g} tokens",
            "usd": f"${amount:g}",
        }
        return f"{words[chosen]}, and that is what it may take"

    def _folder(self, number: int) -> Path:
        folder = self._place.folder / f"{number:03}"
        folder.mkdir(parents=True, exist_ok=True)
        return folder
