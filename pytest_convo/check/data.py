"""Checks of a reply that is JSON: json_schema, json_equals, json_contains."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..conversation.reply import NotJSON, Reply
from .base import CheckResult, ReplyCheck
from .schema import misfits
from .show import listed, said
from .values import differences, shortfalls


@dataclass(frozen=True, slots=True)
class JsonCheck(ReplyCheck):
    """The reply, or the one fenced block in it, is JSON in which `misfits` finds nothing.

    `misfits` gives the places of the value that are not as they should be, each as a person reads it.
    """

    name: str
    verb: str
    misfits: Callable[[Any], Iterable[str]]

    def judge(self, reply: Reply) -> CheckResult:
        try:
            places = list(self.misfits(_read(reply)))
        except NotJSON as error:
            return CheckResult.failed(str(error).partition("\n")[0].removesuffix(":"), said(reply.text))
        if not places:
            return CheckResult.passed()
        where = "in one place" if len(places) == 1 else f"in {len(places)} places"
        return CheckResult.failed(f"the JSON {self.verb} {where}:", listed(places), said(reply.text))


def json_equals(value: Any) -> JsonCheck:
    """The reply is this JSON value; what counts as equal is in `values`."""
    return JsonCheck("json_equals", "differs", partial(differences, value))


def json_contains(value: Any) -> JsonCheck:
    """The reply contains this JSON value; what counts as contained is in `values`."""
    return JsonCheck("json_contains", "lacks what is expected", partial(shortfalls, value))


def json_schema(schema: Any) -> JsonCheck:
    """The reply fits the schema, as `schema.misfits` reads it."""
    return JsonCheck("json_schema", "does not fit the schema", partial(misfits, schema))


def _read(reply: Reply) -> Any:
    try:
        return reply.json()
    except RecursionError:
        msg = "the reply is nested too deeply to be read as JSON"
        raise NotJSON(msg) from None
