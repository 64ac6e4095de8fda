"""The loop: have a prompt rewritten and measure that, until the failing cases pass or nothing more is to be had.

Every choice is made by training and validation items. The held-out ones are run once, for the text that is about to be
accepted, and whatever comes of that ends the loop: a holdout that chooses is none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..agreement.verdict import Verdict
from .acceptance import Proof, prove
from .attempts import Attempt
from .bench import Bench, LimitReached, Trouble
from .choosing import best, contradiction, rank, unstable_judge
from .ends import End, Ended, Outcome
from .items import Item, Scores, verdicts_passed
from .reading import scores_of, told_again
from .writer import Terms, Writer

if TYPE_CHECKING:
    from .journal import Journal, Standing


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
        attempts: Sequence[Attempt] = (),
        say: Callable[[str], None] = lambda text: None,  # noqa: ARG005
    ) -> None:
        self.text, self.terms, self.standing = text, terms, standing
        self.tried = [Attempt(0, text, scores), *(one for one in attempts if one.scores or one.refused)]
        self._written = attempts[-1] if attempts and len(self.tried) <= len(attempts) else None
        """A text that was written and not measured before the loop was broken off."""
        self._items = {item.id: item for item in items}
        self._bench, self._journal, self._digest, self._say = bench, journal, digest, say
        self._split = standing.split
        self._shown = [self._items[id_] for id_ in self._split.training]
        self._writer = Writer(text, items, terms, bench=bench, journal=journal, standing=standing, stand=self._stand)
        self._chosen_by = (*self._split.training, *self._split.validation)
        self._breaking: tuple[Attempt, Proof] | None = None

    def run(self) -> Outcome:
        """Go on until there is an end; Ctrl-C may come at any time, and what was measured by then is kept."""
        try:
            return self._run()
        except Ended as ended:
            return self._end(ended.end, ended.why, ended.about)
        except LimitReached as error:
            return self._end(End.LIMIT, str(error))
        except Trouble as error:
            return self._end(End.ERROR, str(error))

    def _run(self) -> Outcome:
        if not any(not self.tried[0].scores[id_].passed for id_ in self._split.training):
            raise Ended(End.NO_PROGRESS, "no case that may be shown to the rewriter fails")
        if (outcome := self._found_before()) is not None:
            return outcome
        while len(self.tried) <= self.terms.attempts:
            attempt = self._measured(self._next())
            if (outcome := self._judge(attempt)) is not None:
                return outcome
            self._look_for_ends()
        raise Ended(End.LIMIT, f"{self.terms.attempts} attempts, and none passes every case")

    def _next(self) -> Attempt:
        """The text to be measured next; one that was refused is told of, and is an attempt as well."""
        if (written := self._written) is not None:
            self._written = None
            return written
        attempt = self._writer.write(self.tried, too_narrow=self._breaking is not None)
        if attempt.refused:
            self._say(f"attempt {attempt.number} was refused: {attempt.refused[0]}")
            if self.tried[-1].refused:
                self.tried.append(attempt)
                raise Ended(End.NO_PROGRESS, f"the rewriter keeps to no rule: {attempt.refused[0]}")
        return attempt

    def _found_before(self) -> Outcome | None:
        """The end of an earlier session's loop: what it found, or would have found had it not been broken off."""
        last, split = self.tried[-1], self._split
        if self.standing.end == str(End.FIXED):
            before = self._before_of(scores_of(self.standing.again))
            proof = prove(before, last.scores, split.training, split.validation, split.holdout, units=self._units)
            return self._end(End.FIXED, f"attempt {last.number}, found in an earlier session", (), last, proof)
        return self._judge(last) if last.number else None

    # -- how it does

    def _measured(self, attempt: Attempt) -> Attempt:
        """The attempt with its scores; one that cannot be as good as the best is left as soon as that is known."""
        if not attempt.refused:
            before = dict(self._bench.spent)
            usable = [one for one in self.tried if not one.refused]
            passed = verdicts_passed(best(usable, self._split.training).scores, self._split.training)
            give_up = len(self._split.training) - passed + 1
            scores, problem = self._measure(attempt, self._split.training, give_up=give_up)
            if not problem and verdicts_passed(scores, self._split.training) >= passed:
                more, problem = self._measure(attempt, self._split.validation)
                scores = {**scores, **more}
            refused = (f"it cannot be used: {problem}",) if problem else ()
            attempt = replace(attempt, scores=scores, refused=refused)
            cost = {name: amount - before.get(name, 0.0) for name, amount in self._bench.spent.items()}
            self._journal.keep(attempt, self._journal.reason(attempt.number), cost=cost)
        self.tried.append(attempt)
        self._stand()
        if not attempt.refused:
            self._say(f"attempt {attempt.number} of {self.terms.attempts}: {self._in_short(attempt)}")
        return attempt

    def _measure(
        self, attempt: Attempt, ids: Sequence[str], *, again: bool = False, give_up: int = 0
    ) -> tuple[Scores, str]:
        """Scores, and what kept the text from being used; an error that is none of the text's is tried once more."""
        if not ids:
            return {}, ""
        measured = self._bench.measure(attempt.text, ids, number=attempt.number, again=again, give_up=give_up)
        scores = dict(measured.scores)
        if not measured.problem and (broken := _troubled(scores)):
            scores |= self._bench.measure(attempt.text, broken, number=attempt.number, again=again).scores
            if still := _troubled(scores):
                reasons = [run.reason for run in scores[still[0]].runs if run.reason]
                msg = f"{still[0]} could not be measured: {reasons[-1] if reasons else 'no reason is known'}"
                raise Trouble(msg)
        return scores, measured.problem

    def _judge(self, attempt: Attempt) -> Outcome | None:
        """The end of the loop, where an attempt passes all that it was written for, and does so a second time."""
        split = self._split
        if attempt.refused or verdicts_passed(attempt.scores, split.training) < len(split.training):
            return None
        self._say(f"attempt {attempt.number} passes every case: all of them are run again")
        scores, _ = self._measure(attempt, self._chosen_by, again=True)
        if verdicts_passed(scores, split.training) < len(split.training):
            attempt = replace(attempt, scores=scores)
            self.tried[attempt.number] = attempt
            self._journal.keep(attempt, self._journal.reason(attempt.number))
            self._say(f"attempt {attempt.number} does not hold: {self._in_short(attempt)}")
            return None
        before = self._before_of(self._unseen_again())
        proof = prove(before, scores, split.training, split.validation, (), units=self._units)
        if not proof.accepted:
            self._breaking = attempt, proof
            self._say(f"attempt {attempt.number} breaks what worked: {self._broken(proof)}")
            return None
        held, _ = self._measure(attempt, split.holdout, again=True)
        proof = prove(before, {**scores, **held}, split.training, split.validation, split.holdout, units=self._units)
        attempt = replace(attempt, scores={**scores, **held})
        self._journal.keep(attempt, self._journal.reason(attempt.number))
        if proof.accepted:
            return self._end(End.FIXED, f"attempt {attempt.number}", chosen=attempt, proof=proof)
        return self._end(End.BREAKS, self._broken(proof), proof.broken, attempt, proof)

    def _before_of(self, unseen: Scores) -> Scores:
        """How the prompt itself does: what was shown by the session, and the rest as it was run again."""
        first = self.tried[0].scores
        return {**{id_: first[id_] for id_ in self._split.training if id_ in first}, **unseen}

    def _unseen_again(self) -> Scores:
        """How the prompt itself does when unseen items are run again: what failed by chance is no case mended."""
        unseen = (*self._split.validation, *self._split.holdout)
        if missing := [id_ for id_ in unseen if id_ not in self.standing.again]:
            scores, _ = self._measure(self.tried[0], missing, again=True)
            self.standing.again |= {id_: told_again(score) for id_, score in scores.items()}
            self._stand()
        return scores_of(self.standing.again)

    @property
    def _units(self) -> dict[str, str]:
        return {id_: item.unit for id_, item in self._items.items()}

    # -- the end

    def _look_for_ends(self) -> None:
        """Raise `Ended` where it is of no use to go on."""
        merged = [made[2] for made in self.standing.merges]
        if pair := contradiction(self.tried, self._split.training, merged):
            raise Ended(End.CONTRADICTORY, "each passes alone, and no text passes both", pair)
        if judged := unstable_judge(self._shown, self.tried):
            raise Ended(End.JUDGE_UNSTABLE, "its judge passes and fails the same answer", (judged,))

    def _end(
        self,
        end: End,
        why: str,
        about: Sequence[str] = (),
        chosen: Attempt | None = None,
        proof: Proof | None = None,
    ) -> Outcome:
        if end in (End.LIMIT, End.NO_PROGRESS) and self._breaking is not None:
            (chosen, proof), end = self._breaking, End.BREAKS
            why, about = self._broken(proof), proof.broken
        self.standing.end = str(end)
        self._stand()
        chosen = chosen or self._best()
        reason = self._journal.reason(chosen.number) if chosen is not None else ""
        return Outcome(end, why, chosen, reason, proof, tuple(about))

    def _best(self) -> Attempt | None:
        """The best text so far, if it is better than the prompt."""
        found = best([one for one in self.tried if not one.refused], self._chosen_by)
        better = rank(found.scores, self._chosen_by) > rank(self.tried[0].scores, self._chosen_by)
        return found if better else None

    def _broken(self, proof: Proof) -> str:
        if proof.broken:
            return f"{len(proof.broken)} that passed in every run fail now"
        return "what was not shown passes less often" if proof.worse else "not everything could be measured"

    def _in_short(self, attempt: Attempt) -> str:
        passed = verdicts_passed(attempt.scores, self._split.training)
        top = best([one for one in self.tried if not one.refused], self._chosen_by)
        at_best = verdicts_passed(top.scores, self._split.training)
        return f"passes {passed} of {len(self._split.training)} cases (best {at_best})"

    def _stand(self) -> None:
        spent = self._bench.spent
        self.standing.spent = dict(spent)
        self._journal.stand(self._digest, self.standing)


def _troubled(scores: Scores) -> list[str]:
    """Items that came to no verdict because something broke."""
    return [id_ for id_, score in scores.items() if score.errors and score.verdict not in (Verdict.PASS, Verdict.FAIL)]
