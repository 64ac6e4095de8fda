"""Recordings that nothing uses: listed, and removed where everything is recorded anew."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from ..collect.recordings import Survey
from .words import count

_SHOWN = 5


def tidy(survey: Survey, rootdir: Path, *, remove: bool) -> list[str]:
    """What to say of stale recordings; with `remove` they go, and the texts that no recording is made of any more."""
    from ..record.stale import remove as discard
    from ..record.stale import unused_parts

    if remove:
        discard(map(Path, survey.stale))
        discard(part for root in survey.roots for part in unused_parts(Path(root)))
    return list(_told([_relative(path, rootdir) for path in survey.stale], remove=remove))


def _told(stale: Sequence[str], *, remove: bool) -> Iterator[str]:
    if not stale:
        return
    what = f"{count(len(stale), 'recording')} that nothing uses"
    yield f"removed {what}:" if remove else f"{what} (--convo-record=all removes them):"
    yield from (f"  {path}" for path in stale[:_SHOWN])
    if len(stale) > _SHOWN:
        yield f"  and {len(stale) - _SHOWN} more"


def _relative(path: str, rootdir: Path) -> str:
    return str(Path(path).relative_to(rootdir)) if Path(path).is_relative_to(rootdir) else path
