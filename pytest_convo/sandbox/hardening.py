"""What a container may and what not, as options of the engine; and what of it holds once the container runs.

Measured: the limits and prohibitions cost nothing, neither at the start nor while commands run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .base import MIB, SandboxSpec

if TYPE_CHECKING:
    from docker import APIClient
    from docker.types import Mount

STATE = "/run/convo"
"""Where the shell of an agent's command leaves what the next one knows. Sized, in memory, and gone with the container:
what stands in it the agent has anyway."""

PRIVATE = "/run/convo-trusted"
"""The home of trusted commands: whatever programs read there unasked (`.local/lib/python3`, `.gitconfig`) would run
with their rights, and in an agent's home the agent could put it."""

GUARD = 61000
"""Owner and group of the closed directories. No process of an agent has this group or, without CAP_SETGID, can get it;
and none can look into a process that has (ptrace(2) wants equal groups), though it is the same user's."""

STATE_SIZE = 8 * MIB

QUIET = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "TERM": "dumb",
    "DEBIAN_FRONTEND": "noninteractive",
    "PIP_PROGRESS_BAR": "off",
}
"""Nobody can press a key in a sandbox, and progress is noise in what a model is to read."""


@dataclass(frozen=True, slots=True)
class Users:
    """As whom an agent's commands run, and as whom ours: `uid:gid`, or names that the image knows; "" is root."""

    agent: str
    trusted: str
    killer: str

    @classmethod
    def of(cls, user: str, *, hardened: bool) -> Users:
        """For the user whom a container runs as.

        Where root has its capabilities it enters closed directories as it is, and kills everybody's processes.
        Otherwise the killer is the same user: without CAP_KILL nobody else could.
        """
        name = user.partition(":")[0]
        trusted = user if not hardened and name in ("", "0", "root") else f"{name or '0'}:{GUARD}"
        return cls(user, trusted, user if hardened else "0:0")


def host_config(api: APIClient, spec: SandboxSpec, mounts: Sequence[Mount]) -> dict[str, Any]:
    """The options of a container that hold what a spec asks for."""
    from docker.types import LogConfig

    strict: dict[str, Any] = {"cap_drop": ["ALL"], "security_opt": ["no-new-privileges"]} if spec.hardened else {}
    config: dict[str, Any] = api.create_host_config(
        init=False,  # an init ends when its child is killed with all else
        auto_remove=not spec.keep,
        network_mode="bridge" if spec.network else "none",
        mem_limit=spec.memory,
        memswap_limit=spec.memory,
        nano_cpus=int(spec.cpus * 1e9),
        pids_limit=spec.pids,
        read_only=not spec.writable,
        tmpfs=tmpfs(spec),
        mounts=list(mounts),
        log_config=LogConfig(type="none"),  # a log file would be a way to fill the disk
        runtime=spec.runtime,
        **strict,
    )
    return config


def tmpfs(spec: SandboxSpec) -> dict[str, str]:
    """The directories in memory; each is sized, as by default one may take half of the machine's."""
    # It counts as the container's memory: were all of that in files, no process could start any more, `rm` neither.
    size = min(spec.tmp, spec.memory // 2)
    private = f"mode=0770,uid={GUARD},gid={GUARD},size={size},exec"
    mounts = {STATE: f"mode=1777,size={STATE_SIZE}"}
    if spec.hardened or not spec.writable:
        mounts["/tmp"] = f"mode=1777,size={size},exec"  # noqa: S108
        mounts[PRIVATE] = private
    return mounts | dict.fromkeys(spec.closed, private)


def variables(spec: SandboxSpec) -> dict[str, str]:
    """The environment variables of a container. Secret ones are none of them: `docker inspect` shows these."""
    home = {"HOME": "/tmp"} if spec.hardened else {}  # noqa: S108
    return QUIET | home | dict(spec.variables)


def limits(spec: SandboxSpec, facts: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """The limits that hold, in words, and notes of those that do not; `facts` is what the container says itself.

    Rootless engines on control groups of version 1 take limits, say nothing, and set none.
    """
    wanted = {"memory": str(spec.memory), "pids": str(spec.pids), "cpus": f"{spec.cpus:g}"}
    shown = {"memory": size_in_words(spec.memory), "pids": str(spec.pids), "cpus": f"{spec.cpus:g}"}
    held = {name: shown[name] for name, value in wanted.items() if _holds(name, value, facts)}
    notes = tuple(f"the engine sets no limit of {name}: {shown[name]} was asked for" for name in wanted.keys() - held)
    held["network"] = "bridge" if spec.network else "none"
    held["files"] = "writable" if spec.writable else "read-only"
    held["capabilities"] = "none" if facts.get("capabilities", "").strip("0") == "" else "the engine's"
    return held, tuple(sorted(notes))


def size_in_words(size: int) -> str:
    """`1 GiB`, `256 MiB`: bytes in the largest unit that leaves a whole number."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} bytes"


def _holds(name: str, wanted: str, facts: Mapping[str, str]) -> bool:
    said = facts.get(name, "")
    if not said:
        return True  # not every runtime shows it, gVisor's does not: then the engine's word stands
    if name == "cpus":
        quota, _, period = said.partition(" ")
        return quota.isdecimal() and int(quota) <= float(wanted) * int(period or 100_000) * 1.01
    return said.isdecimal() and int(said) <= int(wanted)


SURVEY = r"""
command -v bash >/dev/null && echo shell=bash || echo shell=sh;
while read -r key value rest; do
 case $key in Uid:) echo "uid=$value";; Gid:) echo "gid=$value";; CapEff:) echo "capabilities=$value";; esac;
done </proc/self/status;
cd /sys/fs/cgroup || exit 0;
cat() { [ -r "$1" ] && read -r line <"$1" && echo "$2=$line$3"; };
cat memory/memory.limit_in_bytes memory || cat memory.max memory;
cat pids/pids.max pids || cat pids.max pids;
if [ -r cpu/cpu.cfs_quota_us ]; then read -r period <cpu/cpu.cfs_period_us; cat cpu/cpu.cfs_quota_us cpus " $period";
else cat cpu.max cpus; fi; :
"""
"""Asks a container what it is: its shell, user, capabilities and limits, a `key=value` in each line."""
