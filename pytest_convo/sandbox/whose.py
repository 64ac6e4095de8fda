"""Whether the process that made something still runs."""

from __future__ import annotations

import os
import socket
from pathlib import Path


def host() -> str:
    """Where numbers of processes mean the same: in one of the spaces of processes that a machine has."""
    try:
        space = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        space = ""
    return f"{socket.gethostname()} {space}".strip()


def started(pid: int) -> str | None:
    """When a process started, in ticks of the clock since the machine did; None where none has that number.

    Field 22 of proc_pid_stat(5), counted from behind the name of the program, which may hold anything. Empty where the
    system does not tell.
    """
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[19].decode()
    except (FileNotFoundError, ProcessLookupError):
        return None if _gone(pid) else ""


def _gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
