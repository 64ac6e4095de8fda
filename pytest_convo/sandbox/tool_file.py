"""A tool as a file of TOML describes it."""

from __future__ import annotations

import difflib
import posixpath
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from ..errors import FormatError, FormatErrors
from ..secrets.looks import looks_secret
from ..settings.locate import Keys
from ..settings.show import dotted, show
from ..settings.table import Table
from ..settings.toml import Toml, read
from ..settings.unfit import UnfitError, require
from .tool import AgentTool, ToolFile, ToolVariable

_UNWRITABLE = ("/tmp", "/run", "/dev", "/proc", "/sys", "/workspace")  # noqa: S108
"""Where nothing of an image is seen in a sandbox."""


def _several(value: object) -> object:
    """Several commands, which may be written as one text."""
    values = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list) else value
    fits = isinstance(values, tuple) and all(isinstance(one, str) and one.strip() for one in values)
    require(fits, "must be a command, or a list of commands")
    return values


def _name(value: object) -> object:
    fits = isinstance(value, str) and re.fullmatch(r"[A-Za-z0-9][\w.-]{0,63}", value) is not None
    require(fits, "must be letters, digits, points, dashes and underscores")
    return value


def _variable_name(value: object) -> object:
    fits = isinstance(value, str) and re.fullmatch(r"[A-Za-z_]\w*", value, re.ASCII) is not None
    require(fits, "must be the name of an environment variable")
    return value


def _listed(value: object) -> object:
    require(isinstance(value, list), "must be a list")
    return tuple(value) if isinstance(value, list) else value


def _mode(value: object) -> object:
    fits = isinstance(value, str) and re.fullmatch(r"0?[0-7]{3}", value) is not None
    require(fits, 'must be the permissions of a file, as "0755"')
    return value


def _target(value: object) -> object:
    require(isinstance(value, str) and value.startswith("/"), "must be an absolute path")
    path = posixpath.normpath(str(value))
    hidden = any(path == place or path.startswith(f"{place}/") for place in _UNWRITABLE)
    require(not hidden and path.strip("/") != "", f"must not be in {', '.join(_UNWRITABLE)}, which a sandbox has anew")
    return value


Commands = Annotated[tuple[str, ...], BeforeValidator(_several)]


class _Variable(Table):
    name: Annotated[str, BeforeValidator(_variable_name)]
    secret: bool = False
    optional: bool = False


class _File(Table):
    source: str
    target: Annotated[str, BeforeValidator(_target)]
    mode: Annotated[str, BeforeValidator(_mode)] = "0644"


class _Tool(Table):
    name: Annotated[str, BeforeValidator(_name)]
    description: str = ""
    usage: str = ""
    install: Commands = ()
    verify: Commands = ()
    setup: Commands = ()
    uninstall: Commands = ()
    variables: Annotated[tuple[Annotated[str, BeforeValidator(_variable_name)], ...], BeforeValidator(_listed)] = ()
    variable: Annotated[tuple[_Variable, ...], BeforeValidator(_listed)] = ()
    file: Annotated[tuple[_File, ...], BeforeValidator(_listed)] = ()
    parameters: dict[str, Any] = Field(default_factory=dict)
    command: str = ""


_TABLES: Mapping[str, type[BaseModel]] = {"variable": _Variable, "file": _File}
_KINDS = {"string_type": "text", "bool_type": "true or false", "dict_type": "a table", "model_type": "a table"}
_HINTS = {"variable": "each begins with [[variable]]", "file": "each begins with [[file]]"}


def read_tool(path: Path) -> AgentTool:
    """The tool of a file. Raises `FormatError` with the line of what is wrong, `FormatErrors` where it is several."""
    toml = read(path)
    if toml is None:
        msg = "is not there"
        raise FormatError(msg, path=path, hint="a tool is a file of TOML")
    try:
        tool = _Tool.model_validate(toml.values)
    except ValidationError as error:
        found = [_misfit(toml, detail) for detail in error.errors(include_url=False)]
    else:
        found = list(_mistakes(toml, tool))
    if found:
        found.sort(key=lambda error: error.line or 0)
        raise found[0] if len(found) == 1 else FormatErrors(found)
    return _made(path, tool)


def _made(path: Path, tool: _Tool) -> AgentTool:
    named = (ToolVariable(name) for name in tool.variables)
    variables = (ToolVariable(one.name, one.secret, one.optional) for one in tool.variable)
    files = (ToolFile(path.parent / one.source, one.target, int(one.mode, 8)) for one in tool.file)
    return AgentTool(
        name=tool.name,
        description=tool.description,
        usage=tool.usage,
        install=tool.install,
        verify=tool.verify,
        setup=tool.setup,
        uninstall=tool.uninstall,
        variables=(*named, *variables),
        files=tuple(files),
        parameters=tool.parameters,
        command=tool.command,
        path=path,
    )


def _mistakes(toml: Toml, tool: _Tool) -> Iterator[FormatError]:
    """What each value by itself does not show."""
    for number, file in enumerate(tool.file):
        keys: Keys = ("file", number, "source")
        if not (toml.path.parent / file.source).is_file():
            msg = f"file.source names a file that is not there: {show(file.source, limit=200)}"
            yield _mistake(toml, keys, msg, f"a relative path starts at {toml.path.name}")
    for key in (name for name in toml.values if looks_secret(str(toml.values[name]))):
        hint = "put it into an environment variable and name that in a [[variable]] with secret = true"
        yield _mistake(toml, (key,), f"{key} holds a secret, which has no place in a file", hint)
    if bool(tool.parameters) != bool(tool.command):
        present, absent = ("parameters", "command") if tool.parameters else ("command", "parameters")
        hint = "a tool that is called by its name has [parameters], a JSON schema, and the command that then runs"
        yield _mistake(toml, (present,), f"{present} is of no use without {absent}", hint)


def _misfit(toml: Toml, detail: Mapping[str, Any]) -> FormatError:
    """One of pydantic's findings as a person reads it."""
    keys, kind, value = detail["loc"], detail["type"], detail["input"]
    unfit = detail.get("ctx", {}).get("error")
    if kind == "extra_forbidden":
        return _mistake(toml, keys, f'unknown key "{dotted(keys[-1:])}"{_in_table(keys)}', _nearest(keys))
    if kind == "missing":
        return _mistake(toml, keys, f"{dotted(keys)} is needed", "")
    must = unfit.text if isinstance(unfit, UnfitError) else f"must be {_KINDS.get(kind, detail['msg'])}"
    hint = _HINTS.get(str(keys[0]), "") if len(keys) == 1 else ""
    return _mistake(toml, keys, f"{dotted(keys)} {must}, not {show(value, keys[-1])}", hint)


def _in_table(keys: Keys) -> str:
    return f" in [[{keys[0]}]]" if len(keys) > 1 else ""


def _nearest(keys: Keys) -> str:
    model = _TABLES[str(keys[0])] if len(keys) > 1 else _Tool
    near = difflib.get_close_matches(str(keys[-1]), list(model.model_fields), n=1)
    return f"did you mean {near[0]}? " * bool(near) + f"known are {', '.join(model.model_fields)}"


def _mistake(toml: Toml, keys: Keys, what: str, hint: str) -> FormatError:
    return FormatError(what, path=toml.path, line=toml.line(keys), hint=hint)
