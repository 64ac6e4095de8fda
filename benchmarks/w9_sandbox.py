"""W9: a sandbox is opened, runs commands and is closed: what does it cost beside `docker exec` and docker-py?"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import common
import docker

from pytest_convo.sandbox.base import SandboxSpec
from pytest_convo.sandbox.docker import DockerEnvironment
from pytest_convo.sandbox.docker_sandbox import DockerSandbox
from pytest_convo.testing import images

SCRIPT = "echo out; echo err >&2; exit 3"
OPEN, EXECUTE, CLOSE = "open", "execute", "close, and removed"
CREATED, EXEC_RUN, REMOVED = "docker-py: run, detached", "docker-py: exec_run, demux", "docker-py: remove, force"
COMMAND_LINE = "docker exec"


def main() -> None:
    given = common.options(__doc__, repeat=100, sandboxes=20)
    client = docker.from_env()
    image = images.hostbin(client)
    environment = DockerEnvironment()
    try:
        spec = environment.prepare(SandboxSpec(image=image))
        lives = []
        for _ in range(given.sandboxes):
            lives += [_life(environment, spec, client), _bare_life(client, image)]
        with environment.open(spec) as sandbox:
            assert isinstance(sandbox, DockerSandbox)
            commands = timed(_commands(sandbox, client), given.repeat)
    finally:
        environment.close()
    found = {name: [life[name] for life in lives if name in life] for name in (OPEN, CLOSE, CREATED, REMOVED)}
    common.table(
        f"W9: {given.sandboxes} sandboxes, {given.repeat} commands in one, interleaved; milliseconds",
        ["", "p50", "p95", "n"],
        [
            [name, *(f"{1000 * percentile(values, part):.0f}" for part in (50, 95)), len(values)]
            for name, values in (found | commands).items()
        ],
    )


def _life(environment: DockerEnvironment, spec: SandboxSpec, client: docker.DockerClient) -> dict[str, float]:
    """The seconds of one sandbox's opening and of its removal, for which nobody waits before a session ends."""
    begin = time.perf_counter()
    sandbox = environment.open(spec)
    opened = time.perf_counter()
    sandbox.close()
    while client.api.containers(all=True, filters={"id": sandbox.container.id}):
        time.sleep(0.005)
    return {OPEN: opened - begin, CLOSE: time.perf_counter() - opened}


def _bare_life(client: docker.DockerClient, image: str) -> dict[str, float]:
    """A container as docker-py starts one, without limits or a network."""
    begin = time.perf_counter()
    container = client.containers.run(image, ["sleep", "infinity"], detach=True, network_mode="none")
    opened = time.perf_counter()
    container.remove(force=True)
    return {CREATED: opened - begin, REMOVED: time.perf_counter() - opened}


def _commands(sandbox: DockerSandbox, client: docker.DockerClient) -> Mapping[str, Callable[[], Any]]:
    """One command, in the same container, in each way."""
    container = client.containers.get(sandbox.container.id)
    shell = ["sh", "-c", SCRIPT]
    ways: dict[str, Callable[[], Any]] = {
        EXECUTE: lambda: sandbox.execute(SCRIPT),
        EXEC_RUN: lambda: container.exec_run(shell, demux=True),
    }
    if shutil.which("docker"):
        command_line = ["docker", "exec", sandbox.container.id, *shell]
        ways[COMMAND_LINE] = lambda: subprocess.run(command_line, capture_output=True)
    result = ways[EXECUTE]()
    if (result.return_code, result.output, result.error) != (3, "out\n", "err\n"):
        sys.exit(f"the sandbox does not do what it is measured for: {result}")
    return ways


def timed(ways: Mapping[str, Callable[[], Any]], repeat: int) -> dict[str, list[float]]:
    """The seconds of each call, in rounds of which each begins with another way."""
    found: dict[str, list[float]] = {name: [] for name in ways}
    names = list(ways)
    for turn in range(repeat):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            begin = time.perf_counter()
            ways[name]()
            found[name].append(time.perf_counter() - begin)
    return found


def percentile(values: list[float], part: int) -> float:
    return statistics.quantiles(values, n=100, method="inclusive")[part - 1]


if __name__ == "__main__":
    main()
