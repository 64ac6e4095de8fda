"""W7: 1000 recorded conversations x 5 runs, replayed: what does a run in CI cost beside pytest's own items?"""

from __future__ import annotations

import sys
from pathlib import Path

import common
from common import cpu, median, peak, ratio, spread, wall

RUNS = 5
TRIVIAL = "pytest without the plugin, as many trivial parametrised tests"
SPREAD = "the same, in as many directories as there are conversations"
REPLAYED = "pytest-convo, every run replayed"


def main() -> None:
    given = common.options(__doc__, conversations=1000)
    count = given.conversations
    with common.workplace() as root:
        recorded = _recorded(root / "recorded", count)
        trivial = _trivial(root / "trivial", count * RUNS)
        spread_out = common.write_tests(root / "spread", count, runs=RUNS)
        found = common.rounds(
            {
                TRIVIAL: common.conversations(trivial, "-p", "no:convo"),
                SPREAD: common.conversations(spread_out, "-p", "no:convo"),
                REPLAYED: common.conversations(recorded, "--convo-record=none"),
                "pytest-convo, every run replayed, all of them": common.conversations(
                    recorded, "--convo-record=none", "--convo-eager"
                ),
            },
            given.repeat,
        )
    common.table(
        f"W7: {count} conversations x {RUNS} runs, replayed; median of {given.repeat} (range)",
        ["", "wall s", "/ trivial", "CPU s", "/ trivial", "peak MB"],
        [
            [
                name,
                spread(costs, wall),
                f"{ratio(found, name, TRIVIAL, wall):.2f}",
                f"{median(costs, cpu):.2f}",
                f"{ratio(found, name, TRIVIAL, cpu):.2f}",
                f"{median(costs, peak):.0f}",
            ]
            for name, costs in found.items()
        ],
    )


def _recorded(root: Path, count: int) -> Path:
    """Conversations that a first session has recorded."""
    with common.mock_server() as server:
        common.write_conversations(root, count, server.url, runs=RUNS)
        print(f"recording {count * RUNS} runs", file=sys.stderr)
        common.conversations(root, "--convo-record=new", server=server)()
    return root


def _trivial(root: Path, count: int) -> Path:
    root.mkdir()
    lines = ["import pytest", f'@pytest.mark.parametrize("number", range({count}))', "def test_nothing(number): pass"]
    (root / "test_trivial.py").write_text("\n".join(lines) + "\n")
    return root


if __name__ == "__main__":
    main()
