"""Making the baseline: what a session found becomes what later ones are held against."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path

from ..agreement.verdict import Verdict
from ..errors import FormatError
from ..run.results import GroupResult, Results
from .compare import entry_of
from .file import Baseline, Entry, read, write


def update(path: Path, results: Results, selected: Callable[[str], bool]) -> list[str]:
    """Write the cases of this session; what the session did not look at stays. Lines that say what was done.

    A case whose runs prove nothing, as those that a cap cut short, is left as it was. A file that is no baseline is
    replaced. Raises `OSError` where the file cannot be written.
    """
    known, lost = _known(path)
    found = {group.id: entry_of(group) for group in results.groups.values() if _proves(group)}
    unmeasured = results.groups.keys() - found.keys()
    kept = {id_: entry for id_, entry in known.items() if id_ in unmeasured or not selected(id_)}
    cases = {**kept, **found}
    write(path, Baseline(date=datetime.datetime.now(datetime.UTC).date().isoformat(), cases=cases))
    gone = len(known.keys() - cases.keys())
    told = [f"{len(found)} of {len(cases)} cases measured now"]
    told += [f"{len(unmeasured)} inconclusive or not run in full, and left as they were"] if unmeasured else []
    told += [f"{gone} gone"] if gone else []
    return [*lost, f"baseline written to {path.name}: {', '.join(told)}"]


def _proves(group: GroupResult) -> bool:
    """Whether all runs of the case were made, and came to a verdict."""
    return group.settled not in (None, Verdict.INCONCLUSIVE) and group.rule.n == group.declared


def _known(path: Path) -> tuple[dict[str, Entry], list[str]]:
    """The cases of the file so far, and what is to be said where it is no baseline."""
    try:
        return dict(read(path).cases) if path.exists() else {}, []
    except FormatError as error:
        return {}, [f"{path.name} {error.what}: written anew, without what stood in it"]
