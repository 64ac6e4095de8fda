"""W6: how many calls does it save to start only the runs that a verdict needs, and what does that cost in time?"""

from __future__ import annotations

from functools import partial

import common
from common import Cost, median, spread, wall

LATENCY = 0.1
AT_ONCE = 20
RUNS, NEEDED = 5, 4
ODDS = (0.95, 0.3)


def main() -> None:
    given = common.options(__doc__, groups=100)
    with common.mock_server(LATENCY) as server, common.workplace() as root:
        variants = {}
        for odds in ODDS:
            convos = common.write_conversations(
                root / f"odds_{odds}", given.groups, server.url, runs=RUNS, model=f"odds-{odds}", check=True
            )
            run = partial(common.conversations, server=server, codes=(0, 1))
            at_once = f"--convo-concurrency={AT_ONCE}"
            variants[f"{odds} eager"] = run(convos, at_once, "--convo-eager")
            variants[f"{odds} frugal"] = run(convos, at_once)
        found = common.rounds(variants, given.repeat, warm_up=False)
    rows = []
    for odds in ODDS:
        for mode, needed in (("eager", RUNS), ("frugal", expected(odds))):
            costs = found[f"{odds} {mode}"]
            all_runs = given.groups * RUNS
            rows.append(
                [
                    f"{odds} {mode}",
                    f"{median(costs, calls):.0f}",
                    f"{1 - median(costs, calls) / all_runs:.0%}",
                    f"{median(costs, unused):.0f}",
                    f"{needed * given.groups:.0f}",
                    spread(costs, wall),
                ]
            )
    common.table(
        f"W6: {given.groups} groups of {RUNS} runs, {NEEDED} must pass, {LATENCY * 1000:.0f} ms, {AT_ONCE} at once; "
        f"median of {given.repeat} (range)",
        ["chance to pass, mode", "calls", "saved", "cancelled", "if the first 4 start together", "wall s"],
        rows,
    )


def calls(cost: Cost) -> float:
    return cost.stats["calls"]


def unused(cost: Cost) -> float:
    """Calls that were broken off."""
    return cost.stats["calls"] - cost.stats["answered"]


def expected(odds: float) -> float:
    """Calls a group takes when its first k start together and the last only where one of them failed."""
    return NEEDED + NEEDED * odds ** (NEEDED - 1) * (1 - odds)


if __name__ == "__main__":
    main()
