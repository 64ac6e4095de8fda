"""W3: one conversation, cold: how much later does its answer stand there than that of a bare AsyncOpenAI script?"""

from __future__ import annotations

import common
from common import cpu, difference, median, peak, spread, wall

BARE = "bare AsyncOpenAI script"


def main() -> None:
    given = common.options(__doc__, repeat=11)
    with common.mock_server() as server, common.workplace() as root:
        convos = common.write_conversations(root / "convos", 1, server.url)
        (root / "plain").mkdir()
        (root / "plain" / "test_nothing.py").write_text("def test_nothing():\n    pass\n")
        found = common.rounds(
            {
                BARE: common.bare(server),
                "pytest-convo, one conversation": common.conversations(convos, server=server),
                "pytest without the plugin, one empty test": common.conversations(root / "plain", "-p", "no:convo"),
            },
            given.repeat,
        )
    common.table(
        f"W3: one conversation, cold; median of {given.repeat} (range)",
        ["", "wall s", "more than bare s", "CPU s", "more than bare s", "peak MB"],
        [
            [
                name,
                spread(costs, wall),
                f"{difference(found, name, BARE, wall):+.3f}",
                f"{median(costs, cpu):.2f}",
                f"{difference(found, name, BARE, cpu):+.3f}",
                f"{median(costs, peak):.0f}",
            ]
            for name, costs in found.items()
        ],
    )


if __name__ == "__main__":
    main()
