"""W8: from the save of a file to the first request at the server, with `pytest --convo-watch`; seconds, not CPU."""

from __future__ import annotations

import contextlib
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import common

from pytest_convo.testing import ScriptedServer

PAUSE = 1.5
"""Seconds that somebody takes from an answer to the next save, at the least: the next child gets ready meanwhile."""

CONFTEST = """
def colour(thing: str) -> str:
    '''The colour of a thing, as of version {}.'''
    return "blue"


def pytest_convo_tools(path, run):
    return [colour]
"""
"""A tool whose description is part of each request."""


class Arrivals:
    """The server's side: when each request came."""

    def __init__(self) -> None:
        self._came: list[float] = []
        self._news = threading.Condition()

    def answer(self, _request: object) -> str:
        with self._news:
            self._came.append(time.perf_counter())
            self._news.notify_all()
        return "Yes."

    def after(self, act: Callable[[], object]) -> float:
        """Seconds from the beginning of `act` to the next request."""
        with self._news:
            seen = len(self._came)
        begin = time.perf_counter()
        act()
        with self._news:
            if not self._news.wait_for(lambda: len(self._came) > seen, 60):
                sys.exit("nobody asked")
            return self._came[seen] - begin


def in_place(path: Path, text: str) -> None:
    path.write_text(text)


def by_rename(path: Path, text: str) -> None:
    unfinished = path.with_name(f"{path.name}.tmp")
    unfinished.write_text(text)
    unfinished.replace(path)


def saves(arrivals: Arrivals, repeat: int, save: Callable[[int], object]) -> list[float]:
    """Save something so many times, with a pause after each."""
    found = []
    for number in range(repeat):
        found.append(arrivals.after(lambda number=number: save(number)))
        time.sleep(PAUSE)
    return found


@contextlib.contextmanager
def watcher(root: Path, *args: str) -> Iterator[None]:
    """A watcher that has looked at everything and waits."""
    command = [sys.executable, "-m", "pytest", "--convo-watch", *args, "convos"]
    process = subprocess.Popen(
        command, cwd=root, env=common.environment(), stdout=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL
    )
    assert process.stdout is not None
    said: list[str] = []
    for line in process.stdout:
        said.append(line)
        if "watching" in line:
            break
    else:
        sys.exit("".join(said))
    drain = threading.Thread(target=process.stdout.read, daemon=True)
    drain.start()
    time.sleep(3 * PAUSE)
    try:
        yield
    finally:
        process.terminate()
        process.wait()
        drain.join()


def anew(root: Path) -> Callable[[int], object]:
    """What a watcher does that starts pytest for each save, from when it has seen the save."""

    def run(number: int) -> None:
        message(root, number).write_text(f"Anew {number}?")
        common.measure([*common.PYTEST, f"convos/{message(root, number).parent.name}"], root)

    return run


def message(root: Path, number: int) -> Path:
    return root / "convos" / f"question_{number % 20:05}" / "0000_user.md"


def measured(url: str, arrivals: Arrivals, repeat: int) -> Iterator[tuple[str, list[float]]]:
    for size in (20, 2000):
        with common.workplace() as root:
            common.write_conversations(root / "convos", size, url)
            (root / "pytest.ini").write_text("[pytest]\n")
            if size == 20:
                yield "a message, pytest anew for each save", saves(arrivals, repeat, anew(root))
            with watcher(root):
                for save in (in_place, by_rename):
                    name = f"a message, {save.__name__.replace('_', ' ')}; {size} conversations"
                    texts = f"{save.__name__} {{}}?".format
                    found = saves(arrivals, repeat, lambda n: save(message(root, n), texts(n)))  # noqa: B023
                    yield name, found
    for place in ("convos/conftest.py", "convos/question_00000/conftest.py"):
        with common.workplace() as root:
            common.write_conversations(root / "convos", 1, url)
            (root / "pytest.ini").write_text("[pytest]\n")
            (root / place).write_text(CONFTEST.format("none"))
            with watcher(root):
                found = saves(arrivals, repeat, lambda n: (root / place).write_text(CONFTEST.format(n)))  # noqa: B023
                yield f"a tool, in {place}", found


def main() -> None:
    given = common.options(__doc__, repeat=20)
    arrivals = Arrivals()
    with ScriptedServer(arrivals.answer, keep=1) as server:
        rows = list(measured(server.url, arrivals, given.repeat))
    base = statistics.median(rows[0][1])
    common.table(
        f"W8: from a save to the first request at the server; {given.repeat} saves of each",
        ["", "median ms", "range ms", "of the first"],
        [
            [
                name,
                f"{statistics.median(times) * 1000:.0f}",
                f"{min(times) * 1000:.0f} to {max(times) * 1000:.0f}",
                f"{statistics.median(times) / base:.2f}",
            ]
            for name, times in rows
        ],
    )


if __name__ == "__main__":
    main()
