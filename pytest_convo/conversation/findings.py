"""Errors that are found on the way and raised in one go."""

from __future__ import annotations

from types import TracebackType

from ..errors import ConvoError, FormatError, FormatErrors


class Findings:
    """Keeps the `FormatError`s that are raised below a `with` on it, as often as it is entered, and lets go on."""

    def __init__(self) -> None:
        self.errors: list[ConvoError] = []

    def __enter__(self) -> Findings:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if isinstance(error, FormatErrors):
            self.errors.extend(error.errors)
        elif isinstance(error, FormatError):
            self.errors.append(error)
        return isinstance(error, FormatError)

    def raise_all(self) -> None:
        """Raise `FormatErrors` with what was found, if anything was."""
        if self.errors:
            raise FormatErrors(self.errors)
