"""A process that opens a sandbox and waits to be killed; what it is to open, it reads from its input, pickled."""

from __future__ import annotations

import pickle
import sys
from dataclasses import replace

from .seen import LONG, eventually

BEATS = "while :; do echo beat >>beats; sleep 0.2; done >/dev/null 2>&1 &"


def main() -> None:
    make, spec, folder = pickle.load(sys.stdin.buffer)  # noqa: S301  # from the test that started us
    environment = make()
    spec = replace(spec, folder=folder, permission="READ_WRITE")
    sandbox = environment.open(environment.prepare(spec))
    sandbox.execute(BEATS)
    eventually((sandbox.workspace / "beats").exists)
    print(sandbox.workspace, flush=True)
    sandbox.execute(f"sleep {LONG}", LONG)


if __name__ == "__main__":
    main()
