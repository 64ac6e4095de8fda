"""What collections have told: which units there are, what they are made of, and so what is to be watched."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from ..errors import ConvoError
from .channel import Note
from .dependents import Dependents, Unit
from .events import Events
from .job import Job
from .ledger import Ledger


class Known:
    """The units of a project; `roots` are the directories of the command line, which are watched in any case.

    `say` is told what cannot be watched.
    """

    def __init__(
        self, roots: Sequence[Path], dependents: Dependents, events: Events, ledger: Ledger, say: Callable[[str], None]
    ) -> None:
        self.units: set[Path] = set()
        self.single: set[Path] = set()
        """Units whose settings ask for one run."""
        self._roots = roots
        self._dependents, self._events, self._ledger = dependents, events, ledger
        self._say = say
        self._told: dict[Path, float] = {}
        """When the sessions began that have told of units: an older one tells no more of them."""
        self._watched: set[Path] = set()

    def collected(self, job: Job, note: Note) -> None:
        """Learn what units are made of, unless a younger session has told, or they have been edited or gone since."""
        told = {Path(unit["path"]): unit for unit in note["units"]}
        job.found = set(told)
        fresh = {
            path: unit
            for path, unit in told.items()
            if (job.mode == "survey" or path in job.units) and self._told.get(path, 0.0) < job.began and path.exists()
        }
        self._told.update(dict.fromkeys(fresh, job.began))
        units = [Unit(path, frozenset(map(Path, unit["reads"]))) for path, unit in fresh.items()]
        modules = {name: Path(file) for name, file in note["modules"].items()}
        self._dependents.learn(units, modules, broken=[path for path in map(Path, note["broken"]) if path in fresh])
        self.units.update(fresh)
        self.single = (self.single - fresh.keys()) | {path for path in fresh if not fresh[path]["redundant"]}
        self.watch(self._dependents.files())

    def read(self, note: Note) -> None:
        """Learn that a test reads files, which its collection could not tell."""
        test = Path(note["test"])
        unit = test.parent if test.parent in self.units else test
        self._dependents.read(unit, map(Path, note["paths"]))
        self.watch(self._dependents.files())

    def watch(self, paths: Iterable[Path]) -> None:
        """Watch what lies outside of the roots, too; what is refused is said once."""
        outside = {path for path in paths if not any(path.is_relative_to(root) for root in self._roots)}
        new = sorted(outside - self._watched)
        self._watched.update(new)
        for path in new:
            try:
                self._events.watch([path])
            except ConvoError as error:
                self._say(str(error))
        self._ledger.learn(new)
