"""The rules that values obey: each function gives the value as it is used, or says what it must be."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from ..agreement.threshold import parse_threshold
from .locate import Keys
from .unfit import UnfitError, elements, require, table
from .wording import name, text

MAX_INDEX = 9999
"""Message files are numbered with four digits."""

EQUIVALENCES = ("text", "json", "calls", "number", "judge")
"""When two answers say the same: the ways that have a name."""

_DURATION = re.compile(r"(\d+(?:\.\d+)?|\.\d+) ?(ms|s|m|h)", re.ASCII)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([kmgt]?)i?b?", re.ASCII | re.IGNORECASE)
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_PYTHON = re.compile(r"(?P<file>.+\.py):(?P<function>[^\W\d]\w*)")
_BOT_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}", re.ASCII)
_SET_ELSEWHERE = {
    "model": "set model in [bot]",
    "temperature": "set temperature in [bot]",
    "messages": "the messages are the files of the conversation",
    "stream": "replies are streamed where somebody listens, and only there",
    "n": "set runs for several answers: each is then a conversation of its own",
}


def is_index(key: object) -> bool:
    """Whether `key` is the index of a reply as `[expect.N]` has it: 0 to 9999, without leading zeros."""
    digits = isinstance(key, str) and len(key) < 5 and key.isascii() and key.isdecimal()
    return digits and str(int(key)) == key  # type: ignore[call-overload]


def split_python(reference: str) -> tuple[str, str] | None:
    """The file and the function of "checks.py:polite"; None where it is not of that form."""
    match = _PYTHON.fullmatch(reference)
    return None if match is None else (match["file"], match["function"])


def may_be_path(text: str) -> bool:
    """Whether a file may have this name; a text of several lines was meant to be the content."""
    return text.strip() != "" and "\n" not in text and "\0" not in text


def number(value: Any) -> int | float:
    """As it is given: an integer stays one."""
    require(_is_number(value), "must be a number")
    return value  # type: ignore[no-any-return]


def positive(value: Any) -> int | float:
    require(number(value) > 0, "must be above 0")
    return number(value)


def not_negative(value: Any) -> int | float:
    require(number(value) >= 0, "must be at least 0")
    return number(value)


def share(value: Any) -> float:
    require(0 < number(value) <= 1, "must be above 0 and at most 1")
    return float(value)


def rate(value: Any) -> float:
    require(0 < number(value) < 1, "must be between 0 and 1")
    return float(value)


def seconds(value: Any) -> float:
    """A duration in seconds: "120s", "500ms", "2m", "1h", or a number of seconds; `UnfitError` for anything else."""
    duration = float(value) if _is_number(value) else 0.0
    if isinstance(value, str) and (match := _DURATION.fullmatch(value.strip())):
        duration = float(match[1]) * _SECONDS[match[2]]
    require(0 < duration < math.inf, 'must be a duration above 0, as "120s", "500ms", "2m", or a number of seconds')
    return duration


def size(value: Any) -> int:
    """A number of bytes: "512m", "1g", "64 KiB", or the number itself; units are those of 1024."""
    found = int(value) if _is_number(value) else 0
    if isinstance(value, str) and (match := _SIZE.fullmatch(value.strip())):
        found = int(float(match[1]) * _UNITS[match[2].lower()])
    require(found > 0, 'must be a size above 0, as "512m", "1g", or a number of bytes')
    return found


def agreement(value: Any) -> Fraction | Literal["sprt"]:
    if value == "sprt":
        return "sprt"
    written = str(value) if isinstance(value, Fraction) else value
    require(isinstance(written, str) or _is_number(written), 'must be a share, as 0.8 or "2/3", or "sprt"')
    try:
        return parse_threshold(written)
    except ValueError as error:
        reason = str(error)
    msg = f"= {reason}"
    raise UnfitError(msg, hint='"sprt" asks for the sequential test', whole=True)


def threshold(value: Any) -> Fraction:
    """A share of the runs, as `agreement`, without the sequential test."""
    share = agreement(value) if value != "sprt" else None
    require(share is not None, 'must be a share, as 0.8 or "2/3"')
    return share  # type: ignore[return-value]


def equivalence(value: Any) -> str:
    """When two answers say the same."""
    name, _, function = text(value).partition(":")
    fits = value in EQUIVALENCES or (name == "python" and split_python(function) is not None)
    known = ", ".join(f'"{known}"' for known in EQUIVALENCES)
    require(fits, f"must be one of {known}, or a function", hint='as by = "python:checks.py:same"')
    return text(value)


def version(value: Any) -> Literal[1]:
    known = type(value) is int and value == 1
    hint = "a file of a newer format needs a newer pytest-convo; otherwise write version = 1"
    require(known, "must be 1, the one version of the format that is known here", hint=hint)
    return 1


def regenerate(value: Any) -> Literal["holes", "last", "all"] | tuple[int, ...]:
    if isinstance(value, str) and value in ("holes", "last", "all"):
        return value  # type: ignore[return-value]
    turns = tuple(value) if isinstance(value, list | tuple) else ()
    fits = bool(turns) and all(type(turn) is int and 0 <= turn <= MAX_INDEX for turn in turns)
    require(fits, f'must be "holes", "last", "all", or a list of indexes up to {MAX_INDEX}, as [3, 5]')
    return turns


def path(value: Any) -> Path:
    fits = isinstance(value, Path) or may_be_path(name(value))
    require(fits, "must be the name of a file, not what stands in it", whole=True)
    return Path(value)


def paths(value: Any) -> tuple[Path, ...]:
    """The names of files, as a list, or one alone."""
    found = []
    for at, one in elements(value):
        try:
            found.append(path(one))
        except UnfitError as error:
            raise UnfitError(error.text, hint=error.hint, at=at, whole=error.whole) from None
    return tuple(found)


def some_paths(value: Any) -> tuple[Path, ...]:
    """The names of files, at least one."""
    require(value not in ([], ()), "must name at least one file", whole=True)
    return paths(value)


def schema(value: Any) -> dict[str, Any] | Path:
    """A JSON schema, or the file that holds one."""
    if isinstance(value, str | Path):
        return path(value)
    require(isinstance(value, Mapping), "must be a JSON schema, or the name of a file that holds one")
    return json_table(value)


def python(value: Any) -> str:
    fits = split_python(text(value)) is not None
    require(fits, "must be a Python file and a function in it", hint='as python = "checks.py:polite"')
    return text(value)


def environment_name(value: Any) -> str:
    fits = re.fullmatch(r"[A-Za-z_]\w*", text(value), re.ASCII) is not None
    hint = 'as api_key_env = "OPENAI_API_KEY"'
    require(fits, "must be the name of an environment variable, never the key itself", hint=hint, whole=True)
    return text(value)


def environment_names(value: Any) -> tuple[str, ...]:
    """Names of environment variables, as a list."""
    hint = 'as env = ["LANG"]'
    require(isinstance(value, list | tuple), "must be a list of names of environment variables", hint=hint)
    for number, one in enumerate(value):
        fits = isinstance(one, str) and re.fullmatch(r"[A-Za-z_]\w*", one, re.ASCII) is not None
        require(fits, "must be the name of an environment variable", hint=hint, at=(number,), whole=True)
    return tuple(value)


def url(value: Any) -> str:
    try:
        parts = urlsplit(text(value))
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except UnfitError:
        raise
    except ValueError:
        fits = False
    require(fits, "must be the address of a server", hint='as base_url = "http://localhost:8080/v1"')
    return text(value)


def is_bot_name(value: object) -> bool:
    """Whether a bot may have this name, which is that of a file, too."""
    return isinstance(value, str) and _BOT_NAME.fullmatch(value) is not None


def bot_name(value: Any) -> str:
    fits = is_bot_name(text(value))
    require(fits, "must be the name of a bot: letters, digits, `.`, `_` and `-`, at most 100, no `.` first")
    return text(value)


def functions(value: Any) -> tuple[str | Callable[..., Any], ...]:
    """Functions in Python files, as a list or one alone; a conftest may give the functions themselves."""
    for at, one in elements(value):
        fits = callable(one) or (isinstance(one, str) and split_python(one) is not None)
        hint = 'as functions = ["tools.py:lookup_order"]'
        require(fits, "must be a Python file and a function in it", hint=hint, at=at)
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def function_names(value: tuple[str | Callable[..., Any], ...]) -> list[str]:
    """Functions as they can be written."""
    return [one if isinstance(one, str) else function_name(one) for one in value]


def function_name(function: Callable[..., Any]) -> str:
    """Where a function is defined: "conftest:lookup_order"."""
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}:{named.__qualname__}"


def case_id(value: Any) -> str:
    """An id that stands in node ids and in paths as it is."""
    fits = re.fullmatch(r"[\w.-]{1,100}", text(value), re.ASCII) is not None and value.strip(".") != ""
    require(fits, "must consist of letters, digits, `.`, `_` and `-`, at most 100")
    free = re.fullmatch(r"run-\d+|parts", value, re.ASCII) is None
    require(free, f"must be another than {value}, which runs and recordings are called", whole=True)
    return text(value)


def variables(value: Any) -> dict[str, Any]:
    for key in table(value):
        hint = "letters, digits and `_`, no digit first"
        require(str(key).isidentifier(), "is no name that a template can use", hint=hint, at=(key,), whole=True)
    return dict(value)


def request(value: Any) -> dict[str, Any]:
    """Further fields of a request, none of which is set elsewhere."""
    for key in table(value):
        require(key not in _SET_ELSEWHERE, "is not set here", hint=_SET_ELSEWHERE.get(key, ""), at=(key,), whole=True)
    return json_table(value)


def json_table(value: Any) -> dict[str, Any]:
    return dict(json(table(value)))


def json(value: Any, at: Keys = ()) -> Any:
    """`value`, which JSON can hold: no dates, and no infinite numbers."""
    fits = value is None or isinstance(value, str | bool | Mapping | list | tuple) or _is_number(value)
    require(fits, "must be a value that JSON can hold", hint="a date is written as text, in quotes", at=at)
    inner = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list | tuple) else ()
    for key, element in inner:
        json(element, (*at, key))
    return value


def _is_number(value: Any) -> bool:
    """Whether it is a finite number, and one that arithmetic can bear."""
    return isinstance(value, int | float) and not isinstance(value, bool) and -1e300 < value < 1e300
