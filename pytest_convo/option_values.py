"""What the values of options may be: each function gives the value as it is used, or raises `ValueError` in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import pytest

T = TypeVar("T")


def parsed(place: str, value: Any, parse: Callable[[Any], T]) -> T:
    try:
        return parse(value)
    except ValueError as error:
        msg = f"{place}: {error}"
        raise pytest.UsageError(msg) from None


def positive(value: Any) -> int:
    if (isinstance(value, str) and not value.strip().isdecimal()) or int(value) < 1:
        msg = f"a whole number from 1 on is needed, not {value!r}"
        raise ValueError(msg)
    return int(value)


def index(value: str) -> int:
    if not value.isdecimal() or int(value) > 9999:
        msg = f"an index from 0 to 9999 is needed, not {value!r}"
        raise ValueError(msg)
    return int(value)


def seconds(value: Any) -> float:
    return between(value, 0, 3600, "a number of seconds")


def amount(value: Any) -> float:
    """Dollars, more than none."""
    return between(value, 0, float("inf"), "an amount above 0")


def margin(value: Any) -> float:
    return between(value, 0, 1, "a share between 0 and 1, as 0.05 for five points,")


def between(value: Any, low: float, high: float, what: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = low
    if not low < number < high:
        msg = f"{what} is needed, not {value!r}"
        raise ValueError(msg)
    return number


def one_of(names: tuple[str, ...]) -> Callable[[Any], Any]:
    def parse(value: Any) -> Any:
        if value not in names:
            msg = f"{value!r} is not one of {', '.join(names)}"
            raise ValueError(msg)
        return value

    return parse


def truth(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    words = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    if value.lower() not in words:
        msg = f"{value!r} is not one of {', '.join(words)}"
        raise ValueError(msg)
    return words[value.lower()]
