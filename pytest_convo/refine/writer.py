"""The next text: from which one to go on, what the rewriter is told, and whether what it writes may be tried at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .attempts import Attempt
from .bench import Bench
from .choosing import parent, to_merge
from .cost import ASKS
from .ends import End, Ended
from .guards import most, objections, same
from .items import Item, Scores
from .question import ask
from .split import Split
from .withhold import hidden, withhold
from .written import Unwritten, keeping, read

TOO_NARROW = (
    "An attempt passes every case that you are shown, and breaks others that passed before. Change less, and write what"
    " holds in general."
)
SAME = "That is the text of an earlier attempt, or of the prompt itself: write another one."


@dataclass(frozen=True, slots=True)
class Terms:
    """What a loop is told once."""

    correction: str = ""
    attempts: int = 8
    template: bool = False
    """Whether the prompt is a template, whose tags mean something."""


class Writer:
    """Has texts written; it knows of the training items, and of others only what must not be said of them."""

    def __init__(self, text: str, items: Sequence[Item], split: Split, terms: Terms, bench: Bench) -> None:
        self._text, self._terms, self._bench = text, terms, bench
        self.merges: list[tuple[int, int, int]] = []
        """Which two attempts were to be made one, and which attempt came of it."""
        self._asked = 0
        known = {item.id: item for item in items}
        self._training = split.training
        self._chosen_by = (*split.training, *split.validation)
        self._shown = [known[id_] for id_ in split.training]
        unseen = [known[id_] for id_ in split.unseen]
        self._hidden = hidden(unseen, self._shown, [text, terms.correction])

    def write(self, tried: Sequence[Attempt], *, too_narrow: bool = False) -> tuple[Attempt, str]:
        """The next attempt, not measured yet, and why it was written so; refused where every answer was.

        Raises `Ended` where nothing new is to be had.

        `too_narrow`: what passes all that is shown has broken something else.
        """
        number = len(tried)
        base, other = self._bases(tried)
        refused: list[str] = [TOO_NARROW] if too_narrow else []
        text, reason, repeated = "", "", 0
        for _ in range(ASKS):
            try:
                answer = read(self._ask(base, other, tried, refused))
            except Unwritten as error:
                refused = [str(error)]
                continue
            text, reason = keeping(answer.text, self._text), answer.reason
            if any(same(text, one.text) for one in tried if one.scores):
                refused, repeated = [SAME], repeated + 1
            elif not (refused := self._objections(text)):
                break
        if repeated == ASKS:
            raise Ended(End.NO_PROGRESS, f"the rewriter was asked {ASKS} times, and gave texts that were tried before")
        return Attempt(number, text, {}, tuple(refused)), reason

    def _bases(self, tried: Sequence[Attempt]) -> tuple[Attempt, Attempt | None]:
        """From which text to go on, and which other one to make one with it, if any."""
        number = len(tried)
        pairs = {frozenset(made[:2]) for made in self.merges}
        usable = [attempt for attempt in tried if not attempt.refused]
        if number % 2 or (pair := to_merge(usable, self._training, pairs)) is None:
            return parent(usable, self._chosen_by, number), None
        self.merges.append((pair[0].number, pair[1].number, number))
        return pair

    def _ask(self, base: Attempt, other: Attempt | None, tried: Sequence[Attempt], refused: Sequence[str]) -> str:
        messages = ask(
            base.text,
            self._shown,
            self._of_training(base.scores),
            correction=self._terms.correction,
            attempts=[replace(one, scores=self._of_training(one.scores)) for one in tried[1:]],
            objections=refused,
            merge=None if other is None else other.text,
            limit=most(self._text),
        )
        self._asked += 1
        return self._bench.write(messages, number=len(tried), asked=self._asked)

    def _of_training(self, scores: Scores) -> Scores:
        """What may be told of scores."""
        return withhold({id_: scores[id_] for id_ in self._training if id_ in scores}, self._hidden)

    def _objections(self, text: str) -> list[str]:
        return objections(
            text,
            self._text,
            inputs=[one for item in self._shown for one in (*item.inputs, *item.literals)],
            expected=[one for item in self._shown for one in item.expected],
            tools=sorted({tool for item in self._shown for tool in item.tools}),
            correction=self._terms.correction,
            template=self._terms.template,
        )
