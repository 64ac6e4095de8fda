"""W1: 100 conversations of 5 runs at 200 ms an answer, 20 at once: how much of the time is not waiting?

Beside it a bare AsyncOpenAI loop with the same 500 requests. W1x: the same under -n2 and -n4, once the workers have
started: from the first request at the server to the last answer.
"""

from __future__ import annotations

import sys
from functools import partial

import common
from common import Cost, cpu, median, peak, ratio, spread, wall

LATENCY = 0.2
AT_ONCE = 20
RUNS = 5


def main() -> None:
    given = common.options(__doc__, conversations=100)
    calls = given.conversations * RUNS
    ideal = calls * LATENCY / AT_ONCE
    with common.mock_server(LATENCY) as server, common.workplace() as root:
        convos = common.write_conversations(root / "convos", given.conversations, server.url, runs=RUNS, agreement=1.0)
        run = partial(common.conversations, convos, "--convo-eager", f"--convo-concurrency={AT_ONCE}", server=server)
        found = common.rounds(
            {
                "bare AsyncOpenAI loop": common.bare(server, questions=given.conversations, times=RUNS),
                "pytest-convo": run(),
                "pytest-convo -n2": run("-n2"),
                "pytest-convo -n4": run("-n4"),
            },
            given.repeat,
        )
    for name, costs in found.items():
        check(name, costs, calls)
    title = f"W1: {given.conversations} conversations x {RUNS} runs, {LATENCY * 1000:.0f} ms, {AT_ONCE} at once"
    common.table(
        f"{title}; ideal {ideal:.2f} s; median of {given.repeat} (range)",
        ["", "wall s", "/ ideal", "/ bare", "CPU s", "peak MB", "calls to end s", "/ ideal", "at once"],
        [
            [
                name,
                spread(costs, wall),
                f"{median(costs, wall) / ideal:.2f}",
                f"{ratio(found, name, 'bare AsyncOpenAI loop', wall):.2f}",
                f"{median(costs, cpu):.2f}",
                f"{median(costs, peak):.0f}",
                spread(costs, served),
                f"{median(costs, served) / ideal:.2f}",
                f"{max(cost.stats['in_flight_max'] for cost in costs):.0f}",
            ]
            for name, costs in found.items()
        ],
    )
    print(f"\nAll {calls} requests arrived once each, in every round: counted at the server.")


def served(cost: Cost) -> float:
    """Seconds from the first request at the server to its last answer."""
    return cost.stats["seconds"]


def check(name: str, costs: list[Cost], calls: int) -> None:
    for cost in costs:
        asked = (cost.stats["calls"], cost.stats["answered"], cost.stats["most"])
        if asked != (calls, calls, RUNS) or cost.stats["in_flight_max"] > AT_ONCE:
            sys.exit(f"{name}: {calls} requests were expected, each {RUNS} times, {AT_ONCE} at once: {cost.stats}")


if __name__ == "__main__":
    main()
