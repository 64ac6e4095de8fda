from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from pytest_convo.agreement.outcome import Outcome as Run
from pytest_convo.agreement.tally import Tally
from pytest_convo.agreement.verdict import Agreement
from pytest_convo.conversation.message import Message
from pytest_convo.refine.bench import LimitReached, Measured, Trouble
from pytest_convo.refine.cost import ASKS, cost
from pytest_convo.refine.ends import End, Outcome
from pytest_convo.refine.items import Item, Score, Shown
from pytest_convo.refine.journal import Journal, Standing
from pytest_convo.refine.loop import AGAIN, ONCE_MORE, Loop
from pytest_convo.refine.memory import Memory
from pytest_convo.refine.split import Split
from pytest_convo.refine.words import Done, lines
from pytest_convo.refine.writer import Terms

OLD = "You are the clerk of a garden centre.\n"
TRAINING, VALIDATION, HOLDOUT = ("t-one", "t-two"), ("v-hidden-case",), ("h-hidden-case",)
SPLIT = Split(TRAINING, VALIDATION, HOLDOUT)
SIGNS = {"P": Run.PASS, "F": Run.FAIL, "E": Run.ERROR, "T": Run.ERROR}
"""T is an error that is likely to pass by."""
RUNS = 4
FIRST = 0
"""The round in which an attempt is measured until the verdicts stand; `AGAIN` and `ONCE_MORE` follow."""
CODE = "d1gest"

Truth = Callable[[str, str, int, int], object]
"""Whether an item passes, the signs of its runs, or why it cannot be collected: of an id, a text, an attempt's number,
and the round."""


def item(id_: str, *, asks_judge: bool = False, n: int = RUNS, k: int = 0) -> Item:
    return Item(
        id_,
        id_,
        inputs=(f"What would {id_} like to be told?",),
        expected=(f"the answer for {id_}",),
        asks_judge=asks_judge,
        n=n,
        k=k or n,
    )


def plain(id_: str, text: str, number: int, again: int) -> object:
    """The training items need a word each, and what is not shown always passes."""
    return {"t-one": "ONE" in text, "t-two": "TWO" in text}.get(id_, True)


@dataclass
class Fake:
    """A bench that is told how every text does, and what the rewriter answers to each attempt's questions."""

    answers: Sequence[object] | Callable[[int, str], object] = ()
    truth: Truth = plain
    broken_off: int = 0
    """The call in which Ctrl-C comes."""
    limit: int = 0
    """The call in which a limit is reached."""
    said: str = "So be it."
    runs: int = RUNS
    needed: int = 0
    """Runs of an item, and of them those that must pass; 0: all."""
    calls: list[tuple[object, ...]] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)
    spent: dict[str, float] = field(default_factory=lambda: dict.fromkeys(("calls", "tokens", "usd", "seconds"), 0.0))

    def measure(self, text: str, ids: Sequence[str], *, number: int, again: int = 0, give_up: int = 0) -> Measured:
        self._count("measure", number, tuple(ids), again)
        scores: dict[str, Score] = {}
        for id_ in ids:
            if isinstance(result := self.truth(id_, text, number, again), Exception):
                return Measured(scores, str(result))
            scores[id_] = self.score_of(id_, result)
            if give_up and sum(not score.passed for score in scores.values()) >= give_up:
                break
        return Measured(scores)

    def score(self, id_: str, text: str, number: int, *, again: int = 0) -> Score:
        return self.score_of(id_, self.truth(id_, text, number, again))

    def score_of(self, id_: str, told: object) -> Score:
        signs = told if isinstance(told, str) else ("P" if told else "F") * self.runs
        said = (("user", f"What would {id_} like to be told?"), ("assistant", self.said))
        runs = tuple(Shown(SIGNS[sign], said, "" if sign == "P" else "wrong", sign == "T") for sign in signs)
        passes, fails, errors = (sum(run.outcome is each for run in runs) for each in Run)
        verdict = Agreement(self.runs, self.needed or self.runs).decide(Tally(passes, fails, errors))
        return Score(verdict, passes, fails, errors, runs)

    def write(self, messages: Sequence[Message], *, number: int, asked: int) -> str:
        self._count("write", number)
        message = messages[1].text
        self.sent += [each.text for each in messages]
        if callable(self.answers):
            answer = self.answers(number, message)
        else:
            answer = self.answers[sum(call[0] == "write" for call in self.calls) - 1]
        if isinstance(answer, Exception):
            raise answer
        return f"It was not told to.\n<prompt>\n{answer}\n</prompt>"

    def _count(self, *call: object) -> None:
        """A call that is broken off was made as well, and nothing came of it."""
        self.calls.append(call)
        if len(self.calls) == self.broken_off:
            raise KeyboardInterrupt
        if len(self.calls) == self.limit:
            msg = "10 calls, and that is what it may take"
            raise LimitReached(msg)
        self.spent["calls"] += 1

    def measured(self, id_: str) -> list[tuple[int, int]]:
        """For which attempts an item was measured, and in which rounds."""
        return [(call[1], call[3]) for call in self.calls if call[0] == "measure" and id_ in call[2]]  # type: ignore[misc, operator]

    @property
    def asked(self) -> int:
        return sum(call[0] == "write" for call in self.calls)


def loop_of(
    tmp_path: Path,
    bench: Fake,
    *,
    attempts: int = 6,
    split: Split = SPLIT,
    judged: Sequence[str] = (),
    items: Sequence[Item] = (),
    session: Truth | None = None,
) -> Loop:
    """A loop from where the journal says that it stands, or a new one; as `Refining` makes it.

    `session` says how items did in the session that is before it; it is what the bench says, if it is not given.
    """
    journal = Journal(tmp_path / "loop", OLD, Path("clerk.md"))
    items = items or [item(id_, asks_judge=id_ in judged, n=bench.runs, k=bench.needed) for id_ in split.ids]
    before = replace(bench, truth=session or bench.truth)
    found = journal.resume(CODE)
    if found is None:
        journal.begin()
        found = Standing(split)
    bench.spent |= found.spent
    return Loop(
        OLD,
        items,
        journal.first({id_: before.score(id_, OLD, 0) for id_ in split.ids}),
        Terms(attempts=attempts),
        bench=Memory(bench, journal),
        journal=journal,
        digest=CODE,
        standing=found,
    )


