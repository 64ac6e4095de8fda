"""The outcome of one run."""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """What one run measured (VERDICTS 1).

    `FAIL`: a check does not hold, or the bot used up its limits. `ERROR`: nothing was measured.
    """

    PASS = "pass"
    FAIL = "fail"
    ERROR = "error"
