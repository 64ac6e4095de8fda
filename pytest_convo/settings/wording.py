"""The rules of texts, and of what is looked for in other texts."""

from __future__ import annotations

import re
import warnings
from typing import Any

from .unfit import elements, require, table


def text(value: Any) -> str:
    require(isinstance(value, str), "must be text", hint="text stands in quotes")
    return value  # type: ignore[no-any-return]


def name(value: Any) -> str:
    require(text(value).strip() != "", "must not be empty", whole=True)
    return text(value)


def texts(value: Any) -> tuple[str, ...]:
    """One text, or a list of at least one."""
    for at, element in elements(value):
        require(isinstance(element, str), "must be text, or a list of texts", at=at)
    require(value not in ([], ()), "must name at least one text: an empty list checks nothing", whole=True)
    return (value,) if isinstance(value, str) else tuple(value)


def sought(value: Any) -> tuple[str, ...]:
    """Texts that are looked for in another."""
    found = texts(value)
    require("" not in found, "must not be empty: the empty text is in every reply", whole=True)
    return found


def patterns(value: Any) -> tuple[str, ...]:
    """Regular expressions."""
    found = sought(value)
    for at, pattern in elements(value):
        reason = _no_pattern(pattern)
        hint = "contains looks for a text as it stands"
        require(not reason, f"is no regular expression: {reason}", hint=hint, at=at, whole=True)
    return found


def pattern(value: Any) -> str:
    """One regular expression, with one group at most: what it finds is what counts."""
    (found,) = patterns(name(value))
    groups = re.compile(found).groups
    require(groups <= 1, f"must have one group at most, not {groups}", hint="(?:...) groups and captures nothing")
    return found


def pattern_table(value: Any) -> dict[str, str]:
    """A regular expression for each of several names."""
    for key, element in table(value).items():
        require(isinstance(element, str), "must be a regular expression, as text", at=(key,))
        reason = _no_pattern(element)
        require(not reason, f"is no regular expression: {reason}", at=(key,), whole=True)
    return dict(value)


def succession(value: Any) -> tuple[str, ...]:
    """Names in an order."""
    names = sought(value) if isinstance(value, list | tuple) else ()
    require(len(names) > 1, 'must be a list of at least two names, as ["lookup", "refund"]')
    return names


def _no_pattern(pattern: str) -> str:
    """Why `pattern` is no regular expression; empty where it is one."""
    try:
        with warnings.catch_warnings(action="ignore"):
            re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        return str(error)
    return ""