def stands(tmp_path: Path) -> Standing:
    """What the next session finds."""
    found = Journal(tmp_path / "loop", OLD, Path("clerk.md")).resume(CODE)
    assert found is not None
    return found


def merges_of(loop: Loop) -> list[tuple[int, int, int]]:
    return loop._writer.merges


def texts(loop: Loop) -> list[str]:
    return [attempt.text.removesuffix("\n") for attempt in loop.tried[1:]]


def told(outcome: Outcome) -> tuple[object, ...]:
    """All but the words: these may name what a limit was."""
    best = outcome.best
    of_best = best and (best.number, best.text, best.scores, best.refused)
    return outcome.end, outcome.about, of_best, outcome.reason, outcome.proof, outcome.before, outcome.by_chance


# --- a fix


def test_what_passes_twice_and_breaks_nothing_is_the_fix(tmp_path):
    bench = Fake(["Be kind. ONE TWO"])
    outcome = loop_of(tmp_path, bench).run()
    assert (outcome.end, outcome.accepted, outcome.reason) == (End.FIXED, True, "It was not told to.")
    assert outcome.best is not None
    assert outcome.best.text == "Be kind. ONE TWO\n"
    assert outcome.proof is not None
    assert outcome.proof.accepted
    assert outcome.by_chance == ()
    assert bench.calls == [
        ("measure", 0, TRAINING, AGAIN),
        ("write", 1),
        ("measure", 1, TRAINING, FIRST),
        ("measure", 1, VALIDATION, FIRST),
        ("measure", 1, (*TRAINING, *VALIDATION), AGAIN),
        ("measure", 0, VALIDATION, AGAIN),
        ("measure", 0, HOLDOUT, AGAIN),
        ("measure", 1, HOLDOUT, AGAIN),
    ]


def test_a_case_that_is_still_failing_is_told_of_with_the_earlier_attempt(tmp_path):
    bench = Fake(["Be kind. ONE", "Be kind. ONE TWO"])
    outcome = loop_of(tmp_path, bench).run()
    assert outcome.end is End.FIXED
    assert outcome.best is not None
    assert outcome.best.number == 2
    assert "Attempt 1 mends and breaks no case; passes 1 of 2" in bench.sent[-1]


def test_what_passes_once_and_then_fails_is_no_fix(tmp_path):
    def truth(id_: str, text: str, number: int, again: int) -> object:
        lucky = number == 1 and not again and id_ == "t-two"
        return lucky or plain(id_, text, number, again)

    bench = Fake(["Be kind. ONE", "Be kind. ONE TWO"], truth)
    loop = loop_of(tmp_path, bench)
    outcome = loop.run()
    assert outcome.end is End.FIXED
    assert texts(loop) == ["Be kind. ONE", "Be kind. ONE TWO"]
    assert "Attempt 1 mends and breaks no case; passes 1 of 2" in bench.sent[-1]
    assert not loop.tried[1].scores["t-two"].passed


def test_nothing_is_asked_where_no_case_that_may_be_shown_fails(tmp_path):
    bench = Fake(truth=lambda id_, *_: id_ not in HOLDOUT)
    assert loop_of(tmp_path, bench).run().end is End.NO_PROGRESS
    assert not bench.calls


def test_a_fix_is_held_against_how_the_old_prompt_did_when_it_was_run_again(tmp_path):
    def truth(id_: str, text: str, number: int, again: int) -> object:
        again_under_old = again and not number
        return "PFFF" if again_under_old and id_ in TRAINING else plain(id_, text, number, again)

    bench = Fake(["Be kind. ONE TWO"], truth)
    outcome = loop_of(tmp_path, bench).run()
    assert outcome.end is End.FIXED
    assert outcome.before == {id_: bench.score(id_, OLD, 0, again=AGAIN) for id_ in SPLIT.ids}
    assert outcome.best is not None
    assert sorted(outcome.best.scores) == sorted(SPLIT.ids)


def test_without_unseen_items_a_fix_is_found_as_well(tmp_path):
    outcome = loop_of(tmp_path, Fake(["Be kind. ONE TWO"]), split=Split(TRAINING, (), ())).run()
    assert outcome.end is End.FIXED
    assert outcome.proof is not None
    assert outcome.proof.held_items == 0


# --- what failed by chance


def passing_again(*ids: str, since: int = AGAIN) -> Truth:
    """Items that fail in the session, and pass from a round on when the prompt as it is is run again."""
    return lambda id_, text, number, again: (
        (id_ in ids and not number and again >= since) or plain(id_, text, number, again)
    )


def words_of(tmp_path: Path, loop: Loop, outcome: Outcome) -> str:
    journal = Journal(tmp_path / "loop", OLD, Path("clerk.md"))
    done = Done(
        "clerk.md", outcome, loop.standing, loop.tried[0].scores, journal, {}, len(loop.tried) - 1, "", tmp_path
    )
    return "\n".join(lines(done))


def test_where_all_that_failed_failed_by_chance_nothing_is_asked(tmp_path):
    bench = Fake(truth=passing_again(*TRAINING))
    loop = loop_of(tmp_path, bench)
    outcome = loop.run()
    assert (outcome.end, outcome.by_chance, outcome.best) == (End.NO_PROGRESS, TRAINING, None)
    assert "it failed by chance" in outcome.why
    assert bench.calls == [("measure", 0, TRAINING, AGAIN)]
    assert ", ".join(TRAINING) in words_of(tmp_path, loop, outcome)


def test_what_failed_by_chance_is_told_of_and_the_other_is_mended(tmp_path):
    bench = Fake(["Be kind. ONE TWO"], passing_again("t-two"))
    loop = loop_of(tmp_path, bench)
    outcome = loop.run()
    assert (outcome.end, outcome.by_chance) == (End.FIXED, ("t-two",))
    assert "failed by chance, and passed when the prompt as it is was run again: t-two" in words_of(
        tmp_path, loop, outcome
    )
    assert (0, ONCE_MORE) not in bench.measured("t-two")


