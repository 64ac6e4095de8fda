"""The plugin of a session that the loop starts, by `-p`: it tries a text out, or asks the rewriter for one.

The user's own command line is read as it was typed; what must be otherwise is set before pytest goes by it.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ..collect.state import AGAIN, existing, of
from ..conversation.disk import INSTEAD
from ..errors import CapReached, ConvoError
from ..redaction import Redactor
from ..report.directory import keep_in
from ..report.reporter import existing as existing_reporter
from ..run.spending import Spending, Spent
from .order import Order, Result
from .reading import told_of
from .rewriter import rewrite

ORDER = Order.given()
_STDIN = os.dup(0)
"""What it was started with, before pytest's capture puts a file of its own in its place."""

_QUIET: Mapping[str, Any] = {
    "convo_refine": None,
    "convo_measures": True,
    "convo_record": "auto",
    "convo_json": None,
    "convo_baseline": None,
    "convo_update_baseline": False,
    "convo_non_inferior": None,
    "convo_keep_sandbox": False,
    "update_snapshots": False,
    "xmlpath": None,
    "log_file": os.devnull,
    "pastebin": None,
    "basetemp": None,
    "trace": False,
    "keyword": "",
    "markexpr": "",
    "deselect": None,
    "lf": False,
    "failedfirst": False,
    "newfirst": False,
    "stepwise": False,
    "usepdb": False,
    "collectonly": False,
    "continue_on_collection_errors": True,
    "verbose": -1,
    "no_header": True,
    "durations": None,
}
"""What was meant for the user's session."""

_ALONE: Mapping[str, Any] = {"numprocesses": None, "maxprocesses": None, "tx": [], "dist": "no", "collectonly": True}
"""How the rewriter is asked: by one process, and nothing that it collects is run."""

_MEMORY = ("lfplugin", "nfplugin", "stepwiseplugin")
"""Plugins that would remember this session as the user's last one."""


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    assert ORDER is not None
    INSTEAD.update(ORDER.prompts)
    if ORDER.again:
        config.stash[AGAIN] = ORDER.again
    if ORDER.keep:
        keep_in(config, Path(ORDER.keep))
    config.args[:] = [f"{config.rootpath}/{group}" for group in ORDER.groups]
    caps = {f"convo_max_{name}": str(amount) for name, amount in ORDER.caps.items()}
    maxfail = {"maxfail": ORDER.maxfail}
    for name, value in {**_QUIET, **caps, **maxfail, **(_ALONE if ORDER.writing is not None else {})}.items():
        setattr(config.option, name, value)  # in xdist's workers as well, which read the command line anew
    if hasattr(config, "workerinput"):
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)  # `nohup … &` has it ignored, and it is how this ends
    threading.Thread(target=_end_with_parent, name="convo-parent", daemon=True).start()


def _end_with_parent() -> None:
    """End as at Ctrl-C when whoever started this process has gone, and with it the other end of its standard input."""
    while os.read(_STDIN, 4096):
        pass
    os.kill(os.getpid(), signal.SIGINT)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    for name in _MEMORY:
        if (plugin := config.pluginmanager.get_plugin(name)) is not None:
            config.pluginmanager.unregister(plugin)


_problems: list[str] = []
_replied: dict[str, str] = {}
_capped: list[str] = []


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:
        _problems.append(Redactor.of_environment().text(report.longreprtext))


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    assert ORDER is not None
    if ORDER.writing is None:
        return None
    try:
        _replied["reply"] = rewrite(of(session.config), ORDER.writing)
    except CapReached as error:
        _capped.append(str(error))
    except ConvoError as error:
        _replied["error"] = str(error)
    return True


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if ORDER is None or hasattr(session.config, "workerinput"):
        return
    reporter, state = existing_reporter(session.config), existing(session.config)
    groups = {} if reporter is None else {group.id: told_of(group) for group in reporter.everything.groups.values()}
    spent = Spent()
    if reporter is not None and ORDER.writing is None:
        spent = reporter.spent
    elif state is not None:
        spent = Spending(state.runs.ledger).spent()
    amounts = {"usd": spent.usd, "calls": float(spent.calls), "tokens": float(spent.billed.total_tokens)}
    reached = [name for name, cap in ORDER.caps.items() if amounts[name] >= cap and _open(groups)]
    result = Result(groups, _problems, spent=amounts, capped=bool(_capped or reached), **_replied)
    result.save(Path(ORDER.result))


def _open(groups: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether a group has come to no pass and no fail."""
    return any(group["verdict"] not in ("pass", "fail") for group in groups.values())
