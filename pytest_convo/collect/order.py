"""The order of items over xdist's workers."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ..run.session import RUN


def by_round(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Run 1 of every group, then run 2 of every group: spare runs then meet groups that are decided.

    Tests that are not redundant keep their places.
    """
    rounds = iter(sorted((item for item in items if RUN in item.stash), key=lambda item: item.stash[RUN].number))
    return [next(rounds) if RUN in item.stash else item for item in items]
