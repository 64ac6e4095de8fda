"""What a session has of ours, as far as it has anything: where nothing was collected, no room is even loaded."""

from __future__ import annotations

import sys
from collections.abc import Generator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import warnings

    from .collect.state import State
    from .options import Options
    from .report.reporter import Reporter


def state_of(config: pytest.Config) -> State | None:
    """What this process has collected, if anything: where nothing was, the module is not even loaded."""
    module = sys.modules.get("pytest_convo.collect.state")
    return module.existing(config) if module is not None else None


def reporter_of(config: pytest.Config) -> Reporter | None:
    module = sys.modules.get("pytest_convo.report.reporter")
    return module.existing(config) if module is not None else None


def needed_reporter(config: pytest.Config) -> Reporter:
    from .report.reporter import of

    return of(config)


def take_part(config: pytest.Config, chosen: Options) -> None:
    """Have the process that reports hear of everything, and mend prompts in the end where that is asked for."""
    config.pluginmanager.register(Reports(config), "convo-reports")
    if chosen.baseline is not None:
        needed_reporter(config)  # a baseline that cannot be read is told before anything is spent
    if chosen.refine in ("suggest", "apply"):
        from .refine.command import Refining

        config.pluginmanager.register(Refining(config, chosen), "convo-refine")


class Reports:
    """Hears every report; an object of its own because this hook does not say whose report it is."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Generator[None, object, object]:
        if hasattr(report, "convo"):
            needed_reporter(self.config).prepare(report)
        result = yield  # every reporter sees the run before its verdict
        if hasattr(report, "convo"):
            needed_reporter(self.config).hear(report)
        elif hasattr(report, "convo_refine"):
            needed_reporter(self.config).plain.add(report.nodeid, report.convo_refine)
        return result

    @pytest.hookimpl(tryfirst=True)
    def pytest_warning_recorded(self, warning_message: warnings.WarningMessage) -> None:
        if state_of(self.config) is not None or reporter_of(self.config) is not None:
            from .run.redact import redact_warning

            redact_warning(warning_message)

    def pytest_keyboard_interrupt(self) -> None:
        if (reporter := reporter_of(self.config)) is not None:
            reporter.stop("interrupted")
