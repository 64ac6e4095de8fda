"""From what runs tell to what the loop works with: the prompts that took part, their items, and how these did."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from ..agreement.outcome import Outcome
from ..agreement.verdict import Verdict
from ..run.results import GroupResult, Results, Told
from .items import Item, Score, Scores, Shown

_MEASURED = {outcome.value: outcome for outcome in Outcome}


def told_of(group: GroupResult) -> dict[str, Any]:
    """A group as it travels between processes: its verdict, and of each run what a failure is told by."""
    runs = [
        {
            "outcome": told["outcome"],
            "reason": told.get("refine", {}).get("reason", ""),
            "transient": bool(told.get("transient")),
            "messages": told.get("refine", {}).get("messages", []),
        }
        for told in group.runs.values()
        if told["outcome"] in _MEASURED
    ]
    return {"verdict": None if group.settled is None else str(group.settled), "runs": runs}


def score_of(told: Mapping[str, Any]) -> Score:
    """The score that `told_of` tells of."""
    runs = tuple(
        Shown(
            _MEASURED[run["outcome"]],
            tuple((role, text) for role, text in run["messages"]),
            run["reason"],
            run["transient"],
        )
        for run in told["runs"]
    )
    counts = {outcome: sum(run.outcome is outcome for run in runs) for outcome in Outcome}
    verdict = None if told["verdict"] is None else Verdict(told["verdict"])
    return Score(verdict, counts[Outcome.PASS], counts[Outcome.FAIL], counts[Outcome.ERROR], runs)


def told_again(score: Score) -> dict[str, Any]:
    """What `score_of` makes this score of."""
    runs = [
        {
            "outcome": run.outcome.value,
            "reason": run.reason,
            "transient": run.transient,
            "messages": [list(said) for said in run.messages],
        }
        for run in score.runs
    ]
    return {"verdict": None if score.verdict is None else str(score.verdict), "runs": runs}


def scores_of(groups: Mapping[str, Mapping[str, Any]]) -> Scores:
    """The scores of the groups that ran at all."""
    return {id_: score_of(told) for id_, told in groups.items() if told["runs"]}


def scores_in(results: Results, items: Iterable[Item]) -> Scores:
    """How items did in the session itself."""
    return scores_of({item.id: told_of(results.groups[item.id]) for item in items})


def failing_prompts(results: Results) -> list[str]:
    """The real paths of the prompts that are to be mended, those with the most failing groups first.

    Each failing group asks for one of its own: the one that a fixture `refine` names, else the one that it shares with
    the most other failing groups, and of equal ones the first that it tells.
    """
    failing = [group for group in results.groups.values() if group.settled is Verdict.FAIL]
    shared: dict[str, int] = {}
    for group in failing:
        for prompt in _prompts(group):
            shared[prompt] = shared.get(prompt, 0) + 1
    wanted: dict[str, int] = {}
    for group in failing:
        prompts = _prompts(group)
        if not prompts:
            continue
        chosen = max(prompts, key=lambda prompt: (shared[prompt], -prompts.index(prompt)))
        wanted[chosen] = wanted.get(chosen, 0) + 1
    return sorted(wanted, key=lambda prompt: (-wanted[prompt], prompt))


def items_of(results: Results, prompt: str, text: str) -> list[Item]:
    """The items that depend on a prompt, whose own text is no input of theirs."""
    return [
        _item(group, told, text.strip())
        for group in results.groups.values()
        if (told := _refinable(group)) is not None and prompt in told["prompts"]
    ]


def settings_of(results: Results, prompt: str) -> tuple[str, dict[str, Any]]:
    """A directory whose bot the rewriter is, where nothing else is said, and what is said of mending the prompt.

    Of failing groups the first that says something counts, and what several say of a correction is put together. What
    is held out may say one that gives it away: see `corrections`.
    """
    groups = [group for group in results.groups.values() if group.settled is Verdict.FAIL]
    tellers = [told for group in groups if (told := _refinable(group)) is not None and prompt in told["prompts"]]
    given = [{**told["settings"], **told["declared"].get(prompt, {})} for told in tellers]
    merged = dict(given[0])
    for other in given[1:]:
        merged = {**other, **merged}
    corrections = dict.fromkeys(one["correction"] for one in given if one.get("correction"))
    merged["correction"] = "\n".join(corrections)
    return tellers[0]["directory"], merged


def corrections(results: Results, prompt: str, shown: Collection[str]) -> str:
    """What failing groups say of a correction, of those that may be shown."""
    tellers = [
        told
        for group in results.groups.values()
        if group.settled is Verdict.FAIL
        and group.id in shown
        and (told := _refinable(group)) is not None
        and prompt in told["prompts"]
    ]
    given = ({**told["settings"], **told["declared"].get(prompt, {})}.get("correction", "") for told in tellers)
    return "\n".join(dict.fromkeys(filter(None, given)))


def _prompts(group: GroupResult) -> list[str]:
    told = _refinable(group)
    if told is None:
        return []
    return list(told["declared"]) or list(told["prompts"])


def _refinable(group: GroupResult) -> Mapping[str, Any] | None:
    """What the first run tells that read a prompt."""
    found = (told["refine"] for told in group.runs.values() if told.get("refine", {}).get("prompts"))
    return next(found, None)


def _item(group: GroupResult, told: Mapping[str, Any], text: str) -> Item:
    return Item(
        group.id,
        told["unit"],
        inputs=tuple(one for one in told["inputs"] if one.strip() and one.strip() != text),
        expected=tuple(told["expected"]),
        literals=tuple(told["literals"]),
        tools=tuple(told["tools"]),
        asks_judge=told["asks_judge"],
        made_of=told["made_of"],
        n=group.rule.n,
        k=group.rule.first,
        calls=max(1, *(_calls(run) for run in group.runs.values())),
    )


def _calls(told: Told) -> int:
    return int(told.get("requests", 0)) + int(told.get("replayed", 0))
