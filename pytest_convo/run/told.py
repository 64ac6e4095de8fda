"""What a run's report tells about it, to whoever makes the verdict and to whoever reads the report."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

from .._compat import Skipped
from ..agreement.outcome import Outcome
from ..bot.events import CLAIMED
from ..conversation.reply import total
from ..errors import BotFailure, ConvoError, HarnessError, RedactionError
from ..redaction import Redactor
from ..texts import plain
from .alike import NOTE
from .approvable import approvable
from .group import Group
from .redact import REDACTOR, TELLER, WITHHELD, redact, shown, withhold
from .refinable import REFINABLE, refinable
from .results import FIGURES, figures
from .session import RUN, Run, RunSession
from .stacked import stacked

if TYPE_CHECKING:
    from .measure import Measurement

MEASURED = pytest.StashKey["Measurement | None"]()
"""What an item's run measured, for its report; set by whoever measured it."""

PROPERTY = "convo.outcome"
"""A run's outcome, as a property of its test case in JUnit."""

JUDGE_CHECK = "judge check"
"""The kind of the event that tells how a judge did in its self-test."""

PROPERTIES = (PROPERTY, *(f"convo.{name}" for name in FIGURES))

BLANK = Redactor(functions=(lambda _: "",))
"""For the texts of what is withheld."""

_OUTCOMES = frozenset(outcome.value for outcome in Outcome)

INCONCLUSIVE = {"error": ("setup", "failed"), "fail": ("call", "failed"), "skip": ("setup", "skipped")}
"""How pytest shows what measured nothing: the phase and outcome of its report. A failed setup is an ERROR."""


class Needless(Skipped):
    """The run is spared: its group's verdict stands without it."""


