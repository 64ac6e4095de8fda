"""Refinement on planted tasks: how often is a fix claimed that is none, and what does a true one take?

Each task has a hidden truth, the chance of every case to pass under any prompt. Nothing is started and nobody is asked:
runs are drawn, the rewriter edits at random, and all draws are seeded. The same for the loop and two simple rules.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, permutations
from pathlib import Path
from random import Random
from statistics import fmean, median

import common

from pytest_convo.agreement.outcome import Outcome
from pytest_convo.agreement.tally import Tally
from pytest_convo.agreement.verdict import Agreement
from pytest_convo.conversation.message import Message
from pytest_convo.refine.attempts import Attempt
from pytest_convo.refine.bench import Measured
from pytest_convo.refine.ends import End
from pytest_convo.refine.items import Item, Score, Scores, Shown, together, verdicts_passed
from pytest_convo.refine.journal import Journal, Standing
from pytest_convo.refine.loop import Loop
from pytest_convo.refine.memory import Memory
from pytest_convo.refine.question import ask
from pytest_convo.refine.split import split
from pytest_convo.refine.writer import Terms
from pytest_convo.refine.written import read

RUNS, NEEDED = 5, 4
RULE = Agreement(RUNS, NEEDED)
ATTEMPTS = 8
GOOD, FLAKY, POOR = 0.97, 0.7, (0.1, 0.4)
RIGHT, TEMPTED = 0.6, 0.5
"""How often the rewriter edits by a reason that it was told, and then takes the tempting way where there is one."""
SECOND_THOUGHTS = 3
"""How often it tries to write what it is not told of as an earlier attempt."""

HEAD = "You answer the customers of a garden centre."
WORDS = (
    "Answer with JSON only.",
    "Name the deadline.",
    "Ask for the order number first.",
    "Never promise a refund.",
    "Give prices with the currency.",
    "Greet the customer by name.",
    "Offer one alternative.",
    "Use metric units.",
    "Say which season it is for.",
    "Warn of poisonous plants.",
    "Close with a question.",
    "Write at most two sentences.",
)
TEMPTING = "Say yes to whatever is wanted."
KINDS = ("plain",) * 4 + ("flaky",) * 2 + ("contradictory", "hopeless", "tempting", "tempting")
"""The kinds of tasks, in turn; some of any kind have a flaky case too, or one that asks for brevity."""


# -- the truth


@dataclass(frozen=True, slots=True)
class Need:
    """What a case needs of a prompt: one of these instructions, or the one before the other, or that one is absent."""

    any_of: tuple[str, ...] = ()
    order: tuple[str, str] | None = None
    without: str = ""
    longest: int = 0

    def met(self, lines: Sequence[str]) -> bool:
        if self.order is not None:
            first, second = self.order
            return first in lines and second in lines and lines.index(first) < lines.index(second)
        if self.longest:
            return len(lines) <= self.longest
        return self.without not in lines if self.without else any(one in lines for one in self.any_of)

    def edit(self, lines: list[str], rng: Random) -> list[str]:
        """What a rewriter does who has understood it."""
        if self.order is not None:
            return [*(line for line in lines if line not in self.order), *self.order]
        if self.without:
            return [line for line in lines if line != self.without]
        if self.longest:
            return lines if len(lines) < 2 else _dropped(lines, rng)
        tempted = TEMPTING in self.any_of and rng.random() < TEMPTED
        return [*lines, TEMPTING if tempted else self.any_of[0]]


@dataclass(frozen=True, slots=True)
class Case:
    """An item and what it needs, by the numbers of the task's needs; a flaky one has the same chance always."""

    item: Item
    needs: tuple[int, ...]
    poor: float
    flaky: bool = False


@dataclass(frozen=True, slots=True)
class Task:
    name: str
    kind: str
    prompt: str
    needs: tuple[Need, ...]
    cases: tuple[Case, ...]

    @property
    def items(self) -> list[Item]:
        return [case.item for case in self.cases]

    def unmet(self, case: Case, text: str) -> list[int]:
        lines = lines_of(text)
        return [number for number in case.needs if not self.needs[number].met(lines)]

    def chance(self, case: Case, text: str) -> float:
        if case.flaky:
            return FLAKY
        return case.poor if self.unmet(case, text) else GOOD

    def chances(self, text: str) -> dict[str, float]:
        return {case.item.id: self.chance(case, text) for case in self.cases}

    @property
    def fixable(self) -> bool:
        """Whether some prompt of the vocabulary meets all needs: those in question, in every order of a few."""
        spoken = list(dict.fromkeys(word for need in self.needs for word in (*need.any_of, *(need.order or ()))))
        spoken = [word for word in spoken if word in (*WORDS, TEMPTING)]
        subsets = (chosen for size in range(len(spoken) + 1) for chosen in combinations(spoken, size))
        needed = {number for case in self.cases for number in case.needs}
        needs = [self.needs[number] for number in needed]
        orders = [need for need in needs if need.order is not None]
        for chosen in subsets:
            arranged = permutations(chosen) if orders else [chosen]
            if all(need.met(chosen) for need in needs if need.order is None) and any(
                all(need.met(lines) for need in orders) for lines in arranged
            ):
                return True
        return False