def test_what_failed_by_chance_must_pass_all_the_same(tmp_path):
    bench = Fake(["Be kind. ONE", "Be kind. ONE TWO"], passing_again("t-two"))
    outcome = loop_of(tmp_path, bench).run()
    assert outcome.best is not None
    assert (outcome.end, outcome.best.number, outcome.by_chance) == (End.FIXED, 2, ("t-two",))


def test_only_what_failed_in_the_session_is_run_again_before_the_first_question(tmp_path):
    bench = Fake(["Be kind. ONE TWO"], lambda id_, text, *of: id_ == "t-two" or plain(id_, text, *of))
    assert loop_of(tmp_path, bench).run().end is End.FIXED
    assert bench.calls[0] == ("measure", 0, ("t-one",), AGAIN)
    assert (0, AGAIN) not in bench.measured("t-two")


# --- what is in doubt


def test_what_two_rounds_leave_in_doubt_is_proved_by_a_third_under_both_texts(tmp_path):
    bench = Fake(["Be kind. ONE TWO"], runs=1)
    outcome = loop_of(tmp_path, bench).run()
    assert outcome.best is not None
    assert (outcome.end, outcome.best.number, outcome.by_chance) == (End.FIXED, 1, ())
    assert bench.calls == [
        ("measure", 0, TRAINING, AGAIN),
        ("write", 1),
        ("measure", 1, TRAINING, FIRST),
        ("measure", 1, VALIDATION, FIRST),
        ("measure", 1, (*TRAINING, *VALIDATION), AGAIN),
        ("measure", 0, TRAINING, ONCE_MORE),
        ("measure", 1, TRAINING, ONCE_MORE),
        ("measure", 0, VALIDATION, AGAIN),
        ("measure", 0, HOLDOUT, AGAIN),
        ("measure", 1, HOLDOUT, AGAIN),
    ]


def lucky_twice(id_: str, text: str, number: int, again: int) -> object:
    """The first text passes `t-two` in two rounds by luck."""
    return (number == 1 and id_ == "t-two" and again < ONCE_MORE) or plain(id_, text, number, again)


def test_what_a_third_round_does_not_prove_is_no_fix_and_the_loop_goes_on(tmp_path):
    bench = Fake(["Be kind. ONE", "Be kind. ONE TWO"], lucky_twice, runs=1)
    outcome = loop_of(tmp_path, bench).run()
    assert outcome.best is not None
    assert (outcome.end, outcome.best.number) == (End.FIXED, 2)
    assert bench.measured("t-two").count((0, ONCE_MORE)) == 1
    assert bench.measured(HOLDOUT[0]) == [(0, AGAIN), (2, AGAIN)]


def test_what_fails_in_the_third_round_is_told_of_as_failing(tmp_path):
    bench = Fake(["Be kind. ONE", "Be kind. ONE TWO"], lucky_twice, runs=1)
    loop = loop_of(tmp_path, bench)
    assert loop.run().end is End.FIXED
    assert not loop.tried[1].scores["t-two"].passed
    assert "Case 2 fails: 0 of" in bench.sent[-1]


def test_only_what_is_in_doubt_is_run_a_third_time(tmp_path):
    """`t-one` fails and passes clearly, `t-two` less so at first: 5 of 8 runs, and 8 of 8."""

    def truth(id_: str, text: str, number: int, again: int) -> object:
        if id_ == "t-two" and not number:
            return "FFFF" if again == ONCE_MORE else "PPPF" if again else "PPFF"
        return plain(id_, text, number, again)

    bench = Fake(["Be kind. ONE TWO"], truth)
    assert loop_of(tmp_path, bench).run().end is End.FIXED
    assert [call for call in bench.calls if call[-1] == ONCE_MORE] == [
        ("measure", 0, ("t-two",), ONCE_MORE),
        ("measure", 1, ("t-two",), ONCE_MORE),
    ]


def test_what_passes_each_time_and_hardly_more_often_than_before_is_never_proved(tmp_path):
    def truth(id_: str, text: str, number: int, again: int) -> object:
        return ("PPPF" if "TWO" in text else "PPFF") if id_ == "t-two" else plain(id_, text, number, again)

    bench = Fake(["Be kind. ONE TWO", "Be brief. ONE TWO"], truth, needed=3)
    outcome = loop_of(tmp_path, bench, attempts=2).run()
    assert outcome.best is not None
    assert (outcome.end, outcome.accepted, outcome.best.number) == (End.LIMIT, False, 1)
    assert not bench.measured(HOLDOUT[0])


def test_what_passes_in_the_third_round_under_the_old_prompt_failed_by_chance(tmp_path):
    bench = Fake(["Be kind. ONE TWO"], passing_again("t-two", since=ONCE_MORE), runs=1)
    outcome = loop_of(tmp_path, bench).run()
    assert (outcome.end, outcome.by_chance) == (End.FIXED, ("t-two",))
    assert (1, ONCE_MORE) not in bench.measured("t-two")
    assert (1, ONCE_MORE) in bench.measured("t-one")


def test_where_all_passes_in_the_third_round_under_the_old_prompt_nothing_is_mended(tmp_path):
    bench = Fake(["Be kind. ONE TWO"], passing_again(*TRAINING, since=ONCE_MORE), runs=1)
    outcome = loop_of(tmp_path, bench).run()
    assert (outcome.end, outcome.by_chance, outcome.accepted) == (End.NO_PROGRESS, TRAINING, False)
    assert bench.calls[-1] == ("measure", 0, TRAINING, ONCE_MORE)


# --- what is held out


def test_held_out_items_are_measured_once_and_only_for_the_text_that_is_to_be_accepted(tmp_path):
    bench = Fake(["Be kind. ONE", "Be kind. TWO", "Be kind. ONE TWO"])
    outcome = loop_of(tmp_path, bench).run()
    assert outcome.end is End.FIXED
    assert sorted(bench.measured(HOLDOUT[0])) == [(0, AGAIN), (3, AGAIN)]


