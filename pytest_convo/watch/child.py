"""A process that runs pytest once, kept waiting until there is something to run.

It goes through three rooms. *Warm*: what everybody imports is imported, nothing of the user's. *Parked*: pytest has
read its arguments, and the plugins and conftests that they name; nothing has been collected. *Running*: one session.
Orders come over a pipe, one for each door; a child that is given both at once goes straight through. Each child runs
once: no state of one session is met by the next, and the user's code is what stands in its files.
"""

from __future__ import annotations

import gc
import importlib
import os
import pkgutil
import signal
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ..bot.clients import preload
from ..collect.state import reset
from .channel import Line, Note
from .facts import is_users, loaded_modules
from .watched import Watched

NOT_NEEDED = ("pytest_convo.watch.", "pytest_convo.testing.")
"""What no child comes to: the watcher itself, and servers for tests."""

QUIET = ("-W", "ignore:Module already imported so cannot be rewritten:pytest.PytestAssertRewriteWarning")
"""That plugins are there before pytest looks for them is meant."""

ALONE: Mapping[str, Any] = {
    "convo_watch": False,
    "convo_watch_queue": False,
    "convo_watch_poll": None,
    "convo_watch_tools": False,
    "convo_trunc": None,
    "convo_trunc_all": False,
    "convo_fork": None,
    "continue_on_collection_errors": True,
    "no_header": True,
    "numprocesses": None,
    "maxprocesses": None,
    "tx": [],
    "dist": "no",
    "distload": False,
}
"""Options of every child: the watcher cuts by itself, what is broken holds nobody else up, and workers would take
longer to start than one run takes."""


def main(orders: int, notes: int) -> int:
    """Wait for orders on one file, tell what comes of them on another; pytest's exit code."""
    line = Line(orders, notes)
    # `nohup … &` has it ignored, and it is how a child is ended.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _warm()
    line.tell({"kind": "warm"})
    configure = line.wait()
    if configure is None:
        return 0
    sys.path[:] = configure["path"]
    return int(pytest.main([*configure["args"], *QUIET], plugins=[Parking(line, configure)]))


def _warm() -> None:
    """Import what will be needed. There is no search for garbage in it, nor while pytest collects: see `Watched`."""
    gc.disable()
    package = Path(__file__).parents[1]
    for module in pkgutil.walk_packages([str(package)], "pytest_convo."):
        if not module.name.startswith(NOT_NEEDED):
            importlib.import_module(module.name)
    preload()


class Parking:
    """The plugin that holds pytest up when it is ready to begin, and lets it go with what it is to run.

    The later, the quicker: what a session does before it collects takes as long as the collection of one conversation.
    But hooks of the user's own, which may start whatever they like, are not called before there is something to run.
    """

    def __init__(self, line: Line, configure: Note) -> None:
        self._line = line
        self._watched = Watched(line.tell, configure)
        self._parked = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> int | None:
        _set(config, ALONE if config.get_verbosity() else {**ALONE, "verbose": -1})
        if _would_call_users(config) and not self._park(config):
            return 0
        return None

    @pytest.hookimpl(trylast=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Called after pytest's own, but before the terminal's: it is from then on that a session's time counts."""
        if not self._parked and not self._park(session.config):
            pytest.exit("nobody watches any more", returncode=0)

    def _park(self, config: pytest.Config) -> bool:
        """Wait, and get ready for what is to be run; False where nobody is left to say."""
        self._parked = True
        self._line.tell({"kind": "parked", "modules": loaded_modules(config.rootpath)})
        order = self._line.wait()
        if order is None:
            return False
        config.args[:] = order["args"]
        _set(config, order["options"])
        reset(config)  # settings may have been looked at, with other options and other files
        self._watched.begin(config, order["units"])
        threading.Thread(target=self._heed, name="convo-orders", daemon=True).start()
        return True

    def _heed(self) -> None:
        """Follow what the watcher says while pytest runs; when it has gone, end as at Ctrl-C."""
        while (order := self._line.wait()) is not None:
            if order["kind"] == "supersede":
                self._watched.supersede(order["units"])
            elif order["kind"] == "decided":
                self._watched.gate.decide(order["call"], send=order["send"])
        os.kill(os.getpid(), signal.SIGINT)


def _set(config: pytest.Config, options: Mapping[str, Any]) -> None:
    for name, value in options.items():
        setattr(config.option, name, value)


def _would_call_users(config: pytest.Config) -> bool:
    """Whether the beginning of a session calls functions of the user's."""
    hooks = (config.hook.pytest_configure, config.hook.pytest_sessionstart)
    files = {getattr(impl.plugin, "__file__", None) for hook in hooks for impl in hook.get_hookimpls()}
    return any(file is not None and is_users(file, config.rootpath) for file in files)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
