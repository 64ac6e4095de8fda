"""What pytest shows of an item, in a traceback, as captured output and as properties, without what is secret."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import pytest

from .._compat import ExceptionRepr
from ..errors import RedactionError
from ..redaction import Redactor

if TYPE_CHECKING:
    import warnings

REDACTOR = pytest.StashKey[Redactor]()
"""What takes the secrets out of all that is told of an item; of one that is a run, or that asked a bot."""

TELLER = pytest.StashKey[Redactor]()
"""The same for texts of its last report that were cut already: it knows what was said."""

WITHHELD = pytest.StashKey[bool]()
"""Set where something of an item could not be shown, because a user's redactor failed."""

Text = Callable[[str], str]


def shown(report: pytest.TestReport) -> list[str]:
    """The texts that a report shows."""
    longrepr = [report.longreprtext] if report.longrepr is not None else []
    return [*longrepr, *(content for _, content in report.sections)]


def redact(report: pytest.TestReport, redactor: Redactor) -> None:
    """Take the secrets out of a report; raises `RedactionError` where that cannot be done: see `withhold`."""
    text = redactor.text
    if isinstance(report.longrepr, str):
        report.longrepr = text(report.longrepr)
    elif isinstance(report.longrepr, tuple):
        path, line, reason = report.longrepr
        report.longrepr = (path, line, text(reason))
    elif isinstance(report.longrepr, ExceptionRepr):
        _redact_exception(report.longrepr, text)
    elif report.longrepr is not None:
        whole = str(report.longrepr)
        if (cleaned := text(whole)) != whole:
            report.longrepr = cleaned
    report.sections = [(text(title), text(content)) for title, content in report.sections]
    report.user_properties = [(name, redactor.deep(value)) for name, value in report.user_properties]
    if hasattr(report, "wasxfail"):
        report.wasxfail = text(report.wasxfail)


def withhold(item: pytest.Item, report: pytest.TestReport, error: RedactionError) -> None:
    """Show nothing of what a report tells, but why; once in an item, that makes the report one of an error."""
    if WITHHELD not in item.stash:
        item.stash[WITHHELD] = True
        report.outcome = "failed"
    report.longrepr = f"withheld: {error}" if report.failed else None
    report.sections = []
    report.user_properties = []
    if hasattr(report, "wasxfail"):
        del report.wasxfail


def redact_warning(warning: warnings.WarningMessage) -> None:
    """Take the secrets of the environment out of a warning and out of the line of code that is shown with it."""
    text = Redactor.of_environment().after(()).text
    said = str(warning.message)
    if (cleaned := text(said)) != said:
        warning.message = cleaned
    line = warning.line or linecache.getline(warning.filename, warning.lineno)
    if (cleaned := text(line)) != line:
        warning.line = cleaned


def _redact_exception(exception: Any, text: Text) -> None:
    """In place: what reads a report looks for each of these parts."""
    for traceback, crash, _ in getattr(exception, "chain", [(exception.reprtraceback, exception.reprcrash, None)]):
        for entry in traceback.reprentries:
            _redact_entry(entry, text)
        if traceback.extraline is not None:
            traceback.extraline = text(traceback.extraline)
        if crash is not None:
            crash.message = text(crash.message)
    exception.sections[:] = [(title, text(content), separator) for title, content, separator in exception.sections]


def _redact_entry(entry: Any, text: Text) -> None:
    if entry.style == "native":  # its lines have their ends
        entry.lines = [text("".join(entry.lines))]
        return
    entry.lines = _lines(entry.lines, text)
    if (arguments := getattr(entry, "reprfuncargs", None)) is not None:
        arguments.args = [(name, text(str(value))) for name, value in arguments.args]
    if (variables := getattr(entry, "reprlocals", None)) is not None:
        variables.lines = _lines(variables.lines, text)
    if (place := getattr(entry, "reprfileloc", None)) is not None:
        place.message = text(place.message)


def _lines(lines: Iterable[str], text: Text) -> list[str]:
    """The lines, gone over as one text: a secret may have several."""
    lines = list(lines)
    whole = "\n".join(lines)
    return lines if (cleaned := text(whole)) == whole else cleaned.split("\n")
