"""What a person sees in the terminal: words for the runs' outcomes, and a few lines at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from textwrap import indent
from typing import TYPE_CHECKING, Any

import pytest

from ..agreement.describe import headline
from ..agreement.said import answers_line, difference
from ..run.results import GroupResult, Results, Told
from ..run.spending import Spent
from .stacks import stack_lines
from .words import count

if TYPE_CHECKING:
    from pathlib import Path

MOST_EXACT = 0.0001
"""US dollars: what is less is not told in figures."""

MOST_TOOLS = 5

MOST_ANSWERS = 20
"""Groups whose answers are told, unless `-v` asks for all."""

WIDTH = 100
"""Characters of a line of answers, after the group's name."""

Status = tuple[str, str, Any]

PASSED: Status = ("", ".", ("PASS", {"green": True}))
STATUS: dict[str, Status] = {
    "fail": ("dissent", "d", ("DISSENT", {"yellow": True})),
    "error": ("unmeasured", "u", ("UNMEASURED", {"yellow": True})),
    "spared": ("spared", "-", ("SPARED", {"cyan": True})),
}
"""Category, letter and word of a run that decides nothing by itself. pytest prints a section for the category "error"
and counts "failed": neither may be a run's."""

SPECIAL: dict[str, Status] = {
    "lost": ("lost", "L", ("LOST", {"yellow": True})),
    "below": ("below", "b", ("BELOW", {"yellow": True})),
}
"""A run whose worker died, and a failed verdict that the regression gate judges."""


def status(report: pytest.TestReport) -> Status | None:
    """How a run's report counts and shows; None leaves it to pytest: a single run is an ordinary test."""
    if hasattr(report, "convo_status"):
        return SPECIAL[report.convo_status]
    told: Told | None = getattr(report, "convo", None)
    if told is None or (told["n"] == 1 and told["outcome"] != "spared"):
        return None
    if told["outcome"] == "pass":
        return PASSED  # the verdict is what passes
    return STATUS.get(told["outcome"])


def summary(reporter: pytest.TerminalReporter, results: Results, notes: Sequence[str], kept: Path | None) -> None:
    """The last lines: calls, tokens, what early stop saved, what was not finished, `notes`, where all is kept."""
    if reporter.verbosity < 0:
        return
    reporter.ensure_newline()
    reporter.section("convo", sep="=")
    for line in [*lines(results), *answers(results, most=None if reporter.verbosity > 0 else MOST_ANSWERS), *notes]:
        reporter.write_line(line)
    if kept is not None:
        reporter.write_line(f"kept in {kept}")


def lines(results: Results) -> list[str]:
    """The summary in words."""
    made = results.transcripts.values()
    replayed = sum(told.get("replayed", 0) for told in made)
    outcomes = Counter(told["outcome"] for told in results.runs.values())
    seconds = f"{sum(told.get('seconds', 0.0) for told in made):.1f} s of answers"
    spent = results.spent
    answers = [count(spent.calls, "call"), *([f"{count(replayed, 'answer')} replayed"] if replayed else [])]
    told_lines = [" · ".join([*answers, *_tokens(spent), *_money(spent), seconds])]
    if spared := outcomes["spared"]:
        told_lines.append(f"{count(spared, 'run')} spared by early stop, about {_saved(results):.1f} s of answers")
    noticed = [*_changed_tools(results), *_claims(results), *_notes(results), *_judges(results)]
    noticed += stack_lines(results)
    return [*told_lines, *noticed, *_flaky(results), *_unfinished(results)]


def answers(results: Results, most: int | None = MOST_ANSWERS) -> Iterator[str]:
    """What the runs of each group that passed said, and how much they agree; those that differ come first.

    Of a group that did not pass, its own paragraph says so; and what several groups have read is told once.
    """
    told: dict[str, GroupResult] = {}
    for group in filter(_is_told, results.groups.values()):
        told.setdefault(_reads(group), group)
    passed = sorted(told.values(), key=lambda group: not _differs(group))
    for group in passed[:most]:
        described = group.to_report()
        if line := answers_line(described, WIDTH):
            yield f"{group.id}: {line}"
            yield from indent("\n".join(difference(described, WIDTH)), "  ").splitlines()
        if group.not_compared:
            yield f"  not compared as [agree] has it: {group.not_compared}"
    if more := len(passed[most:]) if most is not None else 0:
        differing = sum(map(_differs, passed[most:]))
        yield f"and {count(more, 'group')} more, {differing or 'none'} with answers that differ (-v shows all)"


def _is_told(group: GroupResult) -> bool:
    return group.verdict == "pass" and group.rule.n > 1


def _reads(group: GroupResult) -> str:
    """The first transcript that a group has read: groups that share it have read the same conversation."""
    return next((told["transcript"] for told in group.runs.values() if "transcript" in told), group.id)


def _differs(group: GroupResult) -> bool:
    return len({told["answer"] for told in group.runs.values() if "answer" in told}) > 1


def _tokens(spent: Spent) -> Iterator[str]:
    if spent.billed.total_tokens:
        sent, received = spent.accepted.prompt_tokens, spent.accepted.completion_tokens
        more = spent.billed.total_tokens - spent.accepted.total_tokens
        billed = f"; {more} more billed" if more > 0 else ""
        yield f"{sent + received} tokens ({sent} in, {received} out{billed})"
    if spent.uncounted:
        yield f"{count(spent.uncounted, 'call')} uncounted"


def _money(spent: Spent) -> Iterator[str]:
    if spent.usd >= MOST_EXACT:
        yield f"${spent.usd:,.2f}" if spent.usd >= 1 else f"${spent.usd:.4f}"
    elif spent.usd > 0:
        yield f"less than ${MOST_EXACT}"
    if spent.unpriced:
        yield f"price of {', '.join(sorted(spent.unpriced))} unknown"


def _changed_tools(results: Results) -> Iterator[str]:
    """Tools that answer otherwise than they were recorded, each said once."""
    changed = {tool: nodeid for nodeid, told in results.runs.items() for tool in told.get("changed_tools", ())}
    for tool, nodeid in list(changed.items())[:MOST_TOOLS]:
        yield f"{nodeid}: tool {tool}"
    if len(changed) > MOST_TOOLS:
        yield f"and {count(len(changed) - MOST_TOOLS, 'other answer')} of tools that differ from the recordings"


def _claims(results: Results) -> Iterator[str]:
    """Agents whose own word is another than their verifiers'."""
    wrong = [told["claim"] for told in results.transcripts.values() if told.get("claim")]
    if boasts := sum(claim["verified"] == "fail" for claim in wrong):
        yield f"{count(boasts, 'run')} of agents that said they were done, and were not"
    if modest := len(wrong) - boasts:
        yield f"{count(modest, 'run')} of agents that were done, and did not say so"


def _notes(results: Results) -> Iterator[str]:
    """What was noticed of sandboxes, each once."""
    noted = {note: nodeid for nodeid, told in results.runs.items() for note in told.get("notes", ())}
    for note, nodeid in list(noted.items())[:MOST_TOOLS]:
        yield f"{nodeid}: {note}"
    if len(noted) > MOST_TOOLS:
        yield f"and {count(len(noted) - MOST_TOOLS, 'other note')} of agents' sandboxes"


def _judges(results: Results) -> Iterator[str]:
    """How the judges did that were checked; what was said of one is said once."""
    if not results.judge_checks:
        return
    from ..judge.selftest import SelfTest

    checked = dict.fromkeys(SelfTest.of_dict(told) for told in results.judge_checks)
    for test in checked:
        yield from test.lines()


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
