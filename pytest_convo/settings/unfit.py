"""What a value is told that does not fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .locate import Keys


class UnfitError(ValueError):
    """What a value must be; `hint` says more, and `at` where in the value the mistake is.

    `whole` texts say everything; others go on with the value: "must be text" → "must be text, not 5".
    """

    def __init__(self, text: str, *, hint: str = "", at: Keys = (), whole: bool = False) -> None:
        super().__init__(text)
        self.text = text
        self.hint = hint
        self.at = at
        self.whole = whole


def require(fits: bool, text: str, *, hint: str = "", at: Keys = (), whole: bool = False) -> None:
    """Raise `UnfitError` unless the value fits."""
    if not fits:
        raise UnfitError(text, hint=hint, at=at, whole=whole)


def table(value: Any) -> Mapping[str, Any]:
    require(isinstance(value, Mapping), "must be a table")
    return value  # type: ignore[no-any-return]


def elements(value: Any) -> Iterator[tuple[Keys, Any]]:
    """Each element of a list with its place, or the one value that is no list."""
    if isinstance(value, list | tuple):
        yield from (((number,), element) for number, element in enumerate(value))
    else:
        yield (), value
