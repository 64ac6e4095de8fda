"""Harbor's task.toml, as far as it says what a task needs; other keys are ignored, as Harbor ignores them.

The format: https://www.harborframework.com/docs/tasks. Older spellings (`memory`, `storage`, `version`) are read, too.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, ValidationError

from ..errors import FormatErrors, SettingsError
from . import rules
from .locate import Keys
from .show import dotted, show
from .toml import Toml
from .unfit import UnfitError

DEFAULT_TIMEOUT = 600.0
"""Seconds, where a task of Harbor's does not say: for the agent, for the verifier, and for building the image."""

_VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")

Size = Annotated[int, PlainValidator(rules.size)]
Timeout = Annotated[float, PlainValidator(rules.positive)]
Count = Annotated[float, PlainValidator(rules.positive)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class HarborAgent(_Table):
    timeout_sec: Timeout | None = None
    user: str | int | None = None


class HarborVerifier(_Table):
    timeout_sec: Timeout = DEFAULT_TIMEOUT
    env: dict[str, str] = Field(default_factory=dict)
    user: str | int | None = None


class HarborEnvironment(_Table):
    build_timeout_sec: Timeout = DEFAULT_TIMEOUT
    docker_image: str | None = None
    cpus: Count | None = None
    memory_mb: Count | None = None
    memory: Size | None = None
    allow_internet: bool = True
    workdir: str | None = None
    env: dict[str, str] = Field(default_factory=dict)


class HarborSolution(_Table):
    env: dict[str, str] = Field(default_factory=dict)


class Harbor(_Table):
    """The tables of Harbor's that say how a task is run."""

    agent: HarborAgent = Field(default_factory=HarborAgent)
    verifier: HarborVerifier = Field(default_factory=HarborVerifier)
    environment: HarborEnvironment = Field(default_factory=HarborEnvironment)
    solution: HarborSolution = Field(default_factory=HarborSolution)

    def settings(self) -> dict[str, tuple[Any, str]]:
        """Our settings that these tables give: by our name the value, and Harbor's key for it."""
        environment = self.environment
        memory = environment.memory if environment.memory_mb is None else int(environment.memory_mb * (1 << 20))
        given = {
            "timeout": (self.agent.timeout_sec, "agent.timeout_sec"),
            "image": (environment.docker_image, "environment.docker_image"),
            "cpus": (environment.cpus, "environment.cpus"),
            "memory": (memory, "environment.memory" if environment.memory_mb is None else "environment.memory_mb"),
        }
        return {name: (value, key) for name, (value, key) in given.items() if value is not None}


def read_harbor(toml: Toml) -> Harbor:
    """Harbor's tables of a task.toml; `SettingsError`, or `FormatErrors` with all that is wrong, each with its line."""
    try:
        return Harbor.model_validate(toml.values)
    except ValidationError as error:
        found = [_mistake(toml, detail) for detail in error.errors(include_url=False)]
    if len(found) == 1:
        raise found[0]
    raise FormatErrors(found)


def _mistake(toml: Toml, detail: Mapping[str, Any]) -> SettingsError:
    keys: Keys = detail["loc"]
    error = detail.get("ctx", {}).get("error")
    wrong = error.text if isinstance(error, UnfitError) else str(detail["msg"]).replace("Input should", "must")
    what = f"{dotted(keys)} {wrong}, not {show(detail['input'], keys[-1])}"
    return SettingsError(what, path=toml.path, line=toml.line(keys))


def resolved(variables: Mapping[str, str], environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Variables whose values may name others of this machine's, as `${NAME}` or `${NAME:-default}`.

    `SettingsError` names one that is not set and has no default.
    """
    environ = os.environ if environ is None else environ

    def value(match: re.Match[str]) -> str:
        name, default = match.groups()
        if name in environ:
            return environ[name]
        if default is None:
            msg = f"the task needs the environment variable {name}, and it is not set"
            raise SettingsError(msg, hint=f"export {name}=…")
        return str(default)

    return {name: _VARIABLE.sub(value, text) for name, text in variables.items()}
