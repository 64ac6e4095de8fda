"""The single cases of a comparison: which look worse than before, and which of those are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeVar

from .regression import Arm, fisher_p

CASES_ALPHA = 0.025
"""The chance that any single case is called worse where nothing has changed: it is not more than this."""
SCREEN_BELOW = 0.1
"""A case whose p is below this is suspicious: to be run again, no more than that."""
CONFIRMATION_RUNS = 10
"""The fresh runs of a suspicious case."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Case:
    """One case: the two parts of its baseline (see `halves`), what it does `now`, and its fresh runs if there are any.

    Runs that ended in an error are in no arm. `answers` names what was judged: several cases, as a conversation and the
    tests beside it, may judge the same answers, and are then no independent evidence; empty, it is the case's own.
    """

    id: str
    screen: Arm
    rest: Arm
    now: Arm
    confirmation: Arm | None = None
    answers: str = ""

    @property
    def before(self) -> Arm:
        return self.screen + self.rest

    @property
    def is_comparable(self) -> bool:
        return self.before.runs > 0 and self.now.runs > 0

    @property
    def is_suspicious(self) -> bool:
        return fisher_p(self.screen, self.now) < SCREEN_BELOW


@dataclass(frozen=True, slots=True)
class Suspect:
    """A suspicious case; `p` is that of its fresh runs, adjusted for the other suspects, None without fresh runs."""

    case: Case
    p: float | None

    @property
    def is_confirmed(self) -> bool:
        return self.p is not None and self.p <= CASES_ALPHA


def independent(cases: Sequence[Case]) -> list[Case]:
    """One case for all that judge the same answers: the one that passed least often before, and of equal ones by id.

    It is chosen by its baseline alone. A low baseline is in part bad luck, so the choice hides a drop sooner than it
    makes one up.
    """
    chosen: dict[str, Case] = {}
    for case in sorted(cases, key=lambda case: (case.before.passes / case.before.runs, case.id)):
        chosen.setdefault(case.answers or case.id, case)
    return [case for case in cases if chosen[case.answers or case.id] is case]


def halves(runs: Sequence[T]) -> tuple[Sequence[T], Sequence[T]]:
    """The runs of a baseline, in the order of their numbers, as those that screen and those kept to confirm.

    A case looks suspicious because it did badly now, or because the baseline runs that screen were lucky; those would
    be as lucky the second time, and so must not confirm it. Every second run screens: what drifts while a baseline is
    made is in both parts alike. They are equal because each has work to do: of 20 runs, 7 to 12 that screen find a
    broken case about as often, 5 or 15 find it less often. An odd run is kept to confirm, where more is asked for.
    """
    return runs[1::2], runs[::2]


def suspicious(cases: Sequence[Case]) -> list[str]:
    """The ids of the cases that are to be run again, `CONFIRMATION_RUNS` times each."""
    return [case.id for case in cases if case.is_suspicious]


def suspects_of(cases: Sequence[Case]) -> list[Suspect]:
    """The suspicious cases and what their fresh runs prove, the clearest first, and of equal ones by id.

    Fresh runs are compared with the part of the baseline that did not screen, and so nothing that made a case
    suspicious counts against it again. Missing ones are no evidence.
    """
    doubtful = [case for case in cases if case.is_suspicious]
    adjusted = holm([fisher_p(case.rest, case.confirmation or Arm()) for case in doubtful])
    suspects = [
        Suspect(case, p if case.confirmation and case.confirmation.runs else None)
        for case, p in zip(doubtful, adjusted, strict=True)
    ]
    return sorted(suspects, key=lambda suspect: (1.0 if suspect.p is None else suspect.p, suspect.case.id))


def holm(p_values: Sequence[float]) -> list[float]:
    """Each p-value as the smallest α at which Holm's procedure (1979) rejects its hypothesis, in the same order."""
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    scaled = (min(1.0, left * p_values[index]) for left, index in zip(range(len(order), 0, -1), order, strict=True))
    return [p for _, p in sorted(zip(order, accumulate(scaled, max), strict=True))]


def could_be_confirmed(case: Case, among: int = 1, fresh_runs: int = CONFIRMATION_RUNS) -> bool:
    """Whether so many fresh runs, had all of them failed, would confirm the case as the clearest `among` suspects."""
    return among * fisher_p(case.rest, Arm(0, fresh_runs)) <= CASES_ALPHA
