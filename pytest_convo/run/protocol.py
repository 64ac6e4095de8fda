"""How pytest runs an item that is one of several runs, and what the item's report tells about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from .._compat import Skipped, runtestprotocol
from ..agreement.outcome import Outcome
from ..conversation.reply import total
from ..errors import BotFailure, ConvoError, HarnessError
from .group import DECIDED, tally_of
from .session import RUN, STOP, Run, RunSession

if TYPE_CHECKING:
    from .measure import Measurement

MEASURED = pytest.StashKey["Measurement | None"]()
"""What an item's run measured, for its report; set by whoever measured it."""

PROPERTY = "convo.outcome"
"""A run's outcome, as a property of its test case in JUnit."""

INCONCLUSIVE = {"error": ("setup", "failed"), "fail": ("call", "failed"), "skip": ("setup", "skipped")}
"""How pytest shows what measured nothing: the phase and outcome of its report. A failed setup is an ERROR."""


class Needless(Skipped):
    """The run is spared: its group's verdict stands without it."""


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
    if session.ledger.shared and (reason := session.ledger.noted(STOP)):
        item.session.shouldstop = reason  # of its own accord a worker empties its queue, for no run of it has failed
    return True


def spare(session: RunSession, item: pytest.Item) -> None:
    """Raise `Needless` before anything is set up for a run that its group does not need."""
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
        if word == Outcome.ERROR and may_pass and group.rule.decide(tally_of(words.values())) not in DECIDED:
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


def shorten(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    """Show an error of ours in a test as its text and the line of the test, not as a path through our code."""
    if call.excinfo is None or not isinstance(call.excinfo.value, ConvoError) or not report.failed:
        return
    lines = [
        entry.lineno + 1 for entry in call.excinfo.traceback if entry.path == item.path and item.path.suffix == ".py"
    ]
    where = f"{report.location[0]}:{lines[-1]}: " if lines else ""
    report.longrepr = f"{where}{call.excinfo.value}"


def tell(session: RunSession, item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    """Make a phase's report one of a run: say what it measured, and leave pass or fail to its group."""
    run = item.stash.get(RUN, None)
    if run is None or report.when == "teardown" or (report.when, report.outcome) == ("setup", "passed"):
        return
    spared = call.excinfo is not None and call.excinfo.errisinstance(Needless)
    if report.skipped and not spared:  # by a mark or by hand
        report.convo = {**_known(item, run), "outcome": "skipped"}  # type: ignore[attr-defined]
        return
    outcome = None if spared else _outcome(report, call, judged=run.judged)
    told: dict[str, Any] = {**_known(item, run), "outcome": "spared" if outcome is None else outcome.value}
    measurement = item.stash.get(MEASURED, None)
    if measurement is not None and not spared:
        told |= _measured(measurement)
        told["transcript"] = item.nodeid if run.spec is None else run.spec.key(run.number)
    if spared:  # as pytest words a skip: the class of the exception says nothing to a person
        path, line, _ = report.location
        report.longrepr = (path, (line or 0) + 1, f"Skipped: {call.excinfo.value}")  # type: ignore[union-attr]
    if outcome is not None and (measurement is None or not run.judged):
        session.record(item, outcome)
    told["transient"] = call.excinfo is not None and _transient(call.excinfo.value)
    others = [(name, value) for name, value in item.user_properties if name != PROPERTY]
    item.user_properties[:] = [
        *others,
        (PROPERTY, told["outcome"]),
    ]  # for the report of the teardown, where JUnit looks
    if report.failed:
        told["reason"] = plain(report.longreprtext)
        told["sections"] = [[title, plain(text)] for title, text in report.sections]
    report.convo = told  # type: ignore[attr-defined]


def _known(item: pytest.Item, run: Run) -> dict[str, Any]:
    """What is told of every run, whatever came of it."""
    return {**run.group.to_report(), "of_conversation": run.judged or "convo" in getattr(item, "fixturenames", ())}


def _outcome(report: pytest.TestReport, call: pytest.CallInfo[None], *, judged: bool) -> Outcome:
    if report.passed:
        return Outcome.PASS
    error = call.excinfo.value if call.excinfo is not None else None
    if isinstance(error, BotFailure):
        return Outcome.FAIL
    if isinstance(error, ConvoError) or judged or report.when != "call":
        return Outcome.ERROR  # as for any test of pytest, what breaks in a fixture is an error
    return Outcome.FAIL


def _transient(error: BaseException) -> bool:
    return isinstance(error, HarnessError) and error.transient


def show(report: pytest.TestReport, told: Mapping[str, Any], inconclusive: str) -> None:
    """A run among several fails nothing by itself; a single one that measured nothing counts as inconclusive."""
    if told["n"] > 1:
        report.outcome, report.longrepr, report.when = "passed", None, "call"
    elif told["outcome"] == Outcome.ERROR:
        report.when, report.outcome = INCONCLUSIVE[inconclusive]  # type: ignore[assignment]
        if report.skipped:
            path, line, _ = report.location
            report.longrepr = (path, (line or 0) + 1, f"inconclusive: {told['reason']}")


def _measured(measurement: Measurement) -> dict[str, Any]:
    """The figures of a measurement, in builtins."""
    transcript = measurement.transcript
    replies = transcript.replies if transcript is not None else ()
    usage = transcript.usage if transcript is not None else None
    billed = total(reply.billed for reply in replies)
    return {
        "seconds": round(measurement.seconds, 3),
        "requests": measurement.requests,
        "answer": plain(replies[-1].text) if replies else "",
        "tokens": None if usage is None else [usage.prompt_tokens, usage.completion_tokens],
        "billed": None if billed is None else [billed.prompt_tokens, billed.completion_tokens],
        "models": sorted({reply.model for reply in replies if reply.model}),
    }


def plain(text: str) -> str:
    """The text without what no file and no channel to a controller can carry: lone halves of surrogate pairs."""
    return text.encode(errors="backslashreplace").decode()
