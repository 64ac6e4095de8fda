"""What a sandbox may use up is limited, and it recovers from having used it up."""

from __future__ import annotations

from ...sandbox.base import MIB
from .backend import Backend
from .case import Cases
from .seen import LONG, SOON, assert_timed_out, assert_works, eventually

CASES = Cases()

_COUNT = "n=0; for p in /proc/[0-9]*; do n=$((n+1)); done; echo $n"


@CASES.add(22, "isolation", "limits")
def fork_bomb(backend: Backend) -> None:
    """A fork bomb is ended with its time, and nothing of it is left."""
    sandbox = backend.open()
    before = int(sandbox.execute(_COUNT).output)
    assert_timed_out(sandbox.execute(f"bomb() {{ bomb | bomb & }}; bomb; sleep {LONG}", 2))
    assert_works(sandbox)
    assert eventually(lambda: int(sandbox.execute(_COUNT).output) <= before + 1), "some of it is left"


@CASES.add(23, "isolation", "limits")
def memory_bomb(backend: Backend) -> None:
    """Who wants more memory than there is, is killed for it; the sandbox is not."""
    sandbox = backend.open(memory=64 * MIB)
    result = sandbox.execute("tail /dev/zero", SOON)
    assert (result.return_code, result.killed) == (137, None), result
    assert_works(sandbox)


@CASES.add(24, "isolation", "limits")
def full_disk(backend: Backend) -> None:
    """There is an end to what can be written, and after removing it there is room again."""
    sandbox = backend.open(tmp=64 * MIB)
    result = sandbox.execute("dd if=/dev/zero of=/tmp/file bs=1M count=500", SOON)
    assert result.return_code == 1, result
    assert "No space" in result.error, result
    assert sandbox.execute("rm /tmp/file", SOON).ok
    assert_works(sandbox)


@CASES.add(26, "isolation", "limits")
def everything_is_full(backend: Backend) -> None:
    """Where nothing can be written any more, commands fail politely, and after removing it all is well."""
    sandbox = backend.open(tmp=16 * MIB)
    fill = "for place in /tmp /run/* /dev/shm; do dd if=/dev/zero of=$place/fill bs=1M count=100; done"
    sandbox.execute(fill, SOON)
    result = sandbox.execute("echo hi", SOON)
    assert (result.timed_out, result.killed) == (False, None), result
    sandbox.execute("rm -f /tmp/fill /run/*/fill /dev/shm/fill", SOON)
    assert_works(sandbox)


@CASES.add(28, "isolation", "limits")
def orphans(backend: Backend) -> None:
    """Orphans are reaped: dead ones do not use up the limit of processes."""
    sandbox = backend.open(pids=64)
    for _ in range(4):
        sandbox.execute("i=0; while [ $i -lt 40 ]; do (sleep 0.01 &); i=$((i+1)); done", SOON)
        assert eventually(lambda: int(sandbox.execute(_COUNT, SOON).output) < 30), "orphans stay"
    assert_works(sandbox)