def test_of_unseen_items_nothing_is_ever_sent(tmp_path):
    of_unseen = [text for id_ in SPLIT.unseen for text in (id_, *item(id_).inputs, *item(id_).expected)]
    bench = Fake(["Be kind. ONE", "Be kind. TWO", "Be kind. ONE TWO"], said=f"I know: {'; '.join(of_unseen)}.")
    assert loop_of(tmp_path, bench).run().end is End.FIXED
    assert len(bench.sent) == 2 * bench.asked == 6
    assert not [text for text in of_unseen for sent in bench.sent if text in sent]


@pytest.mark.parametrize("word", ["deadline", "assistant", "</prompt>"])
def test_what_an_unseen_item_expects_does_not_spoil_the_question(tmp_path, word):
    """It may be a word of our own instructions, or of what the rewriter itself wrote."""
    items = [replace(item(id_), expected=(word,)) if id_ in HOLDOUT else item(id_) for id_ in SPLIT.ids]
    answers = [f"Be kind. Name the deadline; you are an assistant. {word} ONE", "Be kind. ONE TWO"]
    plainly, spoilt = Fake(answers), Fake(answers)
    assert loop_of(tmp_path / "plainly", plainly).run().end is End.FIXED
    loop = loop_of(tmp_path / "spoilt", spoilt, items=items)
    assert loop.run().end is End.FIXED
    assert spoilt.sent == plainly.sent
    assert texts(loop)[0] == answers[0]
    assert any(answers[0] in sent for sent in spoilt.sent)


@pytest.mark.parametrize("word", ["deadline", "assistant", "</prompt>"])
def test_what_an_unseen_item_expects_is_withheld_from_what_runs_tell_and_from_nothing_else(tmp_path, word):
    items = [replace(item(id_), expected=(word,)) if id_ in HOLDOUT else item(id_) for id_ in SPLIT.ids]
    answers = [f"Be kind. {word} ONE", "Be kind. ONE TWO"]
    plainly, spoilt = Fake(answers, said="I was told: QUOTED."), Fake(answers, said=f"I was told: {word}.")
    assert loop_of(tmp_path / "plainly", plainly).run().end is End.FIXED
    assert loop_of(tmp_path / "spoilt", spoilt, items=items).run().end is End.FIXED
    wanted = [sent.replace("QUOTED", "[withheld]") for sent in plainly.sent]
    assert wanted != plainly.sent
    assert spoilt.sent == wanted


# --- what breaks others


def broken_by_haste(part: str) -> Truth:
    """An unseen item fails where the text says HASTE."""
    return lambda id_, text, number, again: (
        "HASTE" not in text if id_.startswith(part) else plain(id_, text, number, again)
    )


def test_what_breaks_a_validation_item_is_not_accepted_and_the_loop_goes_on(tmp_path):
    bench = Fake(["HASTE ONE TWO", "Be kind. ONE TWO"], broken_by_haste("v"))
    outcome = loop_of(tmp_path, bench).run()
    assert outcome.end is End.FIXED
    assert outcome.best is not None
    assert outcome.best.number == 2
    assert "breaks others that passed before" in bench.sent[-1]
    assert bench.measured(HOLDOUT[0]) == [(0, AGAIN), (2, AGAIN)]


def test_it_ends_with_what_breaks_a_validation_item_where_nothing_better_is_found(tmp_path):
    bench = Fake(["HASTE ONE TWO", "Be kind. ONE", "Be kind. TWO"], broken_by_haste("v"))
    outcome = loop_of(tmp_path, bench, attempts=3).run()
    assert (outcome.end, outcome.accepted, outcome.about) == (End.BREAKS, False, VALIDATION)
    assert outcome.best is not None
    assert outcome.best.number == 1
    assert not bench.measured(HOLDOUT[0])


def test_what_breaks_a_held_out_item_ends_the_loop_at_once(tmp_path):
    bench = Fake(["HASTE ONE TWO", "Be kind. ONE TWO"], broken_by_haste("h"))
    outcome = loop_of(tmp_path, bench).run()
    assert (outcome.end, outcome.accepted, outcome.about) == (End.BREAKS, False, HOLDOUT)
    assert bench.asked == 1


@pytest.mark.parametrize("failing", [FIRST, AGAIN])
def test_what_fails_in_either_measurement_of_validation_is_broken(tmp_path, failing):
    def truth(id_: str, text: str, number: int, again: int) -> object:
        return again != failing if id_ in VALIDATION and number == 1 else plain(id_, text, number, again)

    bench = Fake(["HASTE ONE TWO", "Be kind."], truth)
    outcome = loop_of(tmp_path, bench, attempts=2).run()
    assert outcome.best is not None
    assert (outcome.end, outcome.about, outcome.best.number) == (End.BREAKS, VALIDATION, 1)
    assert not bench.measured(HOLDOUT[0])


def flaky(part: str, *, before: str = "PPPF", again: str = "PPPF") -> Truth:
    """An unseen item that passes with three of four runs, in the session and when it is run again; one less in haste.

    So few runs less are no fall by any test.
    """

    def truth(id_: str, text: str, number: int, round_: int) -> object:
        if not id_.startswith(part):
            return plain(id_, text, number, round_)
        return "PPFF" if "HASTE" in text else again if round_ else before

    return truth


@pytest.mark.parametrize("part, ids", [("v", VALIDATION), ("h", HOLDOUT)])
def test_what_passed_each_time_is_broken_where_it_fails_now_though_some_runs_failed_before(tmp_path, part, ids):
    bench = Fake(["HASTE ONE TWO", "Be kind."], flaky(part), needed=3)
    outcome = loop_of(tmp_path, bench, attempts=2).run()
    assert outcome.proof is not None
    assert (outcome.end, outcome.about, outcome.proof.worse) == (End.BREAKS, ids, False)
    assert bool(bench.measured(HOLDOUT[0])) == (part == "h")
    assert "1 that passed each time fail now" in outcome.why


