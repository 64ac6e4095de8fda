"""The command line, the ini file and the environment of a session."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import pytest

if TYPE_CHECKING:
    from .settings.resolve import Layer

T = TypeVar("T")

INCONCLUSIVE = ("error", "fail", "skip")

SETTINGS = {
    "runs": "redundant runs of every conversation",
    "agreement": "share of the runs that must pass, as 0.8 or 2/3",
    "model": "the model that is asked",
    "timeout": "limit of one run, all turns, as 120s",
}
"""Settings that the ini file may give as `convo_<name>`, with what each means."""


def add_options(parser: pytest.Parser) -> None:
    """Register everything that a user can set for a whole session."""
    group = parser.getgroup("convo", "conversations with language models")
    add = group.addoption
    add("--convo-runs", metavar="N", dest="convo_runs", help="redundant runs of every conversation")
    add("--convo-agreement", metavar="X", dest="convo_agreement", help="share that must pass: 0.8 or 2/3")
    add("--convo-model", metavar="M", dest="convo_model", help="ask this model")
    add(
        "--convo-set",
        metavar="KEY=VALUE",
        dest="convo_set",
        action="append",
        help="override any setting of convo.toml, for instance bot.temperature=0",
    )
    add("--convo-concurrency", metavar="K", dest="convo_concurrency", help="model calls in flight (default: 16)")
    add(
        "--convo-eager",
        dest="convo_eager",
        action="store_true",
        default=None,
        help="start every run at once instead of those the verdict needs first",
    )
    add(
        "--convo-inconclusive",
        dest="convo_inconclusive",
        choices=INCONCLUSIVE,
        help="how an inconclusive verdict counts (default: error)",
    )
    add("--convo-json", metavar="PATH", dest="convo_json", help="write a report of every group and run as JSON")
    add("--convo-dry", dest="convo_dry", action="store_true", help="print every request; call nothing, write nothing")
    add(
        "--convo-explain",
        dest="convo_explain",
        action="store_true",
        help="print each setting of the given directories with the place it came from",
    )
    add("--convo-schema", dest="convo_schema", action="store_true", help="print the JSON schema of convo.toml")
    for name, what in SETTINGS.items():
        parser.addini(f"convo_{name}", f"pytest-convo: {what}", type="string", default=None)
    parser.addini("convo_concurrency", "pytest-convo: model calls in flight", type="string", default=None)
    parser.addini("convo_eager", "pytest-convo: start every run at once", type="bool", default=False)
    parser.addini("convo_inconclusive", "pytest-convo: error, fail or skip", type="string", default=None)


@dataclass(frozen=True, slots=True)
class Options:
    """What holds for the whole session, whichever conversation it is."""

    concurrency: int
    eager: bool
    inconclusive: Literal["error", "fail", "skip"]
    dry: bool
    json: Path | None


def read(config: pytest.Config) -> Options:
    """The session's options: command line, then environment, then ini file; `pytest.UsageError` for a bad value."""
    inconclusive = _first(config, "inconclusive", "error", _one_of(INCONCLUSIVE))
    json = config.getoption("convo_json")
    if json and (config.invocation_params.dir / json).is_dir():
        msg = f"--convo-json {json}: is a directory; the report is one file"
        raise pytest.UsageError(msg)
    return Options(
        concurrency=_first(config, "concurrency", 16, _positive),
        eager=_first(config, "eager", False, _truth),
        inconclusive=inconclusive,
        dry=config.getoption("convo_dry"),
        json=config.invocation_params.dir / json if json else None,
    )


def speaks(config: pytest.Config) -> bool:
    """Whether the command line or the environment says anything about the settings of conversations."""
    return (
        any(config.getoption(f"convo_{name}") for name in ("set", "runs", "agreement", "model"))
        or any(config.getini(f"convo_{name}") is not None for name in SETTINGS)
        or any(name.startswith("PYTEST_CONVO_") for name in os.environ)
    )


def layers(config: pytest.Config) -> tuple[list[Layer], list[Layer]]:
    """Settings from above the files (command line, environment) and from below them (ini), nearest first."""
    from .settings.resolve import Layer, assignments_layer, environment_layer

    nearest = [assignments_layer(config.getoption("convo_set") or ())]
    for key, path in (("runs", "runs"), ("agreement", "agreement"), ("model", "bot.model")):
        value = config.getoption(f"convo_{key}")
        if value is not None:
            nearest.append(Layer(_nested(path, _number(value)), f"command line --convo-{key}"))
    nearest.append(environment_layer(os.environ))
    defaults = []
    for key in SETTINGS:
        value = config.getini(f"convo_{key}")
        if value is not None:
            path = "bot.model" if key == "model" else key
            defaults.append(Layer(_nested(path, _number(value)), f"pytest ini convo_{key}"))
    return nearest, defaults


def _nested(path: str, value: object) -> dict[str, Any]:
    *tables, key = path.split(".")
    nested: dict[str, Any] = {key: value}
    for table in reversed(tables):
        nested = {table: nested}
    return nested


def _number(text: str) -> object:
    return int(text) if text.isdecimal() else text


def _first(config: pytest.Config, name: str, default: Any, parse: Callable[[Any], T]) -> T:
    places = {
        f"--convo-{name}": config.getoption(f"convo_{name}"),
        f"PYTEST_CONVO_{name.upper()}": os.environ.get(f"PYTEST_CONVO_{name.upper()}"),
        f"ini convo_{name}": config.getini(f"convo_{name}"),
    }
    for place, value in places.items():
        if value is not None:
            try:
                return parse(value)
            except ValueError as error:
                msg = f"{place}: {error}"
                raise pytest.UsageError(msg) from None
    return parse(default)


def _positive(value: Any) -> int:
    if (isinstance(value, str) and not value.strip().isdecimal()) or int(value) < 1:
        msg = f"a whole number from 1 on is needed, not {value!r}"
        raise ValueError(msg)
    return int(value)


def _one_of(names: tuple[str, ...]) -> Callable[[Any], Any]:
    def parse(value: Any) -> Any:
        if value not in names:
            msg = f"{value!r} is not one of {', '.join(names)}"
            raise ValueError(msg)
        return value

    return parse


def _truth(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    words = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    if value.lower() not in words:
        msg = f"{value!r} is not one of {', '.join(words)}"
        raise ValueError(msg)
    return words[value.lower()]
