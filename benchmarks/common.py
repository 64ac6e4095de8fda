"""What the benchmarks share: processes measured whole, in interleaved rounds; the mock server; projects; tables."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
CHANGING = ("OPENAI_", "PYTEST_", "PYTHON", "CI")
SAMPLE = 0.02
"""Seconds between two looks at the memory of a process tree."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a process and all that it started took: wall and CPU in seconds, the tree's peak memory in MB.

    `stats` is what the mock server counted meanwhile.
    """

    wall: float
    cpu: float
    peak: float
    stats: Mapping[str, float]


# -- processes


def measure(command: Sequence[str], cwd: Path, *, codes: Sequence[int] = (0,), server: Server | None = None) -> Cost:
    """Run a command to its end; exits with its output where it ends with a code that is not in `codes`.

    CPU is that of the process and of the children it waited for, which `wait4` adds up.
    """
    if server is not None:
        server.reset()
    with tempfile.TemporaryFile() as output:
        begin = time.perf_counter()
        process = subprocess.Popen(command, cwd=cwd, env=environment(), stdout=output, stderr=subprocess.STDOUT)
        with peak_of_tree(process.pid) as peak:
            _, status, usage = os.wait4(process.pid, 0)
            wall = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in codes:
            output.seek(0)
            text = output.read().decode(errors="replace")
            sys.exit(f"{' '.join(command)}\nended with {process.returncode}:\n{text[-4000:]}")
    largest = max(peak[0], usage.ru_maxrss * 1024)
    stats = server.stats() if server is not None else {}
    return Cost(wall, usage.ru_utime + usage.ru_stime, largest / 1e6, stats)


def environment() -> dict[str, str]:
    """The environment without what would change a measurement: PYTHONDONTWRITEBYTECODE alone costs 0.2 s a run."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(CHANGING)}
    return {**kept, "NO_COLOR": "1"}


@contextlib.contextmanager
def peak_of_tree(pid: int) -> Iterator[list[int]]:
    """A list of one number: the most bytes that the process and its descendants had resident together, sampled."""
    peak, ended = [0], threading.Event()

    def sample() -> None:
        while not ended.wait(SAMPLE):
            peak[0] = max(peak[0], _resident(pid))

    thread = threading.Thread(target=sample)
    thread.start()
    try:
        yield peak
    finally:
        ended.set()
        thread.join()


def _resident(pid: int) -> int:
    try:
        total = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        for task in Path(f"/proc/{pid}/task").iterdir():
            children = (task / "children").read_text().split()
            total += sum(_resident(int(child)) for child in children)
    except (FileNotFoundError, ProcessLookupError):
        return 0  # it has just ended
    return total


# -- rounds

Rounds = dict[str, list[Cost]]
What = Callable[[Cost], float]


def rounds(variants: Mapping[str, Callable[[], Cost]], repeat: int, *, warm_up: bool = True) -> Rounds:
    """Measure all variants `repeat` times, each round in another order, so that noise hits all alike."""
    names = list(variants)
    if warm_up:
        for name in names:
            variants[name]()  # compiles what is imported, and fills the caches of the disk
    found: Rounds = {name: [] for name in names}
    for turn in range(repeat):
        if sys.stderr.isatty():
            print(f"\rround {turn + 1} of {repeat}", end="", file=sys.stderr, flush=True)
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            found[name].append(variants[name]())
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    return found


def median(costs: Sequence[Cost], what: What) -> float:
    return statistics.median(what(cost) for cost in costs)


def ratio(found: Rounds, name: str, to: str, what: What) -> float:
    """The median of the rounds' own ratios: what slows a whole round down drops out."""
    return statistics.median(what(one) / what(other) for one, other in zip(found[name], found[to], strict=True))


def difference(found: Rounds, name: str, to: str, what: What) -> float:
    """The median of the rounds' own differences."""
    return statistics.median(what(one) - what(other) for one, other in zip(found[name], found[to], strict=True))


def wall(cost: Cost) -> float:
    return cost.wall


def cpu(cost: Cost) -> float:
    return cost.cpu


def peak(cost: Cost) -> float:
    return cost.peak


