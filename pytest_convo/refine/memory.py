"""A bench that remembers: what was once measured or answered in a loop is there for it again, in any later session.

So a loop that was broken off, wherever that was, is gone on with by beginning it anew: it goes the same way, without a
call, to where it came, and on from there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..conversation.message import Message
from .bench import Bench, Measured
from .items import Scores, troubled
from .journal import Journal


class Memory:
    """A `Bench` around another one, whose results it keeps in the loop's journal."""

    def __init__(self, bench: Bench, journal: Journal) -> None:
        self._bench = bench
        self._journal = journal

    @property
    def spent(self) -> Mapping[str, float]:
        """What all of it took by now."""
        return self._bench.spent

    def measure(self, text: str, ids: Sequence[str], *, number: int, again: int = 0, give_up: int = 0) -> Measured:
        """How these items do, of which only those are run that have not been; errors are not remembered.

        What keeps the prompt as it is from being collected is not, either: it is no fault of a text.
        """
        known, scores, problem = self._journal.measured(number, again, text)
        missing = [id_ for id_ in ids if id_ not in known]
        if missing and not problem:
            measured = self._bench.measure(text, missing, number=number, again=again, give_up=give_up)
            scores = {**scores, **measured.scores}
            problem = measured.problem
            known = [id_ for id_ in (*known, *missing) if id_ not in _open(ids, scores)]
            kept: Scores = {id_: scores[id_] for id_ in known if id_ in scores}
            self._journal.keep_measured(number, again, text, known, kept, problem if number else "")
        return Measured({id_: scores[id_] for id_ in ids if id_ in scores}, problem)

    def write(self, messages: Sequence[Message], *, number: int, asked: int) -> str:
        """What the rewriter answered to this question, or answers now."""
        reply = self._journal.reply(number, asked)
        if reply is None:
            reply = self._bench.write(messages, number=number, asked=asked)
            self._journal.keep_reply(number, asked, [(message.role, message.text) for message in messages], reply)
        return reply


def _open(ids: Sequence[str], scores: Scores) -> set[str]:
    """What must be measured anew: what broke, and then what was not run because so many did not pass."""
    if not (broken := troubled(scores)):
        return set()
    return {*broken, *(id_ for id_ in ids if id_ not in scores or scores[id_].verdict is None)}