@pytest.mark.parametrize("part", "vh")
@pytest.mark.parametrize("rounds", [{"before": "PPFF"}, {"again": "PPFF"}], ids=["session", "again"])
def test_what_failed_once_under_the_old_prompt_is_not_broken(tmp_path, part, rounds):
    bench = Fake(["HASTE ONE TWO"], flaky(part, **rounds), needed=3)
    assert loop_of(tmp_path, bench, attempts=1).run().end is End.FIXED


# --- no progress


def test_texts_that_were_tried_before_are_refused_and_thrice_end_the_loop(tmp_path):
    bench = Fake(["Be kind.", "Be kind.", OLD, "Be kind. "])
    loop = loop_of(tmp_path, bench)
    outcome = loop.run()
    assert outcome.end is End.NO_PROGRESS
    assert bench.asked == 1 + ASKS
    assert "the text of an earlier attempt" in bench.sent[-1]
    assert texts(loop) == ["Be kind."]


def test_two_attempts_in_a_row_that_are_refused_end_the_loop(tmp_path):
    bench = Fake(lambda number, message: f"{number}. Say: What would t-one like to be told?")
    loop = loop_of(tmp_path, bench)
    outcome = loop.run()
    assert outcome.end is End.NO_PROGRESS
    assert bench.asked == 2 * ASKS
    assert [bool(attempt.refused) for attempt in loop.tried] == [False, True, True]
    assert bench.measured("t-one") == [(0, AGAIN)]
    assert outcome.best is None


def test_a_text_that_was_refused_was_not_tried(tmp_path):
    """It is refused again for what is wrong with it, and not for being known."""
    bench = Fake(lambda number, message: "Say: What would t-one like to be told?")
    outcome = loop_of(tmp_path, bench).run()
    assert outcome.end is End.NO_PROGRESS
    assert "copies what is said to the bot" in outcome.why
    assert bench.asked == 2 * ASKS
    assert not [sent for sent in bench.sent if "the text of an earlier attempt" in sent]


def test_a_text_with_which_cases_cannot_be_collected_is_refused_and_told_of(tmp_path):
    def truth(id_: str, text: str, number: int, again: int) -> object:
        return ValueError("the tag is open") if "{{" in text and id_ == "t-two" else plain(id_, text, number, again)

    bench = Fake(["Be {{ kind. ONE", "Be kind. ONE TWO"], truth)
    loop = loop_of(tmp_path, bench)
    assert loop.run().end is End.FIXED
    assert loop.tried[1].refused == ("it cannot be used: the tag is open",)
    assert "it cannot be used: the tag is open" in bench.sent[-1]


@pytest.mark.parametrize("times", [1, ASKS], ids=["once", "in a whole attempt"])
def test_half_a_surrogate_pair_is_an_objection(tmp_path, times):
    """An application that rewrites may give anything; the guard is there for it, and nothing may break before."""
    bench = Fake([*["Be kind. \ud800 ONE TWO"] * times, "Be kind. ONE TWO"])
    assert loop_of(tmp_path, bench).run().end is End.FIXED
    assert "half a surrogate pair" in bench.sent[-1]


def test_one_attempt_that_is_refused_is_an_attempt_and_no_end(tmp_path):
    def answers(number: int, message: str) -> str:
        return {2: "Be kind. ONE", 4: "Be kind. ONE TWO"}.get(
            number, f"{number}. Say: What would t-one like to be told?"
        )

    bench = Fake(answers)
    loop = loop_of(tmp_path, bench, attempts=4)
    assert loop.run().end is End.FIXED
    assert [bool(attempt.refused) for attempt in loop.tried[1:]] == [True, False, True, False]


def test_an_answer_against_the_rules_is_asked_for_anew_within_the_attempt(tmp_path):
    bench = Fake(["Say: What would t-one like to be told?", "", "Be kind. ONE TWO"])
    outcome = loop_of(tmp_path, bench).run()
    assert outcome.best is not None
    assert (outcome.end, outcome.best.number) == (End.FIXED, 1)
    assert "copies what is said to the bot" in bench.sent[3]


def test_it_ends_after_all_attempts_with_the_best_text(tmp_path):
    bench = Fake(["Be kind.", "Be kind. ONE", "Be brief."])
    outcome = loop_of(tmp_path, bench, attempts=3).run()
    assert outcome.best is not None
    assert (outcome.end, outcome.best.number, outcome.accepted) == (End.LIMIT, 2, False)


# --- expectations and judges


def opposed(id_: str, text: str, number: int, again: int) -> object:
    """What says ONE passes the one, what does not the other; only what says BOTH passes both."""
    both = "BOTH" in text
    return {"t-one": both or "ONE" in text, "t-two": both or ("ONE" not in text and number > 0)}.get(id_, True)


def in_turn(number: int, message: str) -> str:
    """Ever shorter, so that there are always other two to be merged."""
    return "Be kind. " * (14 - number) + ("ONE" if number in (1, 3, 6, 7, 10) else "no more")


def test_items_that_no_text_passes_together_contradict_each_other(tmp_path):
    bench = Fake(in_turn, opposed)
    loop = loop_of(tmp_path, bench, attempts=12)
    outcome = loop.run()
    assert (outcome.end, outcome.about) == (End.CONTRADICTORY, TRAINING)
    assert any("<other-" in sent for sent in bench.sent)
    assert len(merges_of(loop)) >= 2
    assert len(loop.tried) == 1 + 12


def test_a_contradiction_is_none_before_all_attempts_are_used_up(tmp_path):
    """By the eleventh there is all that makes one."""
    bench = Fake(lambda number, message: "Be kind. BOTH" if number == 12 else in_turn(number, message), opposed)
    outcome = loop_of(tmp_path, bench, attempts=12).run()
    assert outcome.best is not None
    assert (outcome.end, outcome.best.number) == (End.FIXED, 12)
    fewer = loop_of(tmp_path / "fewer", Fake(in_turn, opposed), attempts=11).run()
    assert fewer.end is End.CONTRADICTORY


