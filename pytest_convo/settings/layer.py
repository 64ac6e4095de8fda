"""Settings of one place (a file, a command line ...), and how the layers lie on one another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import SettingsError
from .locate import Keys
from .rules import is_index
from .short import as_written
from .show import dotted
from .toml import Toml


class TomlPart(NamedTuple):
    """A file, or the table in it to which `prefix` leads."""

    toml: Toml
    prefix: Keys = ()


class Taken(NamedTuple):
    """What was taken of another layer: its keys (two each), and where they stand there."""

    layer: Layer
    keys: Mapping[Keys, Keys]

    def there(self, keys: Keys) -> Keys:
        return (*self.keys.get(keys[:2], ()), *keys[2:])


@dataclass(frozen=True, eq=False)
class Layer:
    """The settings of one place.

    `values` are nested as TOML has them. `origin` names the place: all of it, or each dotted key in it
    (`{"runs": "PYTEST_CONVO_RUNS"}`), or it is a file, or part of another layer. Relative paths in it are relative to
    `base`; None: the rootdir. `defines` is the name of the bot that it is the definition of, if it is one.
    """

    values: Mapping[str, Any]
    origin: str | Mapping[str, str] | TomlPart | Taken
    base: Path | None = None
    defines: str = ""

    def place(self, keys: Keys, rootdir: Path) -> str:
        """Where the value at `keys` was set: "convos/convo.toml:3", "command line --convo-runs"."""
        if isinstance(self.origin, Taken):
            return self.origin.layer.place(self.origin.there(keys), rootdir)
        if not isinstance(self.origin, TomlPart):
            return self._name(keys)
        path = self.origin.toml.path
        shown = path.relative_to(rootdir) if path.is_relative_to(rootdir) else path
        line = self._line(keys)
        return f"{shown}" if line is None else f"{shown}:{line}"

    def mistake(self, keys: Keys, text: str, hint: str = "") -> SettingsError:
        """An error about the value at `keys`, with the place where it was set."""
        if isinstance(self.origin, Taken):
            return self.origin.layer.mistake(self.origin.there(keys), text, hint)
        if isinstance(self.origin, TomlPart):
            return SettingsError(text, path=self.origin.toml.path, line=self._line(keys), hint=hint)
        return SettingsError(f"{self._name(keys)}: {text}", hint=hint)

    def _line(self, keys: Keys) -> int | None:
        assert isinstance(self.origin, TomlPart)
        return self.origin.toml.line((*self.origin.prefix, *as_written(self.values, keys)))

    def _name(self, keys: Keys) -> str:
        if isinstance(self.origin, str):
            return self.origin
        assert isinstance(self.origin, Mapping)
        names = (self.origin.get(dotted(keys[:length])) for length in range(len(keys), 0, -1))
        return next((name for name in names if name), ", ".join(self.origin.values()))


def merge(below: Mapping[str, Any], above: Mapping[str, Any], keys: Keys = ()) -> dict[str, Any]:
    """Both, key by key; where both have a key, `above` wins, and tables of settings are merged in their turn.

    A table that is a value, as a JSON schema or a field of `[bot.request]`, is never mixed with another.
    """
    merged = dict(below)
    for key, value in above.items():
        old, inner = merged.get(key), (*keys, key)
        both = isinstance(old, Mapping) and isinstance(value, Mapping) and merges(inner)
        merged[key] = merge(old, value, inner) if both else value  # type: ignore[arg-type]
    return merged


def merges(keys: Keys) -> bool:
    """Whether `keys` lead to a table of settings: `bot`, `bot.request`, `vars`, `expect`, `expect.N` ..."""
    return (
        len(keys) == 1 or keys == ("bot", "request") or (len(keys) == 2 and keys[0] == "expect" and is_index(keys[1]))
    )


def leaves(values: Mapping[str, Any], keys: Keys = ()) -> Iterator[tuple[Keys, Any]]:
    """Every single setting in `values`, with the way to it."""
    for key, value in values.items():
        inner = (*keys, key)
        if isinstance(value, Mapping) and merges(inner):
            yield from leaves(value, inner)
        else:
            yield inner, value


def holds(values: Mapping[str, Any], keys: Keys) -> bool:
    """Whether `values` has something at `keys`."""
    inner: Any = values
    for key in keys:
        if not isinstance(inner, Mapping) or key not in inner:
            return False
        inner = inner[key]
    return True
