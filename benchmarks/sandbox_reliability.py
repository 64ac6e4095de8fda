"""What is left of sandboxes, lost or mixed up, when a session is killed, interrupted, crowded, or loses its engine?

`killed`, `many`, `restart` and `interrupted` each print a table of sessions whose agents are in the middle of their
commands. What is left is counted 5 seconds later: containers and volumes of the engine, processes of this machine (the
session's, and those in its containers), and directories in TMPDIR. The aim is 0 of each but the last. Only what the
session made is counted, so that others may use the engine meanwhile. `restart` needs root, and starts an engine of its
own, in which it kills only that.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import common
import docker
from w10_tasks import kept, made_image, read, write_tasks

from pytest_convo.sandbox.sweep import LABEL
from pytest_convo.sandbox.whose import started

GRACE = 5.0
"""Seconds after which nothing may be left."""

TASKS = 8
WRITING = "for number in $(seq 50); do echo $number >> tea.txt; sleep 0.1; done"
LEAVING = "setsid sh -c 'while :; do echo left >> left.txt; sleep 0.1; done' & sleep 5; echo more >> tea.txt"
VERIFY = "test -s tea.txt"
MOST = 180.0
"""Seconds after which a session counts as hung."""

Process = tuple[int, str]
"""A process by its number and when it started: numbers are soon given to others."""


# -- a session that is watched


@dataclass
class Session:
    """A session of pytest in a project, with a TMPDIR of its own, and all that it was seen to have."""

    project: Path
    client: docker.DockerClient
    options: Sequence[str] = ()
    variables: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.temporary = self.project / "tmp"
        shutil.rmtree(self.temporary, ignore_errors=True)
        self.temporary.mkdir()
        self.processes: set[Process] = set()
        self.containers: set[str] = set()
        self.volumes: set[str] = set()
        self.output = (self.project / "output.txt").open("w+b")
        self.process = subprocess.Popen(
            [*common.PYTEST, *self.options, "."],
            cwd=self.project,
            env={**common.environment(), "TMPDIR": str(self.temporary), **self.variables},
            stdout=self.output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # what Ctrl-C of a terminal reaches
        )

    def until_busy(self, count: int) -> None:
        """Wait until so many of its sandboxes are there; exits where the session ends before."""
        deadline = time.monotonic() + MOST
        while len(self.look()) < count:
            if self.process.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"the session never had {count} sandboxes:\n{self.told()[-2000:]}")
            time.sleep(0.05)
        time.sleep(0.5)  # commands run now
        self.look()

    def look(self) -> set[str]:
        """Note its processes and containers; the ids of those that run now."""
        self.processes |= tree(self.process.pid)
        listed = self.client.api.containers(all=True, filters={"label": f"{LABEL}=1"})
        own = [found for found in listed if maker(found["Labels"]) in self.processes]
        self.volumes |= {mount["Name"] for found in own for mount in found["Mounts"] if mount["Type"] == "volume"}
        ids = {found["Id"] for found in own if found["State"] == "running"}
        self.containers |= ids
        return ids

    def end(self, seconds: float = MOST) -> float:
        """Wait for its end; the seconds since it was called. Kills it where it hangs, which it tells as infinite."""
        began = time.monotonic()
        while self.process.poll() is None:
            if time.monotonic() - began > seconds:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
                return float("inf")
            with contextlib.suppress(docker.errors.DockerException, OSError):  # its engine may be away for a while
                self.look()
            time.sleep(0.1)
        return time.monotonic() - began

    def left(self) -> Left:
        """What is still there of all that it was seen to have."""
        there = {found["Id"] for found in self.client.api.containers(all=True)}
        return Left(
            containers=len(self.containers & there),
            volumes=len(self.volumes & {volume["Name"] for volume in self.client.api.volumes()["Volumes"] or ()}),
            processes=len(processes_of(self.containers) | {one[0] for one in self.processes if alive(one)}),
            directories=len(list(self.temporary.glob("pytest-convo-*"))),
        )

    def told(self) -> str:
        self.output.seek(0)
        return self.output.read().decode(errors="replace")

    def outcomes(self) -> str:
        """How pytest sums it up, without the time."""
        found = re.findall(r"^=*\s*((?:\d+ [a-z]+(?:, )?)+) in [\d.]+", self.told(), re.MULTILINE)
        return found[-1] if found else "nothing said"


@dataclass(frozen=True)
class Left:
    containers: int
    volumes: int
    processes: int
    directories: int

    def __add__(self, other: Left) -> Left:
        return Left(*(one + more for one, more in zip(self.row(), other.row(), strict=True)))

    def row(self) -> list[int]:
        return [self.containers, self.volumes, self.processes, self.directories]


HEADERS = ("containers", "volumes", "processes", "directories")
NOTHING = Left(0, 0, 0, 0)


def maker(labels: Mapping[str, str]) -> Process:
    """The process that made a container, as its labels have it."""
    return int(labels.get(f"{LABEL}.pid", "0")), labels.get(f"{LABEL}.started", "")


def tree(pid: int) -> set[Process]:
    """A process and its descendants."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        children = [task.joinpath("children").read_text() for task in Path(f"/proc/{pid}/task").iterdir()]
        return {(pid, started(pid) or "")}.union(*(tree(int(child)) for child in " ".join(children).split()))
    return set()


