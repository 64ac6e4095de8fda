"""One turn's answer in the making: shown while it arrives, and written where it belongs."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

from ..conversation.message import Message
from ..conversation.reply import Reply
from ..errors import BotFailure, ConvoError, RedactionError
from ..redaction import Redactor
from ..texts import clip, one_line
from .listener import Teller
from .pages import Pages, Unkept, pages
from .paper import Paper
from .settled import Settled, settled

_VOIDING = ("request", "retry")
"""The kinds of events after which the turn is said anew, if anything was said of it."""


class Sheet:
    """A `bot.scribe.Sheet` that tells a listener, and writes where it has paper; nothing secret comes out of it."""

    def __init__(self, teller: Teller, redactor: Redactor, paper: Paper | None = None) -> None:
        self.answer: Message | None = None
        """The answer, once it has been written."""
        self._teller = teller
        self._redactor = redactor
        self._paper = paper
        self._text = Settled(redactor)
        self._begun = False
        self._void = False
        self._ended = False
        self._lock = threading.Lock()

    def say(self, piece: str) -> None:
        with self._lock:
            if self._ended:
                return
            if self._void:
                self._begin_anew()
            self._begun = True
            void, text = self._text.add(piece)
            if void:
                self._tell_void()
            if text:
                self._teller.tell("piece", text=text)
                if self._paper is not None:
                    self._paper.grow(text)

    def observe(self, event: Mapping[str, Any]) -> None:
        if event["kind"] in _VOIDING and self._begun:
            self._void = True  # by the next piece at the latest: what was said may be read until then

    def finish(self, reply: Reply, messages: Sequence[Message]) -> None:
        with self._lock:
            self._ended = True
            if self._paper is None:
                if reply.whole:
                    self._teller.tell("whole", text=self._redactor.text(reply.text), file=None)
            elif not reply.whole:
                self._cut_off(self._paper, reply)
            elif not reply.text.strip() and not messages[-1].tool_calls:
                self._empty(self._paper, reply)
            else:
                self._write(self._paper, messages)

    def give_up(self, error: BaseException) -> None:
        """The turn ended in an error.

        What had arrived of an answer stays, marked; but nothing of one that somebody called off, or that was void.
        """
        with self._lock:
            if self._ended or self._paper is None:
                return
            self._ended = True
            called_off = not isinstance(error, Exception) or isinstance(error, RedactionError)
            if called_off or self._void or not self._text.text:
                self._paper.give_up()
            else:
                self._paper.cut_off(self._text.text, self._why(error))

    def _begin_anew(self) -> None:
        self._text, self._begun, self._void = Settled(self._redactor), False, False
        self._tell_void()

    def _tell_void(self) -> None:
        self._teller.tell("again")
        if self._paper is not None:
            self._paper.anew()

    def _write(self, paper: Paper, messages: Sequence[Message]) -> None:
        written = self._pages(paper, messages)
        path, error = paper.write(written)
        self._teller.tell("whole", text=written.text, file=str(path))
        if error is not None:
            raise error
        self.answer = messages[-1]

    def _pages(self, paper: Paper, messages: Sequence[Message]) -> Pages:
        try:
            return pages(messages, self._redactor)
        except Unkept as error:
            paper.give_up()
            msg = f"{paper.name} cannot be written: {error}"
            raise ConvoError(msg, hint="no file can hold such an answer") from None
        except RedactionError:
            paper.give_up()
            raise

    def _cut_off(self, paper: Paper, reply: Reply) -> None:
        why = _ended(reply)
        if said := settled(reply.text, self._redactor):
            paper.cut_off(said, why)
            where = f"what there is of it is in {paper.name}.partial"
        else:
            paper.give_up()
            where = "it said nothing"
        msg = f"turn {self._teller.index}: the reply was cut off ({why}), so {paper.name} is not written; {where}"
        raise BotFailure(msg, hint="raise the limit of tokens, or shorten what is asked")

    def _empty(self, paper: Paper, reply: Reply) -> None:
        paper.give_up()
        refusal = reply.extra.get("refusal")
        why = f"the model refused: {clip(refusal, 300)}" if isinstance(refusal, str) else "the reply is empty"
        msg = f"turn {self._teller.index}: {why} ({_ended(reply)}), so {paper.name} is not written"
        raise BotFailure(msg)

    def _why(self, error: BaseException) -> str:
        what = error.what if isinstance(error, ConvoError) else type(error).__name__
        return clip(one_line(self._redactor.text(what)), 200).replace("--", "-")


def _ended(reply: Reply) -> str:
    return f"finish_reason {one_line(reply.finish_reason or 'not given')}"
