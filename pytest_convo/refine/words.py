"""What a person is told of a loop: how it ended, what is proved, before and after, what it took, the diff."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..texts import one_line, printable
from .acceptance import claim
from .ends import End, Outcome
from .items import Score, Scores
from .journal import Journal, Standing

MOST_CASES = 30
"""Lines of the table."""

WORDS = {
    End.FIXED: "fixed",
    End.BREAKS: "mended, but it breaks what worked: not accepted",
    End.CONTRADICTORY: "expectations that seem to contradict each other",
    End.NO_PROGRESS: "no progress",
    End.JUDGE_UNSTABLE: "the judge is unstable: it must be mended before the prompt",
    End.LIMIT: "not mended within its limits",
    End.ERROR: "could not go on",
}


@dataclass(frozen=True, slots=True)
class Done:
    """A loop at its end."""

    name: str
    """The prompt's path, relative to the rootdir."""
    outcome: Outcome
    standing: Standing
    before: Scores
    journal: Journal
    spent: Mapping[str, float]
    attempts: int
    written: str
    """What was done with the text, in words."""
    rootdir: Path


def headline(done: Done) -> str:
    """One line, for the summaries."""
    outcome = done.outcome
    about = f" ({', '.join(outcome.about)})" if outcome.about else ""
    written = f"; {done.written}" if done.written else ""
    why = "; ".join(line.strip() for line in outcome.why.splitlines())
    return one_line(f"{done.name}: {WORDS[outcome.end]}: {why}{about}{written}")


def lines(done: Done) -> Iterator[str]:
    """All that is told in the terminal."""
    outcome = done.outcome
    yield headline(done).removeprefix(f"{done.name}: ")
    if outcome.reason:
        yield f"the rewriter: {one_line(outcome.reason)}"
    if outcome.proof is not None:
        yield from claim(outcome.proof)
    if outcome.by_chance:
        yield f"failed by chance, and passed when the prompt as it is was run again: {', '.join(outcome.by_chance)}"
    if outcome.best is not None:
        yield ""
        yield from table(done)
        yield ""
        if outcome.end is not End.FIXED:
            yield f"the best text so far, attempt {outcome.best.number}:"
        yield from printable(done.journal.diff(outcome.best.text)).rstrip("\n").split("\n")
        yield ""
    yield _took(done)


def table(done: Done) -> Iterator[str]:
    """Each case before and with the best text."""
    best = done.outcome.best
    assert best is not None
    split, before = done.standing.split, {**done.before, **done.outcome.before}
    parts = {"shown": split.training, "chosen by": split.validation, "held out": split.holdout}
    rows = [("case", "part", "before", "now")]
    for part, ids in parts.items():
        rows += [(id_, part, _score(before.get(id_)), _score(best.scores.get(id_))) for id_ in ids]
    shown, more = rows[: MOST_CASES + 1], len(rows) - 1 - MOST_CASES
    widths = [max(len(row[column]) for row in shown) for column in range(4)]
    for row in shown:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
    if more > 0:
        yield f"and {more} more"


def _score(score: Score | None) -> str:
    if score is None:
        return "not run"
    word = "" if score.verdict is None else f" {score.verdict}"
    return f"{score.passes}/{score.passes + score.fails + score.errors}{word}"


def _took(done: Done) -> str:
    spent = done.spent
    usd = f" · ${spent['usd']:.2g}" if spent.get("usd") else ""
    kept = done.journal.root.relative_to(done.rootdir).as_posix()
    attempts, calls = _count(done.attempts, "attempt"), _count(int(spent.get("calls", 0)), "call")
    tokens = f" · {_count(int(spent['tokens']), 'token')}" if spent.get("tokens") else ""
    return f"{attempts} · {calls}{tokens}{usd} · {spent.get('seconds', 0.0):.0f} s · kept in {kept}"


def figures(done: Done) -> dict[str, Any]:
    """What came of it, for programs."""
    outcome = done.outcome
    proof = outcome.proof
    return {
        "prompt": done.name,
        "end": str(outcome.end),
        "why": outcome.why,
        "about": list(outcome.about),
        "attempts": done.attempts,
        "best": None if outcome.best is None else outcome.best.number,
        "diff": "" if outcome.best is None else done.journal.diff(outcome.best.text),
        "written": done.written,
        "spent": dict(done.spent),
        "claim": [] if proof is None else claim(proof),
    }


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
