"""From what stands under a key of `[expect]` to the check that it asks for."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import CheckError
from . import limits
from .base import Check
from .call import ExpectedCall
from .calls import Calls
from .data import json_contains, json_equals, json_schema, schema_fault
from .finish import Finish
from .number import Number
from .python import CheckFunction, HookCheck, PythonCheck
from .similar import Similar
from .text import Contains, ContainsAny, Equals, Excludes, Matches

if TYPE_CHECKING:
    from ..settings.model import ExpectTable


@dataclass(frozen=True, slots=True)
class Means:
    """What checks are made with, besides their values: the functions of the hook, and what a reply cost."""

    extra: Mapping[str, CheckFunction]
    price: limits.Price


def makers(table: ExpectTable, means: Means) -> Iterator[tuple[str, Callable[[], Check]]]:
    """Each key that the table sets, with what makes its check; it raises `CheckError` where it cannot."""
    for key, make in MAKERS.items():
        value = getattr(table, key)
        if value is not None:
            yield key, partial(make, value, table, means)
    for key, value in table.checks.items():
        yield key, partial(_added, key, value, means.extra)


MAKERS: Mapping[str, Callable[[Any, ExpectTable, Means], Check]] = {
    "equals": lambda texts, table, _: Equals(texts, table.ignore_case),
    "contains": lambda texts, table, _: Contains(texts, table.ignore_case),
    "contains_any": lambda texts, table, _: ContainsAny(texts, table.ignore_case),
    "excludes": lambda texts, table, _: Excludes(texts, table.ignore_case),
    "matches": lambda patterns, table, _: _matches(patterns, table.ignore_case),
    "json_schema": lambda schema, *_: _json_schema(schema),
    "json_equals": lambda value, *_: json_equals(value),
    "json_contains": lambda value, *_: json_contains(value),
    "number": lambda number, *_: Number(Decimal(str(number.value)), Decimal(str(number.within))),
    "similar": lambda similar, *_: Similar(similar.to, similar.at_least),
    "calls": lambda calls, table, _: Calls(tuple(map(_expected_call, calls)), table.calls_order),
    "max_chars": lambda most, *_: limits.max_chars(most),
    "max_words": lambda most, *_: limits.max_words(most),
    "max_tokens": lambda most, *_: limits.max_tokens(most),
    "max_seconds": lambda most, *_: limits.max_seconds(most),
    "max_usd": lambda most, _, means: limits.max_usd(most, means.price),
    "finish_reason": lambda reasons, *_: Finish(reasons),
    "python": lambda reference, *_: _python(reference),
}
"""Key → what makes the check of its value, given the table around it too."""


def _matches(patterns: Sequence[str], ignore_case: bool) -> Matches:
    flags = re.IGNORECASE if ignore_case else re.NOFLAG
    with warnings.catch_warnings(action="ignore"):  # of what a later Python may read otherwise
        return Matches(tuple(re.compile(pattern, flags) for pattern in patterns))


def _json_schema(given: Mapping[str, Any] | Path) -> Check:
    path = given if isinstance(given, Path) else None
    schema = given if path is None else _read_json(path)
    if fault := schema_fault(schema):
        msg = f"is no JSON schema: {fault}"
        raise CheckError(msg, path=path)
    return json_schema(schema)


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        msg = f"cannot be read: {error.strerror}"
    except (ValueError, RecursionError) as error:
        msg = f"is not JSON: {error}"
    raise CheckError(msg, path=path)


def _expected_call(call: Any) -> ExpectedCall:
    return ExpectedCall(call.name, call.arguments)


def _python(reference: str) -> PythonCheck:
    file, _, function = reference.rpartition(":")
    check = PythonCheck(Path(file), function)
    check.find()
    return check


def _added(key: str, value: Any, extra: Mapping[str, CheckFunction]) -> HookCheck:
    if key not in extra:
        msg = f"no conftest adds it; added are: {', '.join(sorted(extra)) or 'none'}"
        raise CheckError(msg)
    check = HookCheck(key, value, extra[key])
    check.verify()
    return check
