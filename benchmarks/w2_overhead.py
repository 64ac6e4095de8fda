"""W2: 1000 conversations of one run, answered at once: what do pytest and the plugin add to a bare AsyncOpenAI loop?"""

from __future__ import annotations

from functools import partial

import common
from common import cpu, median, peak, ratio, spread, wall

AT_ONCE = 20
BARE = "bare AsyncOpenAI loop"


def main() -> None:
    given = common.options(__doc__, conversations=1000)
    count = given.conversations
    with common.mock_server() as server, common.workplace() as root:
        run = partial(common.conversations, server=server)
        at_once = f"--convo-concurrency={AT_ONCE}"
        shared = common.write_conversations(root / "shared", count, server.url)
        own = common.write_conversations(root / "own", count, server.url, check=True)
        plain = common.write_tests(root / "plain", count)
        found = common.rounds(
            {
                BARE: common.bare(server, questions=count, at_once=AT_ONCE),
                "pytest-convo, one convo.toml above all": run(shared, at_once),
                "pytest-convo, a convo.toml and a check each": run(own, at_once),
                "pytest without the plugin, an empty test each": common.conversations(plain, "-p", "no:convo"),
            },
            given.repeat,
        )
    common.table(
        f"W2: {count} conversations x 1 run, no latency, {AT_ONCE} at once; median of {given.repeat} (range)",
        ["", "wall s", "/ bare", "CPU s", "/ bare", "CPU ms a conversation", "peak MB", "calls"],
        [
            [
                name,
                spread(costs, wall),
                f"{ratio(found, name, BARE, wall):.2f}",
                f"{median(costs, cpu):.2f}",
                f"{ratio(found, name, BARE, cpu):.2f}",
                f"{median(costs, cpu) / count * 1000:.2f}",
                f"{median(costs, peak):.0f}",
                f"{costs[0].stats.get('calls', 0):.0f}",
            ]
            for name, costs in found.items()
        ],
    )


if __name__ == "__main__":
    main()
