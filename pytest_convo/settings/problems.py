"""What a layer has wrong, in our own words: pydantic finds it, the layer knows where it stands."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError

from ..errors import ConvoError, FormatErrors, SettingsError
from .definition import Definition
from .expect import EXTRA_CHECKS
from .files import missing
from .known import unknown_key
from .layer import Layer, TomlPart
from .locate import Keys
from .model import Common, Settings
from .secret import is_secret, leaks
from .short import as_written
from .show import dotted, show
from .unfit import UnfitError

_KINDS = {
    "int_type": "a whole number",
    "bool_type": "true or false",
    "model_type": "a table",
    "tuple_type": "a list",
}
_HINTS: dict[Keys, str] = {
    ("case",): "each case begins with [[case]], in two brackets",
    ("calls",): 'as calls = [{ name = "lookup" }]',
}
_VERSION: Keys = ("version",)


class _Problem(NamedTuple):
    keys: Keys
    text: str
    hint: str = ""


def problems(layer: Layer, extra_checks: Collection[str] = ()) -> list[SettingsError]:
    """Everything that is wrong with `layer`, whose paths are absolute, in the order of its lines.

    Of a file of another version nothing else is said: its keys may be right there.
    """
    found: dict[Keys, _Problem] = {}
    for problem in (*_secrets(layer), *_misfits(layer, extra_checks), *_missing(layer)):
        found.setdefault(problem.keys, problem)
    if _VERSION in found:
        found = {_VERSION: found[_VERSION]}
    return sorted((layer.mistake(*problem) for problem in found.values()), key=lambda error: error.line or 0)


def raise_all(errors: Collection[ConvoError]) -> None:
    """Raise what was found: one as it is, several in one go, nothing where there is nothing."""
    if len(errors) > 1:
        raise FormatErrors(list(errors))
    for error in errors:
        raise error.with_traceback(None)


def _secrets(layer: Layer) -> Iterator[_Problem]:
    hint = "put it into an environment variable and name that in api_key_env; a key that was committed is to be revoked"
    for keys in leaks(layer.values) if isinstance(layer.origin, TomlPart) else ():
        yield _Problem(keys, f"{dotted(keys)} holds a secret, which has no place in a file", hint)


def _missing(layer: Layer) -> Iterator[_Problem]:
    for keys, path, hint in missing(layer.values):
        said = dotted(as_written(layer.values, keys))
        yield _Problem(keys, f"{said} names a file that is not there: {show(path, limit=200)}", hint)


def _misfits(layer: Layer, extra_checks: Collection[str]) -> list[_Problem]:
    """What the model does not take; `version` and `case` are for files alone."""
    model: type[BaseModel] = Settings if isinstance(layer.origin, TomlPart) else Common
    if layer.defines:
        model = Definition
    try:
        model.model_validate(layer.values, context={EXTRA_CHECKS: extra_checks})
    except ValidationError as error:
        return [_problem(layer, detail, model, extra_checks) for detail in error.errors(include_url=False)]
    return []


def _problem(
    layer: Layer, detail: Mapping[str, Any], model: type[BaseModel], extra_checks: Collection[str]
) -> _Problem:
    """One of pydantic's findings as a person reads it."""
    keys, kind, value, context = _in_file(detail["loc"]), detail["type"], detail["input"], detail.get("ctx", {})
    if kind == "extra_forbidden":
        return _Problem(keys, *unknown_key(keys, model, extra_checks))
    if kind == "missing":
        return _Problem(keys, f"{dotted(keys)} is needed")
    if isinstance(context.get("error"), UnfitError):
        return _unfit(layer, keys, value, context["error"])
    must = f"must be {_KINDS.get(kind) or _bounded(kind, context)}"
    return _Problem(keys, f"{dotted(keys)} {must}, not {show(value, keys[-1])}", _HINTS.get(keys[-1:], ""))


def _unfit(layer: Layer, keys: Keys, value: Any, error: UnfitError) -> _Problem:
    for key in error.at:
        value = value[key]
    keys = (*keys, *error.at)
    said = dotted(as_written(layer.values, keys))
    if is_secret(keys[-1], value):
        return _Problem(keys, f"{said} has no usable value", error.hint)
    text = f"{said} {error.text}"
    return _Problem(keys, text if error.whole else f"{text}, not {show(value)}", error.hint)


def _bounded(kind: str, context: Mapping[str, Any]) -> str:
    if kind == "literal_error":
        return str(context["expected"]).replace("'", '"')
    return f"at least {context['ge']}"


def _in_file(place: Keys) -> Keys:
    """The keys as the file has them, of the place in the model: `expect.last.contains` is `expect.contains`."""
    head = 3 if place[:1] == ("case",) else 1
    if place[head - 1 : head] != ("expect",):
        return place
    after = place[head + 1 :]
    return (*place[:head], *map(str, after[:1]), *after[1:])
