"""The paragraph in which a person reads what a group's runs prove."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from textwrap import indent

from ..texts import printable
from .answers import Both, correctness, fails_by_answers
from .excerpt import excerpts
from .flip import flip_chance
from .interval import jeffreys, lower_bound, upper_bound
from .outcome import Outcome
from .report import GroupReport, RunReport
from .said import alike, answers_figures, answers_line, said
from .tally import Tally, Verdict
from .verdict import label

__all__ = ["GroupReport", "RunReport", "answers_figures", "answers_line", "describe", "headline"]

_WIDTH = 100
_FEW = 20
_CLOSE_CALL = 0.1
_WORTH_A_WORD = 0.05
_SPANS = 5


def describe(group: GroupReport) -> str:
    """The whole paragraph: label and tally, what the bot said and why that failed, and what it all proves."""
    sections = (_said, _reasons, _retried, _replayed, _pass_rate, _close_call, _seconds)
    details = chain.from_iterable(section(group) for section in sections)
    return "\n".join([_tally(group), *(indent(detail, "  ") for detail in details)])


def headline(group: GroupReport) -> str:
    """One line, for the short summary: label and tally, and unless it passed the reason of most runs."""
    if group.verdict == Verdict.PASS or _failed_by_answers_alone(group):
        return _tally(group)
    outcome = Outcome.FAIL if group.verdict == Verdict.FAIL else Outcome.ERROR
    reasons = [reason for reason, _ in _by_reason(group, outcome) if reason]
    if not reasons:
        return _tally(group)
    first_line, _, _ = reasons[0].partition("\n")
    return f"{_tally(group)} ({excerpts([first_line], 80)[0]})"


def _failed_by_answers_alone(group: GroupReport) -> bool:
    """Whether no reason of a run says why the group failed."""
    rule, tally = group.rule, group.tally
    return fails_by_answers(rule, tally) and correctness(rule).decide(tally) is not Verdict.FAIL


def _tally(group: GroupReport) -> str:
    tally = group.tally
    parts = [_passed(tally), correctness(group.rule).demand]
    if tally.errors:
        parts.append(_count(tally.errors, "error"))
    text = f"{label(tally, group.verdict)}: {', '.join(parts)}"
    if isinstance(group.rule, Both):
        text += f"; {alike(group.rule.answers, tally)}"
    if spared := len(group.runs) - tally.total:
        text += f"; decided early, {_count(spared, 'run')} spared"
    if (unheard := group.rule.n - len(group.runs) - group.skipped) > 0:
        text += f"; decided without the other {unheard if unheard > 1 else 'run'}"
    if group.skipped:
        text += f"; {_count(group.skipped, 'run')} skipped"
    if group.rule.n < group.declared_runs:
        text += f" ({group.rule.n} of {_count(group.declared_runs, 'run')} selected)"
    return text


def _passed(tally: Tally) -> str:
    if not tally.measured:
        return "no run measured anything"
    return f"{tally.passes} of {_count(tally.measured, 'run')} passed"


def _said(group: GroupReport) -> Iterator[str]:
    return said(group, _WIDTH - 2)


def _reasons(group: GroupReport) -> Iterator[str]:
    """Each reason once, under the runs that it befell: what failed first, then what measured nothing."""
    for outcome, befell in (Outcome.FAIL, "failed"), (Outcome.ERROR, "measured nothing (error)"):
        for reason, runs in _by_reason(group, outcome):
            title = f"{_names(runs)} {befell}"
            yield f"{title}:\n{indent(reason, '  ')}" if reason else title


def _by_reason(group: GroupReport, outcome: Outcome) -> list[tuple[str, list[str]]]:
    """The reasons of the runs that ended so, the most frequent first, then in run order."""
    runs: dict[str, list[str]] = {}
    for run in group.runs:
        if run.outcome == outcome:
            runs.setdefault(printable(run.reason).strip("\n"), []).append(run.run)
    return sorted(runs.items(), key=lambda entry: -len(entry[1]))


def _retried(group: GroupReport) -> Iterator[str]:
    retried = [run.run for run in group.runs if run.retried]
    if retried:
        yield f"{_names(retried)} {'was' if len(retried) == 1 else 'were'} retried after an error"


def _replayed(group: GroupReport) -> Iterator[str]:
    made = [run for run in group.runs if run.outcome is not None]
    replayed = [run.run for run in made if run.replayed]
    if replayed:
        names = "all runs" if len(replayed) == len(made) else _names(replayed)
        yield f"replayed from recordings, which is no new sample: {names}"


def _pass_rate(group: GroupReport) -> Iterator[str]:
    tally = group.tally
    if tally.measured:
        low, high = jeffreys(tally.passes, tally.fails)
        yield f"pass rate: {100 * low:.0f} to {100 * high:.0f} % (95 % interval){_proof(tally, group.verdict)}"


def _proof(tally: Tally, verdict: Verdict) -> str:
    """What few runs prove where all of them agree: which other bot could well have done the same."""
    if verdict == Verdict.INCONCLUSIVE or tally.measured > _FEW or (tally.passes and tally.fails):
        return ""
    if tally.passes:
        return f"; even a bot at {100 * lower_bound(tally.passes, 0):.0f} % does as well 1 time in 20"
    return f"; even a bot at {100 * upper_bound(0, tally.fails):.0f} % does as badly 1 time in 20"


def _close_call(group: GroupReport) -> Iterator[str]:
    chance = flip_chance(group.tally, group.verdict, group.rule)
    if chance is not None and chance >= _CLOSE_CALL:
        by = "by passes alone it " if isinstance(group.rule, Both) else ""
        yield f"close call: {by}would flip in about {100 * chance:.0f} % of reruns"


def _seconds(group: GroupReport) -> Iterator[str]:
    seconds = sorted(run.seconds for run in group.runs if run.outcome is not None and run.seconds)
    if seconds and seconds[-1] >= _WORTH_A_WORD:
        shortest, longest = f"{seconds[0]:.1f}", f"{seconds[-1]:.1f}"
        yield f"seconds: {shortest}{'' if shortest == longest else f' to {longest}'} a run"


def _names(runs: Sequence[str]) -> str:
    """The runs' names; three or more with consecutive numbers are drawn together."""
    spans: list[list[str]] = []
    for run in runs:
        if spans and _number(run) == _number(spans[-1][-1]) + 1:
            spans[-1].append(run)
        else:
            spans.append([run])
    shown = [f"{span[0]} to {span[-1]}" if len(span) > 2 else ", ".join(span) for span in spans[:_SPANS]]
    others = sum(map(len, spans[_SPANS:]))
    return ", ".join(shown) + (f" and {others} more" if others else "")


def _number(run: str) -> int:
    match = re.search(r"\d+$", run)
    return int(match[0]) if match else -1


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