def test_one_merge_is_too_few_for_a_contradiction(tmp_path):
    def answers(number: int, message: str) -> str:
        return "Be kind. " * number + ("ONE" if number in (1, 3, 6, 7, 10) else "no more")

    loop = loop_of(tmp_path, Fake(answers, opposed), attempts=12)
    assert loop.run().end is End.LIMIT
    assert len(merges_of(loop)) == 1


def test_a_judge_that_passes_and_fails_the_same_answer_is_unstable(tmp_path):
    def truth(id_: str, text: str, number: int, again: int) -> object:
        return "PFPF" if id_ == "t-two" and number else plain(id_, text, number, again)

    outcome = loop_of(tmp_path, Fake(["Be kind. ONE"], truth), judged=["t-two"]).run()
    assert (outcome.end, outcome.about) == (End.JUDGE_UNSTABLE, ("t-two",))


# --- limits and errors


def test_a_limit_keeps_the_best_so_far(tmp_path):
    answers = ["Be kind. ONE", "Be brief."]
    whole = Fake(answers)
    loop_of(tmp_path / "whole", whole, attempts=2).run()
    for limit in range(1, len(whole.calls) + 1):
        outcome = loop_of(tmp_path / str(limit), Fake(answers, limit=limit), attempts=2).run()
        measured = next(
            at for at, call in enumerate(whole.calls, 1) if call[:2] == ("measure", 1) and "v-" in call[2][0]
        )  # type: ignore[index]
        assert outcome.end is End.LIMIT
        assert (outcome.best is not None) == (limit > measured), limit
        assert stands(tmp_path / str(limit)).end == str(End.LIMIT)


def test_an_error_that_passes_by_costs_no_attempt(tmp_path):
    seen: list[str] = []

    def truth(id_: str, text: str, number: int, again: int) -> object:
        if number and id_ == "t-two" and not seen:
            seen.append(id_)
            return "PPPE"
        return plain(id_, text, number, again)

    bench = Fake(["Be kind. ONE TWO"], truth)
    outcome = loop_of(tmp_path, bench, attempts=1).run()
    assert outcome.end is End.FIXED
    assert bench.measured("t-two") == [(0, AGAIN), (1, FIRST), (1, FIRST), (1, AGAIN)]
    assert bench.measured("t-one") == [(0, AGAIN), (1, FIRST), (1, AGAIN)]


def test_an_error_does_not_cut_short_what_is_measured(tmp_path):
    """With three cases, of which the best text passes two, two that do not pass end a measurement; an error is none."""
    split = Split(("t-one", "t-two", "t-three"), (), ())
    seen: list[str] = []

    def truth(id_: str, text: str, number: int, again: int) -> object:
        if number == 2 and id_ == "t-one" and not seen:
            seen.append(id_)
            return "PPPE"
        return {"t-one": "ONE", "t-two": "TWO", "t-three": "THREE"}[id_] in text

    bench = Fake(["Be kind. ONE TWO", "Be kind. ONE THREE", "Be kind. ONE TWO THREE"], truth)
    loop = loop_of(tmp_path, bench, split=split)
    assert loop.run().end is End.FIXED
    assert sorted(loop.tried[2].scores) == sorted(split.training)


def test_an_error_that_stays_and_is_no_fault_of_a_text_ends_the_loop_as_an_error(tmp_path):
    def truth(id_: str, text: str, number: int, again: int) -> object:
        return "PPPT" if number and id_ == "t-two" else plain(id_, text, number, again)

    bench = Fake(["Be kind. ONE TWO"], truth)
    outcome = loop_of(tmp_path, bench).run()
    assert outcome.end is End.ERROR
    assert "t-two could not be measured: wrong" in outcome.why
    assert bench.measured("t-two") == [(0, AGAIN), (1, FIRST), (1, FIRST)]


def breaking(id_: str, text: str, number: int, again: int) -> object:
    """An application that breaks on a text."""
    return "PPPE" if "BREAK" in text and id_ == "t-two" else plain(id_, text, number, again)


def test_of_an_unseen_case_on_which_the_application_breaks_nothing_is_said(tmp_path):
    def truth(id_: str, text: str, number: int, again: int) -> object:
        return "PPPE" if "BREAK" in text and id_ == "v-hidden-case" else plain(id_, text, number, again)

    bench = Fake(["BREAK ONE TWO", "Be kind. ONE TWO"], truth)
    loop = loop_of(tmp_path, bench)
    assert loop.run().end is End.FIXED
    assert loop.tried[1].refused == ("it cannot be used: a case that is not shown breaks with it",)
    assert not any("hidden-case" in text for text in bench.sent)


def test_a_text_on_which_the_application_breaks_twice_cannot_be_used(tmp_path):
    bench = Fake(["BREAK ONE TWO", "Be kind. ONE TWO"], breaking)
    loop = loop_of(tmp_path, bench)
    outcome = loop.run()
    assert outcome.best is not None
    assert (outcome.end, outcome.best.number) == (End.FIXED, 2)
    assert loop.tried[1].refused == ("it cannot be used: wrong",)
    assert bench.measured("t-two")[:3] == [(0, AGAIN), (1, FIRST), (1, FIRST)]
    assert "it cannot be used: wrong" in bench.sent[-1]


def test_where_it_breaks_on_two_texts_in_a_row_it_is_an_error(tmp_path):
    bench = Fake(["BREAK ONE TWO", "BREAK, be kind. ONE TWO"], breaking)
    outcome = loop_of(tmp_path, bench).run()
    assert (outcome.end, outcome.accepted, bench.asked) == (End.ERROR, False, 2)
    assert "t-two could not be measured: wrong" in outcome.why


def test_an_error_under_the_prompt_as_it_is_ends_the_loop_as_one_too(tmp_path):
    def truth(id_: str, text: str, number: int, again: int) -> object:
        return "PPPE" if again and not number and id_ == "t-two" else plain(id_, text, number, again)

    bench = Fake(truth=truth)
    outcome = loop_of(tmp_path, bench).run()
    assert (outcome.end, outcome.by_chance, bench.asked) == (End.ERROR, (), 0)


