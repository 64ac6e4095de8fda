"""Workers of xdist that are forked from a process which has imported all that they need.

A worker that starts as a new Python imports for longer than it works, in most of the hundreds of sessions with workers
that these tests make. This module is both sides: what has execnet fork its workers, and, run as a program, the process
that they are forked from. That process has one thread only, so that a fork of it is whole.

What needs a Python of its own, or says which modules were imported, has to start one: `pytester.runpytest_subprocess`.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from execnet import gateway_io
from execnet.gateway_base import Popen2IO

LONGEST = 1 << 20
"""Bytes of an order, which holds the environment."""


@contextmanager
def workers(modules: Sequence[str]) -> Iterator[None]:
    """Until the end, the workers that execnet starts with this Python have imported these modules."""
    origin = _Origin(modules)
    create_io = gateway_io.create_io

    def create_forked_io(spec: Any, execmodel: Any) -> Any:
        return _Forked(origin, execmodel) if spec.popen and not spec.python else create_io(spec, execmodel)

    gateway_io.create_io = create_forked_io
    yield
    gateway_io.create_io = create_io
    origin.end()


class _Origin:
    """The process that workers are forked from; it starts with the first one."""

    def __init__(self, modules: Sequence[str]) -> None:
        self._modules = modules
        self._process: subprocess.Popen[bytes] | None = None
        self._orders: socket.socket | None = None

    def fork(self, descriptors: Sequence[int]) -> int:
        """A worker in this directory and environment, with these as its input, output and errors; its process id."""
        order = json.dumps({"directory": str(Path.cwd()), "environ": dict(os.environ)}).encode()
        self._orders = self._orders or self._start()
        socket.send_fds(self._orders, [order], descriptors)
        return int(self._orders.recv(LONGEST))

    def _start(self) -> socket.socket:
        orders, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, __file__, str(theirs.fileno()), *self._modules]
        self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
        theirs.close()
        return orders

    def end(self) -> None:
        if self._orders is not None and self._process is not None:
            self._orders.close()
            self._process.wait()


class _Forked(Popen2IO):
    """The two pipes to a worker, and its end."""

    def __init__(self, origin: _Origin, execmodel: Any) -> None:
        (stdin, to_worker), (from_worker, stdout) = os.pipe(), os.pipe()
        self._pid = origin.fork([stdin, stdout, 2])
        os.close(stdin)
        os.close(stdout)
        super().__init__(os.fdopen(to_worker, "wb"), os.fdopen(from_worker, "rb"), execmodel)

    def wait(self) -> None:
        """Wait for the end of the worker, which is no child of this process."""
        with suppress(ProcessLookupError):
            end = os.pidfd_open(self._pid)
            select.select([end], [], [])
            os.close(end)

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)


def _serve(orders: socket.socket) -> None:
    """Fork a worker for each order, until no more come; it returns in every worker too, when that has ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the system then lets go of workers that have ended
    while True:
        order, descriptors, _, _ = socket.recv_fds(orders, LONGEST, 3)
        if not order:
            return
        pid = os.fork()
        if pid == 0:
            orders.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _work(json.loads(order), descriptors)
            return
        for descriptor in descriptors:
            os.close(descriptor)
        orders.send(str(pid).encode())


def _work(order: dict[str, Any], descriptors: Sequence[int]) -> None:
    """Be what was ordered: in its place and with its files, run what execnet has a new Python run."""
    sys.dont_write_bytecode = True  # as in the process that makes the session
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(order["directory"])
    os.environ.clear()
    os.environ.update(order["environ"])
    sys.argv, sys.path[0] = ["-c"], ""
    exec(eval(sys.stdin.readline()), {"__name__": "__main__"})


if __name__ == "__main__":
    for module in sys.argv[2:]:
        importlib.import_module(module)
    gc.freeze()  # a worker that collects garbage would write to, and so copy, each page of what was imported
    _serve(socket.socket(fileno=int(sys.argv[1])))