def spread(costs: Sequence[Cost], what: What, digits: int = 2) -> str:
    """Median and range: `5.62 (5.58 to 5.71)`."""
    values = [what(cost) for cost in costs]
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


# -- the server


class Server:
    """The mock server in a process of its own."""

    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self.process = process
        self.url = url

    def reset(self) -> None:
        self._ask("/reset", b"")

    def stats(self) -> dict[str, float]:
        return self._ask("/stats", None)

    def _ask(self, path: str, data: bytes | None) -> Any:
        with urllib.request.urlopen(self.url.removesuffix("/v1") + path, data, timeout=10) as response:
            return json.load(response)


@contextlib.contextmanager
def mock_server(latency: float = 0.0) -> Iterator[Server]:
    command = [sys.executable, str(HERE / "mock.py"), "--latency", str(latency)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield Server(process, process.stdout.readline().strip())
        finally:
            process.kill()


def bare(server: Server, *, questions: int = 1, times: int = 1, at_once: int = 20) -> Callable[[], Cost]:
    """A bare AsyncOpenAI loop with the same requests."""
    command = [sys.executable, str(HERE / "bare.py"), server.url]
    command += ["--questions", str(questions), "--times", str(times), "--at-once", str(at_once)]
    return lambda: measure(command, HERE, server=server)


# -- projects


@contextlib.contextmanager
def workplace() -> Iterator[Path]:
    """A directory for projects, removed in the end."""
    with tempfile.TemporaryDirectory(prefix="convo-benchmark-") as name:
        yield Path(name)


def write_conversations(
    root: Path, count: int, url: str, *, runs: int = 1, agreement: float = 0.8, model: str = "mock", check: bool = False
) -> Path:
    """`count` conversation directories of one question each, below a convo.toml with what they share.

    `check` gives each directory a convo.toml of its own, with a check of the reply.
    """
    root.mkdir(parents=True, exist_ok=True)
    bot = f'[bot]\nmodel = "{model}"\nbase_url = "{url}"\n'
    (root / "convo.toml").write_text(f"runs = {runs}\nagreement = {agreement}\n{bot}")
    for number in range(count):
        directory = root / f"question_{number:05}"
        directory.mkdir()
        (directory / "0000_user.md").write_text(f"Question {number}: yes or no?\n")
        if check:
            (directory / "convo.toml").write_text('[expect]\ncontains = "yes"\n')
    return root


def write_tests(root: Path, count: int, *, runs: int = 1) -> Path:
    """`count` directories of one test file with one empty test each, parametrised where it has several `runs`."""
    test = "def test_nothing():\n    pass\n"
    if runs > 1:
        mark = f'@pytest.mark.parametrize("number", range({runs}))'
        test = f"import pytest\n\n\n{mark}\ndef test_nothing(number):\n    pass\n"
    for number in range(count):
        directory = root / f"question_{number:05}"
        directory.mkdir(parents=True)
        (directory / f"test_{number:05}.py").write_text(test)
    return root


def conversations(
    root: Path, *options: str, server: Server | None = None, codes: Sequence[int] = (0,)
) -> Callable[[], Cost]:
    """A whole pytest run of what is in `root`, which is a project of its own.

    What a run leaves in `.convo` stays: on ext4 a file that is made soon after many were removed costs ten times as
    much.
    """
    (root / "pytest.ini").write_text("[pytest]\n")
    return lambda: measure([*PYTEST, *options, "."], root, codes=codes, server=server)


# -- what is printed


def table(title: str, headers: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows below their headers; the first column is text, the others are figures."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in [headers, *cells]) for column in range(len(headers))]
    print(f"\n{title}")
    for row in [headers, ["-" * width for width in widths], *cells]:
        first = row[0].ljust(widths[0])
        print("  ".join([first, *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]))


def options(description: str | None, repeat: int = 5, **further: int) -> argparse.Namespace:
    """The command line: `--repeat`, and further whole numbers by name."""
    parser = argparse.ArgumentParser(description=(description or "").partition("\n")[0])
    for name, default in {"repeat": repeat, **further}.items():
        parser.add_argument(f"--{name}", type=int, default=default, help=f"default: {default}")
    return parser.parse_args()