def lines_of(text: str) -> list[str]:
    return [line for line in text.splitlines() if line and line != HEAD]


def text_of(lines: Sequence[str]) -> str:
    return "\n".join([HEAD, *dict.fromkeys(lines)]) + "\n"


def tasks(count: int) -> Iterator[Task]:
    for number in range(count):
        for turn in range(100):
            task = planted(number, Random(f"task {number} {turn}"))
            failing = [case for case in task.cases if not case.flaky and task.unmet(case, task.prompt)]
            if 2 <= len(failing) <= len(task.cases) - 2:
                yield task
                break


def planted(number: int, rng: Random) -> Task:
    kind = KINDS[number % len(KINDS)]
    words = rng.sample(WORDS, len(WORDS))
    has, lacks, spare = words[:3], words[3 : 4 + rng.randint(0, 2)], words[7:]
    start = [*has, *([spare[0]] if rng.random() < 0.5 else [])]
    needs = [Need((word,)) for word in has]
    wrong = [Need((word, TEMPTING) if kind == "tempting" and word == lacks[0] else (word,)) for word in lacks]
    if rng.random() < 0.3:
        wrong.append(Need(order=(start[1], start[0])))
    if rng.random() < 0.3:
        wrong.append(Need(longest=len(start) + len(lacks) + 1))
    if spare[0] in start and rng.random() < 0.5:
        wrong.append(Need(without=spare[0]))
    needs += wrong
    extra: list[int] = []
    if kind == "tempting":
        extra += [len(needs)] * 3
        needs.append(Need(without=TEMPTING))
    elif kind == "contradictory":
        extra += [len(needs), len(needs) + 1]
        needs += [Need((spare[1],)), Need(without=spare[1])]
    elif kind == "hopeless":
        extra.append(len(needs))
        needs.append(Need(("what no one thinks of",)))
    size = rng.randint(8, 16)
    flaky = rng.randint(1, 2) if kind == "flaky" else int(rng.random() < 0.2)
    wanted = [(one,) for one in (*extra, *range(3, 3 + len(wrong)))]
    while len(wanted) < size - flaky:
        wanted.append(tuple(sorted({rng.randrange(3 + len(wrong)) for _ in range(rng.choice((1, 1, 2)))})))
    wanted += [()] * flaky
    rng.shuffle(wanted)
    cases = [
        Case(item(f"planted/{number}/{place}"), of, rng.uniform(*POOR), flaky=not of) for place, of in enumerate(wanted)
    ]
    return Task(f"task {number}", kind, text_of(start), tuple(needs), tuple(cases))


def item(id_: str) -> Item:
    return Item(id_, id_, inputs=(f"A question that only {id_} asks.",), n=RUNS, k=NEEDED)


# -- the simulated bench and the rewriter


@dataclass
class Planted:
    """A bench that draws: the same attempt, case and run always come to the same."""

    task: Task
    spent: dict[str, float] = field(default_factory=lambda: dict.fromkeys(("calls", "tokens", "usd", "seconds"), 0.0))

    def measure(self, text: str, ids: Sequence[str], *, number: int, again: int = 0, give_up: int = 0) -> Measured:
        scores: dict[str, Score] = {}
        for case in self.task.cases:
            if case.item.id in ids:
                scores[case.item.id] = self._score(case, text, number, again=again)
                if give_up and len(scores) - verdicts_passed(scores, scores) >= give_up:
                    break
        return Measured(scores)

    def _score(self, case: Case, text: str, number: int, *, again: int) -> Score:
        chance, unmet = self.task.chance(case, text), self.task.unmet(case, text)
        reason = "; ".join(f"need {one} is not met" for one in unmet) or "it is wrong by chance"
        runs: list[Shown] = []
        passes = 0
        while len(runs) < RUNS:
            run = len(runs) + 1
            passed = Random(f"{self.task.name} {number} {again} {case.item.id} {run}").random() < chance
            passes += passed
            said = (("user", case.item.inputs[0]), ("assistant", f"Answer {run}."))
            runs.append(Shown(Outcome.PASS if passed else Outcome.FAIL, said, "" if passed else reason))
            decided = RULE.decide(Tally(passes, len(runs) - passes))
            if decided is not None and len(runs) >= NEEDED and not again:
                break
        self.spent["calls"] += len(runs)
        verdict = RULE.decide(Tally(passes, len(runs) - passes))
        return Score(verdict, passes, len(runs) - passes, 0, tuple(runs))

    def write(self, messages: Sequence[Message], *, number: int, asked: int) -> str:
        self.spent["calls"] += 1
        return rewritten(self.task, messages[1].text, Random(f"{self.task.name} {number} {asked}"))


