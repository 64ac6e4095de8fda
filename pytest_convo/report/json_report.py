"""The report for programs: every group with its verdict, every run with its outcome."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..agreement.describe import headline
from ..agreement.interval import jeffreys
from ..agreement.said import answers_figures
from ..agreement.verdict import label
from ..run.results import GroupResult, Results

VERSION = 1


def write(
    path: Path,
    results: Results,
    began: float,
    gate: Mapping[str, Any] | None,
    refinements: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Write the report: a file whole or not at all, and into what is no file of its own (a link, a device) as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    own = not path.exists() or (path.is_file() and not path.is_symlink())
    unfinished = path.with_name(f"{path.name}.tmp") if own else path
    unfinished.write_text(json.dumps(report(results, began, gate, refinements), indent=1, ensure_ascii=False) + "\n")
    if own:
        unfinished.replace(path)


def report(
    results: Results,
    began: float,
    gate: Mapping[str, Any] | None = None,
    refinements: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """The report as builtins; `gate` is what the regression gate found, `refinements` what came of mending prompts."""
    made = results.transcripts.values()
    tokens = [told["tokens"] for told in made if told.get("tokens")]
    spent = results.spent
    return {
        "version": VERSION,
        "began": datetime.datetime.fromtimestamp(began, datetime.UTC).isoformat(timespec="seconds"),
        "calls": spent.calls,
        "tokens": {"prompt": sum(sent for sent, _ in tokens), "completion": sum(received for _, received in tokens)},
        "billed": {"prompt": spent.billed.prompt_tokens, "completion": spent.billed.completion_tokens},
        "uncounted": spent.uncounted,
        "usd": None if spent.unpriced and not spent.usd else round(spent.usd, 9),
        "unpriced": sorted(spent.unpriced),
        **({} if gate is None else {"gate": dict(gate)}),
        **({"refinements": [dict(one) for one in refinements]} if refinements else {}),
        **({"judge_checks": list(results.judge_checks)} if results.judge_checks else {}),
        "groups": [_group(group) for group in results.groups.values()],
    }


def _group(group: GroupResult) -> dict[str, Any]:
    tally = group.tally
    found: dict[str, Any] = {
        "id": group.id,
        "verdict": None if group.settled is None else str(group.settled),
        "needs": group.rule.text,
        "runs_selected": group.rule.n,
        "runs_declared": group.declared,
        "passes": tally.passes,
        "fails": tally.fails,
        "errors": tally.errors,
        "spared": sum(told["outcome"] == "spared" for told in group.runs.values()),
        "interval": list(jeffreys(tally.passes, tally.fails)) if tally.measured else None,
    }
    if group.verdict is not None:
        described = group.to_report()
        found |= {"label": label(tally, group.verdict), "headline": headline(described)}
        found["answers"] = answers_figures(described)
    found["runs"] = [_run(nodeid, told) for nodeid, told in group.runs.items()]
    return found


_OF_A_RUN = ("outcome", "reason", "answer", "seconds", "requests", "tokens", "usd", "models", "stack", "directory")


def _run(nodeid: str, told: Any) -> dict[str, Any]:
    return {"id": nodeid, **{key: told[key] for key in _OF_A_RUN if key in told}}
