"""The loop: have a prompt rewritten and measure that, until the failing cases pass or nothing more is to be had.

Every choice is made by training and validation items. The held-out ones are run once, for the text that is about to be
accepted, and whatever comes of that ends the loop: a holdout that chooses is none.

Whatever is chosen because it failed, or because it passed, did so in part by chance. So a failing case is run once more
under the prompt as it is before anything is mended, and a text that passes is run once more before it is believed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..agreement.outcome import Outcome as Run
from ..agreement.verdict import Verdict
from .acceptance import Proof, mends, prove
from .attempts import Attempt
from .bench import Bench, LimitReached, Trouble
from .choosing import best, contradiction, rank, unstable_judge
from .ends import End, Ended, Outcome
from .items import Item, Score, Scores, troubled, verdicts_passed
from .writer import Terms, Writer

if TYPE_CHECKING:
    from .journal import Journal, Standing

UNUSABLE = "it cannot be used: "
"""Why a text was refused that could be tried and came to nothing."""

UNSEEN = "a case that is not shown breaks with it"
"""What is said of that, for the error's own words may be those of the case."""

AGAIN, ONCE_MORE = 1, 2
"""Rounds of runs: the one that confirms, and the one for what is still in doubt then."""


class Loop:
    """One prompt on its way to a better one; `scores` are those of the session, of the prompt as it is."""

    def __init__(
        self,
        text: str,
        items: Sequence[Item],
        scores: Scores,
        terms: Terms,
        *,
        bench: Bench,
        journal: Journal,
        digest: str,
        standing: Standing,
        say: Callable[[str], None] = lambda text: None,  # noqa: ARG005
    ) -> None:
        self.text, self.terms, self.standing = text, terms, standing
        self.tried = [Attempt(0, text, scores)]
        self.by_chance: tuple[str, ...] = ()
        """Items that failed in the session, and pass when the prompt as it is is run again."""
        self._items = {item.id: item for item in items}
        self._bench, self._journal, self._digest, self._say = bench, journal, digest, say
        self._split = split = standing.split
        self._shown = [self._items[id_] for id_ in split.training]
        self._chosen_by = (*split.training, *split.validation)
        self._failing = [id_ for id_ in split.training if not scores[id_].passed]
        self._writer = Writer(text, items, split, terms, bench)
        self._reasons: dict[int, str] = {}
        self._breaking: tuple[Attempt, Proof] | None = None

    def run(self) -> Outcome:
        """Go on until there is an end; Ctrl-C may come at any time, and what was measured by then is kept."""
        try:
            return self._run()
        except KeyboardInterrupt:
            self._stand(None)
            raise
        except Ended as ended:
            return self._end(ended.end, ended.why, ended.about)
        except LimitReached as error:
            return self._end(End.LIMIT, str(error))
        except Trouble as error:
            return self._end(End.ERROR, str(error))

    def _run(self) -> Outcome:
        self._stand(None)
        if not self._failing:
            raise Ended(End.NO_PROGRESS, "no case that may be shown to the rewriter fails")
        self._drop([id_ for id_, score in self._old(self._failing, AGAIN).items() if score.passed])
        while len(self.tried) <= self.terms.attempts:
            attempt = self._measured(self._next())
            if (outcome := self._judge(attempt)) is not None:
                return outcome
            if judged := unstable_judge(self._shown, self.tried):
                raise Ended(End.JUDGE_UNSTABLE, "its judge passes and fails the same answer", (judged,))
        if pair := contradiction(self.tried, self._split.training, self._writer.merges):
            raise Ended(End.CONTRADICTORY, "no text that was tried passes both", pair)
        raise Ended(End.LIMIT, f"{self.terms.attempts} attempts, and none passes every case")

    def _drop(self, by_chance: Sequence[str]) -> None:
        """These are no cases to be mended; `Ended` where none is left."""
        self.by_chance += tuple(by_chance)
        scores = {**self.tried[0].scores, **{id_: self._old([id_], AGAIN)[id_] for id_ in by_chance}}
        self.tried[0] = replace(self.tried[0], scores=scores)
        self._failing = [id_ for id_ in self._failing if id_ not in by_chance]
        if not self._failing:
            why = "what failed passes when the prompt is run again as it is: it failed by chance"
            raise Ended(End.NO_PROGRESS, why)

    def _next(self) -> Attempt:
        """The text to be measured next; one that was refused is told of, and is an attempt as well."""
        attempt, reason = self._writer.write(self.tried, too_narrow=self._breaking is not None)
        self._stand(None)
        self._reasons[attempt.number] = reason
        if attempt.refused:
            self._journal.keep(attempt, reason)
            self._say(f"attempt {attempt.number} was refused: {attempt.refused[0]}")
            if self.tried[-1].refused:
                self.tried.append(attempt)
                raise Ended(End.NO_PROGRESS, f"the rewriter keeps to no rule: {attempt.refused[0]}")
        return attempt

    # -- how it does

    def _measured(self, attempt: Attempt) -> Attempt:
        """The attempt with its scores; one that cannot be as good as the best is left as soon as that is known."""
        if not attempt.refused:
            before, training = dict(self._bench.spent), self._split.training
            passed = verdicts_passed(best(self._usable, training).scores, training)
            scores, problem = self._measure(attempt, training, give_up=len(training) - passed + 1)
            if not problem and verdicts_passed(scores, training) >= passed:
                more, unseen = self._measure(attempt, self._split.validation)
                scores, problem = {**scores, **more}, unseen and UNSEEN
            refused = (f"{UNUSABLE}{problem}",) if problem else ()
            attempt = replace(attempt, scores=scores, refused=refused)
            cost = {name: amount - before.get(name, 0.0) for name, amount in self._bench.spent.items()}
            self._journal.keep(attempt, self._reasons[attempt.number], cost if cost["calls"] else None)
        self.tried.append(attempt)
        self._stand(None)
        if not attempt.refused:
            self._say(f"attempt {attempt.number} of {self.terms.attempts}: {self._in_short(attempt)}")
        return attempt

    @property
    def _usable(self) -> list[Attempt]:
        return [attempt for attempt in self.tried if not attempt.refused]

    def _measure(self, attempt: Attempt, ids: Sequence[str], again: int = 0, give_up: int = 0) -> tuple[Scores, str]:
        """Scores, and what kept the text from being used; an error that is none of the text's is tried once more."""
        if not ids:
            return {}, ""
        measured = self._bench.measure(attempt.text, ids, number=attempt.number, again=again, give_up=give_up)
        self._stand(None)
        if measured.problem and not attempt.number:
            raise Trouble(measured.problem)
        scores = dict(measured.scores)
        if not measured.problem and (broken := troubled(scores)):
            left = [id_ for id_ in ids if id_ in broken or id_ not in scores or scores[id_].verdict is None]
            scores |= self._bench.measure(attempt.text, left, number=attempt.number, again=again).scores
            if still := troubled(scores):
                return scores, self._problem(attempt, still[0], scores[still[0]])
        return scores, measured.problem

    def _problem(self, attempt: Attempt, id_: str, score: Score) -> str:
        """What broke twice and may be the text's fault, for an application may break on a text; else `Trouble`.

        What is likely to pass by is no matter of texts, nor is what breaks for the prompt as it is, or for two texts in
        a row.
        """
        broken = [run for run in score.runs if run.outcome is Run.ERROR]
        last = self.tried[-1].refused[:1] if attempt.number else ()
        in_a_row = any(reason.startswith(UNUSABLE) for reason in last)
        if not attempt.number or in_a_row or any(run.transient for run in broken):
            msg = f"{id_} could not be measured: {broken[-1].reason}"
            raise Trouble(msg)
        return broken[-1].reason

    def _old(self, ids: Sequence[str], again: int) -> Scores:
        """How these items do when the prompt as it is is run again."""
        return self._measure(self.tried[0], ids, again)[0]

    # -- whether it may be believed

    def _judge(self, attempt: Attempt) -> Outcome | None:
        """The end of the loop, where an attempt passes all that it was written for, and goes on doing so."""
        split = self._split
        if attempt.refused or verdicts_passed(attempt.scores, split.training) < len(split.training):
            return None
        self._say(f"attempt {attempt.number} passes every case: all of them are run again")
        again = self._measure(attempt, self._chosen_by, AGAIN)[0]
        if verdicts_passed(again, split.training) == len(split.training):
            again = {**again, **self._doubted(attempt, again)}
        if verdicts_passed(again, split.training) < len(split.training):
            held = replace(attempt, scores={**attempt.scores, **again})
            self.tried[attempt.number] = held
            self._say(f"attempt {attempt.number} does not hold: {self._in_short(held)}")
            return None
        before = {**self.tried[0].scores, **self._old((*self._failing, *split.validation), AGAIN)}
        now = {**again, **{id_: attempt.scores[id_] for id_ in split.validation if _fails(attempt.scores, id_)}}
        proof = prove(before, now, split.training, split.validation, (), units=self._units, sound=self._sound(before))
        if not proof.accepted:
            self._breaking = replace(attempt, scores=now), proof
            self._say(f"attempt {attempt.number} breaks what worked: {self._broken(proof)}")
            return None
        before |= self._old(split.holdout, AGAIN)
        now |= self._measure(attempt, split.holdout, AGAIN)[0]
        proof = prove(
            before, now, split.training, split.validation, split.holdout, units=self._units, sound=self._sound(before)
        )
        attempt = replace(attempt, scores=now)
        end, why = (End.FIXED, f"attempt {attempt.number}") if proof.accepted else (End.BREAKS, self._broken(proof))
        return replace(self._end(end, why, proof.broken, attempt, proof), before=before)

    def _doubted(self, attempt: Attempt, again: Scores) -> Scores:
        """What is not mended for certain; where that is in doubt, both texts are run once more."""
        first = self.tried[0].scores
        old = {id_: [first[id_], score] for id_, score in self._old(self._failing, AGAIN).items()}
        new = {id_: [attempt.scores[id_], again[id_]] for id_ in self._failing}
        doubtful = [id_ for id_ in self._failing if not mends(old[id_], new[id_])]
        for id_, score in self._old(doubtful, ONCE_MORE).items():
            old[id_].append(score)
        self._drop([id_ for id_ in doubtful if old[id_][-1].passed])
        doubtful = [id_ for id_ in doubtful if id_ in self._failing]
        third = self._measure(attempt, doubtful, ONCE_MORE)[0]
        left = [id_ for id_ in doubtful if id_ not in third or not mends(old[id_], [*new[id_], third[id_]], last=True)]
        return {id_: _not_passed(third.get(id_, again[id_])) for id_ in left}

    def _sound(self, before: Scores) -> list[str]:
        """Items that passed each time that the prompt as it is was run."""
        first = self.tried[0].scores
        return [id_ for id_, score in before.items() if score.passed and id_ in first and first[id_].passed]

    @property
    def _units(self) -> dict[str, str]:
        return {id_: item.unit for id_, item in self._items.items()}

    # -- the end

    def _end(
        self,
        end: End,
        why: str,
        about: Sequence[str] = (),
        chosen: Attempt | None = None,
        proof: Proof | None = None,
    ) -> Outcome:
        self._stand(end)
        if end in (End.LIMIT, End.NO_PROGRESS) and self._breaking is not None:
            (chosen, proof), end = self._breaking, End.BREAKS
            why, about = self._broken(proof), proof.broken
        chosen = chosen or self._best()
        reason = self._reasons[chosen.number] if chosen is not None else ""
        if chosen is not None:
            self._journal.keep(chosen, reason)
        return Outcome(end, why, chosen, reason, proof, tuple(about), by_chance=self.by_chance)

    def _best(self) -> Attempt | None:
        """The best text so far, if it is better than the prompt."""
        found = best(self._usable, self._chosen_by)
        better = rank(found.scores, self._chosen_by) > rank(self.tried[0].scores, self._chosen_by)
        return found if better else None

    def _broken(self, proof: Proof) -> str:
        if proof.broken:
            return f"{len(proof.broken)} that passed each time fail now"
        return "what was not shown passes less often" if proof.worse else "not everything could be measured"

    def _in_short(self, attempt: Attempt) -> str:
        training = self._split.training
        passed = verdicts_passed(attempt.scores, training)
        at_best = verdicts_passed(best(self._usable, training).scores, training)
        return f"passes {passed} of {len(training)} cases (best {at_best})"

    def _stand(self, end: End | None) -> None:
        self.standing.spent, self.standing.end = dict(self._bench.spent), None if end is None else str(end)
        self._journal.stand(self._digest, self.standing)


def _not_passed(score: Score) -> Score:
    """A score that is no proof: what fails stays a fail, and a pass says nothing yet."""
    return replace(score, verdict=Verdict.INCONCLUSIVE) if score.passed else score


def _fails(scores: Scores, id_: str) -> bool:
    return id_ in scores and scores[id_].verdict is Verdict.FAIL
