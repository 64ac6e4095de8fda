"""Checks of a reply that is JSON: json_schema, json_equals, json_contains."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from ..conversation.reply import NotJSON, Reply
from ..errors import CheckError
from .base import CheckResult, ReplyCheck
from .show import clip, flat, listed, said
from .values import differences, locate, shortfalls

if TYPE_CHECKING:
    from jsonschema.exceptions import SchemaError, ValidationError


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
    """The reply fits the schema.

    The draft is the one that `$schema` names, else 2020-12. `format` is an annotation, as in JSON Schema itself. `$ref`
    reaches inside the schema; nothing is fetched.
    """
    return JsonCheck("json_schema", "does not fit the schema", partial(_misfits, schema))


def schema_fault(schema: Any) -> str:
    """What is wrong with the schema itself, and where in it; empty where it is one."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import validator_for

    try:
        validator_for(schema, default=Draft202012Validator).check_schema(schema)
    except SchemaError as error:
        return f"{locate(error.absolute_path)}: {_message(error)}"
    return ""


def _misfits(schema: Any, value: Any) -> Iterable[str]:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match
    from jsonschema.validators import validator_for
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    validator = validator_for(schema, default=Draft202012Validator)(schema, registry=Registry())
    try:
        errors = sorted(validator.iter_errors(value), key=lambda error: locate(error.absolute_path))
    except Unresolvable as error:
        msg = f"the schema refers to what is not in it: {error.ref}"
        raise CheckError(msg, hint="copy it under $defs and refer to it as #/$defs/NAME") from None
    except (RecursionError, OverflowError) as error:
        msg = f"the schema cannot be applied to this reply: {error}"
        raise CheckError(msg) from None
    closest = [best_match([error]) or error for error in errors]
    return [f"{locate(error.absolute_path)}: {_message(error)}" for error in closest]


def _message(error: ValidationError | SchemaError) -> str:
    return flat(clip(error.message, 200))


def _read(reply: Reply) -> Any:
    try:
        return reply.json()
    except RecursionError:
        msg = "the reply is nested too deeply to be read as JSON"
        raise NotJSON(msg) from None
