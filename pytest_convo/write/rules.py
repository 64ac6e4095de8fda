"""What does not go together with writing answers into directories."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ..options import Options


def require_sense(config: pytest.Config, options: Options) -> None:
    """Raise `pytest.UsageError` where `--convo-write` is given with what contradicts it."""
    if options.write and (reason := next(_reasons(config, options), None)):
        raise pytest.UsageError(reason)


def _reasons(config: pytest.Config, options: Options) -> Iterator[str]:
    runs = config.getoption("convo_runs")
    if runs is not None and runs != "1":
        yield f"--convo-write writes the answers of one run, not of {runs}: leave out --convo-runs"
    if options.record == "none":
        yield "--convo-write asks the model, and --convo-record=none, the default in CI, asks nobody: use another mode"
    for name, given in (("baseline", options.baseline), ("update-baseline", options.new_baseline)):
        if given is not None:
            yield f"--convo-write makes one run of each conversation, which is no measure for --convo-{name}"