def test_a_case_that_cannot_be_collected_any_more_is_no_crash(tmp_path):
    """It was edited while the loop ran; it is no fault of a text."""

    def truth(id_: str, text: str, number: int, again: int) -> object:
        gone = not number and again and id_ == "t-two"
        return ValueError("not found: t-two") if gone else plain(id_, text, number, again)

    assert loop_of(tmp_path, Fake(["Be kind. ONE TWO"], truth)).run().end is End.ERROR


def test_a_failing_item_with_errors_is_measured_all_the_same(tmp_path):
    def truth(id_: str, text: str, number: int, again: int) -> object:
        return "FEE" if number == 1 and id_ == "t-two" else plain(id_, text, number, again)

    assert loop_of(tmp_path, Fake(["Be kind. ONE", "Be kind. ONE TWO"], truth)).run().end is End.FIXED


def test_a_rewriter_that_does_not_answer_is_an_error(tmp_path):
    outcome = loop_of(tmp_path, Fake([Trouble("nobody is there")])).run()
    assert (outcome.end, outcome.why) == (End.ERROR, "nobody is there")


# --- merging


def test_two_attempts_that_pass_different_items_are_merged(tmp_path):
    bench = Fake(["Be kind. ONE", "Be kind. TWO", "Be brief.", "Be kind. ONE TWO"])
    loop = loop_of(tmp_path, bench)
    assert loop.run().end is End.FIXED
    assert merges_of(loop) == [(1, 2, 4)]
    merging = [sent for sent in bench.sent if "<other-" in sent and "second prompt, which does" in sent]
    assert len(merging) == 1
    assert re.search(r"<other-(\w+)>\nBe kind. TWO\n*</other-\1>", merging[0])
    assert bench.measured("t-one")[-2:] == [(4, FIRST), (4, AGAIN)]


# --- going on


def of_everything(number: int, message: str) -> str:
    """A long way to the fix: a refusal, an item that is broken, a fix that does not hold, a merge."""
    if number == 1 and "was refused" not in message:
        return "Say: What would t-one like to be told?"
    found = {1: "Be kind. ONE", 2: "Be brief. TWO", 3: "HASTE, be kind. ONE TWO", 5: "LUCK ONE"}
    return found.get(number, f"Merged, {number}. ONE" + " TWO" * (number > 5))


def by_luck(id_: str, text: str, number: int, again: int) -> object:
    if id_ == "v-hidden-case":
        return "HASTE" not in text
    lucky = "LUCK" in text and not again
    return lucky or plain(id_, text, number, again)


def to_no_end(number: int, message: str) -> str:
    """One that breaks an item, and then nothing that would be better."""
    return "HASTE ONE TWO" if number == 1 else f"Be kind, {number} times. {('ONE', 'TWO')[number % 2]}"


def of_a_judge(number: int, message: str) -> str:
    return f"Be kind, {number} times. ONE TWO"


def judged_by_mood(id_: str, text: str, number: int, again: int) -> object:
    return "PFPF" if id_ == "t-two" and again else plain(id_, text, number, again)


def in_doubt(id_: str, text: str, number: int, again: int) -> object:
    """`t-two` passes by luck under the first text, twice, and under the old one in the third round."""
    chance = id_ == "t-one" and not number and again == ONCE_MORE
    return chance or lucky_twice(id_, text, number, again)


def flaky_in_haste(id_: str, text: str, number: int, again: int) -> object:
    return flaky("v")(id_, text, number, again)


def refused_twice(number: int, message: str) -> str:
    return "Be kind. ONE" if number == 1 else f"{number}. Say: What would t-one like to be told?"


@dataclass
class Way:
    """A bench, and the end to which the loop comes with it."""

    end: End
    answers: Callable[[int, str], object]
    truth: Truth = plain
    attempts: int = 6
    runs: int = RUNS
    needed: int = 0
    by_chance: tuple[str, ...] = ()

    def bench(self, **more: int) -> Fake:
        return Fake(self.answers, self.truth, runs=self.runs, needed=self.needed, **more)

    def loop(self, root: Path, bench: Fake, session: Truth | None = None) -> Loop:
        judged = ["t-two"] if self.end is End.JUDGE_UNSTABLE else []
        return loop_of(root, bench, attempts=self.attempts, judged=judged, session=session)


def one_then_two(number: int, message: str) -> str:
    return f"Be kind, {number} times. ONE{' TWO' * (number > 1)}"


