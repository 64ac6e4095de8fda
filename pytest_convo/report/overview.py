"""What there is to run, said before the first run."""

from __future__ import annotations

import pytest

from ..collect.state import State
from .dry import show
from .words import count


def announce(state: State, session: pytest.Session) -> None:
    """Collection is over: leave the header for the controller of xdist, and in a dry session print the requests."""
    if hasattr(session.config, "workerinput") and (line := header(state)) is not None:
        state.runs.ledger.note("header", line)
    if state.options.dry:
        show(session)


def header(state: State) -> str | None:
    """The line before the runs: what there is, who answers, what is needed, how many calls at once."""
    runs = state.runs
    if not runs.items:
        return None
    groups = runs.groups.values()
    specs = {spec.directory: spec for spec in state.specs.values()}
    bots = _most({spec.settings.bot.model or spec.settings.bot.provider for spec in specs.values()})
    needs = _most({group.rule.text.removeprefix("needs ") for group in groups if len(group.runs) > 1})
    parts = [
        f"{count(len(groups), 'group')}, {count(len(runs.items), 'run')}",
        f"bot {bots}" if bots else "",
        f"needs {needs}" if needs else "",
        f"{state.options.concurrency} at once",
        "every run at once" if state.options.eager else "",
        "live",
    ]
    return f"convo: {' · '.join(part for part in parts if part)}"


def _most(names: set[str]) -> str:
    """The names, as long as they are few."""
    ordered = sorted(names)
    return ", ".join(ordered) if len(ordered) <= 3 else f"{', '.join(ordered[:2])} and {len(ordered) - 2} more"
