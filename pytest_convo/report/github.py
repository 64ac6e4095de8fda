"""The summary that GitHub shows on the page of a workflow's run: Markdown, added to the file it names."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..agreement.describe import describe, headline
from ..agreement.verdict import Verdict
from ..run.results import GroupResult, Results
from .words import count

VARIABLE = "GITHUB_STEP_SUMMARY"

MOST = 20
"""Groups that are told of at length: a summary may have 1 MiB, and nobody reads that."""

_MARKS = {Verdict.PASS: "✅", Verdict.FAIL: "❌", Verdict.INCONCLUSIVE: "⚠️"}


def path() -> Path | None:
    """The file that GitHub asks for, if this is one of its workflows."""
    given = os.environ.get(VARIABLE)
    return Path(given) if given else None


def add(file: Path, results: Results, lines: Sequence[str], gate: str | None) -> None:
    """Append the summary; what other steps have written stays."""
    with file.open("a", encoding="utf-8") as summary:
        summary.write("\n".join(markdown(results, lines, gate)) + "\n")


def markdown(results: Results, lines: Sequence[str], gate: str | None) -> Iterator[str]:
    """The summary line by line: verdicts first, then what failed and why, then what it all cost."""
    verdicts = {group.id: group.settled for group in results.groups.values()}
    numbers = [f"{_MARKS[verdict]} {_number(verdicts, verdict)}" for verdict in _MARKS if verdict in verdicts.values()]
    yield "## Conversations"
    yield ""
    yield " · ".join([*numbers, count(len(results.runs), "run")])
    if gate is not None:
        yield f"\n**Regression gate**: {_escaped(gate)}"
    worth_a_word = [group for group in results.groups.values() if _is_worth_a_word(group, verdicts[group.id])]
    if worth_a_word:
        yield "\n| | case | verdict |\n|---|---|---|"
        yield from (_row(group, verdicts[group.id]) for group in worth_a_word[:MOST])
    for group in worth_a_word[:MOST]:
        if verdicts[group.id] is not Verdict.PASS:
            yield from _details(group)
    if len(worth_a_word) > MOST:
        yield f"\nand {len(worth_a_word) - MOST} more"
    yield ""
    yield from (f"- {_escaped(line)}" for line in lines)


def _number(verdicts: dict[str, Verdict | None], verdict: Verdict) -> str:
    return f"{sum(found is verdict for found in verdicts.values())} {verdict}"


def _is_worth_a_word(group: GroupResult, verdict: Verdict | None) -> bool:
    return verdict is not None and (verdict is not Verdict.PASS or group.tally.fails > 0)


def _row(group: GroupResult, verdict: Verdict | None) -> str:
    assert verdict is not None
    name = _html(group.id).replace("|", "\\|")
    return f"| {_MARKS[verdict]} | <code>{name}</code> | {_escaped(headline(group.to_report()))} |"


def _details(group: GroupResult) -> Iterator[str]:
    text = describe(group.to_report())
    fence = "`" * max([3, *(len(run) + 1 for run in _backticks(text))])
    yield f"\n<details><summary><code>{_html(group.id)}</code></summary>\n\n{fence}text\n{text}\n{fence}\n</details>"


def _backticks(text: str) -> list[str]:
    """The runs of backticks in a text: a fence must be longer than any."""
    return "".join(char if char == "`" else " " for char in text).split()


def _escaped(text: str) -> str:
    """A line that is nothing but text in a table of Markdown: what a bot said may hold anything."""
    return _html(" ".join(text.split())).translate({ord(char): f"\\{char}" for char in "\\|*_`[]"})


def _html(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
