from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from pytest_convo.agreement.outcome import Outcome
from pytest_convo.agreement.verdict import Verdict
from pytest_convo.conversation.message import Message
from pytest_convo.refine.bench import LimitReached, Measured, Trouble
from pytest_convo.refine.items import Score, Shown
from pytest_convo.refine.journal import Journal
from pytest_convo.refine.memory import Memory

QUESTION = [Message("system", "You mend prompts."), Message("user", "Mend it: «é».")]


def score(outcome: Outcome, *, said: str = "So be it.") -> Score:
    verdicts = {Outcome.PASS: Verdict.PASS, Outcome.FAIL: Verdict.FAIL, Outcome.ERROR: Verdict.INCONCLUSIVE}
    counts = [int(outcome is each) for each in (Outcome.PASS, Outcome.FAIL, Outcome.ERROR)]
    return Score(verdicts[outcome], *counts, (Shown(outcome, (("assistant", said),), "why"),))


PASSED, FAILED, BROKEN = score(Outcome.PASS), score(Outcome.FAIL), score(Outcome.ERROR)


@dataclass
class Bench:
    """It gives the scores that it has, and does not have the others run."""

    scores: Mapping[str, Score] = field(default_factory=dict)
    problem: str = ""
    raises: Exception | None = None
    calls: list[tuple[object, ...]] = field(default_factory=list)
    spent: dict[str, float] = field(default_factory=lambda: {"calls": 7.0})

    def measure(self, text: str, ids: Sequence[str], *, number: int, again: int = 0, give_up: int = 0) -> Measured:
        self.calls.append((text, tuple(ids), number, again, give_up))
        if self.raises is not None:
            raise self.raises
        return Measured({id_: self.scores[id_] for id_ in ids if id_ in self.scores}, self.problem)

    def write(self, messages: Sequence[Message], *, number: int, asked: int) -> str:
        self.calls.append((tuple(messages), number, asked))
        if self.raises is not None:
            raise self.raises
        return f"answer {asked} of attempt {number}: «é»\r\n"


@pytest.fixture
def memory(tmp_path):
    """A memory around a bench, as each session makes it anew."""

    def of(bench: Bench) -> Memory:
        return Memory(bench, Journal(tmp_path / "loop", "Be kind.", Path("clerk.md")))

    return of


def test_what_was_measured_is_there_in_any_later_session(memory):
    scores = {"a": PASSED, "b": FAILED}
    first = memory(Bench(scores)).measure("x", ["a", "b"], number=1, again=2)
    assert first == Measured(scores)
    idle = Bench()
    assert memory(idle).measure("x", ["a", "b"], number=1, again=2) == first
    assert not idle.calls


def test_of_ids_that_are_partly_known_only_the_others_are_run(memory):
    memory(Bench({"a": PASSED})).measure("x", ["a"], number=1)
    bench = Bench({"b": FAILED, "c": PASSED, "a": FAILED})
    assert memory(bench).measure("x", ["c", "a", "b"], number=1, give_up=2).scores == {
        "a": PASSED,
        "b": FAILED,
        "c": PASSED,
    }
    assert bench.calls == [("x", ("c", "b"), 1, 0, 2)]
    idle = Bench()
    assert memory(idle).measure("x", ["b", "c", "a"], number=1).scores == {"a": PASSED, "b": FAILED, "c": PASSED}
    assert not idle.calls


def test_only_what_is_asked_for_is_given(memory):
    memory(Bench({"a": PASSED, "b": FAILED})).measure("x", ["a", "b"], number=1)
    assert memory(Bench()).measure("x", ["b"], number=1).scores == {"b": FAILED}


def test_what_was_not_run_as_it_was_given_up_is_not_run_later(memory):
    """It was given up for what is known of the others; that does not change."""
    assert memory(Bench({"a": FAILED})).measure("x", ["a", "b"], number=1, give_up=1).scores == {"a": FAILED}
    idle = Bench({"b": PASSED})
    assert memory(idle).measure("x", ["a", "b"], number=1, give_up=1).scores == {"a": FAILED}
    assert not idle.calls


def test_errors_are_told_and_not_remembered(memory, tmp_path):
    assert memory(Bench({"a": PASSED, "b": BROKEN})).measure("x", ["a", "b"], number=1).scores["b"] == BROKEN
    journal = Journal(tmp_path / "loop", "Be kind.", Path("clerk.md"))
    assert journal.measured(1, 0, "x") == (["a"], {"a": PASSED}, "")
    bench = Bench({"b": FAILED})
    assert memory(bench).measure("x", ["a", "b"], number=1).scores == {"a": PASSED, "b": FAILED}
    assert bench.calls == [("x", ("b",), 1, 0, 0)]
    idle = Bench()
    assert memory(idle).measure("x", ["a", "b"], number=1).scores == {"a": PASSED, "b": FAILED}
    assert not idle.calls


