"""The variables of this process, as a thread reads them while others change them."""

from __future__ import annotations

import os


def environment() -> dict[str, str]:
    """The variables as they are now; `dict(os.environ)` fails where one goes meanwhile.

    pytest sets PYTEST_CURRENT_TEST, and takes it away, before and after each phase of each test.
    """
    while True:
        try:
            return dict(os.environ)
        except KeyError:
            continue
