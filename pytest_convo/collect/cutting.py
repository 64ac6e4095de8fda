"""`--convo-trunc` and `--convo-fork` outside of watch: a conversation is cut before its messages are read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from .. import options
from ..conversation.branch import branch
from ..conversation.fork import unheard
from ..conversation.scan import Scan, scan
from ..errors import ConvoError
from ..run.told import relative
from ..texts import plain
from .spec import cases
from .state import LISTENER, of

_SHOWS_ONLY = ("collectonly", "setuponly", "setupplan", "showfixtures", "show_fixtures_per_test", "cacheshow")
"""The options of pytest with which it runs no test, beside those with which it does not even begin a session."""


def cut_before_collection(config: pytest.Config) -> None:
    """Cut the one conversation that the arguments name as the command line says; a watcher cuts by itself.

    What goes is printed first. A session that runs no test removes nothing. With workers of xdist the controller cuts,
    before there is any. Raises `pytest.UsageError`, and removes nothing, where it is not clear what is meant.
    """
    cut = options.read(config).cut
    if cut is None or cut.index is None or config.getoption("convo_watch") or hasattr(config, "workerinput"):
        return
    try:
        directory = _only(config)
        _require_message(scan(directory), directory, cut.index)
        _require_run(config, directory)
        branch(
            directory,
            cut.index,
            everything=cut.everything,
            keep=cut.fork,
            say=lambda line: _say(config, line),
            announce=config.stash.get(LISTENER, unheard),
            dry=any(getattr(config.option, name, None) for name in _SHOWS_ONLY),
        )
    except ConvoError as error:
        raise pytest.UsageError(plain(relative(str(error), config))) from None
    of(config).forget(directory)


def _only(config: pytest.Config) -> Path:
    """The directory of the one conversation that the arguments name."""
    named = {argument: _conversation(config, argument) for argument in config.args}
    none = [argument for argument, directory in named.items() if directory is None]
    found = {directory for directory in named.values() if directory is not None}
    if none or len(found) != 1:
        wrong = f"this is none: {', '.join(none)}" if none else f"these are {len(found)}: {', '.join(named)}"
        msg = f"--convo-trunc and --convo-fork cut one conversation, and {wrong}"
        raise ConvoError(msg, hint="name its directory, or a file in it; nothing was removed")
    return found.pop()


def _conversation(config: pytest.Config, argument: str) -> Path | None:
    """The directory of the conversation that an argument names, if it names one."""
    path = Path(os.path.normpath((config.invocation_params.dir / argument.partition("::")[0]).absolute()))
    directory = path if path.is_dir() else path.parent
    return directory if path.exists() and scan(directory).is_conversation else None


def _require_message(files: Scan, directory: Path, index: int) -> None:
    """Raise `ConvoError` where no message stands at `index`."""
    indexes = dict.fromkeys(file.index for file in files.files)
    if index not in indexes:
        msg = f"there is no message at index {index} after which it could be cut"
        raise ConvoError(msg, path=directory, hint=f"there are: {', '.join(map(str, indexes))}; nothing was removed")


def _require_run(config: pytest.Config, directory: Path) -> None:
    """Raise `ConvoError` where it is clear, or open, that what goes would not be said anew."""
    for option, given in (("-k", config.option.keyword), ("-m", config.option.markexpr)):
        if given:
            msg = f"{option} may deselect the conversation that is to be cut"
            raise ConvoError(msg, hint="select by node id, as refund/convo.toml::late-order; nothing was removed")
    state = of(config)
    for case in cases(state, directory):
        state.resolver.resolve(directory, case=case)


def _say(config: pytest.Config, line: str) -> None:
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        reporter.write_line(f"convo: {line}")
