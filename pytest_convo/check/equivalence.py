"""When two replies say the same, as `[agree] by` has it.

What is compared is the reply's text, or what `pattern` finds first in it: its one group, or the whole match. Replies in
which it finds nothing say the same as each other, and as no other; by numbers, so do those without a number.

- "text": equal after `normalise`.
- "json": the same JSON value, whatever the order of keys; its strings are compared as texts are. A reply that is no
  JSON is compared as a text.
- "calls": the same tool calls of the turn, in order, names and arguments; the text does not count, nor `pattern`.
- "number": the last numbers of both, `within` of each other.
- "judge", "python:FILE:FUNCTION": whoever is asked says so of the two texts, unless these are equal after `normalise`.

The first three are equivalences in the strict sense, as is "number" without a tolerance: replies say the same whose
keys are equal. For the others an answer is compared with those there are, one by one.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Awaitable, Callable, Sequence
from decimal import Context, Decimal
from functools import cache, lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ..agreement.classes import join, normalise, place
from ..bot.threads import in_thread
from ..conversation.message import ToolCall
from ..conversation.reply import NotJSON, Reply
from ..errors import CheckError
from ..texts import clip, flat, visible
from .loading import innermost
from .number import close, last_number
from .python import function_in

if TYPE_CHECKING:
    from ..settings.model import AgreeSettings

Join = Callable[[Sequence[Sequence[str]], str], Awaitable[int]]
"""Tells which of the classes of texts a new one joins: its index, or their number where it opens one."""

Judge = Callable[[str, str], Awaitable[bool]]
"""Asks a model whether two texts say the same."""

Compare = Callable[[str, str], bool]

_FUNCTION = "python:"
_DIGITS = Context(prec=60)
_NOTHING = "nothing"


def key_of(agree: AgreeSettings) -> Callable[[Reply], str] | None:
    """What two replies have in common if and only if they say the same; None where they must be compared.

    A key is a digest: it tells nothing of the reply, so that it may stand where no secret may.
    """
    found = _finder(agree.pattern)

    def by_text(reply: Reply) -> str:
        text = found(reply.text)
        return _NOTHING if text is None else _of_text(text)

    def by_json(reply: Reply) -> str:
        text = found(reply.text)
        return _NOTHING if text is None else _of_json(text)

    def by_number(reply: Reply) -> str:
        text = found(reply.text)
        return _NOTHING if text is None else _of_number(text)

    keys = {"text": by_text, "json": by_json, "calls": _of_calls, "number": by_number}
    return None if agree.within and agree.by == "number" else keys.get(agree.by)


def joining(agree: AgreeSettings, judge_same: Judge | None = None) -> Join:
    """What puts the texts of one group's replies into classes, where `key_of` does not.

    The same one is to be used for the whole group: it remembers what it made of each text. A function of the user's is
    called beside the event loop, in one thread for each new text. Raises `CheckError`, here where there is no such
    function, later where it raises, or answers neither True nor False; and what `judge_same` raises.
    """
    found = lru_cache(maxsize=None)(_finder(agree.pattern))

    @cache
    def key(text: str) -> str:
        compared = found(text)
        return _NOTHING if compared is None else f"={normalise(compared)}"

    if agree.by == "judge":
        assert judge_same is not None
        return _waiting(found, key, judge_same)
    same = _within(Decimal(str(agree.within))) if agree.by == "number" else _function(agree.by)

    def compare(one: str, other: str) -> bool:
        texts = found(one), found(other)
        return texts[0] is not None and texts[1] is not None and same(texts[0], texts[1])

    name = agree.by.rpartition(":")[2]
    return lambda classes, new: in_thread(place, classes, new, compare, key, name=name)


def verify(agree: AgreeSettings) -> None:
    """Raises `CheckError` where a function is named that is not there, or that cannot be called with two texts."""
    if agree.by.startswith(_FUNCTION):
        _function(agree.by)


def _waiting(found: Callable[[str], str | None], key: Callable[[str], str], judge_same: Judge) -> Join:
    async def compare(one: str, other: str) -> bool:
        texts = found(one), found(other)
        return texts[0] is not None and texts[1] is not None and await judge_same(texts[0], texts[1])

    return lambda classes, new: join(classes, new, compare, key)


def _finder(pattern: str | None) -> Callable[[str], str | None]:
    """What of a text is compared; None where the pattern finds nothing, or not its group."""
    if pattern is None:
        return lambda text: text
    compiled = re.compile(pattern)

    def find(text: str) -> str | None:
        match = compiled.search(text)
        return None if match is None else match[compiled.groups]

    return find


# -- keys


def _of_text(text: str) -> str:
    return _digest("text", normalise(text))


def _of_json(text: str) -> str:
    try:
        return _digest("json", _canonical(_levelled(Reply(text).json())))
    except (NotJSON, RecursionError):
        return _of_text(text)


def _of_number(text: str) -> str:
    number = last_number(text)
    if number is None:
        return _NOTHING
    return _digest("number", str(number[0].normalize(_DIGITS)) if number[0] else "0")


def _of_calls(reply: Reply) -> str:
    return _digest("calls", json.dumps([[call.name, *_arguments(call)] for call in reply.calls]))


def _arguments(call: ToolCall) -> tuple[str, str]:
    try:
        return "json", _canonical(call.parsed())
    except (ValueError, RecursionError):
        return "text", call.arguments


def _canonical(value: Any) -> str:
    """The JSON text of a value, the same for equal ones: `1` and `1.0` are, whatever the order of keys."""
    return json.dumps(_plain(value), ensure_ascii=False)


def _levelled(value: Any) -> Any:
    """The value with its strings, but not its keys, as they are compared: without what does not change a text."""
    if isinstance(value, dict):
        return {key: _levelled(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_levelled(inner) for inner in value]
    return normalise(value) if isinstance(value, str) else value


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _digest(kind: str, text: str) -> str:
    return blake2b(f"{kind}:{text}".encode(errors="surrogatepass"), digest_size=16).hexdigest()


# -- pairs


def _within(tolerance: Decimal) -> Compare:
    @cache
    def number(text: str) -> Decimal | None:
        found = last_number(text)
        return None if found is None else found[0]

    def same(one: str, other: str) -> bool:
        numbers = number(one), number(other)
        if numbers[0] is None or numbers[1] is None:
            return numbers[0] is numbers[1]
        return close(numbers[0], numbers[1], tolerance)

    return same


def _function(by: str) -> Compare:
    """The user's function, which answers True or False, or it is a `CheckError`."""
    file, _, name = by.removeprefix(_FUNCTION).rpartition(":")
    function = function_in(Path(file), name, required=2, offered=2)
    code = getattr(inspect.unwrap(function), "__code__", None)
    path, line = (Path(code.co_filename), code.co_firstlineno) if code else (Path(file), None)

    def same(one: str, other: str) -> bool:
        try:
            answer = function(one, other)
        except (Exception, SystemExit, pytest.fail.Exception, pytest.skip.Exception) as error:
            frame = innermost(error, path)
            msg = f"{name} raised {type(error).__name__}: {visible(str(error))}"
            raise CheckError(msg, path=path, line=frame.lineno if frame else line) from error
        if isinstance(answer, bool):
            return answer
        msg = f"{name} returned {flat(clip(repr(answer), 80))}"
        hint = "True says that the two texts say the same, False that they do not"
        raise CheckError(msg, path=path, line=line, hint=hint)

    return same
