from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pytest_convo.agreement.classes import join
from pytest_convo.agreement.outcome import Outcome
from pytest_convo.conversation.reply import Reply
from pytest_convo.conversation.transcript import Transcript, Turn
from pytest_convo.errors import ProviderError, TooManyRounds
from pytest_convo.run.alike import NOTE, Classes, Likeness, compared
from pytest_convo.run.group import Group
from pytest_convo.run.measure import Measurement
from pytest_convo.run.notebook import Notebook
from pytest_convo.run.shared import SharedLedger


@dataclass
class Recording:
    """Counts how often it is saved; nothing is asked around it here."""

    unsaved: bool = True
    saves: int = 0
    around: Any = None

    def save(self) -> None:
        self.saves += 1


@dataclass
class Comparing:
    """Two answers say the same where their numbers are at most 1 apart: 1 ~ 2 and 2 ~ 3, but not 1 ~ 3."""

    asked: list[tuple[str, str]] = field(default_factory=list)
    error: Exception | None = None
    recording: Recording = field(default_factory=Recording)

    @property
    def likeness(self) -> Likeness:
        return Likeness(None, lambda around: self.join, lambda: self.recording)

    async def join(self, found: Sequence[Sequence[str]], new: str) -> int:
        return await join(found, new, self.same)

    async def same(self, one: str, other: str) -> bool:
        await asyncio.sleep(0)
        if self.error is not None:
            raise self.error
        self.asked.append((one, other))
        return near(one, other)


def near(one: str, other: str) -> bool:
    return abs(int(one) - int(other)) <= 1


def group_of(runs: int, **settings: Any) -> Group:
    return Group("g", runs, Fraction(4, 5), runs=[f"g::run-{number}" for number in range(1, runs + 1)], **settings)


def said(text: str) -> Measurement:
    reply = Reply(text)
    return Measurement(Outcome.PASS, transcript=Transcript((), (Turn(1, reply),)))


def enter(found: Classes, ledger: Notebook | SharedLedger, run: str, measurement: Measurement) -> None:
    ledger.start("g", run)
    asyncio.run(found.enter(run, measurement, nullcontext))
    ledger.record("g", run, measurement.outcome)


def labels(ledger: Notebook | SharedLedger) -> dict[str, str | None]:
    return {run: label for run, (_, label) in sorted(ledger.said("g").items())}


@given(st.lists(st.integers(0, 6).map(str), min_size=1, max_size=7), st.randoms(use_true_random=False))
def test_the_classes_are_those_of_the_run_order_in_whatever_order_the_runs_end(all_compared, answers, random):
    group, ledger, comparing = group_of(len(answers)), Notebook(), Comparing()
    found = Classes(comparing.likeness, group, ledger)
    ends = list(zip(group.runs, answers, strict=True))
    random.shuffle(ends)
    for run, answer in ends:
        enter(found, ledger, run, said(answer))
    made: dict[str | None, list[int]] = {}
    for place, run in enumerate(group.runs):
        made.setdefault(ledger.said("g")[run][1], []).append(place)
    assert [*made.values()] == all_compared(answers, near)


def test_an_answer_waits_for_those_before_it():
    group, ledger, comparing = group_of(3), Notebook(), Comparing()
    found = Classes(comparing.likeness, group, ledger)
    enter(found, ledger, "g::run-2", said("2"))
    assert labels(ledger) == {"g::run-2": None}
    assert ledger.tally("g").alike == ()
    enter(found, ledger, "g::run-1", said("1"))
    assert labels(ledger) == {"g::run-1": "class 1", "g::run-2": "class 1"}
    assert comparing.asked == [("1", "2")]


def test_what_measured_nothing_is_passed_over_and_a_failure_without_an_answer_is_like_no_other():
    group, ledger, comparing = group_of(4), Notebook(), Comparing()
    found = Classes(comparing.likeness, group, ledger)
    error = TooManyRounds("the bot went on")
    for run in group.runs[2:]:
        enter(found, ledger, run, said("5"))
    enter(found, ledger, "g::run-1", Measurement(Outcome.ERROR, error=ProviderError("down")))
    enter(found, ledger, "g::run-2", Measurement(Outcome.FAIL, error=error, transcript=said("5").transcript))
    assert labels(ledger) == {
        "g::run-1": "",
        "g::run-2": "no answer of g::run-2",
        "g::run-3": "class 1",
        "g::run-4": "class 1",
    }
    assert ledger.tally("g").alike == (2, 1)


