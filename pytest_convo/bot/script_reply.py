"""One reply of a script, and what makes it a valid one."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from ..conversation.reply import Usage
from ..errors import FormatError

REFERENCE = re.compile(r"\\(?:([1-9])|g<(\w+)>)")
r"""A reference to a group of `when`: `\1` to `\9`, or `\g<name>`."""

_NOT_WITH_ERROR = ("pieces", "calls", "finish_reason", "usage", "pause", "cut", "malformed")
_ONLY_WITH_ERROR = ("code", "retry_after")
_NOT_TOGETHER = (("times", "weight"), ("cut", "malformed"))


class ReplyError(FormatError):
    """A reply that no script can have.

    `at` leads to what is wrong in the reply, empty for the whole of it; `number` is the reply's (from 0), where it is
    known.
    """

    def __init__(self, what: str, *, at: tuple[str | int, ...] = (), number: int | None = None, hint: str = "") -> None:
        super().__init__(what, hint=hint)
        self.at = at
        self.number = number


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedReply:
    r"""What a scripted bot answers, and when. Raises `ReplyError` where the fields do not fit together.

    Choice: `when` is a regular expression that is searched for in the last user or tool message (absent: any message).
    `times` is how often the reply may be used (absent: always). `weight` makes it one of a draw: see `Script`.

    A reply: `text` and `calls`, each call `{"name": ..., "arguments": {...}}`, with an `id` where it matters;
    `arguments` that are a text are sent as they stand, to play a bot that writes bad JSON. `finish_reason` is by
    default `tool_calls` or `stop`, `usage` a count of words. Where `when` has groups, `\1` and `\g<name>` in the text
    and in the calls' arguments stand for what they matched; any other backslash is a backslash.

    Streamed, the text comes in `pieces`: a list of texts (which then are the text), a number of characters, or by
    default word by word. The first piece comes after `latency` seconds, each further one after `pause`.

    An error: `error` is the HTTP status, `text` its message, `code` its code, `retry_after` the seconds that the server
    asks to wait. `code="context_length_exceeded"` tells a full context from any other bad request.

    A broken connection: `cut` breaks the reply off after so many pieces, `malformed` sends what is not JSON.
    """

    when: str | None = None
    text: str | None = None
    calls: Sequence[Mapping[str, Any]] = ()
    weight: float | None = None
    times: int | None = None
    error: int | None = None
    code: str | None = None
    retry_after: float | None = None
    latency: float | None = None
    pause: float | None = None
    pieces: Sequence[str] | int | None = None
    finish_reason: str | None = None
    usage: Usage | None = None
    cut: int | None = None
    malformed: bool = False

    def __post_init__(self) -> None:
        for key, (fits, wish) in _RULES.items():
            value = getattr(self, key)
            if value is not None and not fits(value):
                msg = f"{key} must be {wish}, not {value!r}"
                raise ReplyError(msg, at=(key,))
        _together(self)
        _references(self, _compiled(self))

    @property
    def given(self) -> frozenset[str]:
        """The names of the fields that are set."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return frozenset(
            key for key, value in values.items() if not (value is None or value is False or value in ((), []))
        )

    @property
    def pattern(self) -> re.Pattern[str] | None:
        """`when`, compiled; None where any message will do."""
        return None if self.when is None else re.compile(self.when)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _is_call(value: Any) -> bool:
    if not isinstance(value, Mapping) or not value.keys() <= {"name", "arguments", "id"}:
        return False
    named = isinstance(value.get("name"), str) and value["name"] != ""
    return named and isinstance(value.get("arguments", {}), Mapping | str) and isinstance(value.get("id", ""), str)


def _are_pieces(value: Any) -> bool:
    if _is_list(value):
        return all(_is_text(piece) and piece for piece in value)
    return _is_count(value) and value > 0


def _is_usage(value: Any) -> bool:
    return isinstance(value, Usage) and all(
        map(_is_count, (value.prompt_tokens, value.completion_tokens, value.cached_tokens))
    )


_SECONDS = (lambda value: _is_number(value) and value >= 0, "a number of seconds, at least 0")
_RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "when": (_is_text, "a regular expression"),
    "text": (_is_text, "a text"),
    "calls": (
        lambda value: _is_list(value) and all(map(_is_call, value)),
        'a list of { name = "...", arguments = { ... } }',
    ),
    "weight": (lambda value: _is_number(value) and value > 0, "a number above 0"),
    "times": (lambda value: _is_count(value) and value > 0, "a whole number above 0"),
    "error": (lambda value: _is_count(value) and 400 <= value <= 599, "an HTTP status from 400 to 599"),
    "code": (_is_text, "a text"),
    "retry_after": _SECONDS,
    "latency": _SECONDS,
    "pause": _SECONDS,
    "pieces": (_are_pieces, "a list of texts that are not empty, or a number of characters"),
    "finish_reason": (lambda value: _is_text(value) and value != "", 'a text such as "stop" or "length"'),
    "usage": (_is_usage, "whole numbers: { prompt_tokens = ..., completion_tokens = ... }"),
    "cut": (_is_count, "a number of pieces"),
    "malformed": (lambda value: isinstance(value, bool), "true or false"),
}


def _together(reply: ScriptedReply) -> None:
    """Raise `ReplyError` where fields are given that exclude or need each other."""
    given = reply.given
    if not given & {"text", "pieces", "calls", "error"}:
        msg = "a reply needs text, pieces, calls or error"
        raise ReplyError(msg, hint='an empty answer is text = ""')
    for key, other in _NOT_TOGETHER:
        if {key, other} <= given:
            msg = f"{key} and {other} exclude each other"
            raise ReplyError(msg, at=(other,))
    if "text" in given and isinstance(reply.pieces, Sequence):
        msg = "text and a list of pieces exclude each other: the pieces are the text"
        raise ReplyError(msg, at=("pieces",))
    for key in _NOT_WITH_ERROR if "error" in given else _ONLY_WITH_ERROR:
        if key in given:
            relation = "has no place beside error" if "error" in given else "needs error beside it"
            msg = f"{key} {relation}"
            raise ReplyError(msg, at=(key,))


def _compiled(reply: ScriptedReply) -> re.Pattern[str] | None:
    try:
        return reply.pattern
    except (re.error, OverflowError, RecursionError) as error:
        msg = f"when is not a regular expression: {error}"
        raise ReplyError(msg, at=("when",), hint="a backslash in a TOML text: use '...' or write it twice") from None


def _references(reply: ScriptedReply, pattern: re.Pattern[str] | None) -> None:
    """Raise `ReplyError` where a text refers to a group that `when` does not have."""
    if pattern is None or not pattern.groups:
        return
    known = {str(number) for number in range(1, pattern.groups + 1)} | pattern.groupindex.keys()
    for key, text in _texts(reply):
        for reference in REFERENCE.finditer(text):
            if (reference[1] or reference[2]) not in known:
                msg = f"{key} refers to {reference[0]}, and when has no such group"
                raise ReplyError(msg, at=(key,), hint=f"its groups: {', '.join(sorted(known))}")


def _texts(reply: ScriptedReply) -> list[tuple[str, str]]:
    """Every text of the reply in which references are replaced, with its key."""
    pieces = reply.pieces if isinstance(reply.pieces, Sequence) else ()
    texts = [("text", reply.text or ""), *(("pieces", piece) for piece in pieces)]
    pending: list[Any] = [call.get("arguments", {}) for call in reply.calls]
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            texts.append(("calls", value))
        elif isinstance(value, Mapping):
            pending.extend(value.values())
        elif _is_list(value):
            pending.extend(value)
    return texts
