"""JSON schemas: whether they are such, and what does not fit them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import CheckError
from ..texts import clip, flat
from .values import locate

if TYPE_CHECKING:
    from jsonschema.exceptions import SchemaError, ValidationError


def load_schema(given: Mapping[str, Any] | Path) -> Any:
    """The schema that is given, or that stands in a file; `CheckError` where it is none."""
    path = given if isinstance(given, Path) else None
    schema = given if path is None else _read(path)
    if fault := schema_fault(schema):
        msg = f"is no JSON schema: {fault}"
        raise CheckError(msg, path=path)
    return schema


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


def misfits(schema: Any, value: Any) -> list[str]:
    """The places of `value` that do not fit, as `$.items[2]: 5 is not of type 'string'`.

    The draft is the one that `$schema` names, else 2020-12. `format` is an annotation, as in JSON Schema itself. `$ref`
    reaches inside the schema; nothing is fetched. Raises `CheckError` where the schema cannot be applied.
    """
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


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        msg = f"cannot be read: {error.strerror}"
    except (ValueError, RecursionError) as error:
        msg = f"is not JSON: {error}"
    raise CheckError(msg, path=path)


def _message(error: ValidationError | SchemaError) -> str:
    return flat(clip(error.message, 200))
