"""Making the baseline: what a session found becomes what later ones are held against."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path

from ..run.results import Results
from .compare import entry_of
from .file import Baseline, Entry, read, write


def update(path: Path, results: Results, selected: Callable[[str], bool]) -> str:
    """Write the cases of this session; what the session did not look at stays. A line that says what was done.

    A case in which no run measured anything is left as it was.
    """
    known = _known(path)
    found = {group.id: entry_of(group) for group in results.groups.values() if group.tally.measured}
    unmeasured = results.groups.keys() - found.keys()
    kept = {id_: entry for id_, entry in known.items() if id_ in unmeasured or not selected(id_)}
    cases = {**kept, **found}
    write(path, Baseline(date=datetime.datetime.now(datetime.UTC).date().isoformat(), cases=cases))
    gone = len(known.keys() - cases.keys())
    told = [f"{len(found)} of {len(cases)} cases measured now"]
    told += [f"{gone} gone"] if gone else []
    return f"baseline written to {path.name}: {', '.join(told)}"


def _known(path: Path) -> dict[str, Entry]:
    return dict(read(path).cases) if path.exists() else {}
