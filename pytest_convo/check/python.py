"""Checks that are Python functions: `python = "checks.py:polite"`, and those that a conftest's hook adds.

A function answers None or True where its check holds, False or an error text where it does not, or it raises
AssertionError (or calls `pytest.fail`). Anything else that it answers or raises is an error of the check and says
nothing about the bot.
"""

from __future__ import annotations

import inspect
import reprlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ..conversation.names import did_you_mean
from ..conversation.transcript import Transcript, Turn
from ..errors import CheckError
from ..texts import visible
from .base import CheckResult
from .loading import innermost, load
from .show import said

CheckFunction = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class PythonCheck:
    """The function of that name in the file is called with `(reply)`, or `(reply, transcript)` where it needs both."""

    path: Path
    function: str
    name = "python"

    def evaluate(self, transcript: Transcript, turn: Turn) -> CheckResult:
        return result_of(self.find(), turn.reply, transcript, required=1)

    def find(self) -> CheckFunction:
        """The function; `CheckError` where the file or the function is not there, or cannot be called so."""
        return function_in(self.path, self.function, required=1, offered=2)


@dataclass(frozen=True, slots=True)
class HookCheck:
    """A check that a conftest adds under a name of its own.

    It is called with `(reply, value)`, or `(reply, value, transcript)` where it needs all three; `value` is what stands
    under its name in `[expect]`.
    """

    name: str
    value: Any
    function: CheckFunction

    def evaluate(self, transcript: Transcript, turn: Turn) -> CheckResult:
        return result_of(self.function, turn.reply, self.value, transcript, required=2)

    def verify(self) -> None:
        """Raises `CheckError` where the function cannot be called so."""
        _taken(self.function, required=2, offered=3)


def function_in(path: Path, name: str, *, required: int, offered: int) -> CheckFunction:
    """The function of that name in the file, which can be called with `required` to `offered` arguments."""
    function = named_in(path, name)
    _taken(function, required=required, offered=offered)
    return function


def named_in(path: Path, name: str) -> CheckFunction:
    """The function of that name in the file; `CheckError` where there is none."""
    module = load(path)
    function: CheckFunction | None = getattr(module, name, None)
    if function is None or not callable(function):
        functions = [name for name, value in vars(module).items() if inspect.isfunction(value)]
        msg = f"there is no function {name!r} in it"
        raise CheckError(msg, path=path, hint=did_you_mean(name, functions) if functions else "")
    return function


def result_of(function: CheckFunction, *offered: Any, required: int) -> CheckResult:
    """What the function found, given the `required` first of the `offered` arguments, and as many more as it needs.

    The first one offered is the reply.
    """
    source = _source(function)
    try:
        answer = function(*offered[: _taken(function, required=required, offered=len(offered))])
    except CheckError:
        raise
    except (AssertionError, pytest.fail.Exception) as error:
        return CheckResult.failed(_assertion(error, source), said(offered[0].text))
    except pytest.skip.Exception as error:
        return CheckResult.unusable(f"{_name(function)} skipped, which a check cannot: {error}")
    except (Exception, SystemExit) as error:
        return CheckResult.unusable(f"{type(error).__name__}: {visible(str(error))}", _raised(error, source))
    return _answered(answer, function, said(offered[0].text))


def _answered(answer: Any, function: CheckFunction, reply: str) -> CheckResult:
    if answer is None or answer is True:
        return CheckResult.passed()
    if answer is False:
        return CheckResult.failed(f"{_name(function)} returned False", reply)
    if isinstance(answer, str) and answer.strip():
        return CheckResult.failed(visible(answer), reply)
    return CheckResult.unusable(
        f"{_name(function)} returned {reprlib.repr(answer)}",
        "  None or True says that the check holds, False or an error text that it does not",
    )


def _taken(function: CheckFunction, *, required: int, offered: int) -> int:
    """How many of the offered arguments the function needs; what has a default is left to it."""
    if inspect.iscoroutinefunction(function):
        msg = f"{_name(function)} is async; a check is an ordinary function"
        raise CheckError(msg, path=_source(function))
    signature = _signature(function)
    for count in range(required, offered + 1):
        try:
            signature.bind(*[None] * count)
        except TypeError:
            continue
        return count
    allowed = " or ".join(str(count) for count in range(required, offered + 1))
    msg = f"{_name(function)}{signature} cannot be called with {allowed} arguments"
    raise CheckError(msg, path=_source(function))


def _signature(function: CheckFunction) -> inspect.Signature:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        msg = f"{reprlib.repr(function)} is no function that can be a check"
        raise CheckError(msg) from None


def _assertion(error: BaseException, source: Path) -> str:
    """The assertion's own message, or the line that it stands in; and where that is."""
    frame = innermost(error, source)
    message = str(error).strip() or (frame.line if frame else "") or "an assertion without a message"
    return f"{visible(message)}\n{_raised(error, source)}".rstrip()


def _raised(error: BaseException, source: Path) -> str:
    frame = innermost(error, source)
    return f"  raised at {frame.filename}:{frame.lineno}: {frame.line}" if frame else ""


def _source(function: CheckFunction) -> Path:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return Path(code.co_filename) if code else Path()


def _name(function: CheckFunction) -> str:
    return getattr(function, "__name__", type(function).__name__)