def test_an_error_beside_a_verdict_is_none(memory):
    run = Shown(Outcome.FAIL), Shown(Outcome.ERROR)
    scores = {"a": Score(Verdict.FAIL, 0, 1, 1, run)}
    memory(Bench(scores)).measure("x", ["a"], number=1)
    idle = Bench()
    assert memory(idle).measure("x", ["a"], number=1).scores == scores
    assert not idle.calls


@pytest.mark.parametrize("other", [("y", 1, 0), ("x", 2, 0), ("x", 1, 1)], ids=["text", "attempt", "round"])
def test_another_text_attempt_or_round_is_not_taken_for_it(memory, other):
    memory(Bench({"a": PASSED})).measure("x", ["a"], number=1)
    text, number, again = other
    bench = Bench({"a": FAILED})
    assert memory(bench).measure(text, ["a"], number=number, again=again).scores == {"a": FAILED}
    assert bench.calls == [(text, ("a",), number, again, 0)]


def test_of_another_text_under_the_same_number_no_score_is_left(memory):
    memory(Bench({"a": PASSED, "b": PASSED})).measure("x", ["a", "b"], number=1)
    bench = Bench({"a": FAILED})
    assert memory(bench).measure("y", ["a"], number=1).scores == {"a": FAILED}
    assert memory(Bench({"b": FAILED})).measure("y", ["a", "b"], number=1).scores == {"a": FAILED, "b": FAILED}


def test_a_problem_is_remembered(memory):
    first = memory(Bench({"a": PASSED}, problem="the tag is open")).measure("x", ["a", "b"], number=1)
    assert first == Measured({"a": PASSED}, "the tag is open")
    idle = Bench({"b": PASSED, "c": PASSED})
    assert memory(idle).measure("x", ["a", "b"], number=1) == first
    assert memory(idle).measure("x", ["a", "b", "c"], number=1) == first
    assert not idle.calls
    assert memory(idle).measure("y", ["b"], number=1) == Measured({"b": PASSED})


@pytest.mark.parametrize("error", [LimitReached("10 calls"), Trouble("nobody is there"), KeyboardInterrupt()])
def test_what_is_broken_off_is_not_remembered_and_nothing_before_it_is_lost(memory, error):
    memory(Bench({"a": PASSED})).measure("x", ["a"], number=1)
    with pytest.raises(type(error)):
        memory(Bench(raises=error)).measure("x", ["a", "b"], number=1)
    with pytest.raises(type(error)):
        memory(Bench(raises=error)).write(QUESTION, number=1, asked=1)
    bench = Bench({"b": FAILED})
    assert memory(bench).measure("x", ["a", "b"], number=1).scores == {"a": PASSED, "b": FAILED}
    assert memory(bench).write(QUESTION, number=1, asked=1).startswith("answer 1")
    assert bench.calls == [("x", ("b",), 1, 0, 0), (tuple(QUESTION), 1, 1)]


def test_an_answer_is_remembered_by_its_attempt_and_its_number(memory):
    first = memory(Bench()).write(QUESTION, number=1, asked=1)
    idle = Bench()
    assert memory(idle).write(QUESTION, number=1, asked=1) == first == "answer 1 of attempt 1: «é»\r\n"
    assert not idle.calls
    assert memory(idle).write(QUESTION, number=1, asked=2).startswith("answer 2 of attempt 1")
    assert memory(idle).write(QUESTION, number=2, asked=1).startswith("answer 1 of attempt 2")
    assert [call[1:] for call in idle.calls] == [(1, 2), (2, 1)]


def test_an_empty_answer_is_one(memory, tmp_path):
    Journal(tmp_path / "loop", "Be kind.", Path("clerk.md")).keep_reply(1, 1, [], "")
    idle = Bench()
    assert memory(idle).write(QUESTION, number=1, asked=1) == ""
    assert not idle.calls


def test_the_question_is_kept_beside_the_answer(memory, tmp_path):
    memory(Bench()).write(QUESTION, number=3, asked=4)
    told = json.loads((tmp_path / "loop" / "003" / "asked-4.json").read_text(encoding="utf-8"))
    assert told["messages"] == [["system", "You mend prompts."], ["user", "Mend it: «é»."]]


def test_what_it_spends_is_what_the_bench_spends(memory):
    bench = Bench()
    assert memory(bench).spent is bench.spent
