"""Who takes down the answers of a session: for whoever listens, and where they are written, into the directories."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ..errors import SettingsError
from ..run.session import RUN
from ..write.listener import Listener
from ..write.screen import Screen
from ..write.scribe import Writer
from .state import LISTENER, State

if TYPE_CHECKING:
    from ..bot.scribe import Scribe
    from ..conversation.conversation import Conversation
    from ..redaction import Redactor

SCREEN = pytest.StashKey[Screen]()
"""What this process shows of the answers while they are written, where it shows any."""


def scribe_maker(
    state: State, directory: Path, case: str | None, redactor: Redactor, conversation: Conversation
) -> Callable[[int], Scribe]:
    """Makes the scribe of run i of a conversation, or of one case of it.

    What it makes raises `SettingsError` where several cases would write the same files.
    """
    writes = state.options.write and state.fresh is None
    listener = _listener(state)
    holes = frozenset(conversation.turns) - conversation.approved.keys() if writes else frozenset()
    last = max((*conversation.turns, *conversation.messages), default=-1)

    def make(_run: int) -> Scribe:
        if writes:
            _require_one_case(state, directory)
        return Writer(directory, case, redactor, listener, holes, last if state.options.next else None)

    return make


def _require_one_case(state: State, directory: Path) -> None:
    runs = (item.stash[RUN] for item in state.runs.items.values())
    cases = sorted({run.spec.case or "" for run in runs if run.spec is not None and run.spec.directory == directory})
    if len(cases) > 1:
        msg = f"{len(cases)} cases are selected, and they would write the same files: {', '.join(cases)}"
        raise SettingsError(msg, path=directory, hint=f"select one of them, as with -k {cases[0]}, or by its node id")


def _listener(state: State) -> Listener | None:
    """Who hears of the answers: whoever asked for it, else who looks at this terminal."""
    config = state.config
    if LISTENER in config.stash:
        return config.stash[LISTENER]
    if hasattr(config, "workerinput") or config.option.verbose < 0:
        return None
    if SCREEN not in config.stash:
        config.stash[SCREEN] = Screen()
    return config.stash[SCREEN].hear


def show(item: pytest.Item, state: State, *, last: bool = False) -> bool:
    """Show what has been heard of answers, while `item` is waited for; whether there was anything.

    `last`: the wait is over, and pytest goes on with its own line.
    """
    screen = item.config.stash.get(SCREEN, None)
    reporter: Any = item.config.pluginmanager.get_plugin("terminalreporter")
    if screen is None or reporter is None or not (screen.waits or (last and screen.in_the_middle)):
        return False
    capture = item.config.pluginmanager.get_plugin("capturemanager")
    with capture.global_and_fixture_disabled() if capture is not None else nullcontext():
        if not screen.in_the_middle:
            reporter.ensure_newline()
        text = screen.text(item.config.rootpath, as_it_comes=bool(reporter.isatty) and _is_alone(state))
        reporter.write(text + (screen.end() if last else ""), flush=True)
        if last and item.config.option.verbose == 0:
            reporter.write_fspath_result(item.nodeid, "")
    return True


def _is_alone(state: State) -> bool:
    """Whether one conversation is all that is asked."""
    runs = (item.stash[RUN] for item in state.runs.items.values())
    return len({run.spec.key(1) for run in runs if run.spec is not None}) == 1
