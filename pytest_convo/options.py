"""The options of a session: what its command line, its environment and its ini file say together."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import pytest

from .flags import BASELINE, INCONCLUSIVE, MEASURE, RECORD, REFINE, SANDBOX, SETTINGS, RecordMode, Refining, Sandboxes
from .option_values import amount, index, margin, one_of, parsed, positive, seconds, truth

if TYPE_CHECKING:
    from .settings.resolve import Layer

T = TypeVar("T")


POLLING = 1.0
"""Seconds between two looks at the files, where the system does not tell of edits."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a conversation is cut before it is answered anew."""

    index: int | None
    """The message that is the last to stay; None for the one that was edited, which only a watcher knows."""
    everything: bool
    """Whether every message after it goes, not only the bot's."""
    fork: bool
    """Whether the conversation is kept as it was, in a directory beside it."""


@dataclass(frozen=True, slots=True)
class Options:
    """What holds for the whole session, whichever conversation it is."""

    concurrency: int
    eager: bool
    inconclusive: Literal["error", "fail", "skip"]
    dry: bool
    json: Path | None
    record: RecordMode
    max_usd: float | None
    max_calls: int | None
    max_tokens: int | None
    baseline: Path | None
    """The baseline that the session is held against, if any."""
    new_baseline: Path | None
    """Where the session's own baseline goes, if anywhere."""
    non_inferior: float | None
    simulate: bool
    judge_check: bool
    """Whether judges are checked before they judge."""
    approving: bool
    """Whether the answers of this session become the approved replies of later ones."""
    write: bool
    """Whether answers are written into the directories that they are of."""
    next: bool
    """Whether an empty next message is offered to whoever writes the user's."""
    cut: Cut | None
    refine: Refining | None
    """Whether prompts are mended, and what comes of it."""
    sandbox: Sandboxes
    """What becomes of a task where there is no engine: skipped, an error, or as it is best for who asks."""
    oracle: bool
    """Whether the solutions of tasks are run in place of agents."""
    keep_sandbox: bool
    """Whether the sandboxes of runs that failed are left, for somebody to look into."""

    @property
    def full(self) -> bool:
        """Whether every run is made: what is recorded, counted or approved must not stop when it looks good."""
        kept = self.baseline is not None or self.new_baseline is not None or self.approving
        return self.record in ("new", "all") or kept


def read(config: pytest.Config) -> Options:
    """The session's options: command line, then environment, then ini file; `pytest.UsageError` for a bad value."""
    _require_watcher(config)
    return Options(
        concurrency=_first(config, "concurrency", 16, positive),
        eager=_first(config, "eager", False, truth),
        inconclusive=_first(config, "inconclusive", "error", one_of(INCONCLUSIVE)),
        dry=config.getoption("convo_dry"),
        json=_file(config, "json"),
        record=_first(config, "record", "none" if in_ci() else "auto", one_of(RECORD)),
        max_usd=_first(config, "max_usd", None, amount),
        max_calls=_first(config, "max_calls", None, positive),
        max_tokens=_first(config, "max_tokens", None, positive),
        simulate=config.getoption("convo_simulate"),
        judge_check=config.getoption("convo_judge_check"),
        approving=bool(config.getoption("update_snapshots", False)),  # syrupy's --snapshot-update
        write=config.getoption("convo_write"),
        next=config.getoption("convo_next"),
        cut=_cut(config),
        refine=_refine(config),
        sandbox=_first(config, "sandbox", "auto", one_of(SANDBOX)),
        oracle=config.getoption("convo_oracle"),
        keep_sandbox=config.getoption("convo_keep_sandbox"),
        **_gate(config),
    )


def _require_watcher(config: pytest.Config) -> None:
    """Raise `pytest.UsageError` for an option of watching where nobody watches."""
    names = [name for name in ("watch-queue", "watch-poll", "watch-tools") if _given(config, name)]
    if names and not config.getoption("convo_watch"):
        msg = f"--convo-{names[0]} is a part of watching: it needs --convo-watch"
        raise pytest.UsageError(msg)


