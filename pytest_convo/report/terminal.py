"""What a person sees in the terminal: words for the runs' outcomes, and a few lines at the end."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from ..agreement.describe import headline
from ..run.results import Results, Told
from .words import count

if TYPE_CHECKING:
    from pathlib import Path

Status = tuple[str, str, Any]

PASSED: Status = ("", ".", ("PASS", {"green": True}))
STATUS: dict[str, Status] = {
    "fail": ("dissent", "d", ("DISSENT", {"yellow": True})),
    "error": ("unmeasured", "u", ("UNMEASURED", {"yellow": True})),
    "spared": ("spared", "-", ("SPARED", {"cyan": True})),
}
"""Category, letter and word of a run that decides nothing by itself. pytest prints a section for the category "error"
and counts "failed": neither may be a run's."""

LOST: Status = ("lost", "L", ("LOST", {"yellow": True}))


def status(report: pytest.TestReport) -> Status | None:
    """How a run's report counts and shows; None leaves it to pytest: a single run is an ordinary test."""
    if hasattr(report, "convo_lost"):
        return LOST
    told: Told | None = getattr(report, "convo", None)
    if told is None or (told["n"] == 1 and told["outcome"] != "spared"):
        return None
    if told["outcome"] == "pass":
        return PASSED  # the verdict is what passes
    return STATUS.get(told["outcome"])


def summary(reporter: pytest.TerminalReporter, results: Results, kept: Path | None) -> None:
    """The last lines: calls, tokens, what early stop saved, what was not finished, where all is kept."""
    if reporter.verbosity < 0:
        return
    reporter.ensure_newline()
    reporter.section("convo", sep="=")
    for line in lines(results):
        reporter.write_line(line)
    if kept is not None:
        reporter.write_line(f"kept in {kept}")


def lines(results: Results) -> list[str]:
    """The summary in words."""
    made = results.transcripts.values()
    requests = sum(told.get("requests", 0) for told in made)
    tokens = [told["tokens"] for told in made if told.get("tokens")]
    outcomes = Counter(told["outcome"] for told in results.runs.values())
    spent = [count(requests, "call"), f"{sum(told.get('seconds', 0.0) for told in made):.1f} s of answers"]
    if tokens:
        billed = [told["billed"] for told in made if told.get("billed")]
        more = sum(map(sum, billed)) - sum(map(sum, tokens))
        sent, received = (sum(each) for each in zip(*tokens, strict=True))
        spent.insert(
            1, f"{sent + received} tokens ({sent} in, {received} out{f'; {more} more billed' if more > 0 else ''})"
        )
    told_lines = [" · ".join(spent)]
    if spared := outcomes["spared"]:
        told_lines.append(f"{count(spared, 'run')} spared by early stop, about {_saved(results):.1f} s of answers")
    return [*told_lines, *_flaky(results), *_unfinished(results)]


def _flaky(results: Results) -> list[str]:
    """Groups that passed though not all of their runs did: green, and worth a look."""
    flaky = (group for group in results.groups.values() if group.verdict == "pass" and group.tally.fails)
    return [f"{group.id}: {headline(group.to_report())}" for group in flaky]


def _unfinished(results: Results) -> list[str]:
    """Groups that were left open by -x or Ctrl-C."""
    return [
        f"not finished: {group.id} ({len(group.runs)} of {count(group.rule.n, 'run')})"
        for group in results.groups.values()
        if group.verdict is None and group.rule.n > 1 and group.measured
    ]


def _saved(results: Results) -> float:
    """What the spared runs would have taken: each as long as its group's runs took on average."""
    saved = 0.0
    for group in results.groups.values():
        seconds = [told["seconds"] for told in group.runs.values() if "seconds" in told]
        spared = sum(told["outcome"] == "spared" for told in group.runs.values())
        saved += spared * sum(seconds) / len(seconds) if seconds else 0.0
    return saved
