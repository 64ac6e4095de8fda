"""Message files on the command line: each stands for the conversation that it is part of."""

from __future__ import annotations

import pytest

from .state import of


def directed(config: pytest.Config, argument: str) -> str:
    """The argument, with the name of a message file replaced by that of its conversation's own file."""
    name, colons, rest = argument.partition("::")
    path = (config.invocation_params.dir / name).absolute()
    scan = of(config).scan(path.parent)
    if path.name not in {file.name for file in scan.files}:
        return argument
    return f"{path.with_name(scan.title or path.name)}{colons}{rest}"
