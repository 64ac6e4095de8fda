"""Agreement on real answers: classes, A and the gate, where one model answered the same prompts many times.

Reads JSON lines, one group each: `answers`, and `labels` where it is known which are right; `.gz` too.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from pathlib import Path
from statistics import fmean

import common

from pytest_convo.agreement.answers import Alike
from pytest_convo.agreement.classes import Class, agreement_of, plurality
from pytest_convo.agreement.tally import Tally, Verdict
from pytest_convo.agreement.threshold import needed
from pytest_convo.check.equivalence import key_of
from pytest_convo.conversation.reply import Reply
from pytest_convo.settings.model import AgreeSettings

FEW = 5
AT_LEAST = Fraction(4, 5)
SAMPLES = 200
"""Samples of a few answers that are drawn of each group."""


@dataclass(frozen=True, slots=True)
class Group:
    """The answers of one model to one prompt, by their keys, and which are right where that is known."""

    keys: tuple[str, ...]
    right: tuple[bool, ...]


def main() -> None:
    given = arguments()
    key = key_of(AgreeSettings(by=given.by, pattern=given.pattern))
    assert key is not None
    found = {name_of(path): list(read(path, key)) for path in files(given.path)}
    what = f'by = "{given.by}"' + (f", pattern = {given.pattern!r}" if given.pattern else "")
    common.table(
        f"agreement A and plurality share, {what}; their errors with {FEW} answers drawn of the group",
        ["trials", "groups", "answers", "A", "plurality", "A: bias", "RMSE", "plurality: bias", "RMSE"],
        [[name, *estimates(groups)] for name, groups in found.items()],
    )
    common.table(
        f"the gate at_least = {float(AT_LEAST)} of {FEW} answers; right: of the answers in the largest class",
        [
            "trials",
            "groups of 5",
            "pass",
            "fail",
            "tie",
            "early = all",
            "answers spared",
            "right",
            "if pass",
            "if fail",
        ],
        [[name, *gated(groups)] for name, groups in found.items()],
    )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("path", type=Path, help="a file of JSON lines, or a directory with some")
    parser.add_argument("--by", default="text", choices=["text", "json", "number"])
    parser.add_argument("--pattern", help="what is compared of an answer: as [agree] has it")
    return parser.parse_args()


def files(path: Path) -> list[Path]:
    return sorted(path.rglob("*.jsonl*")) if path.is_dir() else [path]


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.name.partition('.jsonl')[0]}"


def read(path: Path, key) -> Iterator[Group]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt") as lines:
        for line in lines:
            trial = json.loads(line)
            keys = tuple(key(Reply(answer)) for answer in trial["answers"])
            yield Group(keys, tuple(map(bool, trial.get("labels", ()))))


def classes(keys: Sequence[str]) -> list[Class]:
    found: dict[str, Class] = {}
    for position, key in enumerate(keys):
        found.setdefault(key, []).append(position)
    return list(found.values())


# -- how well a few answers tell what many would


def estimates(groups: Sequence[Group]) -> list[str]:
    whole = [classes(group.keys) for group in groups]
    shares, pluralities = [agreement_of(found) for found in whole], [plurality(found) for found in whole]
    cells = [str(len(groups)), str(sum(len(group.keys) for group in groups))]
    cells += [f"{fmean(shares):.3f}", f"{fmean(pluralities):.3f}"]
    if any(len(group.keys) <= FEW for group in groups):
        return [*cells, *["-"] * 4]
    drawn = [few_drawn(group.keys) for group in groups]
    for few, truth in (
        ([[a for a, _ in each] for each in drawn], shares),
        ([[c for _, c in each] for each in drawn], pluralities),
    ):
        errors = [one - true for each, true in zip(few, truth, strict=True) for one in each]
        cells += [f"{fmean(errors):+.3f}", f"{sqrt(fmean(error**2 for error in errors)):.3f}"]
    return cells


def few_drawn(keys: Sequence[str]) -> list[tuple[float, float]]:
    """A and the plurality share of some samples without replacement, the same in each run."""
    rng = random.Random(len(keys))
    samples = (classes(rng.sample(keys, FEW)) for _ in range(SAMPLES))
    return [(agreement_of(found) or 0.0, plurality(found) or 0.0) for found in samples]


# -- the gate


def gated(groups: Sequence[Group]) -> list[str]:
    chunks = [chunk for group in groups for chunk in in_chunks(group)]
    if not chunks:
        return ["0", *["-"] * 8]
    decided = [decide(chunk.keys) for chunk in chunks]
    counted = Counter(verdict for verdict, _, _ in decided)
    agreeing = sum(early is verdict for verdict, early, _ in decided)
    spared = fmean(FEW - made for _, _, made in decided)
    cells = [str(len(chunks)), *(share(counted[verdict], len(chunks)) for verdict in Verdict)]
    cells += [f"{agreeing} of {len(chunks)}", f"{spared:.2f}"]
    cells.append(right(chunks))
    for wanted in Verdict.PASS, Verdict.FAIL:
        cells.append(right([chunk for chunk, found in zip(chunks, decided, strict=True) if found[0] is wanted]))
    return cells


def in_chunks(group: Group) -> Iterator[Group]:
    """The group's answers by fives, in run order."""
    for start in range(0, len(group.keys) - FEW + 1, FEW):
        yield Group(group.keys[start : start + FEW], group.right[start : start + FEW])


def decide(keys: Sequence[str]) -> tuple[Verdict | None, Verdict | None, int]:
    """The verdict on all answers, the first one on some of them, and how many those were."""
    rule = Alike(FEW, needed(FEW, AT_LEAST))
    verdicts = [rule.decide(tally(keys[:made])) for made in range(1, FEW + 1)]
    made, early = next((made, verdict) for made, verdict in enumerate(verdicts, 1) if verdict is not None)
    return verdicts[-1], early, made


def tally(keys: Sequence[str]) -> Tally:
    return Tally(passes=len(keys), alike=tuple(sorted(Counter(keys).values(), reverse=True)))


def right(chunks: Sequence[Group]) -> str:
    """How often the answers of the largest class are right; of several labels of one class, their mean."""
    known = [chunk for chunk in chunks if chunk.right]
    if not known:
        return "-"
    largest = (max(classes(chunk.keys), key=len) for chunk in known)
    return share(
        sum(fmean(map(chunk.right.__getitem__, members)) for chunk, members in zip(known, largest, strict=True)),
        len(known),
    )


def share(part: float, whole: int) -> str:
    return f"{100 * part / whole:.1f} %"


if __name__ == "__main__":
    main()
