"""The choice among a script's replies: which one answers now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from ..errors import FormatError, ScriptExhausted
from ..prompt.request import Request
from .script import Entry, Script
from .script_answer import Answer, ApiMessages, answer_with, last_asked
from .script_reply import ScriptedReply

_EXCERPT = 80
_LISTED = 8


class Reading:
    """One reading of a script, which remembers what was used up and drawn.

    A draw depends on the seed, the entry and the `question` alone, never on time or on other questions. With a `run`
    (from 1), which is how a model for one run of a conversation reads, run i gets card i of the question's deck, and
    asked again in the same run, card i of another deck. Without one, which is how a server for many runs reads, the
    j-th time that a question is asked gets card j: which answers n equal questions get together is fixed, whatever the
    order in which they arrive.
    """

    def __init__(self, script: Script, seed: str, run: int | None = None) -> None:
        self.script = script
        self._seed = seed
        self._run = run
        self._used: Counter[int] = Counter()
        self._asked: Counter[tuple[int, str]] = Counter()

    def answer(self, messages: ApiMessages, question: Callable[[str], str], request: Callable[[], Request]) -> Answer:
        """The next answer to `messages`; `ScriptExhausted` where there is none.

        `question` makes, of the last message's text, what tells one question from another; `request` makes what a
        script that is a function is called with.
        """
        if self.script.function is not None:
            return answer_with(_said(self.script.function(request())), None, messages)
        asked = last_asked(messages)
        for entry in self.script.entries:
            match = entry.match(asked)
            if match is not False and self._left(entry):
                self._used[entry.index] += 1
                reply = self._drawn(entry, question(asked)) if entry.weights else entry.replies[0]
                return answer_with(reply, match, messages)
        raise self._exhausted(asked)

    def _left(self, entry: Entry) -> bool:
        times = entry.replies[0].times
        return times is None or self._used[entry.index] < times

    def _drawn(self, entry: Entry, question: str) -> ScriptedReply:
        before = self._asked[entry.index, question]
        self._asked[entry.index, question] += 1
        seed = f"{self._seed}|{entry.index}|{question}"
        if self._run is None:
            return entry.pick(seed, before)
        return entry.pick(f"{seed}|{before}", self._run - 1)

    def _exhausted(self, asked: str) -> ScriptExhausted:
        excerpt = asked if len(asked) <= _EXCERPT else asked[:_EXCERPT] + "…"
        patterns = [self._described(entry) for entry in self.script.entries[:_LISTED]]
        more = len(self.script.entries) - _LISTED
        listed = ", ".join(patterns + ([f"and {more} more"] if more > 0 else [])) or "none"
        msg = f"the script has no reply left for {excerpt!r}"
        return ScriptExhausted(msg, path=self.script.path, hint=f"it answers: {listed}")

    def _described(self, entry: Entry) -> str:
        pattern = "any message" if entry.pattern is None else repr(entry.pattern.pattern)
        return pattern if self._left(entry) else f"{pattern} (used up)"


def _said(said: str | ScriptedReply) -> ScriptedReply:
    if isinstance(said, str):
        return ScriptedReply(text=said)
    if not isinstance(said, ScriptedReply):
        msg = f"a script's function must return a str or a ScriptedReply, not {type(said).__name__}"
        raise FormatError(msg)
    return said