def alive(process: Process) -> bool:
    """Whether it runs; one that has ended and is only not waited for does not."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        state = Path(f"/proc/{process[0]}/stat").read_text().rpartition(")")[2].split()[0]
        return state not in "ZX" and started(process[0]) == process[1]
    return False


def processes_of(containers: set[str]) -> set[int]:
    """The processes of this machine that run in containers, or for them."""
    found = set()
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            about = path.joinpath("cgroup").read_text() + path.joinpath("cmdline").read_text(errors="replace")
            if any(container in about for container in containers):
                found.add(int(path.name))
    return found


def put_down(session: Session) -> None:
    """End what is left of a session, so that the next one has the machine for itself."""
    for process in session.processes:
        if alive(process):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process[0], signal.SIGKILL)
    for container in session.containers:
        with contextlib.suppress(docker.errors.APIError):
            session.client.api.remove_container(container, force=True, v=True)
    session.process.wait()


def image_with_volume(client: docker.DockerClient) -> str:
    """The image of the other benchmarks with a volume, of which each container gets one of its own."""
    dockerfile = f"FROM {made_image()}\nVOLUME /data\n"
    name = "pytest-convo-test/volume:1"
    client.images.build(fileobj=io.BytesIO(dockerfile.encode()), tag=name)
    return name


def busy_project(root: Path, image: str) -> Path:
    """Tasks whose agents write for some seconds; every other one leaves something behind that writes on."""
    return write_tasks(root, image, [[LEAVING if number % 2 else WRITING] for number in range(TASKS)], verify=VERIFY)


# -- killed

Kill = Callable[[Session], None]


def killed(given: argparse.Namespace) -> None:
    """Kill a session, or a worker of it, while 8 agents work."""
    ways: dict[str, tuple[Kill, Sequence[str]]] = {
        "the process, SIGKILL": (lambda session: session.process.kill(), ()),
        "the process, SIGTERM": (lambda session: session.process.terminate(), ()),
        "-n4, the controller, SIGKILL": (lambda session: session.process.kill(), ("-n4",)),
        "-n4, one worker, SIGKILL": (kill_worker, ("-n4",)),
    }
    rows = []
    with common.workplace() as root:
        client = docker.from_env()
        project = busy_project(root / "project", image_with_volume(client))
        for name, (kill, options) in ways.items():
            if given.only not in name:
                continue
            total, ends, gone = NOTHING, Counter[str](), []
            for _ in range(given.rounds):
                session = Session(project, client, options)
                session.until_busy(TASKS)
                kill(session)
                if kill is kill_worker:
                    session.end()
                    ends[session.outcomes()] += 1
                found, seconds = after(session)
                total += found
                gone.append(seconds)
                put_down(session)
            said = "; ".join(f"{count} x {end}" for end, count in ends.items())
            rows.append([name, *total.row(), f"{statistics.median(gone):.1f} (to {max(gone):.1f})", said])
    title = f"killed while {TASKS} agents work: left {GRACE:g} s later, of {given.rounds} rounds together"
    common.table(title, ["", *HEADERS, "s until all but directories is gone", "the session's own summary"], rows)


def after(session: Session) -> tuple[Left, float]:
    """What is left after GRACE, and the seconds until nothing runs any more."""
    began, gone, left = time.monotonic(), float("inf"), NOTHING
    while (seconds := time.monotonic() - began) < GRACE or (gone > seconds and seconds < MOST):
        found = session.left()
        if seconds < GRACE:
            left = found
        if gone > seconds and not any(found.row()[:3]):
            gone = seconds
        time.sleep(0.1)
    return left, gone


def kill_worker(session: Session) -> None:
    """Kill a worker that has a sandbox."""
    listed = session.client.api.containers(filters={"label": f"{LABEL}=1"})
    victim = next(found for found in map(maker, (one["Labels"] for one in listed)) if found in session.processes)
    os.kill(victim[0], signal.SIGKILL)


# -- interrupted


def interrupted(given: argparse.Namespace) -> None:
    """Ctrl-C once, and twice, while 8 agents work."""
    rows = []
    with common.workplace() as root:
        client = docker.from_env()
        project = busy_project(root / "project", image_with_volume(client))
        for name, times, options in [
            ("once", 1, ()),
            ("twice", 2, ()),
            ("-n4, once", 1, ("-n4",)),
            ("-n4, twice", 2, ("-n4",)),
        ]:
            total, seconds, ends = NOTHING, [], Counter[str]()
            for _ in range(given.rounds):
                session = Session(project, client, options)
                session.until_busy(TASKS)
                for number in range(times):
                    time.sleep(0.3 * number)
                    with contextlib.suppress(ProcessLookupError):  # it may have ended by then
                        os.killpg(session.process.pid, signal.SIGINT)
                seconds.append(session.end())
                ends[f"code {session.process.returncode}{flaws(session)}"] += 1
                time.sleep(GRACE)
                total += session.left()
                put_down(session)
            said = "; ".join(f"{count} x {end}" for end, count in ends.items())
            slowest = f"{statistics.median(seconds):.1f} (to {max(seconds):.1f})"
            rows.append([name, slowest, *total.row(), said])
    title = f"Ctrl-C while {TASKS} agents work: left {GRACE:g} s later, of {given.rounds} rounds together"
    common.table(title, ["", "s to end", *HEADERS, "ended with"], rows)


def flaws(session: Session) -> str:
    """Words in what a session told that should not be there."""
    told = session.told()
    return "".join(f", {word}" for word in ("INTERNALERROR", "Traceback", "Exception ignored") if word in told)


# -- many


def many(given: argparse.Namespace) -> None:
    """Many tasks under xdist, whose commands write what nobody else writes; each output is compared."""
    with common.workplace() as root:
        client = docker.from_env()
        tasks = [unique(number) for number in range(given.tasks)]
        project = write_tasks(root / "project", image_with_volume(client), [list(outputs) for outputs in tasks])
        session = Session(project, client, ["-n4"])
        seconds = session.end(MOST * given.tasks)
        wrong, seen = compared(project, tasks)
        time.sleep(GRACE)
        told = session.outcomes() + flaws(session)
        row = [f"{given.tasks} tasks, -n4", f"{seconds:.0f}", seen, wrong, *session.left().row(), told]
        put_down(session)
    common.table(
        f"many sandboxes one after the other; left {GRACE:g} s after the end",
        ["", "s", "outputs", "wrong or lost", *HEADERS, "the session's own summary"],
        [row],
    )


def unique(task: int) -> dict[str, tuple[str, str]]:
    """Commands of a task with what each must write to its two streams."""
    first = 1_000_000 + task * 10_000
    lines = "".join(f"{number}\n" for number in range(first, first + 5_000))
    return {
        f"echo short {first}": (f"short {first}\n", ""),
        f"echo out {first}; echo error {first} >&2": (f"out {first}\n", f"error {first}\n"),
        f"seq {first} {first + 4_999}": (lines, ""),
        f"echo more {first} >> tea.txt; cat tea.txt": (f"tea {task}\nmore {first}\n", ""),
    }


def compared(project: Path, tasks: Sequence[Mapping[str, tuple[str, str]]]) -> tuple[int, int]:
    """How many outputs are not what they must be, and how many there are."""
    wrong = seen = 0
    found = {path.parent.parent.parent.name: read(path) for path in kept(project)}
    for number, expected in enumerate(tasks):
        told = [event for event in found.get(f"task_{number:03}", []) if event["kind"] == "command"]
        written = {event["command"]: (event["output"], event["error"]) for event in told}
        seen += len(written)
        wrong += sum(written.get(command) != output for command, output in expected.items())
    return wrong, seen


# -- restart


def restart(given: argparse.Namespace) -> None:
    """Restart the engine, one of our own, while 8 agents work; then have another session."""
    rows = []
    for name, way, options, kills in [
        ("SIGTERM", signal.SIGTERM, (), False),
        ("SIGKILL", signal.SIGKILL, (), False),
        ("SIGKILL, live-restore", signal.SIGKILL, ("--live-restore",), False),
        ("SIGKILL, live-restore, the session killed too", signal.SIGKILL, ("--live-restore",), True),
    ]:
        for _ in range(given.rounds):
            with common.workplace() as root, own_engine(root, *options) as (engine, image):
                project = busy_project(root / "project", image)
                rows.append([name, *restarted(engine, project, way, kills=kills)])
    common.table(
        f"the engine restarted while {TASKS} agents work; left {GRACE:g} s after the end, and after another session",
        ["", "s to end", "its summary", *HEADERS, "another", *HEADERS[:3]],
        rows,
    )


def restarted(engine: OwnEngine, project: Path, way: signal.Signals, *, kills: bool) -> list[object]:
    """One row: the session in whose middle the engine is restarted, and the session after it."""
    variables = {"DOCKER_HOST": engine.url}
    session = Session(project, engine.client, variables=variables)
    session.until_busy(TASKS)
    engine.end(way)
    if kills:
        session.process.kill()
    engine.begin()
    seconds = session.end()
    time.sleep(GRACE)
    left, told = session.left(), session.outcomes() + flaws(session)
    following = Session(project, engine.client, variables=variables)
    following.end()
    left_then = session.left() + following.left()
    return [f"{seconds:.1f}", told, *left.row(), following.outcomes() + flaws(following), *left_then.row()[:3]]


class OwnEngine:
    """A dockerd beside the machine's; its containerd stays when it is killed, as a service would.

    It has no networks, and is in a network namespace of its own: without a bridge it would remove the other's docker0.
    """

    def __init__(self, root: Path, *options: str) -> None:
        self.url = f"unix://{root}/docker.sock"
        self.client = docker.DockerClient(self.url, version="1.41")  # named, or it would ask at once
        self._root = root
        self._log = (root / "engine.log").open("ab")
        address = f"{root}/containerd.sock"
        places = [f"--root={root}/containerd", f"--state={root}/state", f"--address={address}"]
        self._containerd = self._run("containerd", *places)
        places = [f"--data-root={root}/data", f"--exec-root={root}/exec", f"--pidfile={root}/pid", f"--host={self.url}"]
        nothing = ["--bridge=none", "--iptables=false", "--ip-masq=false"]
        self._options = [*places, f"--containerd={address}", *nothing, *options]
        self.begin()

    def begin(self) -> None:
        """Start it, and wait until it answers."""
        self._dockerd = self._run("dockerd", *self._options)
        deadline = time.monotonic() + MOST
        while time.monotonic() < deadline and self._dockerd.poll() is None:
            with contextlib.suppress(docker.errors.DockerException, OSError):
                self.client.ping()
                return
            time.sleep(0.05)
        sys.exit(f"no engine could be started: {Path(self._log.name).read_text()[-2000:]}")

    def end(self, how: signal.Signals = signal.SIGTERM) -> None:
        self._dockerd.send_signal(how)
        self._dockerd.wait()

    def clear(self) -> None:
        """End everything, and take away what a killed engine leaves mounted."""
        for container in self.client.containers.list(all=True):
            container.remove(force=True, v=True)
        self.end()
        self._containerd.terminate()
        self._containerd.wait()
        mounts = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
        for mount in sorted((mount for mount in mounts if mount.startswith(f"{self._root}/")), reverse=True):
            subprocess.run(["umount", "--lazy", mount], check=True)

    def _run(self, *command: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(["unshare", "--net", *command], stdout=self._log, stderr=subprocess.STDOUT)


@contextlib.contextmanager
def own_engine(root: Path, *options: str) -> Iterator[tuple[OwnEngine, str]]:
    """An engine of its own, and an image in it."""
    shared = docker.from_env()
    image = image_with_volume(shared)
    saved = b"".join(shared.images.get(image).save(named=True))
    engine = OwnEngine(root, *options)
    try:
        engine.client.images.load(saved)
        yield engine, image
    finally:
        engine.clear()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(required=True)
    for function, name, default in [
        (killed, "rounds", 20),
        (many, "tasks", 200),
        (restart, "rounds", 1),
        (interrupted, "rounds", 5),
    ]:
        command = commands.add_parser(function.__name__, help=function.__doc__)
        command.add_argument(f"--{name}", type=int, default=default, help=f"default: {default}")
        if function is killed:
            command.add_argument("--only", default="", help="the ways with this text in their name, as in the table")
        command.set_defaults(function=function)
    given = parser.parse_args()
    given.function(given)


if __name__ == "__main__":
    main()
