"""`pytest --convo-watch`: from the command line to a watcher, and back to an exit code."""

from __future__ import annotations

import io
import os
import selectors
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType

import pytest

from .. import options
from ..errors import ConvoError
from ..report.directory import session_name
from ..run.shared import SharedLedger
from ..run.spending import Spending
from ..write.rules import require_sense
from .channel import Note
from .dependents import CONFTEST, INI, Dependents
from .events import Events
from .keys import Keys
from .ledger import Ledger
from .pool import Pool
from .rewind import Rewind
from .screen import Screen, spent
from .sessions import Sessions
from .stop import Stop
from .watcher import Setup, Watcher

NOT_TOGETHER = {
    "convo_dry": "--convo-dry",
    "convo_baseline": "--convo-baseline",
    "convo_update_baseline": "--convo-update-baseline",
    "convo_simulate": "--convo-simulate",
    "convo_json": "--convo-json",
    "update_snapshots": "--snapshot-update",
    "usepdb": "--pdb",
    "convo_refine": "--convo-refine",
}
"""Options of a session that ends, or that somebody has to answer."""


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""What ends a watcher."""


def watch(config: pytest.Config) -> int:
    """Watch until somebody ends it; pytest's exit code. `pytest.UsageError` for what cannot be watched."""
    for name, option in NOT_TOGETHER.items():
        if config.getoption(name, None) not in (None, False):
            msg = f"{option} and --convo-watch do not go together"
            raise pytest.UsageError(msg)
    require_sense(config, options.read(config))
    roots = _roots(config)
    _let_terminal_through(config)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # what a terminal cannot show ends no watcher
    stop = Stop()
    stop.at(*SIGNALS)
    try:
        with ExitStack() as closing:
            _watcher(config, roots, stop, closing).run()
    except KeyboardInterrupt:
        return int(pytest.ExitCode.INTERRUPTED)
    except ConvoError as error:
        msg = str(error)
        raise pytest.UsageError(msg) from None
    return int(pytest.ExitCode.OK)


def _watcher(config: pytest.Config, roots: Sequence[Path], stop: Stop, closing: ExitStack) -> Watcher:
    """A watcher that hears of every edit from now on; what it holds is given back by `closing`."""
    chosen = options.read(config)
    wake, woken = closing.enter_context(_woken())
    selector = closing.enter_context(selectors.DefaultSelector())
    selector.register(woken, selectors.EVENT_READ, lambda: os.read(woken, 4096))
    keys = Keys()
    closing.callback(keys.restore)

    def resumed(_number: int, _frame: FrameType | None) -> None:
        keys.stale = True
        wake()

    signal.signal(signal.SIGCONT, resumed)
    if keys.file is None and config.getoption("convo_watch_tools"):
        msg = "--convo-watch-tools asks somebody at a terminal, and here is none"
        raise pytest.UsageError(msg)
    events = Events(wake, polling=options.polling(config))
    closing.callback(events.close)
    ledger = Ledger(keeps=chosen.cut is not None and chosen.cut.fork, ignores=config.getini("norecursedirs"))
    events.watch(roots)
    ledger.learn(roots)  # after the events: nothing falls between the two
    desk = closing.enter_context(_desk())
    books = SharedLedger(desk / "books", "watcher")
    closing.callback(books.close)
    setup = _setup(config, roots, desk, writes=chosen.write)
    pool = Pool(_parking(config, setup, desk), _environ(), desk)
    sessions = Sessions(pool, selector, rootdir=config.rootpath, args=config.args, one_run=setup.one_run)
    closing.callback(sessions.close)
    closing.callback(_ignore, *SIGNALS)  # what is being ended is ended to its end
    screen = Screen(sys.stdout, config.rootpath, keys=keys.file is not None)
    return Watcher(
        setup,
        sessions=sessions,
        selector=selector,
        events=events,
        ledger=ledger,
        dependents=Dependents(config.rootpath, python_files=config.getini("python_files")),
        screen=screen,
        keys=keys,
        rewind=Rewind(chosen.cut, ledger, screen),
        spent=lambda: spent(Spending(books).spent()),
        stopped=stop.between_steps(wake),
    )


def _setup(config: pytest.Config, roots: Sequence[Path], desk: Path, *, writes: bool) -> Setup:
    """What the watcher is told of the command line."""
    return Setup(
        roots,
        frozenset(config.rootpath / name for name in INI),
        frozenset(_early(roots, config.rootpath)),
        one_run=not _says_runs(config),
        queue=config.getoption("convo_watch_queue"),
        writes=writes,
        answers=None if writes else desk / "answers",  # where answers are written, they are in their files
    )


def _parking(config: pytest.Config, setup: Setup, desk: Path) -> Note:
    """The order by which children are parked: see `child.Parking`."""
    return {
        "args": list(config.invocation_params.args),
        "path": sys.path,
        "store": None if setup.answers is None else str(setup.answers),
        "books": str(desk / "books"),
        "tools": config.getoption("convo_watch_tools"),
        "session": f"{session_name(config)}-watch",
    }


def _roots(config: pytest.Config) -> list[Path]:
    """The directories and files of the command line, in which edits are looked for."""
    found = []
    for argument in config.args:
        path = (config.invocation_params.dir / argument.partition("::")[0]).absolute()
        if not path.exists():
            msg = f"{argument}: there is nothing there to watch"
            raise pytest.UsageError(msg)
        found.append(path if path.is_dir() else path.parent)
    return sorted({path for path in found if not any(path != other and path.is_relative_to(other) for other in found)})


def _early(roots: Sequence[Path], rootdir: Path) -> set[Path]:
    """Files that pytest reads before it collects, there or not: without them it may not even come to collect."""
    directories = {above for root in roots for above in root.parents if above.is_relative_to(rootdir)}
    return {rootdir / name for name in INI} | {directory / CONFTEST for directory in directories}


def _says_runs(config: pytest.Config) -> bool:
    """Whether the user has said, for all conversations alike, how many runs there are to be."""
    return config.getoption("convo_runs") is not None or "PYTEST_CONVO_RUNS" in os.environ


def _environ() -> Mapping[str, str]:
    """The environment of children: they print into a pipe what is shown in the terminal."""
    columns = shutil.get_terminal_size().columns
    colour = {"PY_COLORS": "1"} if sys.stdout.isatty() and "NO_COLOR" not in os.environ else {}
    return {**os.environ, "COLUMNS": str(columns), **colour}


def _let_terminal_through(config: pytest.Config) -> None:
    """End pytest's capture: until then it has its own file in the place of standard input, and no key would come."""
    capture = config.pluginmanager.get_plugin("capturemanager")
    if capture is not None:
        capture.suspend(in_=True)


@contextmanager
def _woken() -> Iterator[tuple[Wake, int]]:
    """A function that any thread may call, and a file that is readable then."""
    woken, waker = os.pipe()
    for file in (woken, waker):
        os.set_blocking(file, False)
    try:
        yield Wake(waker), woken
    finally:
        os.close(woken)
        os.close(waker)


class Wake:
    """Makes a pipe readable; that it is full is as good."""

    def __init__(self, file: int) -> None:
        self._file = file

    def __call__(self) -> None:
        try:
            os.write(self._file, b"\0")
        except BlockingIOError:
            return  # who is to be woken has not looked yet


def _ignore(*signals: int) -> None:
    for number in signals:
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def _desk() -> Iterator[Path]:
    """A directory for what children hand on to each other; it goes with the watcher."""
    path = Path(tempfile.mkdtemp(prefix="pytest-convo-watch-"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)  # a child that was killed may leave a file between
