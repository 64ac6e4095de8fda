"""What there is to run, said before the first run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import pytest

from ..check.base import AskingCheck
from ..collect.recordings import SURVEY, first_digest, is_there, survey
from ..collect.selection import DESELECTED
from ..collect.state import State
from ..errors import ConvoError
from ..options import Options, in_ci
from ..run.session import RUN
from .dry import show
from .words import count

if TYPE_CHECKING:
    from ..run.measure import Spec


def announce(state: State, session: pytest.Session) -> None:
    """Collection is over: leave the header for the controller of xdist, and in a dry session print the requests."""
    if hasattr(session.config, "workerinput") and (lines := header(state)) is not None:
        state.runs.ledger.note("header", "\n".join(lines))
    if state.fresh is not None:
        return
    if state.options.simulate:
        from . import simulation

        simulation.show(state, session.config)
        return
    if state.options.dry:
        show(session)
        return
    state.survey = survey(state, state.collected)
    if hasattr(session.config, "workerinput"):
        state.runs.ledger.note(SURVEY, state.survey.to_note())
        if state.deselects:
            state.runs.ledger.note(DESELECTED, "")


def header(state: State) -> list[str] | None:
    """The lines before the runs: what there is, who answers, what is needed, and what it takes."""
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
        _mode(state.options),
    ]
    spending = [_calls(state), *_caps(state.options)]
    lines = [" · ".join(filter(None, line)) for line in (parts, spending)]
    return [f"convo: {line}" for line in lines]


def _mode(options: Options) -> str:
    """The mode of recordings, and whether it is so because this is CI."""
    return f"record {options.record}{' (CI)' if options.record == 'none' and in_ci() else ''}"


def _caps(options: Options) -> Iterator[str]:
    if options.max_usd is not None:
        yield f"at most ${options.max_usd:g}"
    if options.max_calls is not None:
        yield f"at most {count(options.max_calls, 'call')}"
    if options.max_tokens is not None:
        yield f"at most {count(options.max_tokens, 'token')}"


def _calls(state: State) -> str:
    """How many model calls the verdicts take at least and at most, when none fails and is sent again."""
    least, most = estimate(state)
    asking = sum(_asks(item) for item in state.runs.items.values())
    calls = count(most, "call") if least == most else f"{least} to {count(most, 'call')}"
    judging = any(spec.asking for spec in state.specs.values()) and state.options.judge_check
    more = [f"those of {count(asking, 'run')} of tests that ask themselves"] * bool(asking)
    more += ["those of checking judges"] * judging
    more += ["those of summaries"] * any(spec.recipe.summarizer is not None for spec in state.specs.values())
    return f"{calls} needed{''.join(f', and {one}' for one in more)}"


def _asks(item: pytest.Item) -> bool:
    return not {"agent", "bot"}.isdisjoint(getattr(item, "fixturenames", ()))


def estimate(state: State) -> tuple[int, int]:
    """The model calls of the conversations, at least and at most; what is recorded is not asked for."""
    needed: dict[str, tuple[Spec, int, bool]] = {}
    for nodeid, item in state.runs.items.items():
        run = item.stash[RUN]
        if run.spec is not None:
            key = run.spec.key(run.number)
            spare = run.group.spare(nodeid) and needed.get(key, (None, 0, True))[2]
            needed[key] = (run.spec, run.number, spare)
    live = list(_live(state.options, needed.values()))
    least = sum(_least_calls(spec) for spec, _, spare in live if not spare)
    return least, sum(_most_calls(spec) for spec, _, _ in live)


def _live(options: Options, needed: Iterable[tuple[Spec, int, bool]]) -> Iterator[tuple[Spec, int, bool]]:
    """Those of the runs that no recording seems to answer."""
    digests: dict[int, bytes] = {}
    for spec, run, spare in needed:
        if options.record in ("auto", "new") and id(spec) not in digests:
            digests[id(spec)] = _first_digest(spec)
        replayed = options.record == "none" or (options.record != "all" and is_there(spec, run, digests[id(spec)]))
        if not replayed:
            yield spec, run, spare


def _first_digest(spec: Spec) -> bytes:
    try:
        return first_digest(spec)
    except ConvoError:  # told of where the run is made
        return b""


def _least_calls(spec: Spec) -> int:
    own = len(spec.conversation.turns) if spec.player is None else min(1, spec.player.calls)
    return own + sum(least for least, _ in _judging(spec))


def _most_calls(spec: Spec) -> int:
    rounds = spec.settings.bot.tool_rounds if spec.tools is not None else 0
    own = len(spec.conversation.turns) * (1 + rounds) if spec.player is None else spec.player.calls
    return own + sum(most for _, most in _judging(spec))


def _judging(spec: Spec) -> Iterator[tuple[int, int]]:
    """The calls that each check takes which asks a model."""
    for several in spec.checks.values() if spec.asking else ():
        yield from (check.calls for check in several if isinstance(check, AskingCheck))


def _most(names: set[str]) -> str:
    """The names, as long as they are few."""
    ordered = sorted(names)
    return ", ".join(ordered) if len(ordered) <= 3 else f"{', '.join(ordered[:2])} and {len(ordered) - 2} more"
