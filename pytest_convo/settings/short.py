"""Tables that may be written short: `prompt = "x.md"` is `[prompt]` with `files = "x.md"`.

Each layer has such a table in full, so that it merges key by key with those of other layers. What is said of it, in an
error as in `--convo-explain`, names the key as it was written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .locate import Keys

KEY = "prompt"
FILES = "files"


class Short(dict[str, Any]):
    """A table of which `files` were written in the place of the whole."""

    @classmethod
    def of(cls, value: Any, beside: Any = None) -> Any:
        """`value` as a table, with what else is set of it; a table stays as it is."""
        if isinstance(value, Mapping):
            return value
        return cls({**(beside if isinstance(beside, Mapping) else {}), FILES: value})


def in_full(values: Mapping[str, Any]) -> dict[str, Any]:
    """`values`, and the cases in them, with whole tables."""
    full = dict(values)
    if KEY in full:
        full[KEY] = Short.of(full[KEY])
    cases = full.get("case")
    if isinstance(cases, list):
        full["case"] = [in_full(case) if isinstance(case, Mapping) else case for case in cases]
    return full


def as_written(values: Any, keys: Keys) -> Keys:
    """The keys of something in `values`, without those that nobody wrote."""
    written: list[str | int] = []
    for key in keys:
        if not (isinstance(values, Short) and key == FILES):
            written.append(key)
        try:
            values = values[key]
        except (LookupError, TypeError):
            values = None
    return tuple(written)
