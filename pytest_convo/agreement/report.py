"""A group that has its verdict, and its runs, as they are told of to a person."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .classes import Class, by_size, normalise
from .outcome import Outcome
from .tally import Rule, Tally, Verdict


@dataclass(frozen=True, slots=True)
class RunReport:
    """One run of a group, as a person hears of it.

    `outcome` is None for a spared run; `reason` says why a run failed or measured nothing; `answer` is what the bot
    said, "" where it said nothing; `seconds` is 0 where it is not known; `retried`: an error went before `outcome`;
    `replayed`: every answer came from a recording. `alike` names the class of its answer, where the session told it.
    """

    run: str
    outcome: Outcome | None
    reason: str = ""
    answer: str = ""
    seconds: float = 0.0
    retried: bool = False
    replayed: bool = False
    alike: str = ""


@dataclass(frozen=True, slots=True)
class GroupReport:
    """A group that has its verdict; `rule` is that of the selected runs, of `declared_runs` in all.

    `runs` are those of which was heard until then, without those that were `skipped`.
    """

    verdict: Verdict
    rule: Rule
    declared_runs: int
    runs: tuple[RunReport, ...]
    skipped: int = 0

    @property
    def tally(self) -> Tally:
        tally = Tally.of(run.outcome for run in self.runs if run.outcome is not None)
        return replace(tally, alike=tuple(map(len, self.classes)))

    @property
    def classes(self) -> list[Class]:
        """Which runs say the same, by their positions in `runs`, the largest class first.

        Where the session did not tell the class of every answer, those that are the same in words are one; runs that
        said nothing are then in none.
        """
        answered = [run for run in self.runs if run.answer and run.outcome in (Outcome.PASS, Outcome.FAIL)]
        told = any(run.alike for run in self.runs) and all(run.alike for run in answered)
        found: dict[str, Class] = {}
        for position, run in enumerate(self.runs):
            if run.alike if told else run.answer:
                found.setdefault(run.alike if told else normalise(run.answer), []).append(position)
        return by_size(list(found.values()))