def test_a_run_that_is_made_again_has_all_answers_put_into_classes_anew():
    group, ledger = group_of(5), Notebook()
    found = Classes(Comparing().likeness, group, ledger)
    enter(found, ledger, "g::run-1", said("10"))
    enter(found, ledger, "g::run-2", Measurement(Outcome.ERROR, error=ProviderError("down")))
    for run, answer in zip(group.runs[2:], ["20", "10", "20"], strict=True):
        enter(found, ledger, run, said(answer))
    ledger.clear("g", "g::run-2")
    assert ledger.tally("g").alike == ()
    enter(found, ledger, "g::run-2", said("30"))
    assert [label for _, label in sorted(labels(ledger).items())] == [
        "class 1",
        "class 2",
        "class 3",
        "class 1",
        "class 3",
    ]
    assert ledger.tally("g").alike == (2, 2, 1)


def test_equal_keys_are_one_class_at_once():
    group, ledger = group_of(3), Notebook()
    found = Classes(Likeness(lambda reply: reply.text.lower()), group, ledger)
    enter(found, ledger, "g::run-3", said("A"))
    enter(found, ledger, "g::run-1", said("a"))
    assert labels(ledger) == {"g::run-1": "a", "g::run-3": "a"}


def test_what_is_made_in_full_is_compared_once_all_of_it_is_there(tmp_path):
    group = group_of(3, full=True)
    ledgers = [SharedLedger(tmp_path, name) for name in ("gw0", "gw1")]
    workers = [Comparing(), Comparing()]
    found = [Classes(worker.likeness, group, ledger) for worker, ledger in zip(workers, ledgers, strict=True)]
    enter(found[0], ledgers[0], "g::run-1", said("1"))
    enter(found[1], ledgers[1], "g::run-3", said("1"))
    assert [worker.asked for worker in workers] == [[], []]
    enter(found[0], ledgers[0], "g::run-2", said("9"))
    assert labels(ledgers[1]) == {"g::run-1": "class 1", "g::run-2": "class 2", "g::run-3": "class 1"}
    assert (workers[0].recording.saves, workers[1].recording.saves) == (1, 0)
    for ledger in ledgers:
        ledger.close()


def test_a_comparison_that_fails_makes_the_run_an_error_in_no_class_where_it_is_judged():
    ledger = Notebook()
    classes_ = Classes(Comparing(error=ProviderError("down")).likeness, group_of(2), ledger)
    spec = Spec(at_least=Fraction(4, 5))
    ledger.start("g", "g::run-1")
    ledger.start("g", "g::run-2")
    first = asyncio.run(compared(classes_, "g::run-1", said("1"), spec, nullcontext))
    second = asyncio.run(compared(classes_, "g::run-2", said("2"), spec, nullcontext))
    assert (first.outcome, second.outcome) == (Outcome.PASS, Outcome.ERROR)
    ledger.record("g", "g::run-1", first.outcome)
    ledger.record("g", "g::run-2", second.outcome)
    assert second.reason == "its answer could not be compared with the others: down"
    assert not second.transient
    assert labels(ledger) == {"g::run-1": "class 1", "g::run-2": ""}
    assert ledger.tally("g").alike == (1,)


def test_a_comparison_that_fails_is_told_where_it_is_only_shown():
    ledger = Notebook()
    classes_ = Classes(Comparing(error=ProviderError("down")).likeness, group_of(2), ledger)
    ledger.start("g", "g::run-1")
    ledger.start("g", "g::run-2")
    asyncio.run(compared(classes_, "g::run-1", said("1"), Spec(at_least=None), nullcontext))
    second = asyncio.run(compared(classes_, "g::run-2", said("2"), Spec(at_least=None), nullcontext))
    assert second.outcome is Outcome.PASS
    assert ledger.noted(f"{NOTE} g") == "down"


class Spec:
    """As much of a spec as is looked at."""

    def __init__(self, at_least: Fraction | None) -> None:
        from pytest_convo.settings.model import Settings

        self.settings = Settings.model_validate({"agree": {} if at_least is None else {"at_least": at_least}})
