"""What one process keeps for its session while it collects; made when there is first something to collect."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .. import options
from ..bot.clients import preload
from ..check.loading import PACKAGE
from ..errors import ConvoError, SettingsError
from ..run.session import RunSession
from .garbage import Garbage

if TYPE_CHECKING:
    from ..agent.host import Host
    from ..bot.gate import Ask
    from ..bot.summarizer import Desk
    from ..conversation.scan import Scan
    from ..judge.forms import Place
    from ..redaction import Redactor
    from ..run.measure import Spec
    from ..settings.resolve import Resolver
    from ..write.listener import Listener
    from .recordings import Survey

_STATE = pytest.StashKey["State"]()

LISTENER: pytest.StashKey[Listener] = pytest.StashKey()
"""Who hears of each turn while it is answered, where somebody does; in the config's stash."""

GATE: pytest.StashKey[Ask] = pytest.StashKey()
"""Who lets results of tools pass, where somebody is to look at them first; in the config's stash."""

AGAIN = pytest.StashKey[int]()
"""The number of a further round, in which every group makes all its runs; in the config's stash."""

STORE = pytest.StashKey[Path]()
"""Where answers are kept for as long as somebody watches, so that none is asked for twice; in the config's stash."""


PATIENCE = 5.0
"""Seconds for what worked in sandboxes to notice that they have gone."""

ORACLE_ALONE = "--convo-oracle runs the solutions of tasks, and asks no model"
"""Why everything else is skipped then."""


class State:
    """The session's options, settings, conversations and runs."""

    def __init__(self, config: pytest.Config, *, fresh: int | None = None) -> None:
        self.config = config
        self.options = options.read(config)
        self.fresh = 0 if fresh is None and AGAIN in config.stash else fresh
        """How many fresh runs each group has, 0 for as many as it has anyway; None where its first runs are made."""
        self.round = config.stash.get(AGAIN, int(fresh is not None))
        """Which round of runs it is: the first ones have the number 0."""
        self.runs = RunSession(self.options, getattr(config, "workerinput", None))
        self.specs: dict[tuple[Path, str | None], Spec] = {}
        self.desks: dict[tuple[Path, Redactor], Desk] = {}
        """What is shared of the summaries that are kept in a directory, without what is secret there."""
        self.broken: set[Path] = set()
        self.collected: Sequence[pytest.Item] = ()
        """What was collected, before any of it was deselected."""
        self.deselects = False
        self.survey: Survey | None = None
        """What there is of recordings, once the items are known."""
        self.garbage = Garbage()
        self.refused: set[Place] = set()
        """Which forms of asking for a verdict servers have refused in this session."""
        self._scans: dict[str, Scan] = {}
        self._preload = threading.Thread(target=preload, name="convo-preload", daemon=True)
        # The package in which files of checks are imported: a failed assert in them shows its values.
        pytest.register_assert_rewrite(PACKAGE)

    @cached_property
    def resolver(self) -> Resolver:
        """The settings of every directory below the rootdir."""
        from ..settings.resolve import Resolver

        nearest, defaults = options.layers(self.config)
        return Resolver(self.config.rootpath, nearest, defaults, lambda path: frozenset(self.checks(path)), self.bots)

    def preload(self) -> None:
        """Import the SDK beside the collection, once: it takes a third of a second, and collection reads files."""
        if self._preload.ident is None and not self.config.option.collectonly:
            self._preload.start()

    @cached_property
    def host(self) -> Host:
        """Where agents work; the workers of a session share the places."""
        from ..agent.host import AT_ONCE, Host

        workers: int = getattr(self.config, "workerinput", {}).get("workercount", 1)
        return Host(AT_ONCE // workers)

    def check(self) -> None:
        """Raise `pytest.UsageError` for what is wrong with the command line, the environment or the ini file."""
        try:
            self.resolver.check()
        except ConvoError as error:
            raise pytest.UsageError(str(error)) from None

    def scan(self, directory: Path) -> Scan:
        """The message files of a directory, looked up once."""
        from ..conversation.scan import scan

        key = str(directory)
        if key not in self._scans:
            self._scans[key] = scan(directory)
        return self._scans[key]

    def forget(self, directory: Path) -> None:
        """Files of a directory have come or gone: look them up again."""
        self._scans.pop(str(directory), None)

    def hook(self, directory: Path) -> Any:
        """The hooks as the conftests at and above a directory implement them."""
        session: pytest.Session | None = self.config.pluginmanager.get_plugin("session")
        # Before there is a session, as with --convo-explain, the conftests of the arguments are all there is.
        return self.config.hook if session is None else _Hooks(session, directory)

    def checks(self, directory: Path) -> Mapping[str, Callable[..., Any]]:
        """The checks that conftests add for a directory, the nearest last."""
        merged: dict[str, Callable[..., Any]] = {}
        for found in reversed(self.hook(directory).pytest_convo_checks()):
            if found is not None and not isinstance(found, Mapping):
                msg = f"pytest_convo_checks returned {found!r}, which is no mapping from names to functions"
                raise SettingsError(msg, hint='return for instance {"polite": polite}')
            merged.update(found or {})
        return merged

    def bots(self, directory: Path) -> Mapping[str, Mapping[str, Any]]:
        """The bots that conftests define for a directory, by their names; the nearest conftest's hold."""
        merged: dict[str, Mapping[str, Any]] = {}
        for found in reversed(self.hook(directory).pytest_convo_bots(path=directory)):
            if found is not None and not isinstance(found, Mapping):
                msg = f"pytest_convo_bots returned {found!r}, which is no mapping from names to definitions"
                raise SettingsError(msg, hint='return for instance {"support": {"bot": {"model": "gpt-4o"}}}')
            merged.update(found or {})
        return merged

    def close(self) -> None:
        """End what this process has running."""
        if self._preload.ident is not None:
            self._preload.join()
        self.garbage.forget()
        hanging = self.runs.close()
        if "host" in vars(self):
            from ..bot.threads import running

            self.host.close()  # what worked in a sandbox ends with it
            hanging = running(PATIENCE) if hanging else []
        if hanging:
            names = ", ".join(hanging)
            warnings.warn(f"pytest-convo did not wait for tools that still run: {names}", stacklevel=2)


class _Hooks:
    """The hooks of a directory, looked up at each call: pytest's own proxy knows of the conftests loaded so far, and
    would let those of a neighbour in that is collected later.
    """

    def __init__(self, session: pytest.Session, directory: Path) -> None:
        self._session = session
        self._directory = directory

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session.gethookproxy(self._directory), name)


def of(config: pytest.Config) -> State:
    """The session's state, made at the first call."""
    state = config.stash.get(_STATE, None)
    if state is None:
        state = config.stash[_STATE] = State(config)
    return state


@contextmanager
def replaced(config: pytest.Config, state: State) -> Iterator[None]:
    """Let another state stand for the session's while the block runs."""
    before = existing(config)
    config.stash[_STATE] = state
    try:
        yield
    finally:
        del config.stash[_STATE]
        if before is not None:
            config.stash[_STATE] = before


def reset(config: pytest.Config) -> None:
    """Begin anew: what was looked at so far was for another command line, or is long ago."""
    if (state := existing(config)) is not None:
        state.close()
        del config.stash[_STATE]


def existing(config: pytest.Config) -> State | None:
    """The session's state, if there has been anything to collect."""
    return config.stash.get(_STATE, None)
