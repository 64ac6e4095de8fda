"""`use = "NAME"`: the definition of a bot lies right below the place that uses it, and above all that is farther."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import ConvoError
from .definition import taken
from .layer import Layer
from .named_bots import Definitions, NamedBots
from .rules import is_bot_name

TABLES = ("bot", "judge", "refine", "summarize")
"""Who may be a bot that is used by name. The bot comes first: a definition says who summarizes, too."""

_COMMAND_LINE = "command line "


class Uses:
    """Puts the definitions of bots among layers; of those that use none it looks up nothing."""

    def __init__(self, rootdir: Path, of_conftests: Callable[[Path], Definitions] | None = None) -> None:
        self._bots = NamedBots(rootdir, of_conftests)
        self._said: dict[Layer, Mapping[str, str]] = {}
        self._taken: dict[tuple[Layer, str], Layer] = {}

    def in_full(self, layers: tuple[Layer, ...], directory: Path) -> tuple[Layer, ...]:
        """The layers, nearest first, with the definitions of the bots that they use in `directory`.

        Of each table the nearest `use` counts. `ConvoError` for a bot that is not there, and for bots that use each
        other.
        """
        if not any(map(self._uses, layers)):
            return layers
        for table in TABLES:
            layers = self._with(layers, table, directory)
        return layers

    def files(self, layers: Iterable[Layer], directory: Path, further: Iterable[Any] = ()) -> Iterator[Path]:
        """Where the files may be of the bots that `layers` use, and further tables of settings: there or not.

        Whatever is wrong with them is told elsewhere.
        """
        nearest: dict[str, str] = {}
        for layer in layers:
            nearest = {**self._uses(layer), **nearest}
        used = [*nearest.items(), *(use for values in further for use in _said_in(values).items())]
        known: set[tuple[str, str]] = set()
        while used:
            table, name = used.pop()
            if (table, name) not in known:
                known.add((table, name))
                yield from self._bots.candidates(directory, name)
                found = self._used_by(directory, name)
                used += found.items() if table == "bot" else [(table, found["bot"])] if "bot" in found else []

    def _used_by(self, directory: Path, name: str) -> Mapping[str, str]:
        try:
            found = self._bots.find(directory, name)
        except ConvoError:
            return {}
        return {} if found is None else self._uses(found)

    def _uses(self, layer: Layer) -> Mapping[str, str]:
        """The names that a layer uses, by the table that does."""
        if layer not in self._said:
            self._said[layer] = _said_in(layer.values)
        return self._said[layer]

    def _with(self, layers: tuple[Layer, ...], table: str, directory: Path) -> tuple[Layer, ...]:
        """The layers with the definitions for one table."""
        for number, layer in enumerate(layers, 1):
            if table in self._uses(layer):
                beside = _beside(layers, number)
                chain = self._chain(layer, table, directory)
                if table != "bot":
                    chain = [self._part(definition, table) for definition in chain]
                return (*layers[:beside], *chain, *layers[beside:])
        return layers

    def _chain(self, layer: Layer, table: str, directory: Path) -> list[Layer]:
        """The definition that a table of `layer` uses, the one that this one uses, and so on."""
        chain: list[Layer] = []
        names: list[str] = []
        while (name := self._uses(layer).get(table)) is not None:
            if name in names:
                round_ = " → ".join([*names[names.index(name) :], name])
                msg = f"bots use each other: {round_}" if len(names) > 1 else f"the bot uses itself: {round_}"
                raise layer.mistake((table, "use"), msg, "take one `use` out")
            names.append(name)
            found = self._bots.find(directory, name)
            if found is None:
                raise layer.mistake((table, "use"), *self._bots.lacks(directory, name))
            chain.append(found)
            layer, table = found, "bot"
        return chain

    def _part(self, definition: Layer, table: str) -> Layer:
        key = (definition, table)
        if key not in self._taken:
            self._taken[key] = taken(definition, table)
        return self._taken[key]


def _said_in(values: Any) -> dict[str, str]:
    """What tables say after `use`, where it can be a name; where it cannot, whoever checks the layer says so."""
    said: dict[str, str] = {}
    for table in TABLES if isinstance(values, Mapping) else ():
        name = inner.get("use") if isinstance(inner := values.get(table), Mapping) else None
        if isinstance(name, str) and is_bot_name(name):
            said[table] = name
    return said


def _beside(layers: tuple[Layer, ...], number: int) -> int:
    """How many layers stand beside the one before `number`, or nearer: options of the command line are one place."""
    while number < len(layers) and _is_command_line(layers[number - 1]) and _is_command_line(layers[number]):
        number += 1
    return number


def _is_command_line(layer: Layer) -> bool:
    return isinstance(layer.origin, str) and layer.origin.startswith(_COMMAND_LINE)