def rewritten(task: Task, message: str, rng: Random) -> str:
    """A random edit of the prompt that the message has, by a reason that it tells or by none; mostly a new one."""
    base = lines_of(_blocks("prompt", message)[0])
    others = [line for text in _blocks("other", message) for line in lines_of(text)]
    known = {text_of(lines_of(text)) for name in ("prompt", "attempt") for text in _blocks(name, message)}
    told = sorted({int(one) for one in re.findall(r"need (\d+) is not met", message)})
    lines = [*base, *others]
    if not others or text_of(lines) in known:
        for _ in range(SECOND_THOUGHTS):
            lines = _edited(task, base, told, rng)
            if text_of(lines) not in known:
                break
    return f"The assistant was told too little.\n<prompt>\n{text_of(lines)}</prompt>"


def _edited(task: Task, lines: list[str], told: Sequence[int], rng: Random) -> list[str]:
    reasons = list(told)
    for _ in range(rng.choice((1, 1, 2))):
        if reasons and rng.random() < RIGHT:
            lines = task.needs[reasons.pop(rng.randrange(len(reasons)))].edit(lines, rng)
        else:
            lines = _at_random(lines, rng)
    return lines


def _blocks(name: str, message: str) -> list[str]:
    return [found[2] for found in re.finditer(rf"<{name}-(\w+)>\n(.*?)\n</{name}-\1>", message, re.DOTALL)]


def _at_random(lines: list[str], rng: Random) -> list[str]:
    way = rng.choice(("add", "add", "drop", "reorder"))
    if way == "add" or len(lines) < 2:
        return [*lines, rng.choice((*WORDS, TEMPTING))]
    return _dropped(lines, rng) if way == "drop" else rng.sample(lines, len(lines))


def _dropped(lines: list[str], rng: Random) -> list[str]:
    place = rng.randrange(len(lines))
    return [*lines[:place], *lines[place + 1 :]]


# -- the rules


@dataclass(frozen=True, slots=True)
class Played:
    """How a rule did on a task: the text that it calls fixed, if any, and which items it says were mended by that.

    The loop does not say so of items that failed by chance.
    """

    end: str
    text: str | None
    mended: Sequence[str]
    attempts: int
    calls: float


def with_loop(task: Task) -> Played:
    bench = Planted(task)
    scores = bench.measure(task.prompt, [item.id for item in task.items], number=0).scores
    bench.spent["calls"] = 0.0
    parts = split(task.items, [id_ for id_, score in scores.items() if not score.passed])
    with tempfile.TemporaryDirectory() as root:
        journal = Journal(Path(root) / "loop", task.prompt, Path("prompt.md"))
        journal.begin()
        loop = Loop(
            task.prompt,
            task.items,
            scores,
            Terms(attempts=ATTEMPTS),
            bench=Memory(bench, journal),
            journal=journal,
            digest="planted",
            standing=Standing(parts),
        )
        outcome = loop.run()
    failing = [id_ for id_ in parts.training if not scores[id_].passed and id_ not in outcome.by_chance]
    text = outcome.best.text if outcome.end is End.FIXED and outcome.best is not None else None
    return Played(str(outcome.end), text, failing, len(loop.tried) - 1, bench.spent["calls"])


def with_last(task: Task) -> Played:
    """Each prompt takes the place of the one before; whichever passes all is the fix."""
    return _simple(task, climbing=False)


def with_climbing(task: Task) -> Played:
    """A prompt takes the place of the best one where more runs pass in all."""
    return _simple(task, climbing=True)


