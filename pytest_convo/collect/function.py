"""A test function that is run several times: one that takes `convo`, or carries the mark."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import pytest

from ..layout import TASK
from ..run.group import Group
from ..run.measure import Spec
from ..run.redact import REDACTOR
from ..run.session import RUN, Run
from ..run.told import relative
from .errors import told_as_collect_error
from .identity import of_function
from .spec import cases, group, redactor_at, require_plain, specs
from .state import of

FIXTURES = "pytest_convo.fixtures"

MARK = ("runs", "agreement", "good", "bad")


def replaced(made: list[pytest.Item | pytest.Collector]) -> list[pytest.Item | pytest.Collector]:
    """What pytest made of one name of a module, with a redundant function's items replaced by one collector."""
    functions = [item for item in made if isinstance(item, pytest.Function) and _is_redundant(item)]
    if not functions:
        return made
    parent = functions[0].parent
    assert parent is not None
    node = RedundantFunction.from_parent(parent, name=functions[0].originalname, functions=functions)
    return [node, *(item for item in made if item not in functions)]


def _is_redundant(function: pytest.Function) -> bool:
    return _takes_convo(function) or function.get_closest_marker("convo") is not None


def _takes_convo(function: pytest.Function) -> bool:
    """Whether the function takes a `convo`, and that is ours: a project may have a fixture of the same name."""
    definitions = function._fixtureinfo.name2fixturedefs.get("convo")  # noqa: SLF001
    return definitions is not None and definitions[-1].func.__module__ == FIXTURES  # the last one is the nearest


def run_coroutine(item: pytest.Function) -> bool | None:
    """Run a coroutine test that no plugin for async tests takes care of; None leaves it to them, and to pytest."""
    if RUN not in item.stash or item.get_closest_marker("anyio") is not None:
        return None
    if any(base.__module__.startswith("pytest_asyncio") for base in type(item).__mro__):
        return None
    import asyncio

    asyncio.run(item.obj(**{name: item.funcargs[name] for name in inspect.signature(item.obj).parameters}))
    return True


class RedundantFunction(pytest.Collector):
    """A test function; the group of its runs where it has neither parameters nor cases."""

    def __init__(self, *, functions: list[pytest.Function], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.functions = functions
        self.obj = getattr(self.parent, "obj", None)

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        names: set[str] = set()
        for function in self.functions:
            with told_as_collect_error(self.config, self.path.parent):
                ids, found = self._specs(function)
                require_plain(_parameters(function), redactor_at(of(self.config), self.path.parent), self.path)
            for case, spec in zip(ids, found, strict=True):
                name = "-".join(filter(None, (_parameters(function), case)))
                if not name:
                    yield from runs(self, function, spec)
                else:
                    yield Variant.from_parent(self, name=_unique(name, names), function=function, spec=spec)

    def _specs(self, function: pytest.Function) -> tuple[list[str | None], list[Spec | None]]:
        """The conversation that the function reads, once for each of its cases; a lone None where it reads none."""
        if not _takes_convo(function):
            return [None], [None]
        directory = self.path.parent
        state = of(self.config)
        if not state.scan(directory).is_conversation and state.resolver.task(directory) is None:
            msg = (
                f"{self.path}: {self.name} takes `convo`, but {directory.name}/ holds no conversation, and no task\n"
                "  put the test beside the message files, or take `bot` and ask `bot.conversation(path)`"
            )
            raise self.CollectError(msg)
        if directory in state.broken:
            msg = f"the conversation beside it cannot be read: see {directory / (state.scan(directory).title or TASK)}"
            raise self.CollectError(relative(msg, self.config))
        ids = list(cases(state, directory))
        return ids, list(specs(self, directory, ids))


class Variant(pytest.Collector):
    """A test function with one set of parameters or one case: the group of its runs."""

    def __init__(self, *, function: pytest.Function, spec: Spec | None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.function = function
        self.spec = spec
        self.obj = getattr(self.parent, "obj", None)

    def collect(self) -> Iterator[pytest.Item]:
        return runs(self, self.function, self.spec)


def runs(parent: pytest.Collector, function: pytest.Function, spec: Spec | None) -> Iterator[pytest.Item]:
    """The runs of a function, each a copy of the item that pytest made, below its group."""
    with told_as_collect_error(parent.config, parent.path.parent):
        whole = _group(parent, function, spec)
    if spec is not None and not spec.conversation.turns:
        whole.declared = 1
    redactor = spec.redactor if spec is not None else redactor_at(of(parent.config), parent.path.parent)
    for number in whole.numbers:
        item = _copy(parent, function, f"run-{number}")
        item.stash[REDACTOR] = redactor
        read = spec if spec is not None and spec.conversation.turns and not of(parent.config).options.oracle else None
        item.stash[RUN] = Run(whole, number, read)
        yield item


def _group(parent: pytest.Collector, function: pytest.Function, spec: Spec | None) -> Group:
    marked = _marked(function)
    state = of(parent.config)
    case = spec.case if spec is not None else None
    settings = state.resolver.resolve(parent.path.parent, case=case, mark=marked).settings
    return group(state, parent.nodeid, settings, partial(of_function, function, spec))


def _marked(function: pytest.Function) -> Mapping[str, Any]:
    """The settings in the mark, which the nearest of several marks gives."""
    marked: dict[str, Any] = {}
    for mark in reversed(list(function.iter_markers("convo"))):
        unknown = [name for name in mark.kwargs if name not in MARK]
        if unknown or mark.args:
            wrong = ", ".join([*map(repr, mark.args), *unknown])
            msg = f"{function.nodeid}: @pytest.mark.convo does not take {wrong}\n  it takes {', '.join(MARK)}, by name"
            raise pytest.Collector.CollectError(msg)
        marked.update(mark.kwargs)
    return marked


def _copy(parent: pytest.Collector, function: pytest.Function, name: str) -> pytest.Function:
    """The same test under another parent and name, of the same class: an async plugin's items keep working.

    Its parameters are handed over afterwards, because given at once they would be written into the node id in
    brackets, which `--lf` cannot find again. `_fixtureinfo` is private, and pytest-asyncio copies items in the same
    way; without it the fixtures that stand for parameters would be missing.
    """
    cls = function.cls
    callobj = getattr(cls(), function.originalname) if cls is not None else function.obj
    copy = type(function).from_parent(
        parent,
        name=name,
        callobj=callobj,
        fixtureinfo=function._fixtureinfo,  # noqa: SLF001
    )
    if hasattr(function, "callspec"):
        copy.callspec = function.callspec
    copy.own_markers[:] = function.own_markers
    copy.keywords.update({mark.name: mark for mark in function.own_markers})
    if "convo" not in copy.keywords:
        copy.add_marker("convo")
    return copy


def _parameters(function: pytest.Function) -> str:
    callspec = getattr(function, "callspec", None)
    # `[` and `::` have a meaning in node ids, and a slash one in the run directory.
    return re.sub(r"[\[\]:/\\\s]+", "-", callspec.id).strip("-") or "-" if callspec is not None else ""


def _unique(name: str, taken: set[str]) -> str:
    """The name, with a number behind it where another variant has it already."""
    unique, number = name, 1
    while unique in taken:
        number += 1
        unique = f"{name}-{number}"
    taken.add(unique)
    return unique
