"""The paragraph in which a person reads what a group's runs prove."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from textwrap import indent

from .classes import agreement_of, by_size, classes
from .excerpt import excerpts, printable
from .flip import flip_chance
from .interval import jeffreys, lower_bound, upper_bound
from .outcome import Outcome
from .verdict import Rule, Tally, Verdict, label

_WIDTH = 100
_CLASSES = 5
_FEW = 20
_CLOSE_CALL = 0.1
_WORTH_A_WORD = 0.05
_SPANS = 5


@dataclass(frozen=True, slots=True)
class RunReport:
    """One run of a group, as a person hears of it.

    `outcome` is None for a spared run; `reason` says why a run failed or measured nothing; `answer` is what the bot
    said, "" where it said nothing; `seconds` is 0 where it is not known; `retried`: an error went before `outcome`;
    `replayed`: every answer came from a recording.
    """

    run: str
    outcome: Outcome | None
    reason: str = ""
    answer: str = ""
    seconds: float = 0.0
    retried: bool = False
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class GroupReport:
    """A group that has its verdict; `rule` is that of the selected `runs`, of `declared_runs` in all."""

    verdict: Verdict
    rule: Rule
    declared_runs: int
    runs: tuple[RunReport, ...]

    @property
    def tally(self) -> Tally:
        return Tally.of(run.outcome for run in self.runs if run.outcome is not None)


def describe(group: GroupReport) -> str:
    """The whole paragraph: label and tally, what the bot said and why that failed, and what it all proves."""
    sections = (_answers, _reasons, _retried, _replayed, _pass_rate, _close_call, _seconds)
    details = chain.from_iterable(section(group) for section in sections)
    return "\n".join([_tally(group), *(indent(detail, "  ") for detail in details)])


def headline(group: GroupReport) -> str:
    """One line, for the short summary: label and tally, and unless it passed the reason of most runs."""
    if group.verdict == Verdict.PASS:
        return _tally(group)
    outcome = Outcome.FAIL if group.verdict == Verdict.FAIL else Outcome.ERROR
    reasons = [reason for reason, _ in _by_reason(group, outcome) if reason]
    if not reasons:
        return _tally(group)
    first_line, _, _ = reasons[0].partition("\n")
    return f"{_tally(group)} ({excerpts([first_line], 80)[0]})"


def _tally(group: GroupReport) -> str:
    tally = group.tally
    parts = [_passed(tally), group.rule.demand]
    if tally.errors:
        parts.append(_count(tally.errors, "error"))
    text = f"{label(tally, group.verdict)}: {', '.join(parts)}"
    if spared := len(group.runs) - tally.total:
        text += f"; decided early, {_count(spared, 'run')} spared"
    if (skipped := group.rule.n - len(group.runs)) > 0:
        text += f"; {_count(skipped, 'run')} skipped"
    if group.rule.n < group.declared_runs:
        text += f" ({group.rule.n} of {_count(group.declared_runs, 'run')} selected)"
    return text


def _passed(tally: Tally) -> str:
    if not tally.measured:
        return "no run measured anything"
    return f"{tally.passes} of {_count(tally.measured, 'run')} passed"


def _answers(group: GroupReport) -> Iterator[str]:
    """The classes of answers: on one line where they fit, else one a line."""
    answers = [run.answer for run in group.runs if run.answer]
    if not answers:
        return
    found = by_size(classes(answers))
    shown = found[:_CLASSES]
    texts = excerpts([answers[members[0]] for members in shown], _WIDTH - 12)
    entries = [f"{len(members)} × «{text}»" for members, text in zip(shown, texts, strict=True)]
    if others := sum(map(len, found[_CLASSES:])):
        entries.append(f"{others} × other answers")
    title = f"answers{_agreement(agreement_of(found))}:"
    line = f"{title} {' · '.join(entries)}"
    yield line if len(line) <= _WIDTH - 2 else "\n  ".join([title, *entries])


def _agreement(share: float | None) -> str:
    """How much answers that differ agree with each other; where all are the same it needs no words."""
    if share is None or share == 1:
        return ""
    return f" ({100 * share:.0f} % of pairs agree)" if share else " (no two agree)"


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
        yield f"close call: would flip in about {100 * chance:.0f} % of reruns"


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
