"""Whether a session looks at everything below its arguments, so that what it did not see is not there."""

from __future__ import annotations

import pytest


def narrowed(config: pytest.Config) -> bool:
    """Whether items were left out by `-k`, `-m`, `--deselect`, `--lf` or a node id."""
    option = config.option
    chosen = (option.keyword, option.markexpr, getattr(option, "deselect", None), getattr(option, "lf", False))
    return any(chosen) or any("::" in argument for argument in config.args)


def is_seen(config: pytest.Config, nodeid: str) -> bool:
    """Whether a node, if there were one of this id, would have been collected and run."""
    if narrowed(config):
        return False
    path = config.rootpath / nodeid.partition("::")[0]
    return any(path.is_relative_to(config.invocation_params.dir / argument) for argument in config.args)
