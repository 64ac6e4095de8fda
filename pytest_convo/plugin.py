"""The hooks of pytest, in the order in which pytest calls them; each hands over to one room.

Loading this module must cost nothing: the rooms are imported by the first hook that has work for them.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from . import flags, options
from .fixtures import agent, bot, convo, convo_snapshot, prompt, refine, sandbox
from .hearing import needed_reporter, reporter_of, state_of, take_part
from .layout import RECORDINGS, TASK, TASK_FOLDERS, may_be_message_file

__all__ = ["agent", "bot", "convo", "convo_snapshot", "prompt", "refine", "sandbox"]

# -- start


def pytest_addoption(parser: pytest.Parser) -> None:
    flags.add_options(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    from . import hookspec

    pluginmanager.add_hookspecs(hookspec)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config, parser: pytest.Parser, args: list[str]) -> None:
    flags.unfold(early_config, parser, args)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "convo(runs, agreement, good, bad): run the test several times, for one verdict")
    chosen = options.read(config)
    if chosen.write:
        from .write.rules import require_sense

        require_sense(config, chosen)
    if options.speaks(config):
        from .collect.state import of

        of(config).check()
    if any(map(may_be_message_file, config.args)):
        from .collect.arguments import directed

        config.args[:] = [directed(config, argument) for argument in config.args]
    if config.getoption("convo_dry") or config.getoption("convo_simulate"):
        config.option.collectonly = True
    if config.getoption("convo_simulate"):
        config.option.verbose = -2  # the rates, and of what was collected no more than numbers
    if not hasattr(config, "workerinput"):
        take_part(config, chosen)


def pytest_cmdline_main(config: pytest.Config) -> int | None:
    if config.getoption("convo_schema") or config.getoption("convo_explain"):
        from .report.settings import show

        return show(config)
    if config.getoption("convo_prune"):
        from .report.pruning import prune

        return prune(config)
    if config.getoption("convo_watch"):
        from .watch.command import watch

        return watch(config)
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    if options.read(session.config).cut is not None:
        from .collect.cutting import cut_before_collection

        cut_before_collection(session.config)


# -- collection


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if collection_path.name == RECORDINGS and state_of(config) is not None:
        return True  # there is one beside each conversation, with folders of its own and no test in any
    # The names first: it is asked for every file and directory of every project.
    if collection_path.name in TASK_FOLDERS and (collection_path.parent / TASK).is_file():
        from .collect.task import is_tasks_own

        return is_tasks_own(collection_path) or None
    return None


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.name == TASK:
        from .collect.task import collect_file as collect_task

        return collect_task(file_path, parent)
    if file_path.name != "convo.toml" and not may_be_message_file(file_path.name):
        return None
    from .collect.conversation import collect_file

    return collect_file(file_path, parent)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_pycollect_makeitem() -> Generator[None, Any, Any]:
    made = yield
    functions = [made] if isinstance(made, pytest.Function) else made
    if not isinstance(functions, list) or not any(_may_be_redundant(function) for function in functions):
        return made
    from .collect.function import replaced

    return replaced(functions)


def _may_be_redundant(item: object) -> bool:
    return isinstance(item, pytest.Function) and ("convo" in item.fixturenames or "convo" in item.keywords)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None, object, object]:
    if (state := state_of(config)) is None:
        return (yield)
    state.collected = list(items)
    result = yield
    state.deselects = len(items) < len(state.collected)
    if hasattr(config, "workerinput"):
        from .collect.order import by_round

        items[:] = by_round(items)
    return result


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> Generator[None, object, object]:
    if (state := state_of(session.config)) is None:
        return (yield)
    from .report.overview import announce

    try:
        state.runs.plan(session.items)
        announce(state, session)
        return (yield)
    finally:
        state.garbage.search()  # pytest calls this hook however collection ended


# -- running


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    if not _runs_tests(session):
        return (yield)
    if (state := state_of(session.config)) is not None:
        state.runs.begin(session)
    result = yield
    if (reporter := reporter_of(session.config)) is not None:
        reporter.conclude()
    return result


def _runs_tests(session: pytest.Session) -> bool:
    """Whether pytest is going to call what it collected: nobody may be asked for anything otherwise."""
    option = session.config.option
    if session.testsfailed and not option.continue_on_collection_errors:
        return False
    return not (option.collectonly or option.setuponly or option.setupplan)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    if (state := state_of(item.config)) is None:
        return None
    from .run.protocol import run_item

    return run_item(state.runs, item, nextitem)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if (state := state_of(item.config)) is not None:
        from .run.protocol import spare

        spare(state.runs, item)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if state_of(pyfuncitem.config) is None or not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    from .collect.function import run_coroutine

    return run_coroutine(pyfuncitem)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if (state := state_of(item.config)) is not None:
        from .report.directory import keep
        from .run.told import shorten, tell

        if call.when == "call" and (asking := sys.modules.get("pytest_convo.collect.asking")) is not None:
            asking.ended(item, call)
        shorten(item, call, report)
        tell(state.runs, item, call, report)
        keep(state, item, report)
    return report


# -- reporting, in the controller or the only process


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, Any] | None:
    if not hasattr(report, "convo") and not hasattr(report, "convo_status"):
        return None
    from .report.terminal import status

    return status(report)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if (reporter := reporter_of(config)) is not None:
        reporter.summary(terminalreporter)


def pytest_report_collectionfinish(config: pytest.Config) -> list[str] | None:
    if (state := state_of(config)) is None or state.fresh is not None:
        return None
    from .report.overview import header

    return header(state)


# -- xdist


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    needed_reporter(node.config).equip(node)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any | None:
    from .run.xdist import make_scheduler

    return make_scheduler(config, log, options.read(config).concurrency)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any, ids: list[str]) -> None:
    needed_reporter(node.config).introduce(ids)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object | None) -> None:
    if error is not None:
        needed_reporter(node.config).lose(node)


@pytest.hookimpl(optionalhook=True)
def pytest_handlecrashitem(crashitem: str, report: pytest.TestReport, sched: Any) -> None:
    needed_reporter(sched.config).restart(crashitem, report, sched)


# -- the end


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workerinput"):
        return
    if session.config.getoption("convo_json"):
        needed_reporter(session.config)  # a report of nothing is a report
    if (reporter := reporter_of(session.config)) is not None:
        reporter.write()


def pytest_unconfigure(config: pytest.Config) -> None:
    if (state := state_of(config)) is not None:
        state.close()
    if (directory := sys.modules.get("pytest_convo.report.directory")) is not None:
        directory.close(config)
    if (reporter := reporter_of(config)) is not None:
        reporter.clean_up()
