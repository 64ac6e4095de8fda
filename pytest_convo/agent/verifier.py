"""Who says whether an agent did it: the task's own script, run in the sandbox as the agent left it.

The script and what it writes are out of the agent's reach: their directories are closed to it, from the start on, and
are emptied before the script comes. Where an agent can enter them all the same, as root in a container of Harbor's own
posture, whatever writes into them by itself is caught, killed, and what it wrote counts for nothing.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from ..agreement.outcome import Outcome
from ..texts import clip

if TYPE_CHECKING:
    from ..sandbox.base import CommandResult, Sandbox

TESTS = "/tests"
LOGS = "/logs/verifier"
AGENT = "/logs/agent"
ANSWER = f"{AGENT}/answer.txt"
"""What the agent answered at last, for a script that judges an answer."""

CLOSED = (TESTS, LOGS, AGENT)
"""The directories that are closed to the agent."""

ROOT = "$CONVO_ROOT"
"""What stands before the verifier's paths in commands: nothing, but in an environment whose root is a folder."""

REWARDS = ("reward.txt", "reward.json")
"""The files that a script may write its reward to, the first first."""

QUIET = 0.4
"""Seconds in which nothing may appear in a directory that nobody is to write to."""

DECOY = b"0\n"

_CANNOT_RUN = (126, 127)
_MOST = 4000

# Absolute paths, each with its own guard: this is `rm -rf`, and in some environments the files are this machine's.
_EMPTY = "; ".join(
    f'd="{ROOT}{directory}"; case "$d" in */tests|*/logs/*) mkdir -p "$d" && rm -rf "$d"/* "$d"/.[!.]* "$d"/..?*;; esac'
    for directory in CLOSED
)


@dataclass(frozen=True, slots=True)
class Verifier:
    """A task's script with all that it brings."""

    tests: Path
    """The folder that is put at `/tests`."""
    timeout: float
    variables: Callable[[], Mapping[str, str]] = dict
    """What the script finds in its environment, looked up when it runs."""
    user: str | None = None

    @property
    def first_line(self) -> str:
        """The first line of the script, which names the program that runs it."""
        with (self.tests / "test.sh").open("rb") as file:
            return file.readline(200).decode(errors="replace").rstrip("\n")  # a carriage return is to be seen

    def files(self) -> dict[str, tuple[bytes, int]]:
        """The folder's files by their paths in the sandbox."""
        return files_of(self.tests, TESTS)


@dataclass(frozen=True, slots=True)
class Verification:
    """What the verifier said: PASS, FAIL, or ERROR where it said nothing."""

    outcome: Outcome
    reason: str = ""
    reward: float | None = None
    ran: CommandResult | None = None
    notes: tuple[str, ...] = ()
    """What was noticed besides."""


def files_of(folder: Path, target: str) -> dict[str, tuple[bytes, int]]:
    """The files below a folder as they are put below `target`: contents and modes."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {f"{target}/{path.relative_to(folder).as_posix()}": (path.read_bytes(), _mode(path)) for path in files}


def _mode(path: Path) -> int:
    """The mode of a file; a script is executable, be it so here or not."""
    mode = path.stat().st_mode & 0o777
    return mode | 0o555 if path.suffix == ".sh" else mode | 0o444


def verify(sandbox: Sandbox, verifier: Verifier, answer: str = "") -> Verification:
    """Run the verifier; blocks. `SandboxError` where the sandbox fails, which says nothing of the agent."""
    notes = []
    reachable = _is_reachable(sandbox)
    _empty(sandbox)
    if reachable and (_stirs(sandbox) or _is_rewritten(sandbox, verifier.files())):
        notes.append("processes that the agent left behind wrote into the verifier's directories, and were killed")
        sandbox.kill()
    if reachable:
        _empty(sandbox)
    found = _verified(sandbox, verifier, answer)
    if reachable and _is_rewritten(sandbox):
        notes.append("processes that the agent left behind wrote a reward of their own: killed, and verified anew")
        sandbox.kill()
        _empty(sandbox)
        found = _verified(sandbox, verifier, answer)
    return Verification(found.outcome, found.reason, found.reward, found.ran, tuple(notes))


def processes(sandbox: Sandbox) -> int | None:
    """How many processes there are in a sandbox; None where they are this machine's."""
    told = sandbox.execute(f'[ -n "{ROOT}" ] || {{ set -- /proc/[0-9]*; echo $#; }}', trusted=True).output.strip()
    return int(told) if told.isdecimal() else None


def verify_alone(sandbox: Sandbox, verifier: Verifier, answer: str = "") -> Verification:
    """Run the verifier with nothing of the agent's running any more.

    Its processes are the same user's, and could have killed what the script was about to find: that is the one thing
    that closed directories do not keep them from.
    """
    sandbox.kill()
    _empty(sandbox)
    found = _verified(sandbox, verifier, answer)
    if found.outcome is Outcome.PASS:
        return found
    reason = "it passes only while processes run that the agent left; if the task asks for them, set background = true"
    return Verification(found.outcome, f"{reason}\n{found.reason}", found.reward, found.ran)


