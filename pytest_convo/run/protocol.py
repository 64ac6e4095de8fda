"""How pytest runs an item that is one of several runs: spared where it is not needed, and errors tried once more."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from .._compat import Skipped, runtestprotocol
from ..agreement.outcome import Outcome
from .group import DECIDED, tally_of
from .session import RUN, SUPERSEDED, RunSession
from .told import MEASURED, Needless, show


def run_item(session: RunSession, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Set up, call, tear down and report a run; the last of an open group tries the group's errors once more.

    None leaves an item that is no run to pytest.
    """
    if RUN not in item.stash:
        return None
    session.come_to(item, nextitem)
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, log=False, nextitem=nextitem)
    for report in _retry(session, item, nextitem, reports):
        if report.failed and (told := getattr(report, "convo", None)) is not None:
            show(report, told, session.options.inconclusive)
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    if reason := session.stopped():
        item.session.shouldstop = reason  # of its own accord a worker empties its queue, for no run of it has failed
    return True


def spare(session: RunSession, item: pytest.Item) -> None:
    """Before anything is set up: raise `Needless` for a run that its group does not need, skip a superseded one."""
    if session.superseded(item):
        raise Skipped(SUPERSEDED, _use_item_location=True)
    if RUN in item.stash and session.needless(item):
        msg = "the verdict is known without this run"
        raise Needless(msg)


def _retry(
    session: RunSession, item: pytest.Item, nextitem: pytest.Item | None, reports: Sequence[pytest.TestReport]
) -> Sequence[pytest.TestReport]:
    group = item.stash[RUN].group
    ours = next(filter(_is_told, reports), None)
    if ours is None:
        return reports
    told = ours.convo
    transient = told.pop("transient", False)
    heard = session.ledger.report(group.id, item.nodeid, told["outcome"], len(group.runs), transient=transient)
    if heard is None:
        return reports
    if len(group.runs) == 1:
        return _again(session, item, nextitem) if transient else reports
    told["retried"] = []
    words = {nodeid: word for nodeid, (word, _) in heard.items()}
    for nodeid, (word, may_pass) in heard.items():
        tally = tally_of(words.values(), session.ledger.tally(group.id).alike)
        open_ = group.full or group.rule.decide(tally) not in DECIDED
        if word == Outcome.ERROR and may_pass and open_:
            again = next(
                report.convo for report in _again(session, session.items[nodeid], nextitem) if _is_told(report)
            )
            words[nodeid] = again["outcome"]
            told["retried"].append({"run": nodeid, **again})
    return reports


def _is_told(report: pytest.TestReport) -> bool:
    return hasattr(report, "convo")


def _again(session: RunSession, item: pytest.Item, nextitem: pytest.Item | None) -> list[pytest.TestReport]:
    session.again(item)
    item.stash[MEASURED] = None
    reports = runtestprotocol(item, log=False, nextitem=nextitem)
    for report in reports:
        if _is_told(report):
            report.convo.pop("transient", None)
    return reports