def _given(config: pytest.Config, name: str) -> bool:
    return config.getoption(f"convo_{name.replace('-', '_')}") not in (None, False)


def polling(config: pytest.Config) -> float | None:
    """Seconds between two looks at the files that are watched; None where the system tells of edits."""
    given = config.getoption("convo_watch_poll")
    if given is None:
        return None
    return parsed("--convo-watch-poll", given, seconds) if given else POLLING


def _cut(config: pytest.Config) -> Cut | None:
    """Where conversations are cut; `pytest.UsageError` for what does not go together."""
    asked = {name: config.getoption(f"convo_{name}") for name in ("trunc", "fork")}
    given = {name: value for name, value in asked.items() if value is not None}
    everything = config.getoption("convo_trunc_all")
    needs = [f"--convo-{name.replace('_', '-')}" for name in ("next", "trunc_all") if config.getoption(f"convo_{name}")]
    needs += [f"--convo-{name}" for name in given]
    if needs and not config.getoption("convo_write"):
        msg = f"{needs[-1]} is a part of writing: it needs --convo-write"
        raise pytest.UsageError(msg)
    if not given and not everything:
        return None
    indexes = {parsed(f"--convo-{name}", value, index) for name, value in given.items() if value}
    if len(indexes) > 1:
        msg = "--convo-trunc and --convo-fork name two points: give one index"
        raise pytest.UsageError(msg)
    if not indexes and not config.getoption("convo_watch"):
        msg = "after which message? Give its index, as in --convo-trunc=2: which one was edited is known in watch only"
        raise pytest.UsageError(msg)
    return Cut(min(indexes, default=None), everything, "fork" in given)


def in_ci() -> bool:
    """Whether this is a machine of continuous integration, by the variable that all of them set."""
    return os.environ.get("CI", "").lower() in ("1", "true", "yes", "on")


def _refine(config: pytest.Config) -> Refining | None:
    if getattr(config.option, "convo_measures", False):  # set by whoever tries a prompt out
        return MEASURE
    given = config.getoption("convo_refine")
    return None if given is None else parsed("--convo-refine", given or REFINE[0], one_of(REFINE))


def _gate(config: pytest.Config) -> dict[str, Any]:
    """The options of the regression gate."""
    path = _file(config, "baseline") or config.rootpath / BASELINE
    updates = config.getoption("convo_update_baseline")
    if updates and path.is_dir():
        msg = f"{path} is a directory, and the baseline is a file: name another with --convo-baseline"
        raise pytest.UsageError(msg)
    gates = config.getoption("convo_baseline") is not None and not updates
    given = config.getoption("convo_non_inferior")
    if given is not None and not gates:
        msg = "--convo-non-inferior is a part of the gate: it needs --convo-baseline PATH"
        raise pytest.UsageError(msg)
    return {
        "baseline": path if gates else None,
        "new_baseline": path if updates else None,
        "non_inferior": None if given is None else parsed("--convo-non-inferior", given, margin),
    }


def _file(config: pytest.Config, name: str) -> Path | None:
    """The file that an option names, relative to the working directory."""
    given = config.getoption(f"convo_{name}")
    if not given:
        return None
    path: Path = config.invocation_params.dir / given
    if path.is_dir():
        msg = f"--convo-{name.replace('_', '-')} {given}: is a directory, and one file is needed"
        raise pytest.UsageError(msg)
    return path


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
        f"--convo-{name.replace('_', '-')}": config.getoption(f"convo_{name}"),
        f"PYTEST_CONVO_{name.upper()}": os.environ.get(f"PYTEST_CONVO_{name.upper()}") or None,
        f"ini convo_{name}": config.getini(f"convo_{name}"),
    }
    for place, value in places.items():
        if value is not None:
            return parsed(place, value, parse)
    return default  # type: ignore[no-any-return]
