"""What a person is told of the cases that the gate could not compare, or that say nothing new."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .compare import Comparison

_SHOWN = 10


def notes(comparison: Comparison) -> Iterator[str]:
    """A line for each kind of case that needs a word, and the cases below it."""
    titles = {
        "gone from this suite, and in the baseline (--convo-update-baseline, if that is meant)": comparison.gone,
        "checks gone from a case (--convo-update-baseline, if that is meant)": [
            f"{id_}: {check}" for id_, check in comparison.gone_checks
        ],
        "not comparable with the baseline": [f"{id_}: {why}" for id_, why in comparison.unlike],
        "not in the baseline yet": comparison.new,
        "the baseline's own recordings, and so no evidence": [f"{id_}: {_runs(n)}" for id_, n in comparison.same],
        "measured nothing, and counted nowhere": [f"{id_}: {_runs(n)}" for id_, n in comparison.errors],
    }
    for title, cases in titles.items():
        if cases:
            yield f"{title}:"
            yield from _few(cases)


def _few(cases: Sequence[str]) -> Iterator[str]:
    yield from (f"  {case}" for case in cases[:_SHOWN])
    if len(cases) > _SHOWN:
        yield f"  and {len(cases) - _SHOWN} more"


def _runs(number: int) -> str:
    return f"{number} run{'' if number == 1 else 's'}"
