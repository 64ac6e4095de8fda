"""The JSON schema of a function's arguments, from its signature, and arguments read against it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args, get_origin

from ..errors import FormatError
from .docstring import read_docstring

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_WIDER = {"integer": {"integer", "number"}}
"""A schema's type, and the types of parameters that take its values."""


class ArgumentsError(ValueError):
    """The arguments of a call do not fit the signature; the text is for the model to read."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """What a function can be called with: its JSON schema, and its description as the docstring has it."""

    description: str
    schema: Mapping[str, Any]
    _adapter: TypeAdapter[Any] = field(repr=False)

    @classmethod
    def of(cls, function: Callable[..., Any], name: str) -> Arguments:
        """From signature and docstring. `FormatError` where a parameter cannot be given by name, or as JSON."""
        signature = _signature(function, name)
        make = _made if _is_hashable(signature) else _made.__wrapped__
        try:
            return make(signature, str(signature), _docstring(function))
        except _unusable() as error:
            raise _blamed(function, name, signature, error) from None

    def read(self, text: str) -> dict[str, Any]:
        """The arguments in the JSON `text`, each as its parameter's type; `ArgumentsError` says all that is wrong."""
        from pydantic import ValidationError

        try:
            read: dict[str, Any] = self._adapter.validate_json(text if text.strip() not in ("", "null") else "{}")
        except ValidationError as error:
            told = [f"{'.'.join(map(str, one['loc'])) or 'arguments'}: {one['msg']}" for one in error.errors()]
            raise ArgumentsError("; ".join(told)) from None
        return read

    def mismatches(self, given: Mapping[str, Any]) -> list[str]:
        """What a hand-written schema says otherwise than the signature does."""
        own, others = self.schema.get("properties", {}), given.get("properties", {})
        must, asked = self.schema.get("required", ()), given.get("required", ())
        found = [f"the signature has no parameter {name!r}" for name in others if name not in own]
        found += [f"the schema has no property {name!r}" for name in must if name not in others]
        found += [
            f"{name!r} has no default and is not required" for name in must if name in others and name not in asked
        ]
        found += [f"{name!r} is required and no property" for name in asked if name not in others and name not in must]
        return found + [said for name in others if name in own and (said := _type_clash(name, own[name], others[name]))]


@lru_cache(maxsize=256)
def _made(signature: inspect.Signature, shown: str, docstring: str | None) -> Arguments:  # noqa: ARG001 part of the key
    """Made once for functions that are alike: tools are made afresh for each run, half a millisecond each.

    `shown` tells defaults apart that are equal, as 1 and True are.
    """
    description, described = read_docstring(docstring)
    adapter = _adapter(_fields(signature, described))
    return Arguments(description, _schema(adapter), adapter)


def _is_hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def error_at(function: Callable[..., Any], what: str, hint: str = "") -> FormatError:
    """An error that names the file and line where `function` is defined."""
    code = getattr(inspect.unwrap(_plain_function(function)), "__code__", None)
    return FormatError(
        what, path=code.co_filename if code else None, line=code.co_firstlineno if code else None, hint=hint
    )


def _plain_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function itself: of a partial, and of an object that can be called."""
    while isinstance(function, partial):
        function = function.func
    return function if inspect.isroutine(function) else type(function).__call__


def _docstring(function: Callable[..., Any]) -> str | None:
    plain = _plain_function(function)
    return inspect.getdoc(plain) or (None if inspect.isroutine(function) else inspect.getdoc(type(function)))


def _signature(function: Callable[..., Any], name: str) -> inspect.Signature:
    try:
        signature = inspect.signature(function, eval_str=True)
    except (NameError, TypeError, ValueError, SyntaxError, AttributeError) as error:
        msg = f"the signature of tool {name!r} cannot be read: {error}"
        raise error_at(function, msg, "its annotations are evaluated where the function is defined") from None
    for parameter in signature.parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            msg = f"tool {name!r} has the parameter {str(parameter)!r}; the model gives each argument by its name"
            raise error_at(function, msg, "write the parameters out, without *, ** and /")
    return signature


def _fields(signature: inspect.Signature, described: Mapping[str, str]) -> dict[str, Any]:
    return {name: _field(parameter, described.get(name)) for name, parameter in signature.parameters.items()}


def _field(parameter: inspect.Parameter, described: str | None) -> Any:
    """The parameter as the field of a TypedDict; its default is left to the function."""
    from typing import NotRequired

    from pydantic import Field

    kind = Any if parameter.annotation is parameter.empty else parameter.annotation
    optional = parameter.default is not parameter.empty
    if parameter.default is None and kind is not None:
        kind = kind | None
    facts: dict[str, Any] = {}
    if text := described or _annotated_text(kind):
        facts["description"] = text
    if optional and parameter.default is not None and (default := _plain(parameter.default)) is not None:
        facts["json_schema_extra"] = {"default": default}
    kind = Annotated[kind, Field(**facts)] if facts else kind
    return NotRequired[kind] if optional else kind


def _annotated_text(kind: Any) -> str | None:
    """The text in `Annotated[str, "text"]`."""
    if get_origin(kind) is not Annotated:
        return None
    return next((one for one in get_args(kind)[1:] if isinstance(one, str)), None)


def _plain(value: Any) -> Any:
    """`value` as JSON has it, or None where it has no such form."""
    from pydantic_core import PydanticSerializationError, to_jsonable_python

    try:
        return to_jsonable_python(value)
    except PydanticSerializationError:
        return None


def _adapter(fields: Mapping[str, Any]) -> TypeAdapter[Any]:
    from pydantic import ConfigDict, TypeAdapter
    from typing_extensions import TypedDict

    arguments = cast("Any", TypedDict)("arguments", dict(fields))
    arguments.__pydantic_config__ = ConfigDict(extra="forbid")
    return TypeAdapter(arguments)


def _schema(adapter: TypeAdapter[Any]) -> dict[str, Any]:
    from pydantic.json_schema import GenerateJsonSchema

    class Untitled(GenerateJsonSchema):
        def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002
            return False

    schema = adapter.json_schema(schema_generator=Untitled)
    schema.pop("title", None)
    return schema


def _unusable() -> tuple[type[Exception], ...]:
    from pydantic.errors import PydanticUserError

    return (PydanticUserError, TypeError, NameError)


def _blamed(function: Callable[..., Any], name: str, signature: inspect.Signature, error: Exception) -> FormatError:
    """The error for the parameter whose type cannot be had as JSON."""
    for parameter, kind in _fields(signature, {}).items():
        try:
            _schema(_adapter({parameter: kind}))
        except _unusable() as found:
            msg = f"parameter {parameter!r} of tool {name!r} has a type that JSON cannot hold: {_first_line(found)}"
            break
    else:
        msg = f"the parameters of tool {name!r} cannot be described: {_first_line(error)}"
    return error_at(function, msg, "use str, int, float, bool, list, dict, Literal, Enum, a dataclass or a model")


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _type_clash(name: str, own: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    mine, theirs = own.get("type"), given.get("type")
    if not isinstance(mine, str) or not isinstance(theirs, str) or mine in _WIDER.get(theirs, {theirs}):
        return ""
    return f"{name!r} is {theirs} in the schema and {mine} in the signature"


def as_text(value: Any) -> str:
    """What a tool returned, as the model reads it: a text as it stands, anything else as JSON."""
    if isinstance(value, str):
        return value
    from pydantic_core import to_json

    return to_json(value).decode()
