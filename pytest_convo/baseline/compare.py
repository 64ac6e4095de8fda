"""What a session found, held against a baseline: which cases can be compared, and why others cannot."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ..agreement.outcome import Outcome
from ..agreement.regression import Arm
from ..agreement.suspects import Case, halves
from ..run.results import GroupResult, Told
from .file import Baseline, Entry

_MEASURED = (Outcome.PASS, Outcome.FAIL)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The comparable cases, and everything that is none: each with the node id of its group."""

    cases: tuple[Case, ...] = ()
    unlike: tuple[tuple[str, str], ...] = ()
    """Cases that are not comparable, and why."""
    new: tuple[str, ...] = ()
    same: tuple[tuple[str, int], ...] = ()
    """Cases with runs that the baseline counted already, and how many: they are no evidence."""
    errors: tuple[tuple[str, int], ...] = ()
    """Cases with runs that measured nothing, and how many: they are in neither arm."""
    gone: tuple[str, ...] = ()
    gone_checks: tuple[tuple[str, str], ...] = ()
    """Checks that the baseline has and the case has no more."""

    @property
    def is_nothing_new(self) -> bool:
        """Whether what could be compared is nothing but the baseline's own recordings."""
        return bool(self.same) and not self.unlike and not any(case.now.runs for case in self.cases)


def compare(baseline: Baseline, groups: Iterable[GroupResult], selected: Callable[[str], bool]) -> Comparison:
    """Hold what `groups` found against the baseline; a case of it that is missing is gone where it was `selected`."""
    cases: list[Case] = []
    found: dict[str, list[tuple[str, str]]] = {"unlike": [], "gone_checks": []}
    counts: dict[str, list[tuple[str, int]]] = {"same": [], "errors": []}
    new: list[str] = []
    heard = {group.id: group for group in groups}
    known = {id_: group for id_, group in heard.items() if group.measured}
    for id_, group in known.items():
        entry = baseline.cases.get(id_)
        if entry is None:
            new.append(id_)
            continue
        found["gone_checks"] += [(id_, name) for name in entry.checks if name not in _checks(group)]
        if why := unlike(entry, group):
            found["unlike"].append((id_, why))
            continue
        fresh, same, errors = _sorted(entry, group)
        cases.append(Case(id_, _arm(entry, 0), _arm(entry, 1), fresh, answers=_answers(group)))
        counts["same"] += [(id_, same)] if same else []
        counts["errors"] += [(id_, errors)] if errors else []
    gone = tuple(id_ for id_ in baseline.cases if id_ not in heard and selected(id_))
    return Comparison(
        cases=tuple(cases),
        new=tuple(new),
        gone=gone,
        unlike=tuple(found["unlike"]),
        gone_checks=tuple(found["gone_checks"]),
        same=tuple(counts["same"]),
        errors=tuple(counts["errors"]),
    )


def unlike(entry: Entry, group: GroupResult) -> str:
    """Why a case is not comparable with what the baseline has of it; empty where it is."""
    models = _models(group)
    if models and entry.models and models != entry.models:
        return f"another model answered: {', '.join(models)}, not {', '.join(entry.models)}"
    told = _identity(group)
    if told["messages"] != entry.messages:
        return "the user's messages are others"
    if told["checks"] != entry.checks:
        names = sorted(
            name for name in {*told["checks"], *entry.checks} if told["checks"].get(name) != entry.checks.get(name)
        )
        return f"the checks are others: {', '.join(names)}"
    return ""


def entry_of(group: GroupResult) -> Entry:
    """What a baseline keeps of a group."""
    runs = [told for told in _in_order(group) if told["outcome"] in _MEASURED]
    parts = halves(runs)
    told = _identity(group)
    return Entry(
        passes=(_passes(parts[0]), _passes(parts[1])),
        runs=(len(parts[0]), len(parts[1])),
        errors=group.tally.errors,
        models=_models(group),
        messages=told["messages"],
        checks=told["checks"],
        samples=tuple(told["sample"] for told in runs if told.get("sample")),
    )


def _sorted(entry: Entry, group: GroupResult) -> tuple[Arm, int, int]:
    """A group's runs: those that are evidence, the number of those that the baseline has counted, and of errors."""
    measured = [told for told in _in_order(group) if told["outcome"] in _MEASURED]
    fresh = [told for told in measured if told.get("sample") is None or told["sample"] not in entry.samples]
    return Arm(_passes(fresh), len(fresh)), len(measured) - len(fresh), group.tally.errors


def arm_of(group: GroupResult) -> Arm:
    """The passes among the runs that measured something."""
    runs = [told for told in group.runs.values() if told["outcome"] in _MEASURED]
    return Arm(_passes(runs), len(runs))


def _arm(entry: Entry, part: int) -> Arm:
    return Arm(entry.passes[part], entry.runs[part])


def _passes(runs: Sequence[Told]) -> int:
    return sum(told["outcome"] == Outcome.PASS for told in runs)


def _in_order(group: GroupResult) -> list[Told]:
    return [told for _, told in sorted(group.runs.items(), key=lambda run: int(run[0].rpartition("-")[2]))]


def _identity(group: GroupResult) -> Told:
    identity: Told = next(told["identity"] for told in group.runs.values() if "identity" in told)
    return identity


def _checks(group: GroupResult) -> Told:
    checks: Told = _identity(group)["checks"]
    return checks


def _answers(group: GroupResult) -> str:
    """The conversation whose transcripts the group judges, without their run's number; its own id where it asks."""
    keys = (told["transcript"] for told in group.runs.values() if "transcript" in told)
    return next(keys, group.id).rpartition("\n")[0] or group.id


def _models(group: GroupResult) -> tuple[str, ...]:
    return tuple(sorted({model for told in group.runs.values() for model in told.get("models", ())}))
