"""The check against the approved reply of a turn: the assistant file that stands where the bot answers again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from ..agreement.classes import normalise
from ..conversation.message import Message
from ..conversation.reply import NotJSON, Reply
from ..errors import CheckError
from ..texts import word_diff
from .base import CheckResult, ReplyCheck
from .show import indented, listed, said
from .similar import Similar
from .values import differences

Mode = Literal["exact", "normalized", "json", "similar"]
MODES: tuple[Mode, ...] = get_args(Mode)

UPDATE = "  --snapshot-update approves the new answer"


@dataclass(frozen=True, slots=True)
class Approved(ReplyCheck):
    """The reply is like the approved `text`.

    "exact": character by character, one final newline apart; "normalized": Unicode form, case, white space and
    emphasis apart; "json": the same JSON value, each the whole text or the one fenced block in it; "similar": as the
    check `similar` has it, by its least similarity.
    """

    text: str
    mode: Mode = "exact"
    name = "approved"

    def judge(self, reply: Reply) -> CheckResult:
        unlike = _UNLIKE[self.mode](self.text, reply)
        if not unlike:
            return CheckResult.passed()
        why, *places = unlike
        diff = indented(word_diff(self.text.removesuffix("\n"), reply.text.removesuffix("\n")))
        return CheckResult.failed(f"{why}: [-approved-] {{+said+}}", *places, diff, UPDATE)


@dataclass(frozen=True, slots=True)
class NothingApproved(ReplyCheck):
    """Fails, whatever the reply: no file says what was approved."""

    name = "approved"

    def judge(self, reply: Reply) -> CheckResult:
        return CheckResult.failed("no reply of this turn is approved yet", said(reply.text), UPDATE)


def approved(message: Message | None, mode: Mode) -> Approved | NothingApproved:
    """The check against a turn's message in `Conversation.approved`, or against there being none."""
    return NothingApproved() if message is None else Approved(message.text, mode)


def alike(mode: Mode, text: str, other: str) -> bool:
    """Whether `other` would pass for the approved `text`; a text that is not JSON is like none by "json"."""
    try:
        return not _UNLIKE[mode](text, Reply(other))
    except CheckError:
        return False


def _exact(text: str, reply: Reply) -> Sequence[str]:
    same = reply.text.removesuffix("\n") == text.removesuffix("\n")
    return () if same else ("the reply is not the approved one",)


def _normalized(text: str, reply: Reply) -> Sequence[str]:
    return () if normalise(reply.text) == normalise(text) else ("the reply does not say what the approved one says",)


def _json(text: str, reply: Reply) -> Sequence[str]:
    try:
        wanted = _value(Reply(text))
    except NotJSON as error:
        msg = f"the approved reply is no JSON: {_first_line(error)}"
        raise CheckError(msg, hint=f"compare it otherwise, as approved = {MODES[0]!r}; or {UPDATE.lstrip()}") from None
    try:
        places = list(differences(wanted, _value(reply)))
    except NotJSON as error:
        return (_first_line(error),)
    where = "in one place" if len(places) == 1 else f"in {len(places)} places"
    return (f"the JSON is not that of the approved reply {where}", listed(places)) if places else ()


def _similar(text: str, reply: Reply) -> Sequence[str]:
    if not _exact(text, reply):
        return ()  # a text without a word is similar to none, not even to itself
    far = Similar(text).judge(reply).reason.partition("\n")[0]
    return (f"{far}, to the approved reply",) if far else ()


_UNLIKE: Mapping[Mode, Callable[[str, Reply], Sequence[str]]] = {
    "exact": _exact,
    "normalized": _normalized,
    "json": _json,
    "similar": _similar,
}
"""Mode → in what the reply is unlike the text: nothing, or a sentence and the places."""


def _value(reply: Reply) -> Any:
    try:
        return reply.json()
    except RecursionError:
        msg = "it is nested too deeply to be read as JSON"
        raise NotJSON(msg) from None


def _first_line(error: NotJSON) -> str:
    return str(error).partition("\n")[0].removesuffix(":")