def shorten(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    """Show an error of ours in a test as its text and the line of the test, not as a path through our code."""
    if call.excinfo is None or not isinstance(call.excinfo.value, ConvoError) or not report.failed:
        return
    lines = [
        entry.lineno + 1 for entry in call.excinfo.traceback if entry.path == item.path and item.path.suffix == ".py"
    ]
    where = f"{report.location[0]}:{lines[-1]}: " if lines else ""
    report.longrepr = f"{where}{relative(str(call.excinfo.value), item.config)}"


def relative(text: str, config: pytest.Config) -> str:
    """The text with paths below the rootdir shortened."""
    return text.replace(f"{config.rootpath}{os.sep}", "")


def tell(session: RunSession, item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    """Have a phase's report tell what the run measured, and enter the outcome where the engine has not.

    What is secret is taken out of the report before; where that fails, the report is withheld and the run an error.
    """
    if REDACTOR not in item.stash or _is_silent(report):
        return
    error = call.excinfo.value if call.excinfo is not None else None
    measurement = item.stash.get(MEASURED, None)
    try:
        redactor = item.stash[TELLER] = _teller(item, report, measurement)
        redact(report, redactor)
        told = _told(session, item, report, error, redactor)
    except RedactionError as failure:
        withhold(item, report, failure)
        told = _told(session, item, report, failure, BLANK)
    if told is None:
        decides = report.when == "call" or (report.when == "setup" and report.failed)
        if decides and session.options.refine is not None and REFINABLE in item.stash and RUN not in item.stash:
            report.convo_refine = _plain(item, report, error, measurement, redactor)  # type: ignore[attr-defined]
        return
    if told["outcome"] in _OUTCOMES and (measurement is None or not item.stash[RUN].judged or WITHHELD in item.stash):
        session.record(item, Outcome(told["outcome"]))
    if isinstance(error, Needless):  # as pytest words a skip: the class of the exception says nothing to a person
        path, line, _ = report.location
        report.longrepr = (path, (line or 0) + 1, f"Skipped: {error}")
    # JUnit writes the properties of the last report, which is that of the teardown.
    others = [(name, value) for name, value in item.user_properties if name not in PROPERTIES]
    spent = [(f"convo.{name}", value) for name, value in figures([told]).items()]
    item.user_properties[:] = [*others, (PROPERTY, told["outcome"]), *spent]
    report.convo = told  # type: ignore[attr-defined]


def _is_silent(report: pytest.TestReport) -> bool:
    """Whether the phase decides nothing and its report has no text: so it is with nearly every setup."""
    shows = report.longrepr is not None or report.sections or report.user_properties or hasattr(report, "wasxfail")
    return report.when == "setup" and report.passed and not shows


def _teller(item: pytest.Item, report: pytest.TestReport, measurement: Measurement | None) -> Redactor:
    """The redactor for a report: where texts are shown it knows all of which they may show a part, and cut short.

    That is what was said in the run, what checks expected, and what stands whole elsewhere in the report.
    """
    redactor = item.stash[REDACTOR] = item.stash[REDACTOR].now()
    events = measurement.events if measurement is not None else []
    texts = shown(report)
    if not texts and not any(event.get("reason") for event in events):
        return redactor
    spec = item.stash[RUN].spec if RUN in item.stash else None
    return redactor.after([events, texts, spec.settings.expect.model_dump() if spec is not None else None])


def _told(
    session: RunSession,
    item: pytest.Item,
    report: pytest.TestReport,
    error: BaseException | None,
    redactor: Redactor,
) -> dict[str, Any] | None:
    """What is told of a run: its group, its outcome, and what it measured; builtins only, xdist carries no more.

    Nothing is told of what is no run, nor in a phase that decides nothing.
    """
    run = item.stash.get(RUN, None)
    if run is None or report.when == "teardown" or (report.when, report.outcome) == ("setup", "passed"):
        return None
    of_conversation = run.judged or "convo" in getattr(item, "fixturenames", ())
    told: dict[str, Any] = {**run.group.to_report(), "of_conversation": of_conversation}
    if isinstance(error, Needless):
        return {**told, "outcome": "spared"}
    if report.skipped:  # by a mark or by hand
        return {**told, "outcome": "skipped"}
    told |= _compared(session, item.nodeid, run, redactor)
    told["outcome"] = _outcome(report, error, judged=run.judged).value
    told["transient"] = isinstance(error, HarnessError) and error.transient
    if (measurement := item.stash.get(MEASURED, None)) is not None:
        measured = _measured(measurement)
        told |= zip(measured, redactor.deep([*measured.values()]), strict=True)
        if session.options.approving and run.judged and measurement.transcript is not None and run.spec is not None:
            answers = {turn.index: redactor.text(plain(turn.reply.text)) for turn in measurement.transcript.turns}
            told["approvable"] = approvable(run.spec, answers)
        if checks := [dict(event) for event in measurement.events if event["kind"] == JUDGE_CHECK]:
            told["judge_checks"] = redactor.deep(checks)
        told["transcript"] = item.nodeid if run.spec is None else run.spec.key(run.number)
    if session.options.refine is not None:
        told["refine"] = {**refinable(item, run.spec, measurement, redactor), "reason": _failure(report)}
    if report.failed:
        told["reason"] = plain(report.longreprtext)
        told["sections"] = [[title, plain(text)] for title, text in report.sections]
    return told


def _plain(
    item: pytest.Item,
    report: pytest.TestReport,
    error: BaseException | None,
    measurement: Measurement | None,
    redactor: Redactor,
) -> dict[str, Any]:
    """What is told of a test that is no run and reads a prompt: the same, as of a group of its own."""
    group = Group(item.nodeid, 1, Fraction(1), runs=[item.nodeid])
    told: dict[str, Any] = {**group.to_report(), "outcome": "skipped"}
    if report.skipped:  # by a mark or by hand, or expected to fail
        return told
    told["outcome"] = _outcome(report, error, judged=False).value
    if measurement is not None:
        told |= _measured(measurement)
    return {**told, "refine": {**refinable(item, None, measurement, redactor), "reason": _failure(report)}}


def _failure(report: pytest.TestReport) -> str:
    """Why it failed, without the lines of the test: these may hold what other cases of the same test are about."""
    crash = getattr(report.longrepr, "reprcrash", None)
    return plain(report.longreprtext if crash is None else crash.message) if report.failed else ""


def _compared(session: RunSession, nodeid: str, run: Run, redactor: Redactor) -> dict[str, Any]:
    """The classes that answers of the run's group are in: of this run, or of all where one waits for another."""
    likeness = run.spec.likeness if run.judged and run.spec is not None else None
    if likeness is None:
        return {}
    labels = {name: label for name, (_, label) in session.ledger.said(run.group.id).items() if label is not None}
    if likeness.key is not None:
        labels = {nodeid: labels[nodeid]} if nodeid in labels else {}
    reason = session.ledger.noted(f"{NOTE} {run.group.id}")
    return {"alike": labels} | ({} if reason is None else {"not_compared": redactor.text(reason)})


def _outcome(report: pytest.TestReport, error: BaseException | None, *, judged: bool) -> Outcome:
    if report.passed:
        return Outcome.PASS
    if isinstance(error, BotFailure):
        return Outcome.FAIL
    if isinstance(error, ConvoError) or judged or report.when != "call":
        return Outcome.ERROR  # as for any test of pytest, what breaks in a fixture is an error
    return Outcome.FAIL


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
    usage = total(reply.usage for reply in replies if not reply.replayed)
    return {
        "seconds": round(measurement.seconds, 3),
        "requests": measurement.requests,
        "replayed": measurement.replayed,
        "sample": measurement.sample,
        "changed_tools": list(measurement.changed_tools),
        **_of_agents(measurement),
        **stacked(measurement.events),
        "answer": plain(replies[-1].text) if replies else "",
        "tokens": None if usage is None else [usage.prompt_tokens, usage.completion_tokens],
        **_spent(measurement.spent),
        "models": sorted({reply.model for reply in replies if reply.model}),
    }


def _of_agents(measurement: Measurement) -> dict[str, Any]:
    """Of an agent: whether its own word is another than its verifier's, and what was noticed of its sandbox."""
    told: dict[str, Any] = {}
    for event in measurement.events:
        if event["kind"] == CLAIMED and event["differs"]:
            told["claim"] = {"said": event["claims"], "verified": event["verified"]}
        elif event["kind"] in ("sandbox", "note", "verifier") and (notes := _notes(event)):
            told["notes"] = [*told.get("notes", []), *notes]
    return told


def _notes(event: Mapping[str, Any]) -> list[str]:
    return [event["text"]] if event["kind"] == "note" else list(event["notes"])


def _spent(attempts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What all attempts of a run took, those too that came to nothing; `usd` is None where no price is known."""
    counted = [attempt for attempt in attempts if attempt["usage"] is not None]
    usd = [attempt["usd"] for attempt in counted if attempt["usd"] is not None]
    return {
        "billed": [sum(found["usage"][name] for found in counted) for name in ("prompt_tokens", "completion_tokens")],
        "usd": round(sum(usd), 9) if usd or not attempts else None,
        "unpriced": sorted({attempt["model"] for attempt in counted if attempt["usd"] is None}),
        "uncounted": len(attempts) - len(counted),
    }