WAYS = {
    "to a fix": Way(End.FIXED, of_everything, by_luck, 7),
    "to the limit": Way(End.BREAKS, to_no_end, by_luck, 4),
    "to a judge": Way(End.JUDGE_UNSTABLE, of_a_judge, judged_by_mood, 4),
    "to what is held out": Way(End.BREAKS, lambda number, message: "HASTE ONE TWO", broken_by_haste("h"), 3),
    "by chance": Way(End.FIXED, one_then_two, passing_again("t-two"), by_chance=("t-two",)),
    "to nothing but chance": Way(End.NO_PROGRESS, one_then_two, passing_again(*TRAINING), by_chance=TRAINING),
    "through doubt": Way(End.FIXED, one_then_two, lucky_twice, runs=1),
    "through doubt by chance": Way(End.FIXED, one_then_two, in_doubt, runs=1, by_chance=("t-one",)),
    "to what was sound": Way(End.BREAKS, to_no_end, flaky_in_haste, 3, needed=3),
    "to a contradiction": Way(End.CONTRADICTORY, in_turn, opposed, 12),
    "to two refusals": Way(End.NO_PROGRESS, refused_twice),
    "to what was tried": Way(End.NO_PROGRESS, lambda number, message: "Be kind. ONE"),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("cut", ["broken_off", "limit"])
def test_a_loop_that_is_cut_short_anywhere_goes_on_to_the_same_end(tmp_path, way, cut):
    whole = way.bench()
    wanted = way.loop(tmp_path / "whole", whole)
    outcome = wanted.run()
    assert (outcome.end, outcome.by_chance) == (way.end, way.by_chance)
    for call, made in enumerate(whole.calls, 1):
        first, second = way.bench(**{cut: call}), way.bench()
        root = tmp_path / str(call)
        if cut == "limit":
            way.loop(root, first).run()
            assert stands(root).end == str(End.LIMIT)
        else:
            with pytest.raises(KeyboardInterrupt):
                way.loop(root, first).run()
            assert stands(root).end is None
        assert first.calls == whole.calls[:call]
        gone_on = way.loop(root, second)
        assert told(gone_on.run()) == told(outcome), made
        assert texts(gone_on) == texts(wanted), made
        assert [one.scores for one in gone_on.tried] == [one.scores for one in wanted.tried], made
        assert merges_of(gone_on) == merges_of(wanted)
        assert first.asked + second.asked == whole.asked + (made[0] == "write") <= whole.asked + 1
        assert second.calls == whole.calls[call - 1 :], made


def test_a_loop_that_is_broken_off_at_every_single_call_comes_to_its_end(tmp_path):
    way = WAYS["to a fix"]
    whole = way.bench()
    outcome = way.loop(tmp_path / "whole", whole).run()
    for _ in whole.calls[1:]:
        with pytest.raises(KeyboardInterrupt):
            way.loop(tmp_path, way.bench(broken_off=2)).run()
    last = way.bench()
    assert told(way.loop(tmp_path, last).run()) == told(outcome)
    assert last.calls == whole.calls[-1:]


def test_scores_are_those_of_the_session_in_which_the_loop_began(tmp_path):
    """What the next session finds of the old prompt is another matter, by chance."""
    way = WAYS["to a fix"]
    whole = way.bench()
    outcome = way.loop(tmp_path / "whole", whole).run()
    for call in range(1, len(whole.calls) + 1):
        with pytest.raises(KeyboardInterrupt):
            way.loop(tmp_path / str(call), way.bench(broken_off=call)).run()
        gone_on = way.loop(tmp_path / str(call), way.bench(), lambda id_, *_: id_ != VALIDATION[0])
        assert told(gone_on.run()) == told(outcome)


def test_what_was_spent_before_it_was_broken_off_counts(tmp_path):
    """Limits are of all sessions together: what came back of an attempt under way was paid for as well."""
    way = WAYS["to a fix"]
    whole = way.bench()
    way.loop(tmp_path / "whole", whole).run()
    missing = []
    for call, made in enumerate(whole.calls, 1):
        with pytest.raises(KeyboardInterrupt):
            way.loop(tmp_path / str(call), way.bench(broken_off=call)).run()
        if (counted := stands(tmp_path / str(call)).spent["calls"]) != call - 1:
            missing.append((made, counted, call - 1))
    assert not missing


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_no_loop_takes_more_than_is_told_before_it_begins(tmp_path, way):
    bench = way.bench()
    way.loop(tmp_path, bench).run()
    items = [item(id_, n=way.runs, k=way.needed) for id_ in SPLIT.ids]
    takes = cost(items, SPLIT, TRAINING, way.attempts)
    assert calls_of(bench) <= takes.most


def test_the_least_that_is_told_is_what_an_honest_round_takes(tmp_path):
    bench = Fake(["Be kind. ONE TWO"])
    assert loop_of(tmp_path, bench).run().end is End.FIXED
    assert calls_of(bench) == cost([item(id_) for id_ in SPLIT.ids], SPLIT, TRAINING, 6).least


def calls_of(bench: Fake) -> int:
    """Model calls: each run is one, and each question."""
    return bench.asked + sum(bench.runs * len(call[2]) for call in bench.calls if call[0] == "measure")  # type: ignore[arg-type]


def test_an_error_is_gone_on_from_where_it_has_passed(tmp_path):
    def broken(id_: str, text: str, number: int, again: int) -> object:
        return "PPPT" if number == 2 and id_ == "t-two" else plain(id_, text, number, again)

    first, second = Fake(one_then_two, broken), Fake(one_then_two)
    assert loop_of(tmp_path, first).run().end is End.ERROR
    assert stands(tmp_path).end == str(End.ERROR)
    loop = loop_of(tmp_path, second)
    outcome = loop.run()
    assert outcome.best is not None
    assert (outcome.end, outcome.best.number) == (End.FIXED, 2)
    assert not second.asked
    assert second.calls[0] == ("measure", 2, ("t-two",), FIRST)
    assert second.measured("t-one") == [(2, AGAIN)]


def test_where_an_item_is_broken_a_limit_is_written_down_as_a_limit_and_gone_on_from(tmp_path):
    first = Fake(to_no_end, by_luck)
    assert loop_of(tmp_path, first, attempts=3).run().end is End.BREAKS
    assert stands(tmp_path).end == str(End.LIMIT)
    second = Fake(lambda number, message: "Be brief. ONE TWO", by_luck)
    loop = loop_of(tmp_path, second, attempts=4)
    outcome = loop.run()
    assert outcome.best is not None
    assert (outcome.end, outcome.best.number) == (End.FIXED, 4)
    assert second.asked == 1


def test_what_breaks_a_held_out_item_is_written_down_as_that(tmp_path):
    assert loop_of(tmp_path, Fake(["HASTE ONE TWO"], broken_by_haste("h"))).run().end is End.BREAKS
    assert stands(tmp_path).end == str(End.BREAKS)


def test_a_fix_that_was_found_is_told_again_without_a_call(tmp_path):
    bench = Fake(["Be kind. ONE", "Be kind. ONE TWO"])
    found = loop_of(tmp_path, bench).run()
    idle = Fake()
    again = loop_of(tmp_path, idle).run()
    assert not idle.calls
    assert told(again) == told(found)
    assert again.reason == found.reason == "It was not told to."


def test_a_loop_that_reached_a_limit_goes_on_where_more_is_allowed(tmp_path):
    answers = ["Be kind. ONE", "Be brief."]
    assert loop_of(tmp_path, Fake(answers), attempts=2).run().end is End.LIMIT
    bench = Fake(["Be kind. ONE TWO"])
    loop = loop_of(tmp_path, bench, attempts=3)
    assert loop.run().end is End.FIXED
    assert texts(loop) == ["Be kind. ONE", "Be brief.", "Be kind. ONE TWO"]
