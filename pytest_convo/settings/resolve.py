"""The settings of a conversation: of all layers the nearest that says something, and which one that was.

Nearest first: the command line, the environment, a test's mark, the case, the conversation's convo.toml, each
convo.toml above it up to the rootdir, pytest's ini file, the built-in defaults. Tables merge key by key. `[[case]]`
is not inherited: the cases of a conversation are those that its own convo.toml lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ..errors import ConvoError, SettingsError
from .bots import BotSettings
from .expect import EXTRA_CHECKS
from .files import anchored
from .layer import Layer, Taken, holds, leaves, merge
from .locate import Keys
from .model import Settings
from .named_bots import Definitions
from .problems import problems, raise_all
from .promptfile import find_prompt
from .short import FILES, KEY
from .show import dotted
from .sources import assignments_layer, environment_layer
from .task import Task
from .tree import FILE, Tree
from .use import Uses

__all__ = ["Layer", "Resolved", "Resolver", "assignments_layer", "environment_layer"]

BUILT_IN = "built-in default"
MARK = "@pytest.mark.convo"
WHOLE: Keys = (KEY, FILES)
_WITH_BUDGET = ("prompt", "judge", "refine", "summarize")


@dataclass(frozen=True, eq=False)
class Resolved:
    """The settings of one conversation, case or test.

    `values` are those that were set anywhere, as they were written; `layers` are nearest first.
    """

    settings: Settings
    values: Mapping[str, Any]
    layers: tuple[Layer, ...]
    rootdir: Path

    @cached_property
    def origins(self) -> dict[str, str]:
        """Where each setting came from, by its dotted key: "convos/convo.toml:3", "PYTEST_CONVO_RUNS" ..."""
        given = {named(keys): self._origin(keys) for keys, _ in leaves(self.values)}
        return dict.fromkeys((key for key in DEFAULT_KEYS if key not in given), BUILT_IN) | given

    def mistake(self, key: str, text: str, hint: str = "") -> SettingsError:
        """An error about the setting `key` (dotted), with the file and line, or the other place, that it came from."""
        keys = WHOLE if key == KEY else tuple(key.split("."))
        layer = self._layer(keys)
        return SettingsError(text, hint=hint) if layer is None else layer.mistake(keys, text, hint)

    def _origin(self, keys: Keys) -> str:
        layer = self._layer(keys)
        return BUILT_IN if layer is None else layer.place(keys, self.rootdir)

    def _layer(self, keys: Keys) -> Layer | None:
        return next((layer for layer in self.layers if holds(layer.values, keys)), None)


def named(keys: Keys) -> str:
    """The dotted key of a setting, as it is told: the files of the prompt are `prompt`."""
    return KEY if keys == WHOLE else dotted(keys)


DEFAULT_KEYS = (
    *(name for name, field in Settings.model_fields.items() if field.default_factory is None and name != "case"),
    KEY,
    *(f"bot.{name}" for name in BotSettings.model_fields if name not in ("use", "functions", "request")),
)
"""The settings that always have a value."""


class Resolver:
    """Resolves the settings of any directory; reads every convo.toml once and keeps it.

    `nearest` are the layers above the files (command line, environment), `defaults` those below (pytest's ini), both
    nearest first. `extra_checks` are the names of checks that conftests add to `[expect]`: of all directories, or a
    function that says those of one. `extra_bots` says which bots conftests define for a directory; it is asked where
    one is used by name. Directories are absolute.
    """

    def __init__(
        self,
        rootdir: Path,
        nearest: Sequence[Layer] = (),
        defaults: Sequence[Layer] = (),
        extra_checks: frozenset[str] | Callable[[Path], frozenset[str]] = frozenset(),
        extra_bots: Callable[[Path], Definitions] | None = None,
    ) -> None:
        self.rootdir = rootdir
        self._nearest = tuple(self._anchored(layer) for layer in nearest if layer.values)
        self._defaults = tuple(self._anchored(layer) for layer in defaults if layer.values)
        self._extra_checks = extra_checks
        self._extras: dict[Path, frozenset[str]] = {}
        self._uses = Uses(rootdir, extra_bots)
        self._tree = Tree(rootdir)
        self._marks: dict[tuple[Path, str], Layer] = {}
        self._problems: dict[tuple[Layer, frozenset[str]], list[SettingsError]] = {}
        self._resolved: dict[tuple[object, ...], Resolved] = {}
        self._prompts: dict[Path, Path | None] = {}

    def resolve(self, directory: Path, *, case: str | None = None, mark: Mapping[str, Any] | None = None) -> Resolved:
        """The settings that hold in `directory`: for one of its cases, under the arguments of a test's mark.

        Raises `SettingsError`, `FormatError`, or `FormatErrors` with everything that the layers have wrong.
        """
        layers = self._uses.in_full(self._layers(directory, case, mark), directory)
        extra = self._extra(directory)
        resolved = self._resolved.get((extra, *layers))
        if resolved is None:
            self._require_valid(layers, extra)
            resolved = self._resolved[extra, *layers] = _merged(layers, extra, self.rootdir)
        return resolved

    def cases(self, directory: Path) -> tuple[str, ...]:
        """The ids of the cases that the convo.toml of `directory` lists, in its order; of none above it."""
        return tuple(self._cases_of(directory))

    def task(self, directory: Path) -> Task | None:
        """The task that `directory` is, if it is one."""
        return self._tree.task(directory)

    def find_prompt(self, directory: Path) -> Path | None:
        """The prompt of a conversation that sets none: `promptfile.find_prompt`, which looks at each directory once."""
        return find_prompt(directory, self.rootdir, self._prompts)

    def bot_files(self, directory: Path, case: str | None = None) -> frozenset[Path]:
        """Where the files may be of the bots that are used in `directory`: each that would count, be it there or not.

        Without a case also of those that its cases use.
        """
        try:
            layers, own = self._layers(directory, case, None), self._tree.own(directory)
        except ConvoError:
            return frozenset()  # told as the error of its settings
        cases = own.values.get("case") if own is not None and case is None else None
        return frozenset(self._uses.files(layers, directory, cases if isinstance(cases, list) else ()))

    def overrides(self, key: str) -> bool:
        """Whether the command line or the environment sets a top-level key for every conversation."""
        return any(key in layer.values for layer in self._nearest)

    def check(self) -> None:
        """Raise what is wrong with the layers that are no files, so that a bad command line is one usage error."""
        self._require_valid((*self._nearest, *self._defaults), self._extra(self.rootdir))

    def _layers(self, directory: Path, case: str | None, mark: Mapping[str, Any] | None) -> tuple[Layer, ...]:
        layers = (*self._tree.chain(directory), *self._defaults)
        if case is not None:
            layers = (self._case(directory, case), *layers)
        if mark:
            layers = (self._mark(directory, mark), *layers)
        return (*self._nearest, *layers)

    def _extra(self, directory: Path) -> frozenset[str]:
        if not callable(self._extra_checks):
            return self._extra_checks
        if directory not in self._extras:
            self._extras[directory] = self._extra_checks(directory)
        return self._extras[directory]

    def _anchored(self, layer: Layer) -> Layer:
        return replace(layer, values=anchored(layer.values, layer.base or self.rootdir))

    def _require_valid(self, layers: Iterable[Layer], extra: frozenset[str]) -> None:
        found: list[SettingsError] = []
        whole = (layer.origin.layer if isinstance(layer.origin, Taken) else layer for layer in layers)
        for layer in dict.fromkeys(whole):
            known = self._problems.get((layer, extra))
            if known is None:
                known = self._problems[layer, extra] = problems(layer, extra)
            found += known
        raise_all(found)

    def _cases_of(self, directory: Path) -> Mapping[str, Layer]:
        file = self._tree.own(directory)
        if file is None:
            return {}
        self._require_valid([file], self._extra(directory))
        return self._tree.cases(file)

    def _case(self, directory: Path, case: str) -> Layer:
        cases = self._cases_of(directory)
        if case not in cases:
            msg = f'there is no case "{case}"'
            raise SettingsError(msg, path=directory / FILE, hint=f"cases are: {', '.join(cases) or 'none'}")
        return cases[case]

    def _mark(self, directory: Path, mark: Mapping[str, Any]) -> Layer:
        key = (directory, repr(mark))
        if key not in self._marks:
            self._marks[key] = Layer(anchored(mark, directory), MARK, directory)
        return self._marks[key]


def _merged(layers: tuple[Layer, ...], extra: frozenset[str], rootdir: Path) -> Resolved:
    """The layers, each of them valid, as one."""
    values: dict[str, Any] = {}
    for layer in reversed(layers):
        values = merge(values, layer.values)
    values.pop("case", None)
    settings = Settings.model_validate(values, context={EXTRA_CHECKS: extra})
    resolved = Resolved(settings, values, layers, rootdir)
    if settings.bad >= settings.good:
        text = f"good must be above bad, but good = {settings.good:g} and bad = {settings.bad:g}"
        raise resolved.mistake(_nearest(layers, ("good",), ("bad",)), text)
    for name in _WITH_BUDGET:
        table = getattr(settings, name)
        if table.budget is not None and table.reserve is not None and table.reserve >= table.budget:
            text = f"{name}.reserve must be below {name}.budget, but they are {table.reserve} and {table.budget}"
            hint = "the reserve is the part of the budget that is left for the answer"
            raise resolved.mistake(_nearest(layers, (name, "budget"), (name, "reserve")), text, hint)
    return resolved


def _nearest(layers: Iterable[Layer], *either: Keys) -> str:
    """The one of these keys that the nearest layer sets."""
    return next(dotted(keys) for layer in layers for keys in either if holds(layer.values, keys))