def _is_reachable(sandbox: Sandbox) -> bool:
    """Whether the agent can enter the closed directories.

    Who has capabilities can, and was asked for them before the agent began: a command that runs as the agent may find a
    `test` that the agent has made.
    """
    has_none = sandbox.info.limits.get("capabilities") == "none"
    return not has_none or sandbox.execute(f'test -w "{ROOT}{LOGS}"').return_code == 0


def _empty(sandbox: Sandbox) -> None:
    """Make every closed directory, and have nothing in it."""
    sandbox.execute(_EMPTY, trusted=True)


def _stirs(sandbox: Sandbox) -> bool:
    """Whether something appears where nobody of ours has put anything."""
    time.sleep(QUIET)
    seen = sandbox.execute(f'ls -A "{ROOT}{TESTS}" "{ROOT}{LOGS}" | grep -v -e ":$" -e "^$"', trusted=True)
    return bool(seen.output.strip())


def _is_rewritten(sandbox: Sandbox, beside: Mapping[str, tuple[bytes, int]] = MappingProxyType({})) -> bool:
    """Whether somebody answers to a reward that is written, or writes rewards all the time.

    `beside` are further files for which somebody may wait, and then write once: the script itself.
    """
    sandbox.write_files({**beside, **{f"{LOGS}/{name}": (DECOY, 0o644) for name in REWARDS}}, trusted=True)
    time.sleep(QUIET)
    return any(_read(sandbox, name) != DECOY for name in REWARDS)


def _verified(sandbox: Sandbox, verifier: Verifier, answer: str) -> Verification:
    sandbox.write_files({**verifier.files(), ANSWER: (answer.encode(), 0o644)}, trusted=True)
    command, given = f'exec "{ROOT}{TESTS}/test.sh"', verifier.variables()
    ran = sandbox.execute(command, verifier.timeout, trusted=True, variables=given, user=verifier.user)
    if ran.killed == "timeout":
        return Verification(Outcome.ERROR, f"the verifier did not end within {verifier.timeout:g} s", ran=ran)
    if ran.killed is not None:
        return Verification(Outcome.ERROR, f"the verifier was killed ({ran.killed})", ran=ran)
    for name in REWARDS:
        if (data := _read(sandbox, name)) is not None:
            return _rewarded(name, data, ran)
    if ran.return_code in _CANNOT_RUN:
        asked = f"; its first line is {verifier.first_line!r}: is that program in the image?"
        if verifier.first_line.endswith("\r"):
            asked = "; its lines end as on Windows, and the name of its program with them: save it with LF alone"
        return Verification(Outcome.ERROR, f"the verifier could not run{asked}\n{_told(ran)}", ran=ran)
    if ran.return_code == 0:
        return Verification(Outcome.PASS, ran=ran)
    return Verification(Outcome.FAIL, f"the verifier says no: {_told(ran)}", ran=ran)


def _read(sandbox: Sandbox, name: str) -> bytes | None:
    try:
        return sandbox.read_file(f"{LOGS}/{name}", trusted=True)
    except FileNotFoundError:
        return None


def _rewarded(name: str, data: bytes, ran: CommandResult) -> Verification:
    """What a reward says: 1 is a pass, less is none."""
    reward = reward_of(name, data)
    if reward is None:
        shown = clip(data.decode(errors="replace").strip(), 80)
        return Verification(Outcome.ERROR, f"the verifier wrote no number to {name}: {shown!r}", ran=ran)
    if reward >= 1:
        return Verification(Outcome.PASS, reward=reward, ran=ran)
    return Verification(Outcome.FAIL, f"the verifier gives {reward:.15g} of 1: {_told(ran)}", reward=reward, ran=ran)


def reward_of(name: str, data: bytes) -> float | None:
    """The reward in a file: a number, or in JSON its `reward`, else the least of several; None where there is none."""
    try:
        value = json.loads(data)
    except ValueError:
        return None
    if name.endswith(".json") and isinstance(value, dict):
        numbers = [value["reward"]] if "reward" in value else list(value.values())
    else:
        numbers = [value]
    found = [float(one) for one in numbers if isinstance(one, int | float) and math.isfinite(one)]
    return min(found) if found and len(found) == len(numbers) else None


def _told(ran: CommandResult) -> str:
    """How the script ended, with the end of what it wrote."""
    written = "\n".join(filter(None, (ran.output.strip(), ran.error.strip())))
    tail = written if len(written) <= _MOST else f"…{written[-_MOST:]}"
    indented = "".join(f"\n  | {line}" for line in tail.splitlines()[-40:])
    return f"test.sh ended with {ran.return_code}{indented}"
