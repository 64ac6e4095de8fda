"""Whether a session looks at everything below its arguments, so that what it did not see is not there."""

from __future__ import annotations

import os

import pytest

DESELECTED = "deselected"
"""The note in the ledger by which a worker says that not all that it collected is to run."""


def looks_for_a_part(config: pytest.Config) -> bool:
    """Whether less than what the arguments hold is collected: by a node id, or by `--lf`."""
    return bool(getattr(config.option, "lf", False)) or any("::" in argument for argument in config.args)


def is_seen(config: pytest.Config, nodeid: str) -> bool:
    """Whether a node, if there were one of this id, would have been collected and run."""
    option = config.option
    if looks_for_a_part(config) or option.keyword or option.markexpr or getattr(option, "deselect", None):
        return False
    path = os.path.normpath(config.rootpath / nodeid.partition("::")[0])
    arguments = (os.path.normpath(config.invocation_params.dir / argument) for argument in config.args)
    return any(path == argument or path.startswith(f"{argument.rstrip(os.sep)}{os.sep}") for argument in arguments)
