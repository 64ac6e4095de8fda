"""W5: collecting 10,000 conversation directories, beside 10,000 directories with one trivial test file each."""

from __future__ import annotations

import common
from common import cpu, median, peak, ratio, spread, wall

PLAIN = "one trivial test file each, -p no:convo"


def main() -> None:
    given = common.options(__doc__, repeat=3, directories=10_000)
    count = given.directories
    url = "http://127.0.0.1:9/v1"  # collecting asks nobody
    collect = ("--collect-only", "-q")
    with common.workplace() as root:
        plain = common.write_tests(root / "plain", count)
        shared = common.write_conversations(root / "shared", count, url)
        own = common.write_conversations(root / "own", count, url, check=True)
        found = common.rounds(
            {
                PLAIN: common.conversations(plain, *collect, "-p", "no:convo"),
                "conversations, one convo.toml above all": common.conversations(shared, *collect),
                "conversations, a convo.toml and a check each": common.conversations(own, *collect),
            },
            given.repeat,
        )
    common.table(
        f"W5: collecting {count} directories; median of {given.repeat} (range)",
        ["", "wall s", "/ trivial", "CPU s", "/ trivial", "peak MB", "ms a directory"],
        [
            [
                name,
                spread(costs, wall),
                f"{ratio(found, name, PLAIN, wall):.2f}",
                f"{median(costs, cpu):.2f}",
                f"{ratio(found, name, PLAIN, cpu):.2f}",
                f"{median(costs, peak):.0f}",
                f"{median(costs, wall) / count * 1000:.2f}",
            ]
            for name, costs in found.items()
        ],
    )


if __name__ == "__main__":
    main()
