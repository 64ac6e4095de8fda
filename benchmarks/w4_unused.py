"""W4: the plugin installed, in a project that does not use it: what does it cost, and does it leave anything?"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path

import common
from common import cpu, difference, median, spread, wall

WITHOUT, INSTALLED = "-p no:convo", "installed"

PROBE = '''
"""Writes down which files, threads, sockets and processes a run of pytest opens, and what it imports."""

import json
import os
import sys

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
KINDS = ("_thread.start_new_thread", "socket.", "os.mkdir", "os.rename", "os.remove", "subprocess.Popen", "sqlite3.")
HEAVY = {"asyncio", "httpx2", "jinja2", "openai", "pydantic", "sqlite3", "yaml"}
events = []


def hear(event, given):
    if event == "open" and isinstance(given[2], int) and given[2] & WRITES:
        events.append(f"{event} {given[0]}")
    elif event.startswith(KINDS):
        events.append(event)


sys.addaudithook(hear)


def pytest_unconfigure():
    modules = [name for name in sys.modules if name.partition(".")[0] == "pytest_convo"]
    told = {"events": events[:], "modules": sorted(modules), "heavy": sorted(HEAVY & sys.modules.keys())}
    with open(os.environ["PROBE_OUT"], "w") as file:
        json.dump(told, file)
'''


def main() -> None:
    given = common.options(__doc__, repeat=25)
    with common.workplace() as root:
        (root / "tests").mkdir()
        (root / "tests" / "test_nothing.py").write_text("def test_nothing():\n    pass\n")
        without = common.conversations(root / "tests", *WITHOUT.split())
        installed = common.conversations(root / "tests")
        found = common.rounds({WITHOUT: without, INSTALLED: installed}, given.repeat)
        did = probe(root), probe(root, *WITHOUT.split())
    common.table(
        f"W4: one empty test; median of {given.repeat} (range)",
        ["", "wall s", "CPU s"],
        [[name, spread(costs, wall, 3), spread(costs, cpu, 3)] for name, costs in found.items()]
        + [["the plugin adds, ms: median of the rounds' differences", *(added(found, what) for what in (wall, cpu))]],
    )
    compare(*did)


def added(found: common.Rounds, what: common.What) -> str:
    least = min(map(what, found[INSTALLED])) - min(map(what, found[WITHOUT]))
    between = median(found[INSTALLED], what) - median(found[WITHOUT], what)
    return (
        f"{1000 * difference(found, INSTALLED, WITHOUT, what):.1f}"
        f" (between the medians {1000 * between:.1f}, the least {1000 * least:.1f})"
    )


def probe(root: Path, *further: str) -> dict[str, list[str]]:
    """What one run did, and which files it left."""
    (root / "probe").mkdir(exist_ok=True)
    (root / "probe" / "convo_probe.py").write_text(PROBE)
    out = root / "probe" / "told.json"
    before = set(root.rglob("*"))
    variables = [f"PYTHONPATH={root / 'probe'}", f"PROBE_OUT={out}", "PYTHONDONTWRITEBYTECODE=1"]
    common.measure(["env", *variables, *common.PYTEST, "-p", "convo_probe", *further, "."], root / "tests")
    left = [str(path.relative_to(root)) for path in set(root.rglob("*")) - before - {out}]
    return {**json.loads(out.read_text()), "left": left}


def compare(installed: dict[str, list[str]], without: dict[str, list[str]]) -> None:
    """Exit where the plugin did anything of its own."""
    for what in ("events", "left", "heavy"):
        if more := Counter(map(nameless, installed[what])) - Counter(map(nameless, without[what])):
            sys.exit(f"the plugin is unused, and yet ({what}): {', '.join(more)}")
    print("\nNo file, thread, socket or process of its own, and nothing heavy imported.")
    print(f"Modules of ours: {', '.join(installed['modules'])}.")


def nameless(event: str) -> str:
    """An event without the random names of temporary files, which pytest's capture opens."""
    return re.sub(rf"({re.escape(tempfile.gettempdir())}/\w*?)[a-z0-9_]{{8}}$", r"\1", event)


if __name__ == "__main__":
    main()
