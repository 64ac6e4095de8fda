"""`--convo-prune`: what was kept of sandboxes is removed, and pytest ends."""

from __future__ import annotations

import sys

import pytest

from ..errors import SandboxUnavailable


def prune(config: pytest.Config) -> int:
    """Remove images that were made for tasks and tools, and sandboxes that were left; the exit code."""
    if others := [name for name in ("dry", "oracle", "keep_sandbox", "watch") if config.getoption(f"convo_{name}")]:
        msg = f"--convo-prune removes and ends: it does not go with --convo-{others[0].replace('_', '-')}"
        raise pytest.UsageError(msg)
    from docker.errors import DockerException
    from requests import RequestException

    from ..sandbox.engine import find
    from ..sandbox.prune import prune as images
    from ..sandbox.sweep import left

    try:
        engine = find()
        told = [f"removed {line}" for line in left(engine, kept=True)] + images(engine.client)
    except (SandboxUnavailable, DockerException, RequestException) as error:
        print(error, file=sys.stderr)
        return int(pytest.ExitCode.USAGE_ERROR)
    print("\n".join(told) or "nothing of ours was there")
    return int(pytest.ExitCode.OK)
