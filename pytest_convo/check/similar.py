"""Checks of likeness: how much of its wording the reply shares with a text, and how near it comes to its meaning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..bot.model import Around, ChatModel
from ..conversation.reply import Reply
from ..conversation.transcript import Transcript, Turn
from ..prompt.request import Request
from .base import CheckResult, ReplyCheck
from .show import quoted, said


@dataclass(frozen=True, slots=True)
class Similar(ReplyCheck):
    """The token-set ratio (0 to 1, rapidfuzz) of the reply to the text is `at_least` this.

    Case, punctuation, order and repetition of words do not count. The ratio is of the words that are in both to those
    that are in one only: a short text all of whose words are in the reply has 1, whatever else the reply says.
    """

    text: str
    at_least: float = 0.8
    name = "similar"

    def judge(self, reply: Reply) -> CheckResult:
        ratio = similarity(self.text, reply.text)
        if ratio >= self.at_least:
            return CheckResult.passed()
        far = f"similarity {_below(ratio, self.at_least)} is below {self.at_least:g}"
        return CheckResult.failed(far, f"  the text: {quoted(self.text, 400)}", self._not_said(reply), said(reply.text))

    def _not_said(self, reply: Reply) -> str:
        said = set(_words(reply.text))
        missing = [word for word in _words(self.text) if word not in said]
        return f"  not in the reply: {' '.join(missing[:20])}" if missing else ""


@dataclass(frozen=True, slots=True)
class SimilarByMeaning:
    """The similarity of the reply to the text, as `model` embeds the two (`bot.embedding`), is `at_least` this.

    What counts as similar is a matter of the model: unrelated texts have 0.1 with one, and 0.7 with another. `make`
    gives who is asked. An `AskingCheck`.
    """

    text: str
    at_least: float
    model: str
    make: Callable[[], ChatModel]
    name = "similar"
    calls = (1, 1)

    @property
    def identity(self) -> Sequence[object]:
        return [self.model]

    def preview(self, reply: str) -> Request:
        from ..bot.embedding import comparison

        return comparison(self.model, self.text, reply)

    async def ask(self, transcript: Transcript, turn: Turn, around: Around) -> CheckResult:  # noqa: ARG002  (of the interface)
        from ..bot import embedding

        reply = turn.reply.text
        cosine = await embedding.similarity(around(self.make), self.model, self.text, reply)
        if cosine >= self.at_least:
            return CheckResult.passed()
        far = f"similarity {_below(cosine, self.at_least)} in meaning ({self.model}) is below {self.at_least:g}"
        return CheckResult.failed(far, f"  the text: {quoted(self.text, 400)}", said(reply))


def similarity(text: str, other: str) -> float:
    """Token-set ratio of the two, from 0 to 1."""
    from rapidfuzz.fuzz import token_set_ratio
    from rapidfuzz.utils import default_process

    return token_set_ratio(text, other, processor=default_process) / 100


def _below(ratio: float, at_least: float) -> str:
    """The ratio, to as many digits as tell it from the limit."""
    short = f"{ratio:.2f}"
    return short if float(short) < at_least else f"{ratio:.6f}"


def _words(text: str) -> Sequence[str]:
    from rapidfuzz.utils import default_process

    return list(dict.fromkeys(default_process(text).split()))
