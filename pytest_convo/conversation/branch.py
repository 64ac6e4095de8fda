"""A conversation is cut after a message, and what comes after it said anew; the old line can be kept as a fork."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ..errors import ConvoError, FormatErrors
from . import scan as scanning
from .fork import Announce, Before, fork, unheard, writes
from .names import FileName
from .scan import Scan

_UNFINISHED = re.compile(r"([0-9]{4})_assistant(?:_[a-z0-9-]+)?\.[a-z]+(?:\.[0-9]+)?\.(?:partial|new)")
"""The name of an answer that is not whole yet, or whose place was taken while it was written."""


class Branch(NamedTuple):
    """What was done, or would be: the names of the files that went, and where the old line is kept, if it is."""

    gone: tuple[str, ...]
    kept: Path | None = None


def goes(scan: Scan, after: int, everything: bool = False) -> tuple[FileName, ...]:
    """The message files that go where a conversation is cut after the message at index `after`, which itself stays.

    Those are the bot's, its steps among them, and the tools', which answer calls that go; with `everything` also what
    the user says.
    """
    generated = ("assistant", "tool")
    return tuple(file for file in scan.files if file.index > after and (everything or file.role in generated))


def unfinished(directory: str | os.PathLike[str], after: int) -> tuple[str, ...]:
    """The names of the answers after an index that are not whole, or stand beside their place: parts of the old line.

    `OSError` where the directory cannot be listed.
    """
    matches = (_UNFINISHED.fullmatch(path.name) for path in Path(directory).iterdir())
    return tuple(sorted(match[0] for match in matches if match and int(match[1]) > after))


def branch(
    directory: str | os.PathLike[str],
    after: int,
    *,
    everything: bool = False,
    keep: bool = False,
    before: Mapping[Path, Before | None] | None = None,
    say: Callable[[str], None],
    announce: Announce = unheard,
    dry: bool = False,
) -> Branch:
    """Cut the conversation in `directory` after the message at index `after`.

    First `say` is told what goes; then, with `keep`, the directory is kept as a fork, as it was `before` an edit (see
    `fork`); only then files are removed, each announced. Where nothing goes, or in a `dry` session, nothing is done.

    Raises `ConvoError`, before anything is removed where the directory is not sound or the fork cannot be made.
    """
    scan = scanning.scan(directory)
    if scan.errors:
        raise FormatErrors(scan.errors)
    gone = _going(directory, scan, after, everything)
    message = _named(scan, after)
    say(f"after {message} these go: {', '.join(gone)}" if gone else f"nothing goes after {message}")
    if dry or not gone:
        return Branch(gone)
    kept = fork(directory, before, announce) if keep else None
    if kept is not None:
        say(f"kept as {kept.name}")
    cut(directory, gone, announce)
    return Branch(gone, kept)


def cut(directory: str | os.PathLike[str], names: Sequence[str], announce: Announce = unheard) -> None:
    """Remove these files, the last first, each announced before it goes; what has gone by itself is none the worse.

    Raises `ConvoError` where one cannot be removed, with those that are gone and those that stay.
    """
    order = sorted(names, reverse=True)  # a turn's steps before its answer: steps alone are an error
    for place, name in enumerate(order):
        path = Path(directory, name)
        announce(writes(path, None))
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            msg = f"cannot be removed: {error.strerror or error}"
            hint = f"gone: {', '.join(order[:place]) or 'none'}; still there: {', '.join(order[place:])}"
            raise ConvoError(msg, path=path, hint=hint) from None


def _going(directory: str | os.PathLike[str], scan: Scan, after: int, everything: bool) -> tuple[str, ...]:
    if not scan.is_conversation:
        return ()
    return tuple(sorted((*(file.name for file in goes(scan, after, everything)), *unfinished(directory, after))))


def _named(scan: Scan, index: int) -> str:
    """The message at an index as a person calls it: its file, the last where it has several."""
    return next((file.name for file in reversed(scan.files) if file.index == index), f"index {index}")
