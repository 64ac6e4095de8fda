"""`--convo-simulate`: how often the regression gate would be red for this suite and its settings; nothing is called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from ..agreement.simulate import Planned, describe, simulate
from ..collect.state import State
from ..errors import ConvoError
from ..flags import BASELINE
from ..options import Options
from ..run.group import Group
from .words import count

SEED = 0
"""The same suite has the same rates, whoever looks."""

BASELINE_RUNS = 20
RATE = 0.95
"""What is assumed of a case of which no baseline tells."""

MANY = 100
"""Cases from which on fewer sessions are simulated: each takes longer, and says more."""


def show(state: State, config: pytest.Config) -> None:
    """Print the rates of the selected groups; `pytest.UsageError` where the baseline cannot be read."""
    writer = config.get_terminal_writer()
    try:
        for line in lines(list(state.runs.groups.values()), state.options, config.rootpath):
            writer.line(line)
    except ConvoError as error:
        raise pytest.UsageError(str(error)) from None


def lines(groups: list[Group], options: Options, rootdir: Path) -> Iterator[str]:
    """The rates in words, and what they rest on."""
    if not groups:
        yield "nothing to simulate: no conversation and no redundant test was collected"
        return
    known = _rates(options.baseline or rootdir / BASELINE)
    planned = [_planned(group, known) for group in groups]
    rates = simulate(
        planned, seed=SEED, sessions=1000 if len(planned) <= MANY else 300, confirmable=options.record != "none"
    )
    told = sum(case.id in known for case in planned)
    if told:
        yield f"pass rates and runs of {count(told, 'case')} from the baseline"
    if told < len(planned):
        rest = count(len(planned) - told, "case")
        yield f"assumed of {rest}: {BASELINE_RUNS} runs in the baseline, pass rate {RATE:g}"
    yield describe(rates)


def _planned(group: Group, known: Mapping[str, tuple[int, float]]) -> Planned:
    runs, rate = known.get(group.id, (BASELINE_RUNS, RATE))
    return Planned(group.id, runs, rate, group.rule)


def _rates(path: Path) -> dict[str, tuple[int, float]]:
    """Runs and pass rate of each case in a baseline; none where there is no file. The rate is Jeffreys's mean."""
    from ..baseline.file import read

    if not path.exists():
        return {}
    entries = read(path).cases
    return {
        id_: (sum(entry.runs), (sum(entry.passes) + 0.5) / (sum(entry.runs) + 1))
        for id_, entry in entries.items()
        if sum(entry.runs)
    }
