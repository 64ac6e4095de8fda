"""W10: 8 tasks of 20 short commands each in Docker, whole process: how much do we add to what the engine takes?

Beside it the same commands by `docker exec`, each task's in a container of its own, 8 at once, from `docker run` to
`docker rm`: what everybody pays who lets the command line run an agent's commands. And where the time of a session
goes. The agents are scripted, so that no model is waited for; the image is made of this machine's programs, and
nothing is pulled.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import common
from common import Cost, cpu, median, peak, ratio, spread, wall

COMMANDS = ("ls -la", "echo more >> tea.txt", "sed -i s/tea/cup/ tea.txt", "grep -c more tea.txt")
VERIFY = "grep -q more tea.txt"
BARE, BARE_VERIFIED, FRUGAL, EAGER = "docker exec", "docker exec, and a script", "pytest-convo", "pytest-convo eager"
PARTS = (
    "pytest starts, collects, and the run begins",
    "open: until the sandbox is there",
    "the commands",
    "verify",
    "the rest: reports, removal of what is left, end",
)


def main() -> None:
    given = common.options(__doc__, tasks=8, commands=20)
    image = made_image()
    commands = list(islice(cycle(COMMANDS), given.commands))
    with common.workplace() as root:
        project = write_tasks(root / "project", image, [commands] * given.tasks)
        run = partial(common.conversations, project)
        shares: list[list[float]] = []
        found = common.rounds(
            {
                BARE: lambda: bare(root, image, commands, given.tasks),
                BARE_VERIFIED: lambda: bare(root, image, [*commands, VERIFY], given.tasks),
                FRUGAL: lambda: parted(run(), project, shares),
                EAGER: run("--convo-eager"),
            },
            given.repeat,
        )
    common.table(
        f"W10: {given.tasks} tasks x {given.commands} commands; median of {given.repeat} (range)",
        ["", "wall s", "/ docker exec", "CPU s of ours", "peak MB of ours"],
        [
            [
                name,
                spread(costs, wall),
                f"{ratio(found, name, BARE, wall):.2f}",
                f"{median(costs, cpu):.2f}",
                f"{median(costs, peak):.0f}",
            ]
            for name, costs in found.items()
        ],
    )
    measured = zip(*shares[1:], strict=True)  # without those of the warming up
    common.table(
        f"Where the time of {FRUGAL} goes, along the run that ends last; median of {given.repeat}",
        ["part", "s"],
        [[part, f"{statistics.median(seconds):.2f}"] for part, seconds in zip(PARTS, measured, strict=True)],
    )
    print("\nThe engine's own CPU is in neither: it is another process.")


def made_image() -> str:
    """The name of an image with a shell and the usual commands."""
    import docker

    from pytest_convo.testing.images import hostbin

    return hostbin(docker.from_env())


def write_tasks(root: Path, image: str, tasks: Sequence[Sequence[str]], *, verify: str = VERIFY) -> Path:
    """A project with a task for each list of commands, which its agent runs one after the other."""
    (root / "tasks").mkdir(parents=True)
    (root / "pytest.ini").write_text("[pytest]\n")
    longest = max(map(len, tasks)) + 1
    settings = f'image = "{image}"\nmax_iterations = {longest}\n[bot]\nprovider = "scripted"\n'
    (root / "tasks" / "convo.toml").write_text(settings)
    for number, commands in enumerate(tasks):
        files = {
            "task.toml": "[convo]\n",
            "instruction.md": f"Begin with number {number}.\n",
            "script.toml": script(commands),
            "workspace/tea.txt": f"tea {number}\n",
            "tests/test.sh": f"#!/bin/sh\n{verify}\n",
        }
        for name, text in files.items():
            path = root / "tasks" / f"task_{number:03}" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return root


def script(commands: Sequence[str]) -> str:
    """A bot that calls for one command after the other, whatever comes of them."""
    calls = [
        f"[[reply]]\ntimes = 1\ncalls = [{{ name = 'shell', arguments = {{ command = {json.dumps(command)} }} }}]\n"
        for command in commands
    ]
    return "".join(calls) + '[[reply]]\ntext = "Done."\n'


# -- the engine alone


def bare(root: Path, image: str, commands: Sequence[str], tasks: int) -> Cost:
    """The commands of all tasks by `docker exec`, each task's in a container and a folder of its own."""
    begin, before = time.perf_counter(), os.times()
    with ThreadPoolExecutor(tasks) as threads:
        list(threads.map(partial(bare_task, root, image, commands), range(tasks)))
    spent = [now - then for now, then in zip(os.times(), before, strict=True)]
    return Cost(time.perf_counter() - begin, sum(spent[:4]), 0.0, {})


def bare_task(root: Path, image: str, commands: Sequence[str], number: int) -> None:
    folder = root / f"bare_{number}"
    folder.mkdir(exist_ok=True)
    (folder / "tea.txt").write_text(f"tea {number}\n")
    mount = f"type=bind,src={folder},dst=/workspace"
    container = engine("run", "-d", "--rm", "--network=none", "--mount", mount, "-w/workspace", image, "sleep", "600")
    try:
        for command in commands:
            engine("exec", container, "sh", "-c", command)
    finally:
        engine("rm", "-f", container)


def engine(*arguments: str) -> str:
    """What the `docker` command says; ends the benchmark where it fails."""
    done = subprocess.run(["docker", *arguments], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"docker {' '.join(arguments)}\nended with {done.returncode}:\n{done.stderr}")
    return done.stdout.strip()


# -- ours


def parted(session: Callable[[], Cost], project: Path, shares: list[list[float]]) -> Cost:
    """The cost of a session; where its time went is added to `shares`."""
    began = time.time()
    cost = session()
    shares.append(parts(project, began, cost.wall))
    return cost


def parts(project: Path, began: float, whole: float) -> list[float]:
    """Seconds of each of PARTS in the last session: those of the run that ended last, which add up to the whole."""
    last = max(kept(project), key=lambda path: path.stat().st_mtime)
    at = {event["kind"]: event["at"] for event in read(last) if "at" in event}
    after = began + whole - last.stat().st_mtime
    run = [at["sandbox"], at["end"] - at["sandbox"], at["verifier"] - at["end"]]
    return [whole - sum(run) - after, *run, after]


def kept(project: Path) -> list[Path]:
    """The files with the events of the last session's runs."""
    last = max((project / ".convo" / "runs").iterdir())
    return sorted(last.rglob("events.jsonl"))


def read(path: Path) -> list[dict[str, Any]]:
    """The events of a run."""
    return [json.loads(line) for line in path.read_text().splitlines()]


if __name__ == "__main__":
    main()