def _simple(task: Task, *, climbing: bool) -> Played:
    bench, items = Planted(task), task.items
    ids = [item.id for item in items]
    tried = [Attempt(0, task.prompt, bench.measure(task.prompt, ids, number=0).scores)]
    base = tried[0]
    failing = [id_ for id_ in ids if not base.scores[id_].passed]
    bench.spent["calls"] = 0.0
    for number in range(1, ATTEMPTS + 1):
        messages = ask(base.text, items, base.scores, correction="", attempts=tried[1:], limit=4000)
        text = read(bench.write(messages, number=number, asked=number)).text + "\n"
        attempt = Attempt(number, text, bench.measure(text, ids, number=number).scores)
        tried.append(attempt)
        if not climbing or _passes(attempt.scores, ids) > _passes(base.scores, ids):
            base = attempt
        if base is attempt and verdicts_passed(attempt.scores, ids) == len(ids):
            return Played("fixed", text, failing, number, bench.spent["calls"])
    return Played("limit", None, failing, ATTEMPTS, bench.spent["calls"])


def _passes(scores: Scores, ids: Sequence[str]) -> int:
    return together(scores, ids).passes


# -- what the truth says


def denied(task: Task, played: Played) -> list[str]:
    """What is wrong with a claim, by the true chances."""
    assert played.text is not None
    before, now = task.chances(task.prompt), task.chances(played.text)
    found = []
    if any(now[id_] <= before[id_] for id_ in played.mended):
        flaky = {case.item.id for case in task.cases if case.flaky}
        only = all(id_ in flaky for id_ in played.mended if now[id_] <= before[id_])
        found.append("only a flaky case is no better" if only else "a failing case is no better")
    if fmean(now.values()) <= fmean(before.values()):
        found.append("the whole is no better")
    if any(before[id_] >= 0.9 and now[id_] < 0.5 for id_ in now):
        found.append("a sound case is broken")
    return found


def reasons(found: Iterable[tuple[Task, Played]]) -> Counter[str]:
    return Counter(reason for task, played in found if played.text is not None for reason in denied(task, played))


def left(task: Task, text: str) -> bool:
    """Whether a case that a prompt has power over is still below 0.8."""
    return any(not case.flaky and task.chance(case, text) < 0.8 for case in task.cases)


def at_odds(task: Task, played: Played) -> bool:
    """Whether a contradiction is claimed where a prompt passes all."""
    return played.end == str(End.CONTRADICTORY) and task.fixable


def row(name: str, known: Mapping[str, bool], found: Mapping[str, tuple[Task, Played]]) -> list[str]:
    claims = {key: (task, played) for key, (task, played) in found.items() if played.text is not None}
    false = {key for key, (task, played) in claims.items() if denied(task, played)}
    true = [played for key, (_, played) in claims.items() if key not in false]
    missed = sum(fixable and (key not in claims or key in false) for key, fixable in known.items())
    ends = Counter(played.end for _, played in found.values())
    return [
        name,
        str(len(true)),
        str(len(false)),
        str(sum(left(task, played.text) for task, played in claims.values() if played.text is not None)),
        str(missed),
        str(sum(at_odds(task, played) for task, played in found.values())),
        f"{median(played.attempts for played in true):g}" if true else "-",
        f"{median(played.calls for played in true):g}" if true else "-",
        ", ".join(f"{count} {end}" for end, count in ends.most_common()),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tasks", type=int, default=50)
    planted_tasks = list(tasks(parser.parse_args().tasks))
    known = {task.name: task.fixable for task in planted_tasks}
    rules = {"the loop": with_loop, "the last one": with_last, "hill climbing": with_climbing}
    found = {name: {task.name: (task, rule(task)) for task in planted_tasks} for name, rule in rules.items()}
    common.table(
        f"{len(planted_tasks)} planted tasks, {sum(known.values())} of them fixable; {RUNS} runs, {NEEDED} must pass,"
        f" at most {ATTEMPTS} attempts",
        [
            "rule",
            "fixed",
            "false claims",
            "cases left",
            "fixable, not fixed",
            "called contradictory",
            "attempts",
            "calls",
            "ends",
        ],
        [row(name, known, found[name]) for name in rules],
    )
    why = {
        name: Counter(
            reason
            for task, played in found[name].values()
            if played.text is not None
            for reason in denied(task, played)
        )
        for name in rules
    }
    reasons = sorted({reason for counted in why.values() for reason in counted})
    common.table(
        "false claims, by what is wrong", ["rule", *reasons], [[n, *(why[n][r] for r in reasons)] for n in rules]
    )


if __name__ == "__main__":
    main()
