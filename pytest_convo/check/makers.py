"""From what stands under a key of `[expect]` to the check that it asks for."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ..errors import CheckError
from . import limits
from .approved import approved
from .base import AnyCheck, AskingCheck
from .call import ExpectedCall
from .calls import Calls
from .data import json_contains, json_equals, json_schema
from .finish import Finish
from .number import Number
from .python import CheckFunction, HookCheck, PythonCheck
from .schema import load_schema
from .similar import Similar
from .text import Contains, ContainsAny, Equals, Excludes, Matches
from .trajectory import CalledBefore, MaxCalls, NotCalled

if TYPE_CHECKING:
    from ..conversation.message import Message
    from ..settings.expect import Criterion, ExpectTable, Similarity
    from ..settings.expect import ExpectedCall as ExpectedCallSettings


class Asks(Protocol):
    """Makes the checks that ask a model: who that is, and how it is asked, is said outside of `[expect]`.

    Each raises `CheckError` where nobody can be asked.
    """

    def judged(self, criterion: Criterion, approved: Message | None) -> AskingCheck:
        """A judge's verdict by a criterion; `approved` is the approved reply of the turn, if there is one."""

    def similar(self, similarity: Similarity) -> AskingCheck:
        """The similarity to a text, in meaning."""

    def approved(self, text: str) -> AskingCheck:
        """Whether the reply says the same as an approved text."""


@dataclass(frozen=True, slots=True)
class Means:
    """What checks are made with, besides their values.

    The functions of the hook, what a reply cost, who makes checks that ask, and the approved reply of the turn, if
    there is one; while new ones are being approved, none is held against an old one.
    """

    extra: Mapping[str, CheckFunction] = field(default_factory=dict)
    price: limits.Price = limits.no_price
    asks: Asks | None = None
    approved: Message | None = None
    approving: bool = False


def makers(table: ExpectTable, means: Means) -> Iterator[tuple[str, Callable[[], AnyCheck]]]:
    """Each key that the table sets, with what makes its check; it raises `CheckError` where it cannot.

    There is a check for each criterion of a judge.
    """
    for key, make in MAKERS.items():
        value = getattr(table, key)
        if value is None or (key == "approved" and means.approving):
            continue
        for one in value if key == "judge" else (value,):
            yield key, partial(make, one, table, means)
    for key, value in table.checks.items():
        yield key, partial(_added, key, value, means.extra)


MAKERS: Mapping[str, Callable[[Any, ExpectTable, Means], AnyCheck]] = {
    "equals": lambda texts, table, _: Equals(texts, table.ignore_case),
    "contains": lambda texts, table, _: Contains(texts, table.ignore_case),
    "contains_any": lambda texts, table, _: ContainsAny(texts, table.ignore_case),
    "excludes": lambda texts, table, _: Excludes(texts, table.ignore_case),
    "matches": lambda patterns, table, _: _matches(patterns, table.ignore_case),
    "json_schema": lambda schema, *_: json_schema(load_schema(schema)),
    "json_equals": lambda value, *_: json_equals(value),
    "json_contains": lambda value, *_: json_contains(value),
    "number": lambda number, *_: Number(Decimal(str(number.value)), Decimal(str(number.within))),
    "similar": lambda similar, _, means: _similar(similar, means),
    "calls": lambda calls, table, _: Calls(tuple(map(_expected_call, calls)), table.calls_order),
    "called_before": lambda names, *_: CalledBefore(names),
    "not_called": lambda names, *_: NotCalled(names),
    "max_calls": lambda most, *_: MaxCalls(most),
    "judge": lambda criterion, _, means: _asks(means).judged(criterion, means.approved),
    "approved": lambda mode, _, means: _approved(mode, means),
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


def _similar(similar: Similarity, means: Means) -> AnyCheck:
    return Similar(similar.to, similar.at_least) if similar.by == "text" else _asks(means).similar(similar)


def _approved(mode: str, means: Means) -> AnyCheck:
    if mode == "judge" and means.approved is not None:
        return _asks(means).approved(means.approved.text)
    return approved(means.approved, "exact" if mode == "judge" else mode)  # type: ignore[arg-type]


def _asks(means: Means) -> Asks:
    if means.asks is None:
        msg = "nobody can be asked here"
        raise CheckError(msg)
    return means.asks


def _expected_call(call: ExpectedCallSettings) -> ExpectedCall:
    schema = None if call.arguments_schema is None else load_schema(call.arguments_schema)
    return ExpectedCall(call.name, call.arguments, call.arguments_match or {}, schema)


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
