"""A conversation whose earlier message was edited is cut after that message, before it is answered anew."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..conversation.branch import branch, goes
from ..conversation.fork import Before
from ..conversation.names import FileName, parse
from ..conversation.scan import scan
from ..errors import ConvoError, FormatError
from .ledger import Change, Ledger, Version
from .screen import Screen

if TYPE_CHECKING:
    from ..options import Cut


class Rewind:
    """Called with a unit and its edits, before it runs; cuts where `cut` says so."""

    def __init__(self, cut: Cut | None, ledger: Ledger, screen: Screen) -> None:
        self._cut = cut
        self._ledger = ledger
        self._screen = screen

    def __call__(self, unit: Path, edits: Sequence[Change]) -> None:
        if self._cut is None:
            return
        edited = edited_message(unit, edits)
        if edited is None:
            return
        index = edited if self._cut.index is None else self._cut.index
        if not goes(scan(unit), index, self._cut.everything):
            return
        branch(
            unit,
            index,
            everything=self._cut.everything,
            keep=self._cut.fork,
            before={change.path: _before(change.before) for change in edits} if self._cut.fork else {},
            say=lambda line: self._screen.line(f"{self._screen.name(unit)}: {line}"),
            announce=lambda event: self._ledger.account(Path(event["path"]), event["digest"]),
        )


def edited_message(unit: Path, edits: Sequence[Change]) -> int | None:
    """The index of the first message that was edited, if any was.

    One that is new cuts nothing, and neither does one that was deleted: that turn alone is answered again.
    """
    indexes = [
        name.index
        for change in edits
        if change.path.parent == unit and change.edited
        if (name := _message(change.path.name)) is not None
    ]
    return min(indexes, default=None)


def _before(version: Version | None) -> Before | None:
    """A file as it was before the edit; the ledger has kept it, unless it was too large to be a message."""
    if version is None:
        return None
    if version.data is None:
        msg = "a file was edited that is too large to be kept, so that there can be no fork of what was"
        raise ConvoError(msg, hint="nothing was removed")
    return Before(version.data, version.mode, version.mtime_ns)


def _message(name: str) -> FileName | None:
    try:
        found = parse(name)
    except FormatError:
        return None
    return found if isinstance(found, FileName) else None
