"""How much chance there is in a verdict."""

from __future__ import annotations

from collections import defaultdict

from .answers import correctness, fails_by_answers
from .tally import Rule, Tally, Verdict

_OTHER = {Verdict.PASS: Verdict.FAIL, Verdict.FAIL: Verdict.PASS}


def flip_chance(tally: Tally, verdict: Verdict, rule: Rule) -> float | None:
    """The chance that the same group, run again under the same `rule` and without errors, gets the other verdict.

    It is the posterior predictive probability after `tally` with the Jeffreys prior: the chance of a pass is
    Beta(P + ½, F + ½), hence of n new runs the passes are beta-binomial. For a sequential test a rerun may also end
    inconclusive, which is no flip. None for an inconclusive verdict, which has no other.

    Where the answers must be alike too, it is the chance for correctness alone; and None where they were too
    different, as of answers it says nothing.
    """
    if verdict == Verdict.INCONCLUSIVE or fails_by_answers(rule, tally):
        return None
    return verdict_chances(tally, correctness(rule))[_OTHER[verdict]]


def verdict_chances(tally: Tally, rule: Rule) -> dict[Verdict, float]:
    """The predictive probability of each verdict of a rerun; they sum to 1.

    The beta-binomial is walked as Pólya's urn, run by run, up to where the rule decides: after p passes and f fails
    of the rerun the next one passes with probability (P + ½ + p) / (P + F + 1 + p + f). Curtailment thus changes
    nothing for `Agreement`, and a sequential test is covered as well. Takes at most n² / 4 steps.
    """
    chances = dict.fromkeys(Verdict, 0.0)
    still_open = {0: 1.0}
    for run in range(rule.n):
        after: dict[int, float] = defaultdict(float)
        for passes, chance in still_open.items():
            of_pass = chance * (tally.passes + 0.5 + passes) / (tally.measured + 1 + run)
            after[passes + 1] += of_pass
            after[passes] += chance - of_pass
        still_open = {}
        for passes, chance in after.items():
            decided = rule.decide(Tally(passes, run + 1 - passes))
            if decided is None:
                still_open[passes] = chance
            else:
                chances[decided] += chance
    return chances
