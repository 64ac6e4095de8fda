"""`--snapshot-update`: what the session's conversations answered becomes their approved replies."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any, get_args

from ..agreement.describe import headline
from ..agreement.outcome import Outcome
from ..agreement.verdict import Verdict
from ..conversation.encode import Unwritable
from ..run.results import GroupResult, Results, Told
from .file import look, write
from .plan import Candidates, Decision, Deed, decide

MOST_LINES = 20
"""Turns that the summary speaks of one by one."""

Place = tuple[str, int]
"""A directory, and the index of a turn in it."""


@dataclass(frozen=True, slots=True)
class Update:
    """What was done, by the paths of the replies as they are shown."""

    decisions: Mapping[str, Decision] = field(default_factory=dict)

    @property
    def counts(self) -> Counter[Deed]:
        """How many replies were added, updated, unchanged, left."""
        return Counter(decision.deed for decision in self.decisions.values())

    @property
    def lines(self) -> list[str]:
        """What the summary says; nothing where there was nothing to approve."""
        if not self.decisions:
            return []
        counts = self.counts
        counted = ", ".join(f"{counts[deed]} {_WORDS.get(deed, deed)}" for deed in get_args(Deed) if counts[deed])
        notes = [f"  {path}: {note}" for path, one in self.decisions.items() if (note := _note(one))]
        more = [f"  and {len(notes) - MOST_LINES} more"] if len(notes) > MOST_LINES else []
        return [f"approved replies: {counted}", *notes[:MOST_LINES], *more]


_WORDS: Mapping[Deed, str] = {"left": "left alone"}


def approve(results: Results) -> list[str]:
    """Write the answers of all groups that passed to where the approved replies stand; lines for the summary.

    Each run tells in `approvable` its directory, its case, the number of cases there, and by the index of the turn its
    answer and the mode of the check. No file is written but those of the approved replies.
    """
    return update(results).lines


def update(results: Results) -> Update:
    """As `approve`; what was done of it."""
    offered: defaultdict[Place, list[Candidates]] = defaultdict(list)
    for group in results.groups.values():
        for place, candidates in _offers(group):
            offered[place].append(candidates)
    return Update(dict(_decided(place, groups) for place, groups in offered.items()))


def _decided(place: Place, groups: Sequence[Candidates]) -> tuple[str, Decision]:
    """The path of a turn's reply, as it is shown, and what was done about it."""
    path, standing = look(Path(place[0]), place[1])
    decision = decide(groups, standing)
    if decision.deed in ("added", "updated"):
        try:
            write(path, decision.text)
        except Unwritable as error:
            decision = replace(decision, deed="left", why=str(error), tie="")
    folder = PurePosixPath(groups[0].group.partition("::")[0]).parent
    return str(folder / path.name), decision


def _offers(group: GroupResult) -> Iterator[tuple[Place, Candidates]]:
    """What a group has to offer for each turn that may be approved."""
    told = {nodeid: told for nodeid, told in sorted(group.runs.items(), key=_number) if "approvable" in told}
    refusal, cases = _refusal(group), max((one["approvable"]["cases"] for one in told.values()), default=1)
    for place in dict.fromkeys(place for one in told.values() for place in _turns(one)):
        turns = {
            nodeid: _turns(one)[place]
            for nodeid, one in told.items()
            if one["outcome"] == Outcome.PASS and place in _turns(one)
        }
        answers = tuple(turn["text"] for turn in turns.values())
        mode = next((turn["mode"] for turn in turns.values()), None)
        refused = refusal or ("" if answers else "no run that passed got there")
        is_last = all(told[nodeid]["approvable"]["last"] == place[1] for nodeid in turns)
        alike = tuple(group.alike.get(nodeid, "") for nodeid in turns) if is_last else ()
        yield place, Candidates(group.id, answers, mode, refused, cases, alike if all(alike) else ())


def _turns(told: Told) -> dict[Place, Mapping[str, Any]]:
    approvable = told["approvable"]
    return {(approvable["directory"], int(index)): turn for index, turn in approvable["turns"].items()}


def _refusal(group: GroupResult) -> str:
    """Why nothing of a group is approved; empty where it passed."""
    if group.settled is None:
        return "its runs did not all end, so there is no verdict"
    return "" if group.settled is Verdict.PASS else headline(group.to_report())


def _note(decision: Decision) -> str:
    return f"left alone: {decision.why}" if decision.deed == "left" else decision.tie


def _number(run: tuple[str, Told]) -> int:
    return int(run[0].rpartition("-")[2])
